"""Releases as pages: one self-contained HTML file, readable offline, on paper and without a mouse."""

from tacit.pages.page import make_page, make_statement_page

__all__ = ["make_page", "make_statement_page"]
