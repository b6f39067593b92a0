"""The shared test vectors are those of this code, and another language can follow them with what they list."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from tacit.audit.testing import ListedWords
from tacit.collection.wire import MessageFormat
from tacit.counts.provenance import Provenance
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.plan import Plan
from tacit.randomness.bernoulli import COIN, bernoulli_bits

ROOT = Path(__file__).parents[3]
RENEWAL = "write them again with: python tools/make_test_vectors.py"


def tool():
    spec = importlib.util.spec_from_file_location("make_test_vectors", ROOT / "tools" / "make_test_vectors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(name):
    path = ROOT / "tests" / "vectors" / f"{name.replace(' ', '-')}.json"
    assert path.exists(), f"there are no vectors {path.name}; {RENEWAL}"
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["format"] == 1
    return content["vectors"]


def words_of(vector):
    return ListedWords([int(word, 16) for word in vector["words"]])


def thresholds_of(vector):
    return {name: int(threshold, 16) for name, threshold in vector["thresholds"].items()}


def test_the_vectors_are_those_of_this_code():
    for name, text in tool().vectors().items():
        path = ROOT / "tests" / "vectors" / name
        assert path.exists(), f"there are no vectors {name}; {RENEWAL}"
        assert path.read_text(encoding="utf-8") == text, f"{name} differs; if the bytes may change, {RENEWAL}"


@pytest.mark.parametrize("vector", listed("plan"))
def test_a_plans_fingerprint_follows_from_its_canonical_bytes(vector):
    assert hashlib.sha256(vector["canonical"].encode()).hexdigest()[:32] == vector["fingerprint"]
    assert Plan.from_dict(vector["plan"]).canonical_bytes().decode() == vector["canonical"]


def coins_by_hand(n_coins, threshold, next_word, rounds=(2, 3, 8)):
    """Coins as the order of words says, one at a time and in plain Python."""
    if threshold in (0, COIN):
        return "01"[threshold > 0] * n_coins
    if n_coins <= 1024 or not rounds:
        return "".join("01"[next_word() < threshold] for _ in range(n_coins))
    top, rest = divmod(threshold << rounds[0], COIN)
    digits = f"{top:0{rounds[0]}b}" if rest else f"{top:0{rounds[0]}b}".rstrip("0")
    n_words = -(-n_coins // 64)
    numbers = [[next_word() for _ in range(n_words)] for _ in digits]
    coins = []
    for i in range(n_coins):
        drawn = "".join(str(row[i // 64] >> i % 64 & 1) for row in numbers)
        coins.append("?" if drawn == digits else "1" if drawn < digits else "0")
    others = iter(coins_by_hand(coins.count("?"), rest, next_word, rounds[1:]))
    return "".join(next(others) if coin == "?" else coin for coin in coins)


@pytest.mark.parametrize("vector", listed("coins"))
def test_coins_follow_from_their_words_by_hand_and_here(vector):
    threshold, n_coins = int(vector["threshold"], 16), len(vector["coins"])
    source = words_of(vector)
    assert coins_by_hand(n_coins, threshold, lambda: int(source.words(1)[0])) == vector["coins"]
    assert source.n_left == 0
    source = words_of(vector)
    heads = bernoulli_bits(n_coins, threshold, source)
    assert "".join(str(int(heads[i // 64]) >> i % 64 & 1) for i in range(n_coins)) == vector["coins"]
    assert source.n_left == 0


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_follow_from_the_listed_words(name):
    vectors = listed(f"reports-{name}")
    assert vectors
    for vector in vectors:
        randomizer = MECHANISMS[name].from_thresholds(thresholds_of(vector), vector["n_cells"])
        source = words_of(vector)
        rows = randomizer.randomize(np.array(vector["cells"]), randomness=source)
        assert [row.tobytes().hex() for row in rows] == vector["reports"]
        assert source.n_left == 0
        assert randomizer.epsilon == vector["epsilon"]
        assert randomizer.statistics(rows, np.array([len(rows)]))[0].tolist() == vector["statistics"]


@pytest.mark.parametrize("name", [name for name in MECHANISMS if "unary" in name])
def test_unary_reports_follow_by_hand(name):
    for vector in listed(f"reports-{name}"):
        k, cells, thresholds = vector["n_cells"], vector["cells"], thresholds_of(vector)
        source = words_of(vector)

        def next_word(source=source):
            return int(source.words(1)[0])

        bits = [int(bit) for bit in coins_by_hand(k * len(cells), thresholds["zeros"], next_word)]
        is_symmetric = thresholds["ones"] + thresholds["zeros"] == COIN
        truth = "" if is_symmetric else coins_by_hand(len(cells), thresholds["ones"], next_word)
        for row, cell in enumerate(cells):
            at = row * k + cell
            bits[at] = 1 - bits[at] if is_symmetric else int(truth[row])
        numbers = [sum(bits[row * k + j] << j for j in range(k)) for row in range(len(cells))]
        assert [number.to_bytes(-(-k // 8), "little").hex() for number in numbers] == vector["reports"]
        assert source.n_left == 0


@pytest.mark.parametrize("vector", listed("message"), ids=lambda v: f"{v['mechanism']}-{len(v['bins'])}")
def test_messages_are_packed_and_read_as_listed(vector):
    form = MessageFormat.of(plan_for(tool().MESSAGES, epsilon=2.0, mechanism=vector["mechanism"]))
    assert (form.plan_id, form.report_bytes, form.n_public) == tuple(
        vector[name] for name in ("plan", "report_bytes", "n_public")
    )
    label = Provenance.of_reports(vector["plan"], vector["is_simulation"], vector["prior_epsilon"])
    rows = np.frombuffer(bytes.fromhex("".join(vector["reports"])), np.uint8).reshape(-1, vector["report_bytes"])
    message = bytes.fromhex(vector["message"])
    assert form.encode(np.array(vector["bins"], np.int64), rows, label, id=bytes.fromhex(vector["id"])) == message
    batch = form.parse(message)
    assert (batch.id.hex(), batch.provenance) == (vector["id"], label)
    pairs = sorted(zip(vector["bins"], (row[::-1].tobytes() for row in rows), strict=True))
    assert np.repeat(batch.bins, batch.run_lengths).tolist() == [bin for bin, _ in pairs]
    assert [row[::-1].tobytes() for row in batch.reports] == [backwards for _, backwards in pairs]


def numbered(event, sizes, axes):
    """The number of an event along some of its three coordinates, the last running fastest, in plain Python."""
    number = 0
    for axis in axes:
        number = number * sizes[axis] + event[axis]
    return number


@pytest.mark.parametrize(
    "vector",
    listed("message-kinds"),
    ids=lambda v: f"{v['plan']['mechanism']['name']}-{'-'.join(v['plan']['privacy']['private'])}",
)
def test_messages_of_events_with_kinds_follow_from_what_is_listed(vector):
    plan = Plan.from_dict(vector["plan"])
    domain = vector["plan"]["domain"]
    sizes = (domain["time"]["n_bins"], len(domain["place"]["cells"]), len(domain["kind"]["cells"]))
    is_private = [axis in vector["plan"]["privacy"]["private"] for axis in ("time", "place", "kind")]
    private, public = ([axis for axis in range(3) if is_private[axis] is hidden] for hidden in (True, False))
    assert [numbered(event, sizes, public) for event in vector["events"]] == vector["bins"]
    assert [numbered(event, sizes, private) for event in vector["events"]] == vector["cells"]
    source = words_of(vector)
    rows = mechanism_of(plan).randomize(np.array(vector["cells"]), randomness=source)
    assert source.n_left == 0
    assert [row.tobytes().hex() for row in rows] == vector["reports"]
    label = Provenance.of_reports(plan.fingerprint, False, 0.0)
    message = MessageFormat.of(plan).encode(np.array(vector["bins"]), rows, label, id=bytes.fromhex(vector["id"]))
    assert message.hex() == vector["message"]


def test_messages_with_kinds_are_listed_for_every_mechanism_and_every_private_coordinate():
    found = [(v["plan"]["mechanism"]["name"], tuple(v["plan"]["privacy"]["private"])) for v in listed("message-kinds")]
    assert set(found) == {(name, private) for name in MECHANISMS for private in tool().PRIVATE}
    tables = [v["plan"]["mechanism"]["thresholds"] for v in listed("message-kinds") if "sampled" in str(v["plan"])]
    assert max(sum(name.endswith("chance") for name in thresholds) for thresholds in tables) > 1
