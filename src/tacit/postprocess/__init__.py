"""Steps from estimate to estimate. They see no raw data and therefore cost no privacy; each is named in the release.

They are loaded when they are first used: smoothing is more than the rest together.
"""

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.postprocess.clipping import clip, clip_and_rescale, norm_cut, project
    from tacit.postprocess.smoothing import filtered, smooth

__all__ = ["clip", "clip_and_rescale", "filtered", "norm_cut", "project", "smooth"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "clip": "tacit.postprocess.clipping",
        "clip_and_rescale": "tacit.postprocess.clipping",
        "filtered": "tacit.postprocess.smoothing",
        "norm_cut": "tacit.postprocess.clipping",
        "project": "tacit.postprocess.clipping",
        "smooth": "tacit.postprocess.smoothing",
    },
)
