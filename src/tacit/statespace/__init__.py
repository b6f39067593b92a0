r"""One time-series model of counts observed through noise; smoothing and forecasting are two uses of it.

**Observations.** In bin t place r has the realized count :math:`c_{tr}`. It is observed as :math:`y_{tr} = c_{tr} +
e_{tr}`, with mechanism noise of known variance v. The exposure :math:`N_t` is the public total of the bin, or 1 where
none is public. A curator's tree observes sums of successive counts too (``counts.series``, ``state_space``).

**Model.** A count is chance around a share (or rate) s, which is a random-walk level, an AR(1) component, and
calendar regressors x:

.. math::
   c_{tr} &= N_t s_{tr} + d_{tr}, & \operatorname{Var} d &= N_t s \{\kappa + N_t (\omega + \omega_x b_t^2)\}, \\
   s_{tr} &= \ell_{tr} + a_{tr} + x_t^\top \beta_r, & \beta_r &\sim N(0, m_r^2 \sigma_\beta^2), \\
   \ell_{tr} &= \ell_{t-1,r} + \eta_{tr}, & \operatorname{Var} \eta &= m_r^2 \sigma_\ell^2 \Delta + w_{tr}, \\
   a_{tr} &= \phi a_{t-1,r} + \alpha_{tr}, & \operatorname{Var} a &= m_r^2 \sigma_a^2, \quad \phi = e^{-\Delta / \tau}.

Here m is the long-run share, :math:`\Delta` the length of a bin (in years beside :math:`\sigma_\ell`, in days beside
:math:`\tau`), b the excess of the bin's public total (``model.total_excess``) and w the variance of level shifts. Where
no total is public, N is 1 but for the one in the braces: that is the rate s, so that :math:`\operatorname{Var} d = s
\kappa + s^2 \omega`. The hyperparameters are :math:`\sigma_\ell, \sigma_a, \tau, \sigma_\beta` (of weekdays and of
seasons), the overdispersion :math:`\omega`, that of excesses :math:`\omega_x`, and :math:`\kappa`, 1 for Poisson counts
and less for counts by timetable (``settings.Hyperparameters``). They are the same for all places.

**Size prior.** What places say of one another's long-run shares m (``size_prior``): a mixture of log-logistic and
Weibull distributions, weighed by the other places. The first level :math:`\ell_1` has the normal prior that, together
with the counts, gives mean and variance of the posterior of m.

**Kinds.** Where events have kinds, a column is a place and a kind. Columns of one kind have a size prior of their own,
and an error in common, because only their own counts say how large the kind is. Columns that have public totals of
their own are strata, smoothed apart (``posterior_noise.StrataNoise``).

**Filter, smoother, likelihood** (``state_space``, ``passes``). Given the hyperparameters all is normal. One pass
forward filters counts and regressors together; the innovations give :math:`\beta` by least squares, and the likelihood.
One pass backward gives the posterior means, the variances of many questions, and score and information of a level
shift; the variance of one question needs the pass forward alone.

**Fit** (``model.fitted``). Hyperparameters by penalized likelihood, averaged where noise hides a variance; level shifts
one after another, where they are more likely than none.

**Posterior.** Places add up to the public total: multinomial counts are Poisson counts given their sum. The noise
models say variances, skewness and tails of any sum of smoothed counts (``smoothed_noise``, of trees too;
``posterior_noise`` where nothing is taken from the future). A forecast is the filtered state moved on (``shares``,
``totals``, ``passes``). In forecasts each place has a weight as its state; a share is the weight divided by the sum of
all weights. The total T has its own level, AR(1) component and regressors in the logarithm of its rate :math:`\mu`,
with :math:`\operatorname{Var} T = \mu + \omega \mu^2 + v`.

All numeric settings stand in ``settings``. Compiled passes are in ``tacit._base.kernels.series`` and ``filters``.

Reference: Harvey1990; Durbin2012; DeJong1998; Efron1973.
"""

from tacit._base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {})
