"""Every frequency oracle beside multi-freq-ldpy, pure-LDP and OpenDP, on one core. Run: python benchmarks/oracles.py

The same work for all: from true cells to randomized reports, and where the row says so to estimated shares. Peers work
through fewer reports (their time is linear in them) and rates are compared; each is called as its documentation does,
once for each value, because none offers a call for many. Ours draws from the secure source. Words after the command
choose rows: python benchmarks/oracles.py GRR SS
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from measure import Timing, coin_bytes, per_second, pin_to_one_core, print_machine, print_table, ratio, side_by_side
from numpy.typing import NDArray

from tacit._base import kernels as _kernels
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.local.subset import MOST_RANKED_CELLS, SubsetSelection, coins_and_lanes
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.randomness import SecureRandomness

EPSILON = 1.0
MOST_STANDARD_ERRORS = 7.0  # 1024 cells: exceeded by chance once in a hundred million runs
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Work:
    """A number of reports, and what is done with them. What it returns, if anything, are estimated shares."""

    n_reports: int
    run: Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One line of the table: a work, ours and the peers', and what bounds it.

    ``seconds_at_best`` is what one report takes at the physical limit: its keystream, or its bytes from memory. Where
    ``distribution`` is given, our work returns shares, and they must lie close to those of ``cells``.
    """

    title: str
    target: float | None
    ours: Work
    peers: Mapping[str, Work]
    seconds_at_best: float
    others: Mapping[str, Work] = field(default_factory=dict)
    distribution: SupportDistribution | None = None
    cells: NDArray[np.int32] | None = None


def true_cells(n_cells: int, n: int) -> NDArray[np.int32]:
    """Cells as uneven as real regions: the smallest has a twentieth of the largest."""
    shares = np.geomspace(1, 0.05, n_cells)
    return np.random.default_rng(2018).choice(n_cells, size=n, p=shares / shares.sum()).astype(np.int32)


def randomized(randomizer: LocalRandomizer, cells: NDArray[np.int32]) -> Callable[[], object]:
    source = SecureRandomness()
    return lambda: randomizer.randomize(cells, randomness=source)


def estimated(randomizer: LocalRandomizer, cells: NDArray[np.int32]) -> Callable[[], Shares]:
    """Randomize and tally, as a station and a collector do: reports are packed, kept, checked and counted."""
    source, all_of_them = SecureRandomness(), np.array([len(cells)])
    p, q, n = float(randomizer.distribution.p), float(randomizer.distribution.q), len(cells)

    def work() -> Shares:
        reports = randomizer.randomize(cells, randomness=source)
        counts = randomizer.statistics(reports, all_of_them)[0]
        shares: Shares = (counts / n - q) / (p - q)
        return shares

    return work


def keystream_seconds(n_bytes: float) -> float:
    return n_bytes / _keystream_bytes_per_second()


_measured: list[float] = []


def _keystream_bytes_per_second() -> float:
    """The speed of the secure source in blocks of 1 MiB, measured once."""
    if not _measured:
        source, block = SecureRandomness(), np.empty(1 << 17, np.uint64)
        timing = side_by_side({"fill": lambda: [source.fill(block) for _ in range(50)]})["fill"]
        _measured.append(50 * block.nbytes / min(timing.seconds))
    return _measured[0]


def pure_ldp_works(client: Any, server: Any, cells: NDArray[np.int32], n_cells: int) -> Callable[[], object]:
    values = cells.tolist()

    def work() -> object:
        server.reset()
        server.aggregate_all([client.privatise(value) for value in values])
        return server.estimate_all(range(n_cells), suppress_warnings=True)

    return work


def opendp() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def unary_row(n_cells: int, optimized: bool, n_ours: int, n_peers: tuple[int, int, int], target: float) -> Row:
    from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
    from pure_ldp.frequency_oracles import UEClient, UEServer

    make = UnaryEncoding.optimized if optimized else UnaryEncoding.symmetric
    encoding = make(epsilon=EPSILON, n_cells=n_cells)
    cells = true_cells(n_cells, n_ours)
    n_multi, n_pure, n_opendp = n_peers
    values = cells[:n_multi].tolist()
    settings = {"use_oue": optimized, "index_mapper": lambda value: value}
    client, server = UEClient(EPSILON, n_cells, **settings), UEServer(EPSILON, n_cells, **settings)
    peers = {
        "multi-freq-ldpy": Work(
            n_multi,
            lambda: UE_Aggregator_MI([UE_Client(v, n_cells, EPSILON, optimized) for v in values], EPSILON, optimized),
        ),
        "pure-LDP": Work(n_pure, pure_ldp_works(client, server, cells[:n_pure], n_cells)),
    }
    others = {}
    if not optimized:
        dp, f = opendp(), 2 * float(encoding.q)
        space = dp.bitvector_domain(max_weight=1), dp.discrete_distance()
        bits = [np.packbits(np.arange(n_cells) == v, bitorder="little").tobytes() for v in cells[:n_opendp]]
        privatise = dp.m.make_randomized_response_bitvec(*space, f=f)
        debias = dp.m.debias_randomized_response_bitvec
        others["OpenDP"] = Work(n_opendp, lambda: debias([privatise(row) for row in bits], f))
    truth_bytes = coin_bytes(encoding.ones) if optimized else 0
    return Row(
        f"{'OUE' if optimized else 'SUE'} randomize + tally, k = {n_cells}",
        target,
        Work(n_ours, estimated(encoding, cells)),
        peers,
        keystream_seconds(n_cells * coin_bytes(encoding.zeros) + truth_bytes),
        others,
        encoding.distribution,
        cells,
    )


