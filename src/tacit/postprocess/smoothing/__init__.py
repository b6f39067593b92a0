"""Smoothing over time: days borrow strength from their neighbours, weekdays, seasons and years.

``smooth`` revises the past with the whole series. It is made of: ``measured`` (what is known of the counts and their
noise), ``seasons`` (weekdays and the year as regressors), ``shares`` (where shares are about), ``model`` (how much they
vary), ``fitting`` (finding that), ``steps`` (the way from estimate to estimate).
"""

from tacit.postprocess.smoothing.model import Variability
from tacit.postprocess.smoothing.steps import smooth

__all__ = ["Variability", "smooth"]
