"use strict";
// The noise of smoothed counts: the posterior moments of a box under the time-series model of statespace/state_space.py
// and smoothed_noise.py, found by one pass of its filter over each place, and limits as in counts/noise/quantiles.py.
(() => {
  const { noises, interpolated } = window.tacit;

  // Limits of a whole number of which the mean and the first cumulants are known

  function limitsOf(settings, centre, variance, third, fourth, level, z) {
    return variance > 0 && variance < settings.small_variance
      ? ofFew(settings, centre, variance, third, level)
      : ofMany(settings, centre, variance, third, fourth, z);
  }

  function ofMany(settings, centre, variance, third, fourth, z) {
    if (!(variance > 0)) return [centre, centre];
    const sd = Math.sqrt(variance + 1 / 12);
    const skewness = Math.min(Math.max(third / sd ** 3, -settings.most_skewed), settings.most_skewed);
    const peaked = Math.min(Math.max(fourth / sd ** 4 - 1.5 * skewness ** 2, 0), settings.most_peaked);
    const tails = ((z ** 3 - 3 * z) / 24) * peaked;
    const at = Math.abs(skewness) / settings.most_skewed;
    const [lower, upper] = [interpolated(settings.lower, at), interpolated(settings.upper, at)];
    const [low, high] = skewness < 0 ? [-upper, -lower] : [lower, upper];
    return [centre + (low - tails) * sd, centre + (high + tails) * sd];
  }

  function ofFew(settings, centre, variance, third, level) {
    const isObserved = variance < settings.mostly_observed * centre;
    const [first, chances] = isObserved
      ? around(settings, centre, variance, third)
      : [0, fromZero(settings, centre, variance)];
    let sum = 0;
    const below = chances.map((chance, row) => (sum += first + row >= 0 ? chance : 0)).map((one, row, all) => one / all[all.length - 1]);
    return [-1, 1].map((side) => {
      const share = (1 + side * level) / 2;
      const row = Math.max(below.findIndex((one) => one >= share), 0);
      const before = row > 0 ? below[row - 1] : 0;
      return first + row - 0.5 + (share - before) / (below[row] - before);
    });
  }

  function fromZero(settings, centre, variance) {
    const mean = Math.max(centre, variance / settings.most_mixed), rest = mean / variance;
    const isPoisson = Math.abs(1 - rest) < 1e-6, a = isPoisson ? 1e-6 : 1 - rest, whole = mean * rest;
    const chances = [isPoisson ? Math.exp(-mean) : (1 - a) ** (whole / a)];
    for (let k = 1; k < 2 * settings.beside + 1; k += 1) chances.push(chances[k - 1] * Math.max(a + (whole - a) / k, 0));
    return chances;
  }

  function evenRound(x) {
    const down = Math.floor(x);
    return x - down === 0.5 ? down + (down % 2 ? 1 : 0) : Math.round(x);
  }

  function around({ beside, terms }, centre, variance, third) {
    const least = Math.ceil(centre - variance), most = Math.floor(centre + variance), isNear = least <= most;
    const base = isNear ? Math.min(Math.max(evenRound(centre - third), least), most) : Math.floor(centre);
    const rise = isNear ? centre - base : 0, upperOne = isNear ? 0 : centre - base;
    const total = Math.max(variance - upperOne * (1 - upperOne), Math.abs(rise));
    const [missed, none] = [1, -1].map((sign) => poisson((total + sign * rise) / 2, terms));
    const chances = new Array(2 * beside + 1).fill(0);
    for (let row = 0; row < chances.length; row += 1) {
      for (let j = Math.max(0, beside - row); j < Math.min(terms, terms + beside - row); j += 1) {
        chances[row] += missed[row - beside + j] * none[j];
      }
    }
    const moved = chances.map((one, row) => (row ? one + upperOne * (chances[row - 1] - one) : one));
    return [base - beside, moved];
  }

  function poisson(mean, terms) {
    const chances = [Math.exp(-mean)];
    for (let n = 1; n < terms; n += 1) chances.push((chances[n - 1] * mean) / n);
    return chances;
  }

  // The model of one column: how its filter weighs times, found once; then the variance of any question to it

  function column(model, place) {
    const T = model.exposures.data.length, nTerms = model.basis.shape[1], P = model.deviations.shape[1];
    const { memory: phi } = model, basis = model.basis.data;
    const [start, step, ofAr] = [0, 1, 2].map((i) => model.series.data[place * 3 + i]);
    const shiftAt = model.shocks.data.length === 1 ? () => model.shocks.data[0] : (t) => model.shocks.data[t * P + place];
    const [weight, side0, side1] = [0, 1, 2].map(() => new Float64Array(T));
    const innovations = new Float64Array(T * nTerms);
    let [p00, p01, p11] = [start, 0, ofAr];
    const [s0, s1] = [new Float64Array(nTerms), new Float64Array(nTerms)];
    for (let t = 0; t < T; t += 1) {
      if (t > 0) {
        for (let i = 0; i < nTerms; i += 1) s1[i] *= phi;
        p01 *= phi; p11 = p11 * phi * phi + ofAr * (1 - phi * phi); p00 += step;
      }
      p00 += shiftAt(t);
      const both = model.deviations.data[t * P + place] + model.errors.data[t * P + place], N = model.exposures.data[t];
      const noise = both > 0 && N > 0 ? both / (N * N) : Infinity;
      const [a, b] = [p00 + p01, p01 + p11], variance = a + b + noise, w = variance > 0 ? 1 / variance : 0;
      [side0[t], side1[t], weight[t]] = [a, b, w];
      for (let i = 0; i < nTerms; i += 1) {
        const innovation = basis[t * nTerms + i] - s0[i] - s1[i];
        innovations[t * nTerms + i] = innovation;
        s0[i] += a * w * innovation; s1[i] += b * w * innovation;
      }
      p00 -= a * w * a; p01 -= a * w * b; p11 -= b * w * b;
    }
    const root = rootOf(innovations, weight, nTerms, (i) => model.coefficients.data[place * nTerms + i]);
    return (asked) => {
      const covariances = priorCovariances(asked, phi, ofAr, (t) => (t ? step : start) + shiftAt(t));
      const slopes = new Float64Array(nTerms);
      let found = 0, level = 0, ar = 0;
      for (let t = 0; t < T; t += 1) {
        ar *= phi;
        const innovation = covariances[t] - level - ar, weighed = weight[t] * innovation;
        level += side0[t] * weighed; ar += side1[t] * weighed;
        found += asked[t] * covariances[t] - innovation * weighed;
        for (let i = 0; i < nTerms; i += 1) slopes[i] += asked[t] * basis[t * nTerms + i] - weighed * innovations[t * nTerms + i];
      }
      for (let i = 0; i < nTerms; i += 1) { // by forward substitution
        let one = slopes[i];
        for (let j = 0; j < i; j += 1) one -= root[i * nTerms + j] * slopes[j];
        slopes[i] = one / root[i * nTerms + i];
        found += slopes[i] ** 2;
      }
      return Math.max(found, 0);
    };
  }

  // the Cholesky root of the posterior precision of the coefficients
  function rootOf(innovations, weight, n, variance) {
    const root = new Float64Array(n * n);
    for (let t = 0; t < weight.length; t += 1) {
      for (let i = 0; i < n; i += 1) {
        for (let j = 0; j <= i; j += 1) root[i * n + j] += weight[t] * innovations[t * n + i] * innovations[t * n + j];
      }
    }
    for (let i = 0; i < n; i += 1) {
      root[i * n + i] += 1 / variance(i);
      for (let j = 0; j <= i; j += 1) {
        let one = root[i * n + j];
        for (let k = 0; k < j; k += 1) one -= root[i * n + k] * root[j * n + k];
        root[i * n + j] = i === j ? Math.sqrt(one) : one / root[j * n + j];
      }
    }
    return root;
  }

  // prior covariances of level and AR(1) component of each time with their weighted sum
  function priorCovariances(asked, phi, ofAr, gained) {
    const T = asked.length, found = new Float64Array(T), later = new Float64Array(T + 1), after = new Float64Array(T + 1);
    for (let t = T - 1; t >= 0; t -= 1) {
      later[t] = later[t + 1] + asked[t];
      after[t] = asked[t] + phi * after[t + 1];
    }
    let ofLevel = 0, before = 0;
    for (let t = 0; t < T; t += 1) {
      ofLevel += gained(t) * later[t];
      before = asked[t] + phi * before;
      found[t] = ofLevel + ofAr * (before + after[t] - asked[t]);
    }
    return found;
  }

  // The moments of a box: of shares, of counts, third, fourth, chance, excess; and the largest answer there is room for

  const MOMENTS = {
    "state space": (noise) => {
      const { model } = noise, [T, P] = model.deviations.shape, N = model.exposures.data;
      const process = model.deviations.data, errors = model.errors.data;
      const gain = (i) => (process[i] + errors[i] > 0 ? process[i] / (process[i] + errors[i]) : 0);
      const [k, m] = [noise.share_weights, noise.day_weights].map((part) => (part ? part.data : new Float64Array(P)));
      const columns = [];
      return (box) => {
        const isAsked = new Uint8Array(P);
        let [ofK, ofM, variance, skew] = [0, 0, 0, 0];
        for (const place of box.columns) { isAsked[place] = 1; ofK += k[place]; ofM += m[place]; }
        const sums = [0, 0, 0, 0, 0], common = []; // by kind, what its columns err by in common
        for (let place = 0; place < P; place += 1) {
          const w = isAsked[place], onShares = w - ofK, onCounts = w - ofM, asked = new Float64Array(T);
          let own = 0, all = 0, isAny = false;
          for (const t of box.time) {
            const i = t * P + place, g = gain(i), spread = g * errors[i], rest = 1 - g;
            asked[t] = N[t] * (onShares - g * onCounts);
            all += asked[t];
            isAny = isAny || asked[t] !== 0;
            own += N[t] * (w * (1 - k[place]) - w * g * (1 - m[place]));
            sums[0] += onCounts ** 2 * spread;
            sums[1] += onCounts ** 3 * rest ** 3 * process[i];
            sums[2] += onCounts ** 4 * (rest ** 4 * process[i] + noise.excess_kurtosis * spread ** 2);
            if (w && model.excess) { sums[3] += process[i]; sums[4] += process[i] * model.excess.data[t]; }
          }
          if (isAny) {
            columns[place] = columns[place] || column(model, place);
            variance += noise.inflation * columns[place](asked);
          }
          if (noise.share_skews) skew += own ** 3 * noise.share_skews.data[place];
          if (noise.kinds && noise.kind_sd) {
            const kind = noise.kinds.data[place];
            common[kind] = (common[kind] || 0) + all * noise.kind_sd.data[place];
          }
        }
        for (const one of common) variance += (one || 0) ** 2;
        const largest = noise.share_weights && box.columns.length ? box.time.reduce((sum, t) => sum + N[t], 0) : Infinity;
        return {
          moments: [variance, sums[0], sums[1] + skew + noise.poisson_third * variance, sums[2], sums[3], sums[4]],
          largest, common,
        };
      };
    },
    strata: (noise) => {
      const parts = noise.parts.map((part) => MOMENTS[part.kind](part));
      const numbers = noise.columns.map((columns) => new Map(columns.map((column, own) => [column, own])));
      return (box) => {
        const found = parts.map((part, i) => {
          const columns = box.columns.filter((one) => numbers[i].has(one)).map((one) => numbers[i].get(one));
          return columns.length ? part({ ...box, columns }) : null;
        }).filter(Boolean);
        const moments = found[0].moments.map((_, j) => found.reduce((sum, one) => sum + one.moments[j], 0));
        found[0].common.forEach((_, kind) => { // errors in common add up before they are squared
          const errors = found.map((one) => one.common[kind] || 0), sum = errors.reduce((all, one) => all + one, 0);
          moments[0] += sum ** 2 - errors.reduce((all, one) => all + one ** 2, 0);
        });
        moments[0] = Math.max(moments[0], 0);
        return { moments, largest: found.reduce((sum, one) => sum + one.largest, 0) };
      };
    },
  };

  noises.posterior = (model, level) => {
    const ask = MOMENTS[model.moments.kind](model.moments), clip = (x, low, high) => Math.min(Math.max(x, low), high);
    return {
      variance(box) {
        const { moments } = ask(box);
        return moments[0] + moments[1];
      },
      limits(value, box) {
        const { moments: [ofShares, ofCounts, third, fourth, chance, excess], largest } = ask(box);
        let centre = value;
        if (model.offsets) {
          for (const t of box.time) for (const c of box.columns) centre -= model.offsets.data[t * model.n_columns + c];
        }
        const ratio = chance > 0 ? (Math.max(centre, 0) + excess) / chance : 1;
        const variance = ofShares + ofCounts * clip(ratio, ...model.chance_ratios);
        const [lower, upper] = limitsOf(model.quantiles, centre, variance, third, fourth, level, model.normal);
        const [low, high] = [Math.min(lower, Math.ceil(lower - 0.5)), Math.max(upper, Math.floor(upper + 0.5))];
        return [clip(low, 0, largest), clip(high, 0, largest)];
      },
    };
  };
})();
