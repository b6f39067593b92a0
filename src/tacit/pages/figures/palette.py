"""One look for all figures: ink on paper, one accent. Whatever colour says, shape or dash says too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

_FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a figure."""

    paper: str
    ink: str
    muted: str
    rule: str
    accent: str
    band: str

    def config(self) -> dict[str, Any]:
        """The Vega-Lite configuration of every chart."""
        return {
            "background": self.paper,
            "font": _FONT,
            "view": {"stroke": None},
            "axis": {
                "domainColor": self.muted,
                "tickColor": self.muted,
                "gridColor": self.rule,
                "labelColor": self.ink,
                "titleColor": self.muted,
                "labelFontSize": 12,
                "titleFontSize": 12,
                "titleFontWeight": "normal",
                "labelPadding": 5,
                "tickSize": 4,
            },
            "axisX": {"grid": False},
            "axisY": {"domain": False, "ticks": False},
            "text": {"color": self.ink, "fontSize": 12},
        }


ON_PAPER: Final = Palette(
    paper="#ffffff", ink="#1b2326", muted="#5b666b", rule="#dfe4e6", accent="#0f5b66", band="#d3e5e7"
)

# names of the page's style, so that dark screens and print recolour charts without redrawing them
ON_PAGE: Final = Palette(
    paper="var(--paper)",
    ink="var(--ink)",
    muted="var(--muted)",
    rule="var(--rule)",
    accent="var(--accent)",
    band="var(--band)",
)
