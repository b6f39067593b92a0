"""The settings of a collector: one table, from which options, variables, the file's keys and the guide's rows come.

An option comes before a variable of the environment, a variable before the file, the file before the default. A secret
can also stand in a file of its own, whose path is given instead (``store_file``, ``TACIT_STORE_FILE``).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from tacit._base.languages import ENGLISH, LANGUAGES
from tacit._base.reading import check_regular
from tacit._base.validation import check_one_of
from tacit.domain.names import is_on_one_line
from tacit.errors import FileSetting, SettingError

_FILE: Final = "_file"
_OF_A_SURVEY: Final = ("plan", "late", "open", "release_every", "public", "title", "noun", "language")
EVERY: Final = ("period", "day", "week", "month", "year", "never")
"""How often a release is made: at the end of each of these, once all of its periods are closed."""
MOST_IN_WORDS: Final = 300
"""Letters of a title, as many as the store has room for: three lines of a page."""
MOST_LATE: Final = 1_000_000
"""Periods that a report may be late: more than the hours of a century, and far below what the store has room for."""
LEAST_LETTERS: Final = 32
"""Letters of an administrator's token from elsewhere: 128 bits in hexadecimal. Ours have 43 letters, 256 bits."""
_LATE: Final = f"a whole number of periods, from 0 to {MOST_LATE:,}"
_SQLITE: Final = "sqlite:///"
_MOST_LETTERS: Final = 100_000  # of a file of settings or a secret: some hundred surveys; more is another file


def _about(
    what: str,
    *,
    least: float | None = None,
    most: float | None = None,
    is_secret: bool = False,
    is_path: bool = False,
) -> dict[str, Any]:
    return {"what": what, "least": least, "most": most, "is_secret": is_secret, "is_path": is_path}


@dataclass(frozen=True, slots=True)
class Settings:
    """What a collector is told about itself. The defaults suit one machine behind a proxy."""

    store: str = field(
        default="sqlite:///collector.sqlite",
        repr=False,
        metadata=_about(
            "Where counts are kept: sqlite:///FILE or postgresql://USER@HOST/NAME.",
            is_secret=True,
        ),
    )
    folder: Path = field(default=Path("collected"), metadata=_about("The folder for the reports of closed periods."))
    host: str = field(default="127.0.0.1", metadata=_about("The address to listen at."))
    port: int = field(default=8420, metadata=_about("The port to listen at.", least=1, most=65_535))
    signing_key: Path | None = field(
        default=None, metadata=_about("The private key that releases are signed with.", is_path=True)
    )
    admin_token: str | None = field(
        default=None,
        repr=False,
        metadata=_about("A token for the administrator; another one here replaces it.", is_secret=True),
    )
    most_bytes: int = field(default=16 << 20, metadata=_about("Bytes of one message.", least=1024, most=1 << 30))
    body_seconds: float = field(
        default=60.0,
        metadata=_about("Seconds in which all of a message must come; a slower one is refused.", least=1, most=3600),
    )
    per_second: float = field(
        default=1000.0,
        metadata=_about("Messages a second of one token, or of an open survey.", least=0.1, most=1e9),
    )
    close_every: float = field(
        default=60.0, metadata=_about("Seconds between two looks for periods to close.", least=1, most=86_400)
    )
    grace: int = field(
        default=20,
        metadata=_about("Seconds for requests that were begun when it is told to stop.", least=0, most=600),
    )

    def __post_init__(self) -> None:
        if self.admin_token is not None:
            check_admin_token(self.admin_token)


@dataclass(frozen=True, slots=True)
class SurveySettings:
    """A survey that is made at the start if it is not there. The plan's path starts at the file that names it."""

    name: str
    plan: Path
    late: int | None = None
    """What is left out stays as it is; of a new survey it has its default."""
    is_open: bool | None = None
    release_every: str | None = None
    """How often a release is made, and whether releases are public."""
    is_public: bool | None = None
    title: str | None = None
    """The title of its pages, what they call one and many events, and their language."""
    noun: str | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        check_late(0 if self.late is None else self.late)
        if self.release_every is not None:
            check_one_of(EVERY, release_every=self.release_every)
        check_words(self.title or "", self.noun or "", self.language or ENGLISH)


def check_late(late: int) -> None:
    """Refuse a number of periods that no report can be late, or that the store has no room for."""
    if type(late) is not int or not 0 <= late <= MOST_LATE:
        raise SettingError(f"late must be {_LATE}; got late={late}.")


def check_admin_token(token: str) -> None:
    """Refuse an administrator's token that could be guessed."""
    if len(token) < LEAST_LETTERS:
        raise SettingError(f"admin_token must have at least {LEAST_LETTERS} letters. Draw it at random.")


