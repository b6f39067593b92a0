"""Audits: what can be found out about a mechanism by watching it, and attacks that show what a fault costs.

An audit plays a distinguishing game and gives a lower bound on epsilon that is wrong with a stated probability at most.
A claim below the bound is refuted. A claim that is not refuted is not proved: proofs are by enumeration of the channel
(:func:`tacit.testing.check_channel`).
"""

from tacit.audit.averaging import averaged, is_redrawn, share_identified
from tacit.audit.bounds import epsilon_of_events, epsilon_of_guesses, lower_limit, upper_limit
from tacit.audit.reconstruction import (
    Reconstruction,
    noiseless_combinations,
    range_design,
    reconstruct_by_least_squares,
    reconstruct_exactly,
    reconstruct_through_dependence,
)

__all__ = [
    "Reconstruction",
    "averaged",
    "epsilon_of_events",
    "epsilon_of_guesses",
    "is_redrawn",
    "lower_limit",
    "noiseless_combinations",
    "range_design",
    "reconstruct_by_least_squares",
    "reconstruct_exactly",
    "reconstruct_through_dependence",
    "share_identified",
    "upper_limit",
]
