"""What files of earlier formats held, made of what today's hold."""

from __future__ import annotations

from typing import Any


def as_before_the_third_format(about: dict[str, Any]) -> dict[str, Any]:
    """The document of a release whose events nothing else was made of, as the second format had it."""
    statement = {name: part for name, part in about["statement"].items() if name != "guarantee"}
    label = about["provenance"]
    return about | {
        "statement": statement | {"prior_epsilon": 0.0},
        "provenance": {"plan": label["plan"], "is_simulation": label["is_simulation"], "prior_epsilon": 0.0},
    }