def check_words(title: str, noun: str, language: str) -> None:
    """Refuse words that a page cannot have."""
    check_one_of(LANGUAGES, language=language)
    if len(title) > MOST_IN_WORDS:
        raise SettingError(f"title must have at most {MOST_IN_WORDS} letters; got {len(title)}.")
    for name, words in (("title", title), ("noun", noun)):
        if not is_on_one_line(words):
            raise SettingError(f"{name} must be on one line, without control characters.")
    one, _, many = noun.partition("/")
    if noun and (not one.strip() or not many.strip() or "/" in many or len(noun) > MOST_IN_WORDS):
        raise SettingError(
            f"noun must be two words, for one and for many, such as trip/trips, of {MOST_IN_WORDS} letters at most."
        )


def variable_of(name: str) -> str:
    """The variable of the environment for a setting.

    >>> variable_of("most_bytes")
    'TACIT_MOST_BYTES'
    """
    return f"TACIT_{name.upper()}"


def help_of(name: str) -> str:
    """The sentence about a setting, with its variable."""
    one = next(one for one in fields(Settings) if one.name == name)
    return f"{one.metadata['what']} [dim]\\[env: {variable_of(name)}][/dim]"


def table() -> str:
    """Return the guide's table of all settings."""
    rows = ["| key | variable | default | what |", "|---|---|---|---|"]
    for one in fields(Settings):
        default = "" if one.default is None else f"`{one.default}`"
        rule = f" {_range(one)}." if _range(one) else ""
        secret = f" A secret: `{one.name}{_FILE}` and `{variable_of(one.name)}_FILE` name a file with it."
        words = f"{one.metadata['what']}{rule}{secret if one.metadata['is_secret'] else ''}"
        rows.append(f"| `{one.name}` | `{variable_of(one.name)}` | {default} | {words} |")
    return "\n".join(rows) + "\n"


def read_settings(
    path: Path | None,
    given: Mapping[str, Any],
    environment: Mapping[str, str] = os.environ,
) -> tuple[Settings, list[SurveySettings]]:
    """Return the settings and the surveys of a file; what is given comes first, then the environment, then the file."""
    content = {} if path is None else _content_of(path)
    surveys = [] if path is None else _surveys_of(content.pop("surveys", {}), path)
    chosen: dict[str, Any] = {}
    known = {one.name for one in fields(Settings)}
    known |= {one.name + _FILE for one in fields(Settings) if one.metadata["is_secret"]}
    if unknown := sorted(content.keys() - known):
        raise FileSetting(
            f"{path}: there is no setting {unknown[0]!r}. The settings are: {', '.join(sorted(known))}, and surveys."
        )
    for one in fields(Settings):
        if given.get(one.name) is not None:
            chosen[one.name] = _checked(one, given[one.name], one.name)
        elif (found := _in_environment(one, environment)) is not None or (
            found := _in_file(one, content, path)
        ) is not None:
            chosen[one.name] = found
    return Settings(**chosen), surveys


def _in_environment(one: Field[Any], environment: Mapping[str, str]) -> Any:
    """The value of a variable; an empty one is as good as none."""
    variable = variable_of(one.name)
    text = environment.get(variable)
    if one.metadata["is_secret"] and (kept := environment.get(f"{variable}_FILE")):
        if text:
            raise SettingError(f"{variable} and {variable}_FILE are both set. Leave one out.")
        text = _secret_in(Path(kept), f"{variable}_FILE")
    if not text:
        return None
    number = _number_of(text) if _kind_of(one) in (int, float) else text
    return _checked(one, number, variable)


def _in_file(one: Field[Any], content: Mapping[str, Any], path: Path | None) -> Any:
    found = content.get(one.name)
    if one.metadata["is_secret"] and path is not None and one.name + _FILE in content:
        if found is not None:
            raise FileSetting(f"{path}: {one.name} and {one.name}{_FILE} are both set. Leave one out.")
        kept = content[one.name + _FILE]
        if not isinstance(kept, str):
            raise FileSetting(f"{path}: {one.name}{_FILE} must be text, the path of a file.")
        found = _secret_in(path.parent / kept, f"{path}: {one.name}{_FILE}")
    if found is None:
        return None
    return _from(path, _checked(one, found, f"{path}: {one.name}", FileSetting))


def _from(path: Path | None, value: Any) -> Any:
    """A path, or the address of a file of SQLite, as it is seen from the folder of the file of settings."""
    if path is not None and isinstance(value, Path):
        return path.parent / value
    if path is not None and isinstance(value, str) and value.startswith(_SQLITE):
        return f"{_SQLITE}{path.parent / value.removeprefix(_SQLITE)}"
    return value


