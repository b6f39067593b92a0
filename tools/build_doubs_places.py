"""Build the table of the towns of Doubs and their regions from the public list of French communes.

    python tools/build_doubs_places.py                  # fetches the package with npm
    python tools/build_doubs_places.py --package DIR    # an unpacked copy of it
    python tools/build_doubs_places.py --check          # fails if the table in the package differs

Source: ``@etalab/decoupage-administratif@0.3.0`` (communes, former communes and EPCI of 1 January 2019), Licence
Ouverte; see ``src/tacit/events/datasets/LICENCE-OUVERTE.md``. A region here is an EPCI, an intercommunal body. The 17
of the firefighter paper come in the paper's order; the eighteenth, of which only two communes lie in Doubs, is
not in the paper and its communes are marked as outside.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = "@etalab/decoupage-administratif@0.3.0"
TABLE = Path(__file__).parents[1] / "src" / "tacit" / "datasets" / "places" / "doubs.csv"
COLUMNS = ("town", "code", "alias_of", "region", "department", "population", "outside")
DEPARTMENT, DEPARTMENT_NAME = "25", "Doubs"

# The paper's regions by their SIREN number, in its order.
REGIONS = (
    "242500361",  # CA du Grand Besançon
    "200065647",  # CA Pays de Montbéliard Agglomération
    "242504488",  # CC Altitude 800
    "242500320",  # CC de Montbenoit
    "200068294",  # CC des Deux Vallées Vertes
    "200069565",  # CC des Lacs et Montagnes du Haut-Doubs
    "242504181",  # CC des Portes du Haut-Doubs
    "242504447",  # CC du Doubs Baumois
    "242500338",  # CC du Grand Pontarlier
    "247000722",  # CC du Pays d'Héricourt, seat in Haute-Saône
    "200023075",  # CC du Pays de Maîche
    "242504371",  # CC du Pays de Sancey-Belleherbe
    "242504496",  # CC du Plateau de Frasne et du Val de Drugeon (CFD)
    "242504355",  # CC du Plateau de Russey
    "242504116",  # CC du Val de Morteau
    "200041887",  # CC du Val Marnaysien, seat in Haute-Saône
    "200068070",  # CC Loue-Lison
)
OUTSIDE = "247000714"  # CC du Pays de Villersexel

# Names that communes bore within the years of the paper's data, 2006 to 2018, and lost when they merged with others
# or took their names in, keeping the code. The package lists only the name of 2019 (history: INSEE, Code officiel
# géographique).
RENAMED = {
    "25035": "Auxon-Dessus",  # Les Auxons
    "25147": "Chemaudin",  # Chemaudin et Vaux
    "25156": "Clerval",  # Pays-de-Clerval
    "25368": "Marchaux",  # Marchaux-Chaudefontaine
    "25424": "Nods",  # Les Premiers Sapins
    "25438": "Osselle",  # Osselle-Routelle
    "25460": "Pointvillers",  # Le Val
    "25463": "Pont-de-Roide",  # Pont-de-Roide-Vermondans
    "25529": "Sancey-le-Grand",  # Sancey
    "25558": "Tarcenay",  # Tarcenay-Foucherans
    "25575": "Vaire-Arcier",  # Vaire
}

Json = dict[str, Any]


def main() -> int:
    """Write the table, or compare it with what would be written."""
    parser = argparse.ArgumentParser(description="Build the table of towns and regions of Doubs.")
    parser.add_argument("--package", type=Path, help="folder of the unpacked npm package")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    asked = parser.parse_args()
    if asked.package is not None:
        text = build(asked.package)
    else:
        with tempfile.TemporaryDirectory() as folder:
            text = build(fetch(Path(folder)))
    if asked.check:
        same = TABLE.read_text(encoding="utf-8") == text
        print("the table is up to date" if same else "the table differs: run this without --check")
        return 0 if same else 1
    TABLE.write_text(text, encoding="utf-8")
    print(f"wrote {text.count(chr(10)) - 1} rows to {TABLE}")
    return 0


def fetch(folder: Path) -> Path:
    """Download and unpack the package with npm."""
    subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    return folder / "package"


def build(package: Path) -> str:
    """Return the table as CSV."""
    communes = json.loads((package / "data" / "communes.json").read_text(encoding="utf-8"))
    bodies = json.loads((package / "data" / "epci.json").read_text(encoding="utf-8"))
    table = io.StringIO()
    writer = csv.DictWriter(table, COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows([c for c in communes if c["departement"] == DEPARTMENT], bodies))
    return table.getvalue()


def rows(communes: list[Json], bodies: list[Json]) -> Iterator[Json]:
    """Yield the present communes region by region, then the former ones as aliases, each by code."""
    present = {c["code"]: c for c in communes if c["type"] == "commune-actuelle"}
    listed = {c["code"]: c for c in communes}
    by_siren = {body["code"]: body for body in bodies}
    placed: set[str] = set()
    for siren in (*REGIONS, OUTSIDE):
        members = sorted(m["code"] for m in by_siren[siren]["membres"] if m["code"] in present)
        placed.update(members)
        for code in members:
            yield {
                "town": present[code]["nom"],
                "code": code,
                "region": by_siren[siren]["nom"],
                "department": DEPARTMENT_NAME,
                "population": present[code]["population"],
                "outside": "yes" if siren == OUTSIDE else "",
            }
    if placed != present.keys():
        left = len(present.keys() - placed)
        raise SystemExit(f"{left} communes belong to none of the {len(REGIONS) + 1} regions")
    for code, former in sorted(listed.items()):
        if code not in present:
            yield {"town": former["nom"], "code": code, "alias_of": successor(former, listed)}
    for code, name in sorted(RENAMED.items()):
        yield {"town": name, "alias_of": code}


def successor(commune: Json, listed: dict[str, Json]) -> str:
    """Follow mergers until a present commune."""
    while commune["type"] != "commune-actuelle":
        commune = listed[commune.get("chefLieu") or commune["communeAbsorbante"]]
    code: str = commune["code"]
    return code


if __name__ == "__main__":
    sys.exit(main())
