"""Starting a counter: it is paid for, its key drawn and written, and what an interruption left is completed.

To start a counter is to pay, draw its key, write it, and wipe the key from the ledger. A spend is bound to the file of
the one counter it pays for. An interrupted start therefore leaves one of three things:

* nothing but the spend: the same start in the same file takes it up with the same key, at no further cost; one in
  another file pays again;
* the state, and a key in the ledger that is not wiped: the state is the counter, and the key is wiped now;
* the state, without a whole history: its head is written now.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from tacit._base.files import check_writable
from tacit.counts.continual_noise import ContinualNoise
from tacit.domain import Domain
from tacit.errors import Remedy, SettingError
from tacit.mechanisms.continual.counter import Counter, Stream, check_startable
from tacit.mechanisms.continual.files import CounterFiles
from tacit.privacy.cost import Budget
from tacit.privacy.ledger import Spend, SpendEntry
from tacit.privacy.unit import Unit


def start_counter(
    files: CounterFiles,
    noise_model: ContinualNoise,
    domain: Domain,
    *,
    data_set: str,
    unit: Unit,
    budget: Budget | None = None,
    seed: int | None = None,
) -> tuple[Stream, Spend | None]:
    """Start a counter in its files, or complete what an interrupted start left there.

    Without a ledger it is a simulation with a ``seed``. Returns what everyone may know of it, and the spend unless that
    was finished before.
    """
    if (files.ledger is None) == (seed is None):
        raise SettingError("real noise must be recorded, and a simulation must not be. Give a ledger, or a seed.")
    release = release_name(noise_model, domain, unit)
    if is_left_behind(files, data_set, release):
        return files.complete(), None
    check_startable(noise_model, domain, unit)
    for path in (files.state_path, files.history_path):
        check_writable(path)
    place = place_of(files.state_path)
    if files.ledger is None:
        spend = Spend.simulation(noise_model.cost, seed=seed or 0)
    else:
        spend, _ = files.ledger.resume_or_spend(  # of a start in this very file; one in another file is paid again
            data_set=data_set,
            release=release,
            cost=noise_model.cost,
            days=None,
            budget=budget,
            unit=unit,
            input_digest=place,
            zone=domain.time.zone,
        )
    made = Counter.start(spend, domain, unit=unit, noise_model=noise_model, place=place)
    files.create(made, spend=spend)
    return made.stream, spend


def is_left_behind(files: CounterFiles, data_set: str, release: str) -> bool:
    """Return whether an interrupted start of this counter left its files; refuse files of anything else."""
    if files.state_path.exists():
        if not _is_interrupted(files, data_set, release):
            raise SettingError(f"{files.state_path} is a counter already.", remedy=Remedy.CHOOSE_STATE)
        return True
    if files.history_path.exists():
        raise SettingError(f"{files.history_path} exists already.", remedy=Remedy.CHOOSE_HISTORY)
    return False


def _is_interrupted(files: CounterFiles, data_set: str, release: str) -> bool:
    """Return whether a start of this very counter left the state: its key is not wiped, or its history not whole."""
    if files.stream().is_simulation:
        return files.ledger is None and not files.has_history
    entries = (
        []
        if files.ledger is None
        else [one for one in files.ledger.history() if isinstance(one, SpendEntry) and one.identifier == files.spend]
    )
    return any(
        (entry.data_set, entry.release) == (data_set, release) and not (entry.is_finished and files.has_history)
        for entry in entries
    )


def release_name(noise_model: ContinualNoise, domain: Domain, unit: Unit) -> str:
    """Return the text by which the ledger knows a counter: all that decides its numbers but the events."""
    content = json.dumps([noise_model.to_dict(), domain.to_dict(with_gazetteer=False), unit.to_dict()], sort_keys=True)
    return f"counter {hashlib.sha256(content.encode()).hexdigest()[:16]}"


def place_of(state: Path) -> bytes:
    """Return what a spend is bound to: the file of the one counter that it pays for."""
    return hashlib.sha256(str(state.resolve()).encode()).digest()