def _checked(one: Field[Any], value: Any, where: str, kind_of_error: type[SettingError] = SettingError) -> Any:
    """Return a value as its setting has it; a wrong one is refused by name and rule, a secret one without it."""
    kind, limits = _kind_of(one), _range(one)
    rule = {int: "a whole number", float: "a number", str: "text", Path: "a path"}[kind]
    shown = "" if one.metadata["is_secret"] else f"; got {value!r}"
    refusal = kind_of_error(f"{where} must be {rule}{f', {limits.lower()}' if limits else ''}{shown}. Change it there.")
    if kind in (int, float):
        is_number = isinstance(value, int if kind is int else (int, float)) and not isinstance(value, bool)
        least, most = one.metadata["least"], one.metadata["most"]
        if not is_number or not (least is None or value >= least) or not (most is None or value <= most):
            raise refusal
        return kind(value)
    if not isinstance(value, (str, Path)) or not str(value).strip():
        raise refusal
    return kind(value)


def _range(one: Field[Any]) -> str:
    least, most = one.metadata["least"], one.metadata["most"]
    if least is None:
        return ""
    return f"At least {least:,}" if most is None else f"From {least:,} to {most:,.0f}"


def _kind_of(one: Field[Any]) -> type[Any]:
    """The type of a setting; one without a default is text or a path."""
    if isinstance(one.default, Path) or one.metadata["is_path"]:
        return Path
    return str if one.default is None else type(one.default)


def _number_of(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _secret_in(path: Path, where: str) -> str:
    """The secret in a file, without the line end behind it."""
    return _text_of(path, where).strip()


def _text_of(path: Path, where: str) -> str:
    try:
        check_regular(path)
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SettingError(f"{where}: there is no file {path}. Check its path.") from None
    except OSError:
        raise SettingError(f"{where}: the file {path} cannot be read. Check its path and permissions.") from None
    except UnicodeDecodeError:
        raise SettingError(f"{where}: the file {path} is not text in UTF-8. Save it as UTF-8.") from None
    if len(text) > _MOST_LETTERS:
        raise SettingError(f"{where}: the file {path} must have at most {_MOST_LETTERS:,} letters. Name the right one.")
    return text


def _content_of(path: Path) -> dict[str, Any]:
    text = _text_of(path, "the settings")
    try:
        return tomllib.loads(text)
    except ValueError as problem:  # TOML's own, or a number of thousands of digits
        # its words name a place in the file, and at most one letter of it
        raise FileSetting(f"{path} is not in the form of TOML: {problem}. Mend it there.") from None


def _surveys_of(content: Any, path: Path) -> list[SurveySettings]:
    if not isinstance(content, dict) or not all(isinstance(one, dict) for one in content.values()):
        raise FileSetting(f"{path}: surveys must be tables such as [surveys.visits].")
    return [_survey_of(name, entry, path) for name, entry in content.items()]


def _survey_of(name: str, entry: Mapping[str, Any], path: Path) -> SurveySettings:
    where = f"{path}: surveys.{name}"
    for key, value, is_right, rule in _rules_of(entry):
        if not is_right:
            raise FileSetting(f"{where}.{key} must be {rule}; got {value!r}. Change it there.")
    if unknown := sorted(entry.keys() - _OF_A_SURVEY):
        raise FileSetting(f"{where}: there is no setting {unknown[0]!r}. A survey has: {', '.join(_OF_A_SURVEY)}.")
    try:
        return SurveySettings(
            name,
            path.parent / entry["plan"],
            *(entry.get(key) for key in ("late", "open", "release_every", "public", "title", "noun", "language")),
        )
    except SettingError as problem:
        raise FileSetting(f"{where}.{problem}") from None


def _rules_of(entry: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool, str]]:
    plan, late, is_open = entry.get("plan"), entry.get("late", 0), entry.get("open", False)
    yield "plan", plan, isinstance(plan, str) and bool(plan), "the path of a plan"
    yield "late", late, type(late) is int and 0 <= late <= MOST_LATE, _LATE
    yield "open", is_open, isinstance(is_open, bool), "true or false"
    every, is_public = entry.get("release_every"), entry.get("public")
    yield "release_every", every, every is None or every in EVERY, f"one of {', '.join(EVERY)}"
    yield "public", is_public, is_public is None or isinstance(is_public, bool), "true or false"
    for key in ("title", "noun", "language"):
        yield key, entry.get(key), isinstance(entry.get(key, ""), str), "text"
