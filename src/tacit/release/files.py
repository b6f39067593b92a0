"""Releases as Parquet files, which Tacit reads again; tables for other programs are in ``exports``.

The table is what any program reads. All that makes it a release (plan, statement, noise, provenance) is one JSON
document beside it in the same file, under the key ``tacit`` of the Parquet metadata. The statement stands there in
plain words too.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit._base.fields import number, numbers, pack_array, text, texts, whole
from tacit._base.reading import MOST_CELLS, MOST_REPORTS, check_regular, claim, parse_json, reading
from tacit._base.validation import check_share
from tacit.counts.estimate import Estimate
from tacit.counts.noise import Noise
from tacit.counts.provenance import Provenance
from tacit.domain import Domain
from tacit.errors import FormatError, Remedy
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee
from tacit.release.release import BLANKED, PUBLISHED, Release
from tacit.release.rules import NO_RULES, Rules
from tacit.release.signing import checked, public_key
from tacit.release.statement import PrivacyStatement
from tacit.release.versions import Version

FORMAT: Final = 5
"""5 since noise models use the words of the field; 4 and, without kinds of events, 3 since the statement says who may
rely on what; 2 since suppressed counts are removed and partly missing periods say so; 1 to 4 are still read."""
_FIELDS_BEFORE: Final = {
    "law": "distribution",
    "laws": "distributions",
    "deviations": "process_variance",
    "errors": "noise_variance",
    "basis": "regressors",
    "series": "state_variances",
    "coefficients": "coefficient_variances",
    "shocks": "shift_variance",
    "memory": "phi",
    "share_variances": "share_variance",
    "day_variances": "count_variance",
    "day_skews": "count_skew",
    "day_weights": "count_weights",
}
"""The names that fields of noise models had before the fifth format, and those of today."""
_KINDS_BEFORE: Final = {"linear image": "linear map", "unstated": "no stated noise"}
"""The same for kinds of noise models."""
_KEY: Final = b"tacit"
_MAGIC: Final = b"PAR1"
EXPORTED: Final = (".csv", ".xlsx")
"""Endings of tables for other programs, which Tacit does not read again."""
_LONGEST_HEAD: Final = 1 << 16  # bytes of a line of names that are looked at: thousands of columns
_VALUES: Final = ("unbiased", "refined")
_LABELS: Final = ("period", "place", "kind")
_NUMBERS: Final = (
    "unbiased",
    "standard_error",
    "lower",
    "upper",
    "refined",
    "reliable",
    "reports",
    "refined_lower",
    "refined_upper",
)
_STATUS: Final = "status"
_DAYS_MISSING: Final = "days_missing"
_COLUMNS: Final = (*_LABELS, *_NUMBERS, _STATUS, _DAYS_MISSING)
_FIRST_REFINEMENT: Final = "clip"
"""The refinement of releases whose files do not name it yet."""


def is_release(path: Path) -> bool:
    """Return whether a file begins as releases do; what else it holds is not looked at."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read(path: Path, *, signed_by: str | Path | None = None) -> Release:
    """Read by content: a renamed file is still read. A signature that does not hold is refused.

    Of a folder, the release of the publication in it is read.
    """
    if (path / PUBLISHED).exists():
        path = path / PUBLISHED
    expected = None if signed_by is None else public_key(signed_by)
    with reading(path, "a release", "Ask for it again.", missing=Remedy.MAKE_RELEASE):
        check_regular(path)
        if path.suffix in EXPORTED and not is_release(path):
            raise _not_a_release(path)
        content, signer = checked(path, expected)
        columns, about = _from_parquet(path if content is None else content)
        return replace(_release(columns, about), signed_by=signer)


def _not_a_release(path: Path) -> FormatError:
    """Return what a table is that is no release: an export of one, or rows of something else, such as events."""
    with path.open("rb") as file:
        head = file.readline(_LONGEST_HEAD).decode(errors="replace")
    if not head:
        return FormatError(f"{path} is empty, and no release.", remedy=Remedy.MAKE_PUBLICATION)
    columns = {name.strip('"\ufeff \r\n') for name in head.split(",")}
    if path.suffix != ".csv" or "period" in columns:  # tidy and wide tables have it
        return FormatError(
            "a table for spreadsheets and other programs lacks what answers need. Give the .parquet file of the "
            "release."
        )
    return FormatError(f"{path} is a table of rows, and no release.", remedy=Remedy.MAKE_PUBLICATION)


