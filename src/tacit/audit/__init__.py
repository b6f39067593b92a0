"""Audits: what can be found out about a mechanism by watching it, and attacks that show what a fault costs.

An audit plays a distinguishing game and gives a lower bound on epsilon that is wrong with a stated probability at most.
A claim below the bound is refuted. A claim that is not refuted is not proved: proofs are by enumeration of the channel
(:func:`tacit.audit.testing.check_channel`).

Start with :func:`audit_plan` for our own mechanisms, :func:`audit_randomizer` for any function from values to reports,
and :func:`audit_answers` for any function from counts to published answers.
"""

from tacit.audit.answers import (
    audit_answers,
    audit_many,
    audit_reconstruction,
    audit_repeats,
    averaged,
    is_redrawn,
    share_identified,
)
from tacit.audit.bounds import TradeOff, epsilon_of_guesses, lower_limit, upper_limit
from tacit.audit.choices import audit_bound_choice
from tacit.audit.claims import Audit, Claim, Verdict
from tacit.audit.correlated_reports import audit_memo, audit_repeated_reports, audit_shared_coins
from tacit.audit.curators import MeasuredNodes, audit_nodes
from tacit.audit.games import Contest, View, play_game
from tacit.audit.noise_faults import audit_dependence, audit_floating_point, is_reachable, noise_rank
from tacit.audit.plug_ins import Command
from tacit.audit.randomizers import audit_mechanism, audit_randomizer, audit_repeating_noise, audit_reports_of
from tacit.audit.reconstruction import (
    Reconstruction,
    noiseless_combinations,
    range_design,
    reconstruct_by_least_squares,
    reconstruct_exactly,
    reconstruct_through_dependence,
)
from tacit.audit.suites import (
    AUDITS,
    audit_answers_function,
    audit_counter,
    audit_local,
    audit_plan,
    audit_reports_function,
)

__all__ = [
    "AUDITS",
    "Audit",
    "Claim",
    "Command",
    "Contest",
    "MeasuredNodes",
    "Reconstruction",
    "TradeOff",
    "Verdict",
    "View",
    "audit_answers",
    "audit_answers_function",
    "audit_bound_choice",
    "audit_counter",
    "audit_dependence",
    "audit_floating_point",
    "audit_local",
    "audit_many",
    "audit_mechanism",
    "audit_memo",
    "audit_nodes",
    "audit_plan",
    "audit_randomizer",
    "audit_reconstruction",
    "audit_repeated_reports",
    "audit_repeating_noise",
    "audit_repeats",
    "audit_reports_function",
    "audit_reports_of",
    "audit_shared_coins",
    "averaged",
    "epsilon_of_guesses",
    "is_reachable",
    "is_redrawn",
    "lower_limit",
    "noise_rank",
    "noiseless_combinations",
    "play_game",
    "range_design",
    "reconstruct_by_least_squares",
    "reconstruct_exactly",
    "reconstruct_through_dependence",
    "share_identified",
    "upper_limit",
]
