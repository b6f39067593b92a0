"""Steps from estimate to estimate. They see no raw data and therefore cost no privacy; each is named in the release."""

from tacit.postprocess.clipping import clip, clip_and_rescale, norm_cut
from tacit.postprocess.norm_sub import project
from tacit.postprocess.smoothing import filtered, smooth

__all__ = ["clip", "clip_and_rescale", "filtered", "norm_cut", "project", "smooth"]
