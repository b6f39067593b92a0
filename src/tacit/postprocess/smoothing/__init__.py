"""Smoothing over time: days borrow strength from their neighbours, weekdays, seasons and years.

``smooth`` revises the past with the whole series; ``filtered`` takes nothing from the future. The model is that of
:mod:`tacit.statespace`; here are the ways from estimate to estimate.
"""

from tacit.postprocess.smoothing.filtering import filtered
from tacit.postprocess.smoothing.steps import smooth
from tacit.statespace.settings import Hyperparameters

__all__ = ["Hyperparameters", "filtered", "smooth"]
