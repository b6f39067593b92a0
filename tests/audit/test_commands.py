"""Commands and functions of somebody else's are run, and their failures are sentences."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tacit.audit.plug_ins import Command, guarded, is_local_randomizer, one_by_one, plug_in_named
from tacit.errors import SettingError
from tacit.mechanisms.registry import MECHANISMS

PYTHON = f"{sys.executable} -c"


def command(code: str) -> Command:
    return Command(f'{PYTHON} "import sys; {code}"')


def test_a_line_comes_back_for_each_value():
    lines = command("[print(line.strip(), 7) for line in sys.stdin]").randomize(np.array([3, 5, 11]))
    assert lines == ["3 7", "5 7", "11 7"]


def test_a_line_ends_at_a_line_feed_whatever_else_is_in_it():
    strange = command("[sys.stdout.buffer.write(bytes([97, 226, 128, 168, 255, 13, 10])) for line in sys.stdin]")
    (line,) = strange.randomize(np.array([0]))
    assert line.encode("utf-8", errors="surrogateescape") == bytes([97, 226, 128, 168, 255])


def test_a_command_that_does_not_leave_is_stopped():
    endless = Command(f'{PYTHON} "import time; time.sleep(60)"', patience=0.2)
    with pytest.raises(SettingError, match=r"answer 1 lines within 0\.2 seconds"):
        endless.lines(["1"])


def test_pipes_are_told_to_ask_for_a_shell():
    with pytest.raises(SettingError, match=r"Write: sh -c 'cat \| sort'"):
        Command("cat | sort")
    assert Command("sh -c 'cat | cat'").lines(["1", "2"]) == ["1", "2"]


def test_answers_are_rows_of_numbers_and_reports_may_be_hexadecimal():
    assert command("[print(line.strip(), '0.5') for line in sys.stdin]").answers(
        np.array([[1, 2], [3, 4]])
    ).tolist() == [
        [1.0, 2.0, 0.5],
        [3.0, 4.0, 0.5],
    ]
    packed = command("[print('0aff') for line in sys.stdin]").hex_reports(np.array([1, 2]))
    assert packed.tolist() == [[10, 255], [10, 255]]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("print('one')", "it read 2 and wrote 1"),
        ("sys.exit('no such table')", "left with code 1: no such table"),
    ],
)
def test_a_command_that_does_not_do_its_part_is_named(code, message):
    with pytest.raises(SettingError, match=message):
        command(code).randomize(np.array([1, 2]))


def test_what_is_no_number_no_hexadecimal_and_no_command_is_refused():
    words = command("[print('abc') for line in sys.stdin]")
    with pytest.raises(SettingError, match="must write numbers"):
        words.answers(np.array([[1]]))
    with pytest.raises(SettingError, match="hexadecimal"):
        words.hex_reports(np.array([1]))
    with pytest.raises(SettingError, match="cannot be run"):
        Command("no-such-program-anywhere").lines(["1"])
    for bad in ("", "'open"):
        with pytest.raises(SettingError, match="the command must"):
            Command(bad)


def test_plug_ins_are_found_by_name_or_refused():
    assert plug_in_named("os.path:join")("a", "b") == plug_in_named("os:path.join")("a", "b")
    with pytest.raises(SettingError, match=r"package\.module:name"):
        plug_in_named("os.path.join")
    with pytest.raises(SettingError, match="cannot be loaded"):
        plug_in_named("no_such_module_anywhere:join")


def test_a_plug_ins_failure_is_a_sentence():
    with pytest.raises(SettingError, match="mine:f failed: ZeroDivisionError"):
        guarded(lambda value: 1 / value, "mine:f")(0)
    with pytest.raises(SettingError, match="mine:f failed: SystemExit: 1"):
        guarded(sys.exit, "mine:f")(1)  # an exit code of 1 would say that the claim is refuted
    with pytest.raises(SettingError, match="must be a function"):
        guarded(5, "mine:f")


def test_a_function_of_one_value_serves_many():
    assert one_by_one(lambda value: value * 2)(np.array([1, 2])) == [2, 4]


def test_every_mechanism_of_ours_is_known_for_one():
    assert all(is_local_randomizer(entry.from_epsilon(1.0, 4)) for entry in MECHANISMS.values())
    assert not is_local_randomizer(print)