def _about(release: Release, columns: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    totals = release.unbiased.totals
    about = {
        "format": FORMAT,
        "kind": "release",
        "created_at": release.created_at,
        "level": release.level,
        "plan": release.plan.to_dict(with_rows=False) | {"fingerprint": release.plan.fingerprint},
        "domain": release.domain.to_dict(),
        "statement": release.statement.to_dict(),
        "provenance": release.unbiased.provenance.to_dict(),
        "totals": None if totals is None else totals.tolist(),
        "noise": {name: getattr(release, name).noise.to_dict() for name in _VALUES},
        "steps": {name: list(getattr(release, name).steps) for name in _VALUES},
        "refinement": release.refinement,
    }
    if release.version.number > 1:
        about["version"] = release.version.to_dict()
    if not release.rules.are_none:
        # a table leaves cells blank that the release still knows: periods without data, and what rules keep
        is_blank = release.blank()
        about["rules"] = release.rules.to_dict()
        about["withheld"] = {name: pack_array(getattr(release, name).values[is_blank]) for name in _VALUES}
    return about | {"checksum": _checksum(about, columns)}


def checksum_of(release: Release) -> str:
    """Return the checksum that a release's file has."""
    return str(_about(release, release.columns())["checksum"])


def _checksum(about: Mapping[str, Any], columns: Mapping[str, NDArray[Any]]) -> str:
    """Return SHA-256 over everything but itself: the document, and the table in its order."""
    content = {name: part for name, part in about.items() if name != "checksum"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode())
    for name in _LABELS:
        if name in columns:  # not every release has kinds
            digest.update("\n".join(columns[name].tolist()).encode())
    for name in _NUMBERS:
        if name in columns:  # not every release has a public number of reports
            numbers = np.ascontiguousarray(columns[name], "<f8")
            digest.update(np.where(np.isnan(numbers), np.nan, numbers).astype("<f8").tobytes())  # one kind of NaN
    if _STATUS in columns:
        digest.update("\n".join(columns[_STATUS].tolist()).encode())
    if _DAYS_MISSING in columns:
        digest.update(np.ascontiguousarray(columns[_DAYS_MISSING], "<f8").tobytes())
    return digest.hexdigest()


def _provenance(about: Mapping[str, Any], plan: Plan) -> Provenance:
    """Return the provenance of the numbers; files before the third format tell one sum of earlier prices."""
    found = Provenance.from_dict(about["provenance"])
    if about["format"] > 2 or not plan.is_central:
        return found
    prior = Guarantee.of_a_sum(Cost(epsilon=about["provenance"]["prior_epsilon"]), is_local=False)
    return replace(found, prior=prior)


def _stated_before(about: Mapping[str, Any], statement: PrivacyStatement) -> dict[str, Any]:
    """Return the statement of a file before the third format, whose one sum must be the provenance's."""
    stated = dict(about["statement"])
    if stated.pop("prior_epsilon") != about["provenance"]["prior_epsilon"]:
        raise FormatError("the release's statement does not follow from its plan. Do not trust it; ask for it again.")
    return stated | {"guarantee": statement.guarantee.to_dict(), "delta": statement.delta}


def _in_words_of_today(content: Any, about: Mapping[str, Any]) -> Any:
    """Return a noise model, with all in it, by the names of today; before the fifth format some were others."""
    if about["format"] > 4:
        return content
    if isinstance(content, list):
        return [_in_words_of_today(part, about) for part in content]
    if not isinstance(content, dict):
        return content
    renamed = {_FIELDS_BEFORE.get(name, name): _in_words_of_today(part, about) for name, part in content.items()}
    kind = renamed.get("kind")
    return renamed | {"kind": _KINDS_BEFORE[kind]} if isinstance(kind, str) and kind in _KINDS_BEFORE else renamed


def _check_format(about: Mapping[str, Any]) -> None:
    """Tell what is newer than this version from what is damaged, before anything else of it is read."""
    if about["kind"] != "release":
        raise ValueError("no release")
    if whole(about, "format", least=1) > FORMAT:
        raise FormatError(
            f"the release was written by a newer Tacit: its format is {about['format']}, and this version reads up to "
            f"{FORMAT}. Install a newer Tacit."
        )


def _release(columns: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> Release:
    domain = Domain.from_dict(about["domain"])
    # a column of kinds that someone added to a table is none of ours
    columns = _in_order({name: columns[name] for name in columns if name != "kind" or domain.kind}, domain)
    if about["checksum"] != _checksum(about, columns):
        raise FormatError("the release was changed or damaged: its checksum does not agree. Ask for it again.")
    # a release carries its table of places once, in its domain
    plan = Plan.from_dict(about["plan"], gazetteer=domain.place.gazetteer)
    provenance = _provenance(about, plan)
    steps = {name: texts(about["steps"], name) for name in _VALUES}
    version = Version.from_dict(about.get("version", {}))
    rules = Rules.from_dict(about["rules"]) if "rules" in about else NO_RULES
    statement = PrivacyStatement.of(
        plan,
        provenance,
        unbiased_steps=steps["unbiased"],
        refined_steps=steps["refined"],
        version=version,
        # the first format said nothing of rules in its statement
        rules=rules if about["format"] > 1 else NO_RULES,
    )
    stated = about["statement"] if about["format"] > 2 else _stated_before(about, statement)
    if statement != PrivacyStatement.from_dict(stated):
        raise FormatError("the release's statement does not follow from its plan. Do not trust it; ask for it again.")
    totals = None if about["totals"] is None else _counts(about["totals"], len(domain.grid))
    unbiased, refined = (
        Estimate(
            domain=domain,
            values=_whole(np.array(columns[name], np.float64), about.get("withheld"), name).reshape(domain.shape),
            noise=noise_from_dict(_in_words_of_today(about["noise"][name], about), domain),
            totals=totals,
            steps=steps[name],
            provenance=provenance,
        )
        for name in _VALUES
    )
    return Release(
        plan,
        unbiased,
        refined,
        statement,
        _level(about),
        text(about, "created_at"),
        text({"refinement": _FIRST_REFINEMENT} | dict(about), "refinement"),
        rules,
        version,
        str(about["checksum"]),
    )


def _level(about: Mapping[str, Any]) -> float:
    level = number(about, "level")
    check_share(level=level)
    return level


def _counts(content: Any, n_axes: int) -> NDArray[np.int64]:
    """Return public numbers of reports: whole numbers along every axis, not so many that they leave 64 bits."""
    rows = np.array(content)
    if rows.ndim != n_axes or rows.dtype.kind != "i" or rows.min() < 0 or rows.sum(dtype=np.float64) > MOST_REPORTS:
        raise ValueError("totals")
    return rows.astype(np.int64)


def _whole(values: NDArray[np.float64], withheld: Mapping[str, Any] | None, name: str) -> NDArray[np.float64]:
    """Return values with those that the table leaves blank."""
    if withheld is not None:
        values[np.isnan(values)] = numbers(withheld, name, finite=False)
    return values


def _in_order(columns: Mapping[str, NDArray[Any]], domain: Domain) -> dict[str, NDArray[Any]]:
    """Put the rows back in order by their labels: a table may have been sorted by another program."""
    if any(len(column) != domain.n_cells for column in columns.values()):
        raise FormatError("the release lacks rows or has some twice. Ask for it again.")
    axes = {"period": domain.time.labels(), "place": domain.place.cells}
    if domain.kind is not None:
        axes["kind"] = domain.kind.cells
    # as they were written, which most files are: then no label is looked up
    whole_grid = np.indices(domain.grid).reshape(len(domain.grid), -1)
    if all(
        np.array_equal(columns[name], np.array(cells, object)[own])
        for (name, cells), own in zip(axes.items(), whole_grid, strict=True)
    ):
        return dict(columns)
    numbers = []
    for name, cells in axes.items():
        number_of = {cell: number for number, cell in enumerate(cells)}
        numbers.append([number_of[label] for label in columns[name].tolist()])
    rows = np.ravel_multi_index(numbers, domain.grid)
    if np.bincount(rows, minlength=domain.n_cells).max() > 1:
        raise FormatError("the release lacks rows or has some twice. Ask for it again.")
    order = np.argsort(rows)
    return {name: column[order] for name, column in columns.items()}


def parquet_bytes(release: Release) -> bytes:
    """Return a release as a file that is complete in itself."""
    pa = require("pyarrow", extra="events")
    pq = require("pyarrow.parquet", extra="events")
    columns = release.columns()
    blanks = () if release.rules.are_none else (*BLANKED, "reports")
    table = pa.table({name: pa.array(column, from_pandas=name in blanks) for name, column in columns.items()})
    metadata = {
        _KEY: json.dumps(_about(release, columns), ensure_ascii=False).encode(),
        b"privacy": release.statement.text().encode(),
    }
    sink = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(metadata), sink, compression="zstd")
    return sink.getvalue()


def _from_parquet(given: Path | bytes) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    pa = require("pyarrow", extra="events")
    pq = require("pyarrow.parquet", extra="events")
    source = (lambda: given) if isinstance(given, Path) else (lambda: pa.BufferReader(given))
    found = pq.read_schema(source()).names
    texts_of_cells = [name for name in (*_LABELS, _STATUS) if name in found]
    # as dictionaries: one long text in every row would else be kept as often as there are rows
    with pq.ParquetFile(source(), read_dictionary=texts_of_cells) as file:
        about = parse_json((file.schema_arrow.metadata or {})[_KEY])
        _check_format(about)
        known = [name for name in _COLUMNS if name in found]
        # rows that all hold the same take no room in the file, whatever their number
        if file.metadata.num_rows > MOST_CELLS:
            raise FormatError(f"the release has more than {MOST_CELLS:,} rows. Ask for it again.")
        claim(sum(file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups)))
        table = file.read(known)
    for name in known:
        kind = table.schema.field(name).type
        if not (pa.types.is_dictionary(kind) if name in texts_of_cells else _is_number(pa, kind)):
            raise ValueError("a column of another type")
    return {name: np.concatenate([_values(pa, part) for part in table.column(name).chunks]) for name in known}, about


