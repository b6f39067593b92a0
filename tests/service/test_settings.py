"""Settings: what comes before what, what is refused and by which words, and that the guide's table is the code's."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from tacit.errors import FormatError, SettingError
from tacit.service.settings import Settings, SurveySettings, read_settings, table, variable_of

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "running-a-collector.md"


def written(folder: Path, text: str) -> Path:
    path = folder / "tacit.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_option_comes_before_a_variable_a_variable_before_the_file_and_the_file_before_the_default(tmp_path):
    path = written(tmp_path, "port = 1\nmost_bytes = 2000\nper_second = 7\n")
    environment = {"TACIT_PORT": "2", "TACIT_MOST_BYTES": "3000", "TACIT_HOST": ""}
    settings, _ = read_settings(path, {"port": 3, "most_bytes": None}, environment)
    assert (settings.port, settings.most_bytes, settings.per_second) == (3, 3000, 7.0)
    assert settings.host == Settings().host
    assert read_settings(None, {}, {})[0] == Settings()


@pytest.mark.parametrize("one", fields(Settings), ids=lambda one: one.name)
def test_every_setting_is_read_from_the_file_and_from_its_variable(one, tmp_path):
    texts = {
        "folder": "elsewhere",
        "signing_key": "a.key",
        "store": "postgresql://a@b/c",
        "host": "::1",
        "admin_token": "t" * 32,
    }
    text = texts.get(one.name, "500" if one.name == "grace" else "2048")
    quoted = f'"{text}"' if one.name in texts else text
    from_file, _ = read_settings(written(tmp_path, f"{one.name} = {quoted}\n"), {}, {})
    from_variable, _ = read_settings(None, {}, {variable_of(one.name): text})
    if one.name in ("close_every",):
        assert from_variable.close_every == 2048.0
    expected = tmp_path / text if one.name in ("folder", "signing_key") else getattr(from_variable, one.name)
    assert getattr(from_file, one.name) == expected
    assert getattr(from_variable, one.name) != one.default


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1\n", ["tacit.toml", "'prot'", "port"]),
        ("port = 0\n", ["tacit.toml: port must be a whole number, from 1 to 65,535; got 0"]),
        ("port = true\n", ["port must be a whole number", "got True"]),
        ('port = "8420"\n', ["port must be a whole number", "got '8420'"]),
        ("per_second = nan\n", ["per_second must be a number", "got nan"]),
        ("host = 3\n", ["host must be text"]),
        ("port = \n", ["tacit.toml is not in the form of TOML", "line 1"]),
        ("surveys = 3\n", ["surveys must be tables"]),
        ("[surveys.visits]\nlate = 1\n", ["surveys.visits.plan must be the path of a plan"]),
        ('[surveys.visits]\nplan = "p"\nlate = -1\n', ["surveys.visits.late must be a whole number of periods"]),
        (
            '[surveys.visits]\nplan = "p"\nlate = 1000001\n',
            ["late must be a whole number of periods, from 0 to 1,000,000"],
        ),
        (f"port = {'9' * 5000}\n", ["tacit.toml is not in the form of TOML"]),
        ('[surveys.visits]\nplan = "p"\nopen = 1\n', ["surveys.visits.open must be true or false; got 1"]),
        ('[surveys.visits]\nplan = "p"\nopne = true\n', ["surveys.visits: there is no setting 'opne'"]),
    ],
)
def test_what_is_wrong_in_the_file_is_refused_with_file_key_and_rule(text, words, tmp_path):
    with pytest.raises(SettingError) as refused:
        read_settings(written(tmp_path, text), {}, {})
    assert all(word in str(refused.value) for word in words), refused.value


def test_a_file_that_is_not_utf_8_is_told_so(tmp_path):
    (tmp_path / "tacit.toml").write_bytes("# café\n".encode("latin-1"))
    with pytest.raises(
        SettingError, match=r"^the settings: the file \S*tacit\.toml is not text in UTF-8\. Save it as UTF-8\.$"
    ):
        read_settings(tmp_path / "tacit.toml", {}, {})


def test_a_file_that_is_not_there_is_told_so_and_not_called_malformed(tmp_path):
    with pytest.raises(SettingError, match=r"^the settings: there is no file \S*nope\.toml\. Check its path\.$"):
        read_settings(tmp_path / "nope.toml", {}, {})
    with pytest.raises(FormatError, match=r"^\S* is not a regular file\. Name a file\.$"):
        read_settings(tmp_path, {}, {})


def test_a_wrong_variable_is_refused_by_its_name():
    with pytest.raises(SettingError, match="TACIT_PORT must be a whole number, from 1 to 65,535; got 'x'"):
        read_settings(None, {}, {"TACIT_PORT": "x"})
    with pytest.raises(SettingError, match=r"^port must be"):
        read_settings(None, {"port": 70_000}, {})


def test_secrets_come_from_files_and_are_never_in_words(tmp_path):
    (tmp_path / "token").write_text("a-token-of-thirty-two-letters-00\n")
    for name, environment in (
        ("in the file", {}),
        ("in the environment", {"TACIT_ADMIN_TOKEN_FILE": str(tmp_path / "token")}),
    ):
        text = "" if environment else 'admin_token_file = "token"\n'
        settings, _ = read_settings(written(tmp_path, text), {}, environment)
        assert settings.admin_token == "a-token-of-thirty-two-letters-00", name
    for text, environment in (
        ('admin_token = "s3cret"\nadmin_token_file = "token"\n', {}),
        ("", {"TACIT_STORE": "postgresql://a:s3cret@b/c", "TACIT_STORE_FILE": str(tmp_path / "token")}),
        ('store = ["s3cret"]\n', {}),
        ('store_file = "s3cret-none"\n', {}),
    ):
        with pytest.raises(SettingError) as refused:
            read_settings(written(tmp_path, text), {}, environment)
        assert "s3cret" not in str(refused.value).replace("s3cret-none", "")


def test_several_surveys_stand_in_one_file_and_paths_start_at_it(tmp_path):
    path = written(
        tmp_path,
        'store = "sqlite:///kept/a.sqlite"\nfolder = "/var/collected"\n[surveys.visits]\nplan = "plans/visits.toml"\n'
        '[surveys.calls]\nplan = "/etc/calls.toml"\nlate = 3\nopen = true\n',
    )
    settings, surveys = read_settings(path, {}, {})
    assert surveys == [
        SurveySettings("visits", tmp_path / "plans/visits.toml"),
        SurveySettings("calls", Path("/etc/calls.toml"), 3, True),
    ]
    assert settings.store == f"sqlite:///{tmp_path}/kept/a.sqlite"
    assert settings.folder == Path("/var/collected")


def test_the_table_of_the_guide_is_that_of_the_code():
    assert table() in GUIDE.read_text(encoding="utf-8")