def response_row(n_cells: int) -> Row:
    from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
    from pure_ldp.frequency_oracles import DEClient, DEServer

    n_ours, n_peer, n_opendp = 10_000_000, 50_000, 500
    response = RandomizedResponse.from_epsilon(epsilon=EPSILON, n_cells=n_cells)
    cells = true_cells(n_cells, n_ours)
    values = cells[:n_peer].tolist()
    client, server = (kind(EPSILON, n_cells, index_mapper=lambda value: value) for kind in (DEClient, DEServer))
    privatise = opendp().m.make_randomized_response(list(range(n_cells)), prob=float(response.p))
    peers = {
        "multi-freq-ldpy": Work(
            n_peer,
            lambda: GRR_Aggregator_MI([GRR_Client(v, n_cells, EPSILON) for v in values], n_cells, EPSILON),
        ),
        "pure-LDP": Work(n_peer, pure_ldp_works(client, server, cells[:n_peer], n_cells)),
    }
    # OpenDP has no tally for it: its randomizing alone
    others = {"OpenDP": Work(n_opendp, lambda: [privatise(v) for v in values[:n_opendp]])}
    return Row(
        f"GRR randomize + tally, k = {n_cells}",
        200,
        Work(n_ours, estimated(response, cells)),
        peers,
        keystream_seconds(2 + coin_bytes(response.keep)),
        others,
        response.distribution,
        cells,
    )


def subset_row(n_cells: int, n_ours: int, n_peer: int, target: float | None) -> Row:
    from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

    selection = SubsetSelection.from_epsilon(epsilon=EPSILON, n_cells=n_cells)
    cells = true_cells(n_cells, n_ours)
    values = cells[:n_peer].tolist()
    return Row(
        f"SS randomize, k = {n_cells}",
        target,
        Work(n_ours, randomized(selection, cells)),
        {"multi-freq-ldpy": Work(n_peer, lambda: [SS_Client(v, n_cells, EPSILON) for v in values])},
        keystream_seconds(subset_bytes(selection)),
    )


