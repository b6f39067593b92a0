"""The counter: counts in, bin by bin; running totals with noise out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import IntArray
from tacit._base.kernels import repeated
from tacit.counts.continual_noise import ContinualNoise, continual_noise_from_dict
from tacit.domain import Domain
from tacit.errors import DataError, FormatError, PlanMismatch, SettingError, TacitError
from tacit.mechanisms.continual.engines import VALUES_A_BLOCK, Engine, Memory, NodeDraws, engine_of
from tacit.mechanisms.continual.picker import pick
from tacit.privacy.cost import Cost
from tacit.privacy.epsilon import LARGEST_EPSILON
from tacit.privacy.guarantee import USUAL_DELTA, Guarantee, heads_from_dict, heads_to_dict
from tacit.privacy.spend import Spend
from tacit.privacy.unit import Unit


@dataclass(frozen=True)
class Stream:
    """The public side of a counter; it stands at the head of the published history.

    ``identity`` tells one counter from another: no two that draw different noise share it. ``prior`` is what other
    entries about the same events had promised when the counter was started. ``ledger_heads`` is the head of the ledger
    that paid.
    """

    noise_model: ContinualNoise
    domain: Domain
    unit: Unit
    identity: str
    is_simulation: bool = False
    prior: Guarantee = field(default_factory=Guarantee)
    ledger_heads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_fits(self.noise_model, self.domain, self.unit)

    @property
    def guarantee(self) -> Guarantee:
        """The promise of this counter and all other entries about the same events together."""
        own = Guarantee.of_release(self.noise_model.cost, self.unit, is_counter=True, asked=self.prior.asked)
        return self.prior + own

    @property
    def n_columns(self) -> int:
        """The number of running totals: one for each place, or for each kind in each place."""
        return self.domain.n_columns

    @property
    def n_bins(self) -> int:
        """The number of bins after which the counter ends."""
        return self.domain.time.n_bins or self.noise_model.horizon

    def to_dict(self) -> dict[str, Any]:
        return {
            "identity": self.identity,
            "law": self.noise_model.to_dict(),
            "domain": self.domain.to_dict(),
            "unit": self.unit.to_dict(),
            "is_simulation": self.is_simulation,
            "prior": self.prior.to_dict(),
        } | heads_to_dict(self.ledger_heads)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Stream:
        try:
            if not isinstance(content["is_simulation"], bool) or not isinstance(content["identity"], str):
                raise TypeError("label")
            return cls(
                noise_model=continual_noise_from_dict(content["law"]),
                domain=Domain.from_dict(content["domain"]),
                unit=Unit.from_dict(content["unit"]),
                identity=content["identity"],
                is_simulation=content["is_simulation"],
                prior=_prior(content["prior"]),
                ledger_heads=heads_from_dict(content),
            )
        except (KeyError, TypeError, ValueError, AttributeError, TacitError):
            raise FormatError("the description of the counter is damaged. Restore the file from a copy.") from None


def _prior(content: Mapping[str, Any]) -> Guarantee:
    """Read what other entries had promised; a counter of an earlier version tells one sum alone."""
    if "presence" in content:
        return Guarantee.from_dict(content)
    return Guarantee.of_a_sum(Cost.from_dict(content), is_local=False)


def identity_of(key: bytes, noise_model: ContinualNoise, domain: Domain) -> str:
    """Return a name made from the key and all that decides what is published; it tells nothing about the key."""
    content = json.dumps(
        [noise_model.to_dict(), domain.to_dict(with_gazetteer=False)], sort_keys=True, ensure_ascii=False
    )
    return hashlib.blake2b(content.encode(), digest_size=16, key=key, person=b"counter name").hexdigest()


Counts = int | Sequence[int] | NDArray[Any]
Rows = Sequence[Sequence[int]] | NDArray[Any]

LARGEST_COUNT: Final = 1_000_000_000
"""The most a bin of one column counts. Larger counts are cut to it, which one event changes by at most one; a counter
on the finest grid, 2^20, still takes two thousand bins of so many before its totals leave 64 bits."""
_LARGEST_TOTAL: Final = 1 << 61  # in units of the grid: two bits below the sign
_BINS_AT_ONCE: Final = 4096  # bounds the memory of a batch, whatever its length: doubled, twice the memory
_EVENT: Final = Unit("event")


@dataclass(frozen=True, slots=True, eq=False)
class CounterState:
    """A counter's state after some bins. **Guard it like the events**: it holds true sums, and noise that undoes
    the protection of what was published."""

    identity: str
    position: int
    memory: Memory = field(repr=False)


class Counter:
    """Publishes the running total of every column, a place or a kind in a place, after every bin.

    ``step`` and ``steps`` are functions: they take a state and give a new one, and nothing is drawn twice or changed
    behind the back. Noise follows from the key and the number of a node, so that the same counts after the same state
    give the same totals, also in another process.

    >>> from tacit.domain import PlaceAxis, TimeAxis
    >>> from tacit.privacy.cost import Cost
    >>> domain = Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.of(["North", "South"]))
    >>> counter = Counter.start(Spend.simulation(Cost.pure(1.0), seed=7), domain, horizon=365)
    >>> state, totals = counter.step(counter.begin(), [12, 5])
    >>> state.position, totals.shape, totals.dtype
    (1, (2,), dtype('int64'))
    """

    def __init__(self, stream: Stream, key: bytes) -> None:
        if identity_of(key, stream.noise_model, stream.domain) != stream.identity:
            raise PlanMismatch("the key is that of another counter. Use the state that belongs to this history.")
        self.stream: Final = stream
        self._key: Final = key
        self._engine: Final[Engine] = engine_of(stream.noise_model, NodeDraws(key, stream.n_columns))

    @classmethod
    def start(
        cls,
        spend: Spend,
        domain: Domain,
        *,
        horizon: int | None = None,
        reacts: bool = True,
        unit: Unit = _EVENT,
        noise_model: ContinualNoise | None = None,
        place: bytes = b"",
    ) -> Counter:
        """Return a new counter for what was spent. Its key is drawn from the spend's randomness.

        ``horizon`` is the number of bins if it is known; else the time axis' own, if that has an end. The noise model
        of least predicted error is picked unless one is given; ``reacts=False`` says that the stream does not react to
        what is published, which allows noise that is drawn ahead. ``place`` is the spend's ``input_digest``: the
        counter's file, where the spend is bound to one (:func:`tacit.mechanisms.continual.starting.place_of`).
        """
        horizon = domain.time.n_bins if horizon is None else horizon
        if noise_model is None:
            noise_model = pick(
                spend.cost, horizon, reacts=reacts, most=unit.sensitivity, most_per_cell=unit.most_per_cell
            )
        if noise_model.cost != spend.cost:
            raise SettingError(
                f"the noise model must cost what was spent, {spend.cost}; got one of {noise_model.cost}. Spend that."
            )
        if not spend.is_simulation and spend.unit != unit:
            raise SettingError(f"the spend must be for the unit {unit}; got one for the {spend.unit}. Spend for that.")
        check_startable(noise_model, domain, unit)
        key = spend.draw(spend.release, place).words(4).astype("<u8").tobytes()
        stream = Stream(
            noise_model,
            domain,
            unit,
            identity_of(key, noise_model, domain),
            spend.is_simulation,
            spend.prior,
            spend.ledger_heads,
        )
        return cls(stream, key)

    def __repr__(self) -> str:
        label = ", simulation" if self.stream.is_simulation else ""
        return (
            f"Counter({self.stream.identity}, {self.stream.n_columns} columns, {self.stream.noise_model.kind}{label})"
        )

    @property
    def key(self) -> bytes:
        """The key that all noise follows from: for the state file, and for nobody's eyes."""
        return self._key

    def begin(self) -> CounterState:
        """Return the state before the first bin."""
        return CounterState(self.stream.identity, 0, self._engine.start())

    def restored(self, position: int, memory: Memory) -> CounterState:
        """Return the state after ``position`` bins with a file's memory; refuse one that this counter cannot have.

        Arrays have the names and widths of the first memory; totals that still stand have a number, an end and a noise.
        """
        first = self._engine.start()
        fits = memory.keys() == first.keys() and all(
            part.ndim == first[name].ndim and part.shape[1:] == first[name].shape[1:] for name, part in memory.items()
        )
        if fits and "standing" in first:
            fits = len({len(memory[name]) for name in ("standing", "ends", "noise")}) == 1
            fits = fits and len(memory["ends"]) > 0 and bool((np.diff(memory["standing"]) > 0).all())
        if not fits or not 0 <= position <= self.stream.n_bins:
            raise FormatError("the memory of the counter is not one that it can have. Restore the file from a copy.")
        return CounterState(self.stream.identity, position, memory)

    def step(self, state: CounterState, counts: Counts) -> tuple[CounterState, IntArray]:
        """Count one bin: a count for each column, or a number where there is but one.

        Returns the state after it and the published totals of the columns, in units of 1/``noise_model.grid``.
        """
        row = np.asarray(counts)
        state, totals = self.steps(state, row.reshape(1, -1) if row.ndim < 2 else row[None])
        return state, totals[0]

    def steps(
        self, state: CounterState, counts: NDArray[Any] | Sequence[Sequence[int]]
    ) -> tuple[CounterState, IntArray]:
        """Count many bins at once, a row for each: the same totals as one by one, and much faster."""
        checked = self.check(state, counts)
        memory, published = state.memory, []
        with repeated(1 + checked.size // VALUES_A_BLOCK):  # blocks of noise to draw
            for first in range(0, len(checked), _BINS_AT_ONCE):
                some = checked[first : first + _BINS_AT_ONCE]
                memory, totals = self._engine.advance(memory, state.position + first, some)
                if np.abs(totals).max(initial=0) >= _LARGEST_TOTAL:
                    raise DataError("the counts add up to more than 64-bit numbers hold. Nothing was counted.")
                published.append(totals)
        if not published:
            return state, np.empty((0, self.stream.n_columns), np.int64)
        return CounterState(state.identity, state.position + len(checked), memory), np.concatenate(published)

    def check(self, state: CounterState, counts: Rows) -> IntArray:
        """Refuse counts that cannot be counted next, before anything is drawn. Says where, never what they are."""
        if state.identity != self.stream.identity:
            raise PlanMismatch("the state is that of another counter. Use the one that belongs to this counter.")
        try:
            rows = np.asarray(counts)
        except ValueError:  # rows of different lengths
            rows = np.empty(0)
        if rows.ndim != 2 or rows.shape[1] != self.stream.n_columns:
            raise DataError(
                f"every bin must have a count for each of {self.stream.n_columns} columns; got shape={rows.shape}. "
                "Nothing was counted."
            )
        if state.position + len(rows) > self.stream.n_bins:
            raise DataError(
                f"the counter ends after {self.stream.n_bins} bins; {state.position} are counted and {len(rows)} more "
                "were given. Nothing was counted. Start a new counter for the time after."
            )
        return _whole(rows, state.position)


def check_startable(noise_model: ContinualNoise, domain: Domain, unit: Unit) -> None:
    """Refuse what makes no counter, or one that gives the events away; to be asked before it is paid."""
    cost = noise_model.cost
    if cost.rho and cost.epsilon_at(USUAL_DELTA) > LARGEST_EPSILON:
        raise SettingError(
            f"rho must amount to an epsilon of at most {LARGEST_EPSILON:g} at delta {USUAL_DELTA:g}; got {cost}. "
            "Above that a count gives the events away. Spend less."
        )
    _check_fits(noise_model, domain, unit)


def _check_fits(noise_model: ContinualNoise, domain: Domain, unit: Unit) -> None:
    """Refuse a noise model, a domain and a unit that do not belong together."""
    if domain.time.n_bins is not None and domain.time.n_bins > noise_model.horizon:
        raise SettingError(
            f"horizon must be at least the {domain.time.n_bins} bins of the time axis; "
            f"got horizon={noise_model.horizon}. Count by a noise model of as many bins."
        )
    if getattr(noise_model, "most", unit.sensitivity) != unit.sensitivity:
        raise SettingError(
            f"the noise model must be for the {unit.sensitivity} counts of a {unit}; got another number. "
            "Make it with the unit's sensitivity."
        )
    if 0 < getattr(noise_model, "most_per_cell", 0) < unit.most_per_cell:
        raise SettingError(
            f"the noise model must be for the {unit.most_per_cell} counts of a {unit} in one cell; got fewer. "
            "Make it with the unit's most_per_cell."
        )
    # a person's events are bounded over bins too, by what was counted before; those of a user-day only within a bin
    if unit.name == "user-day" and "hour" in domain.time.step:
        raise SettingError(
            f"step must be a day or longer where user-days are protected; got step={domain.time.step}. "
            "A person's day would lie in several bins."
        )


def _whole(rows: NDArray[Any], position: int) -> IntArray:
    if rows.dtype.kind not in "iuf":
        try:
            rows = rows.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError("counts must be numbers; some are not. Nothing was counted.") from None
    with np.errstate(invalid="ignore"):
        bad = ~((rows >= 0) & (rows < np.inf) & (rows == np.floor(rows)))  # written so that NaN fails too
    if bad.any():
        bins, columns = np.nonzero(bad)
        raise DataError(
            f"counts must be whole numbers of 0 or more; {bad.sum()} of {bad.size} are not, the first in bin "
            f"{position + bins[0]}, column {columns[0]}. Nothing was counted."
        )
    counts: IntArray = np.minimum(rows, LARGEST_COUNT).astype(np.int64)
    return counts