def _values(pa: Any, column: Any) -> NDArray[Any]:
    """Return a column as an array, NaN where it is blank. Arrow's own ``to_numpy`` loads pandas, which takes longer."""
    if pa.types.is_dictionary(column.type):
        if column.null_count:
            raise ValueError("a label is blank")
        labels: NDArray[Any] = np.array(column.dictionary.to_pylist(), object)
        return np.asarray(labels[_values(pa, column.indices)])
    present, content = column.buffers()
    is_bit = pa.types.is_boolean(column.type)
    values: NDArray[Any] = _bits(content) if is_bit else np.frombuffer(content, column.type.to_pandas_dtype())
    values = values[column.offset : column.offset + len(column)]
    if not column.null_count:
        return values
    is_present = _bits(present)[column.offset : column.offset + len(column)]
    return np.where(is_present, values, np.nan)


def _bits(content: Any) -> NDArray[np.bool_]:
    return np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little").astype(bool)


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def noise_from_dict(content: Mapping[str, Any], domain: Domain | None = None) -> Noise:
    """Read a noise model back from plain data; one that is not of this domain, where one is given, is refused."""
    try:
        module, _, name = NOISE_KINDS[content["kind"]].rpartition(".")
        read = getattr(import_module(module), name).from_dict
        noise: Noise = read(content, noise_from_dict) if content["kind"] in _OF_OTHERS else read(content)
        if domain is not None:
            layout = getattr(noise, "layout", None)
            if getattr(noise, "shape", domain.shape) != domain.shape or (layout and layout.sizes != domain.sizes):
                raise ValueError("shape")
        return noise
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError):
        raise FormatError("the noise model is damaged or newer than this version. Ask for the release again.") from None


NOISE_KINDS: Final = {
    "factorization": "tacit.counts.noise.factorization.FactorizationNoise",
    "filtered": "tacit.statespace.posterior_noise.FilteredNoise",
    "fused states": "tacit.statespace.smoothed_noise.FusedNoise",
    "joined": "tacit.counts.noise.joined.JoinedNoise",
    "oracle": "tacit.counts.noise.oracle.OracleNoise",
    "linear map": "tacit.counts.noise.model.LinearMap",
    "marginals": "tacit.counts.noise.marginals.MarginalNoise",
    "no stated noise": "tacit.counts.noise.model.NoStatedNoise",
    "sampled tables": "tacit.counts.noise.sampled.SampledNoise",
    "sampled tree": "tacit.counts.noise.sampled.SampledNoise",
    "state space": "tacit.statespace.smoothed_noise.SmoothedNoise",
    "strata": "tacit.statespace.posterior_noise.StrataNoise",
    "tree": "tacit.counts.noise.tree.TreeNoise",
}
"""The kinds of noise that a release may carry, by the name each has in a file, and their classes. Only those that a
release has are loaded. The set is closed."""
_OF_OTHERS: Final = ("joined", "linear map", "strata")  # made of noise of other kinds, which must be read too
