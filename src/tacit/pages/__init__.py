"""Releases as pages: one self-contained HTML file, readable offline, on paper and without a mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.pages.page import make_page as make_page
    from tacit.pages.page import make_statement_page as make_statement_page

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.pages.page": "make_page make_statement_page",
    },
)
