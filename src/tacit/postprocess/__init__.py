"""Steps from estimate to estimate. They see no raw data and therefore cost no privacy; each is named in the release.

They are loaded when they are first used: smoothing is more than the rest together.
"""

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.postprocess.clipping import clip as clip
    from tacit.postprocess.clipping import clip_and_rescale as clip_and_rescale
    from tacit.postprocess.clipping import norm_cut as norm_cut
    from tacit.postprocess.clipping import project as project
    from tacit.postprocess.smoothing import filtered as filtered
    from tacit.postprocess.smoothing import smooth as smooth

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.postprocess.clipping": "clip clip_and_rescale norm_cut project",
        "tacit.postprocess.smoothing": "filtered smooth",
    },
)
