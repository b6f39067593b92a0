"""Smoothing over time: days borrow strength from their neighbours, weekdays, seasons and years.

``smooth`` revises the past with the whole series; ``filtered`` takes nothing from the future. They are made of:
``measured`` (what is known of the counts and their noise), ``seasons`` (weekdays and the year as regressors),
``shares`` (where shares are about), ``model`` (how much they vary), ``fitting`` (finding that), ``steps`` and
``filtering`` (the ways from estimate to estimate).
"""

from tacit.postprocess.smoothing.filtering import filtered
from tacit.postprocess.smoothing.steps import smooth
from tacit.statespace.model import Variability

__all__ = ["Variability", "filtered", "smooth"]