def subset_bytes(selection: SubsetSelection) -> int:
    """What a report takes at least: a word for few cells; for many the coins of all places, a word and one round."""
    if selection.n_cells <= MOST_RANKED_CELLS:
        return 8
    digits, n_lanes = coins_and_lanes(selection.n_cells, selection.size)
    return 8 * (len(digits) * -(-selection.n_cells // 64) + 1) + 2 * n_lanes


def hadamard_row(n_cells: int) -> Row:
    from pure_ldp.frequency_oracles import HadamardResponseClient, HadamardResponseServer

    n_ours, n_peer = 10_000_000, 100_000
    response = HadamardResponse.from_epsilon(epsilon=EPSILON, n_cells=n_cells)
    cells = true_cells(n_cells, n_ours)
    server = HadamardResponseServer(EPSILON, n_cells, index_mapper=lambda value: value)
    client = HadamardResponseClient(EPSILON, n_cells, server.get_hash_funcs(), index_mapper=lambda value: value)
    column_bytes = 1 << (response.report_bytes - 1).bit_length()
    return Row(
        f"HR randomize + tally, k = {n_cells}",
        500,
        Work(n_ours, estimated(response, cells)),
        {"pure-LDP": Work(n_peer, pure_ldp_works(client, server, cells[:n_peer], n_cells))},
        keystream_seconds(column_bytes + coin_bytes(response.keep)),
        distribution=response.distribution,
        cells=cells,
    )


def hashing_row(n_cells: int, n_ours: int, n_peer: int, target: float) -> Row:
    """The tally alone, of stored reports: where local hashing takes its time."""
    from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
    from pure_ldp.frequency_oracles import LHClient, LHServer

    hashing = LocalHashing.from_epsilon(epsilon=EPSILON, n_cells=n_cells)
    cells = true_cells(n_cells, n_ours)
    reports, all_of_them = hashing.randomize(cells, randomness=SecureRandomness()), np.array([n_ours])
    p, q = float(hashing.p), float(hashing.q)
    values = cells[:n_peer].tolist()
    settings = {"use_olh": True, "index_mapper": lambda value: value}
    client, server = LHClient(EPSILON, n_cells, **settings), LHServer(EPSILON, n_cells, **settings)
    pure = [client.privatise(value) for value in values]
    multi = [LH_Client(value, n_cells, EPSILON) for value in values]

    def pure_tally() -> object:
        server.reset()
        server.aggregate_all(pure)
        return server.estimate_all(range(n_cells), suppress_warnings=True)

    return Row(
        f"OLH tally, k = {n_cells}",
        target,
        Work(n_ours, lambda: (hashing.statistics(reports, all_of_them)[0] / n_ours - q) / (p - q)),
        {
            "multi-freq-ldpy": Work(n_peer, lambda: LH_Aggregator_MI(multi, n_cells, EPSILON)),
            "pure-LDP": Work(n_peer, pure_tally),
        },
        copy_seconds(reports) / n_ours,
        distribution=hashing.distribution,
        cells=cells,
    )


def copy_seconds(reports: NDArray[np.uint8]) -> float:
    """What the memory takes to copy reports."""
    copy = np.empty_like(reports)
    return min(side_by_side({"copy": lambda: np.copyto(copy, reports)})["copy"].seconds)


ROWS: list[Callable[[], Row]] = [
    lambda: unary_row(17, False, 5_000_000, (20_000, 3_000, 300), 400),
    lambda: unary_row(17, True, 5_000_000, (20_000, 3_000, 0), 400),
    lambda: unary_row(1024, False, 100_000, (3_000, 1_000, 50), 100),
    lambda: unary_row(1024, True, 100_000, (3_000, 1_000, 0), 100),
    lambda: response_row(17),
    lambda: response_row(1024),
    lambda: subset_row(17, 2_000_000, 20_000, 25),
    lambda: subset_row(64, 500_000, 10_000, None),
    lambda: subset_row(256, 100_000, 5_000, None),
    lambda: subset_row(1024, 20_000, 2_000, None),
    lambda: hashing_row(17, 20_000_000, 2_000, 10_000),
    lambda: hashing_row(1024, 20_000_000, 50, 100_000),
    lambda: hadamard_row(17),
    lambda: hadamard_row(1024),
]


def main() -> None:
    pin_to_one_core()
    print_machine("tacit", "multi-freq-ldpy", "pure-ldp", "opendp", "numpy", "numba", "cryptography")
    _kernels.WORTH_LOADING = 0  # compiled kernels alone  # type: ignore[misc]
    print(f"keystream {_keystream_bytes_per_second() / 1e9:.1f} GB/s, epsilon {EPSILON:g}\n")
    lines = []
    for make in ROWS:
        row = make()
        if len(sys.argv) == 1 or any(word.lower() in row.title.lower() for word in sys.argv[1:]):
            lines.append(line_of(row))
            print("  ".join(lines[-1]), flush=True)
    print()
    print_table(
        ["work", "tacit", "faster peer", "its rate", "tacit is × faster", "target", "× OpenDP", "share of limit"], lines
    )


def line_of(row: Row) -> list[str]:
    works = {"tacit": row.ours, **row.peers, **row.others}
    timings = side_by_side({name: work.run for name, work in works.items()})
    check_shares(row, timings["tacit"])

    def times(name: str) -> float:
        n_slow, n_fast = works[name].n_reports, row.ours.n_reports
        return ratio(timings[name], timings["tacit"], work_of_slow=n_slow, work_of_fast=n_fast)

    best = min(row.peers, key=times)
    seconds = timings["tacit"].median / row.ours.n_reports
    target = "" if row.target is None else f"{row.target:,.0f} {'reached' if times(best) >= row.target else 'MISSED'}"
    return [
        row.title,
        per_second(row.ours.n_reports, timings["tacit"].median),
        best,
        per_second(works[best].n_reports, timings[best].median),
        f"{times(best):,.0f}",
        target,
        f"{times('OpenDP'):,.0f}" if "OpenDP" in row.others else "",
        f"{row.seconds_at_best / seconds:.0%}",
    ]


def check_shares(row: Row, timing: Timing) -> None:
    """Stop where our shares lie farther from the truth than chance explains."""
    if row.distribution is None or row.cells is None:
        return
    p, q, n = float(row.distribution.p), float(row.distribution.q), len(row.cells)
    truth = np.bincount(row.cells, minlength=row.distribution.n_cells) / n
    errors = np.sqrt((q * (1 - q) + truth * (p * (1 - p) - q * (1 - q))) / n) / (p - q)
    worst = float(np.abs((timing.result - truth) / errors).max())
    assert worst < MOST_STANDARD_ERRORS, (row.title, worst)


if __name__ == "__main__":
    main()
