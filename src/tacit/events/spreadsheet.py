"""Spreadsheets (XLSX): one sheet, read row by row, whose first row holds the column names."""

from __future__ import annotations

import pyexpat
import warnings
import zipfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final

from tacit._base.extras import require
from tacit._base.reading import LARGEST_DOCUMENT, LARGEST_EXPANDED
from tacit.errors import SettingError, UnreadableFile
from tacit.events.mapping import ReadOptions
from tacit.events.sources import FIRST_ROW
from tacit.events.tables import TablePiece, runs

MOST_ROWS: Final = 1 << 20
"""Rows of a sheet, as the format has them: a damaged file may name a row beyond, and would be read for ever."""
MOST_COLUMNS: Final = 1 << 14
"""Columns of a sheet, as the format has them."""
_SAFE_EXPAT: Final = (2, 4, 1)  # from here on it refuses entities that expand a thousandfold
_AT_ONCE: Final = 1000  # rows; half or twice as many take the same time
_SHEETS: Final = "xl/worksheets/"


class SheetSource:
    """A sheet of a spreadsheet. Blank rows are no rows; cells beyond the named columns are not read."""

    can_reread = True
    first_row = FIRST_ROW
    has_public_names = False
    total: int | None = None

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.name = path.name
        self._path = path
        self._sheet = options.sheet
        self._batch_rows = options.batch_rows
        self._check_size()
        with closing(self._rows(MOST_COLUMNS)) as rows:
            names = ["" if name is None else str(name).strip() for name in next(rows, ())]
        while names and not names[-1]:
            names.pop()
        if not names:
            raise UnreadableFile(
                f"{self.name}: the first row of the sheet must hold the names of its columns. Add them."
            )
        self.names: Sequence[str] = tuple(names)

    def _check_size(self) -> None:
        """Refuse a file that cannot be held: a few bytes may stand for gigabytes. Unpacking ends at stated sizes."""
        if pyexpat.version_info < _SAFE_EXPAT:
            raise SettingError(f"{self.name} cannot be read safely by this Python, whose expat is old. Save it as CSV.")
        try:
            with zipfile.ZipFile(self._path) as archive:
                parts = archive.infolist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            raise self._damaged() from None
        others = [part.file_size for part in parts if not part.filename.startswith(_SHEETS)]
        if sum(part.file_size for part in parts) > LARGEST_EXPANDED or sum(others) > LARGEST_DOCUMENT:
            raise UnreadableFile(
                f"{self.name} unpacks to more than {LARGEST_EXPANDED >> 30} GiB, or its shared texts to more than "
                f"{LARGEST_DOCUMENT >> 20} MiB. Save the sheet as CSV."
            )

    def kind(self, position: int) -> Any | None:
        """Return None: every cell is of a kind of its own."""
        return None

    def pieces(self, positions: Sequence[int]) -> Iterator[TablePiece]:
        """Yield the sheet batch by batch."""
        pa, done = require("pyarrow", extra="events"), 0
        with closing(self._rows(len(self.names))) as rows:
            numbered = enumerate(islice(rows, 1, None))
            while batch := list(islice(numbered, self._batch_rows)):
                filled = [
                    [*(row[at] for at in positions), n] for n, row in batch if any(one is not None for one in row)
                ]
                for part in runs(filled):
                    *columns, records = zip(*part, strict=True)
                    row = pa.array(records).to_numpy() - done
                    done = int(records[-1]) + 1
                    yield TablePiece(tuple(map(pa.array, columns)), int(row[-1]) + 1, done, row)

    def _rows(self, width: int) -> Generator[tuple[Any, ...], None, None]:
        """Yield rows of so many values; a failure becomes a sentence, because its text may quote the file."""
        openpyxl = require("openpyxl", extra="spreadsheet")
        try:
            with self._path.open("rb") as file:
                with _quiet():
                    book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
                    rows = self._chosen(book).iter_rows(1, MOST_ROWS, 1, width, values_only=True)
                    some = list(islice(rows, _AT_ONCE))
                while some:
                    yield from some
                    with _quiet():
                        some = list(islice(rows, _AT_ONCE))
        except SettingError:
            raise
        except Exception:
            raise self._damaged() from None

    def _chosen(self, book: Any) -> Any:
        by_name = {sheet.title: sheet for sheet in book.worksheets}
        if self._sheet is None:
            return book.worksheets[0]
        if self._sheet not in by_name:
            raise SettingError(
                f"sheet must be the name of a sheet of {self.name}; got sheet={self._sheet}, which is none."
            )
        return by_name[self._sheet]

    def _damaged(self) -> UnreadableFile:
        return UnreadableFile(
            f"{self.name} is damaged, or no spreadsheet that can be read. Save it again as XLSX or CSV."
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep back what the parser says of dates beyond the calendar, and of parts that it does not read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def is_spreadsheet(path: Path) -> bool:
    """Return whether a ZIP archive is a spreadsheet in XLSX, by the parts that it lists."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
