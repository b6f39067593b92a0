"""What the commands of a counter say."""

from __future__ import annotations

from tacit._base.rounding import percent, whole
from tacit.cli import console
from tacit.domain import Box
from tacit.mechanisms.continual import Candidate, CounterFiles, History, Stream
from tacit.privacy.spend import Spend


def periods(stream: Stream, first: int, stop: int) -> str:
    label = stream.domain.time.label
    named = label(first) if stop == first + 1 else f"{label(first)} to {label(stop - 1)}"
    return f"{named} ({console.counted(stop - first, 'period')})"


def say_answer(history: History, box: Box, level: float, when: str) -> None:
    found = history.answer_box(box, level=level)
    if found.is_simulation:
        console.warn("SIMULATION: this counter was made with a known seed.")
    console.say_estimate(found.value, found.standard_error, when and f" {when}")
    console.say(
        f"{percent(level)} interval: {whole(found.lower)} to {whole(found.upper)} "
        f"({console.counted(len(box.time), 'period')}, {console.counted(len(box.places), 'place')})"
    )


def say_started(stream: Stream, files: CounterFiles, spend: Spend | None) -> None:
    console.say(f"Wrote {files.state_path}: the counter. It holds true sums: guard it like the events.")
    console.say(f"Wrote {files.history_path}: the history, for everyone.")
    console.say(f"All that is ever published costs {stream.noise_model.cost} per {stream.unit}.")
    if stream.is_simulation:
        console.warn("SIMULATION: the seed undoes the noise. This counter protects nobody; do not publish it.")
    else:
        console.say_promises(stream.guarantee.sentences(), is_alone=stream.prior.is_of_nothing)
    if spend is not None and spend.what_remains:
        console.say(f"What remains of the budget of {spend.data_set}: {spend.what_remains}.")
    if not stream.noise_model.is_causal:
        console.warn(
            "The noise is drawn ahead: this protects events only if they do not react to what is published. People "
            "who look at the counts and stay away are such a reaction."
        )


def say_noise_models(found: list[Candidate], horizon: int | None) -> None:
    """How much the running total of one place errs, by the noise model that was picked and by the others."""
    until = "the first 2,048 periods" if horizon is None else console.counted(horizon, "period")
    console.table(
        ["Mechanism", "Noise", "Error of a total, on average", "At most"],
        [
            [
                one.noise_model.kind,
                "Gaussian" if one.noise_model.cost.rho else "Laplace",
                whole(one.mean**0.5),
                whole(one.largest**0.5),
            ]
            for one in found
        ],
        left=2,
        title=f"Predicted over {until}; the first was picked",
    )
