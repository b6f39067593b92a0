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

  // The filter of one column (filter_together in statespace/passes.py): its gains are found once, then it passes over any
  // series. A state is a level, an AR(1) component, and for each level of a tree the sum of its node so far, held as what
  // it differs by from the sum of what was observed; `gained` is what the variance of the level grows by.

  function filterOf(T, { phi, gained, ofAr, isExposed, noise, process, ends, sumVariances }) {
    const S = ends.length + 2, endedAt = (t) => ends.flatMap((of, k) => (of[t] ? [k + 2] : []));
    const ended = Array.from({ length: T }, (_, t) => endedAt(t)), nRows = ended.reduce((n, some) => n + some.length, T);
    const gains = new Float64Array(nRows * S), weight = new Float64Array(nRows), kept = new Float64Array(T);
    const P = new Float64Array(S * S), side = new Float64Array(S);
    const condition = (row, variance) => {
      weight[row] = variance > 0 ? 1 / variance : 0;
      for (let i = 0; i < S; i += 1) {
        const gain = side[i] * weight[row];
        gains[row * S + i] = gain;
        if (gain !== 0) for (let j = 0; j < S; j += 1) P[i * S + j] -= gain * side[j];
      }
    };
    P[S + 1] = ofAr;
    for (let t = 0, row = 0; t < T; t += 1) {
      if (t > 0) {
        for (let i = 0; i < S; i += 1) { P[S + i] *= phi; P[i * S + 1] *= phi; }
        P[S + 1] += ofAr * (1 - phi * phi);
      }
      P[0] += gained(t);
      for (let i = 0; i < S; i += 1) side[i] = P[i] + P[S + i];
      const own = side[0] + side[1] + process(t);
      condition(row, isExposed(t) ? own + noise(t) : 0);
      if (S > 2 && isExposed(t)) {
        kept[t] = 1 - own * weight[row];
        for (let i = 2; i < S; i += 1) for (let j = 0; j < S; j += 1) P[i * S + j] += side[j] * kept[t];
        for (let i = 0; i < S; i += 1) for (let j = 2; j < S; j += 1) P[i * S + j] += (side[i] + (i > 1 ? own : 0)) * kept[t];
      }
      row += 1;
      for (const k of ended[t]) {
        side.set(P.subarray(k * S, k * S + S));
        condition(row, P[k * S + k] + sumVariances[k - 2]);
        row += 1;
      }
      for (const k of ended[t]) for (let i = 0; i < S; i += 1) { P[k * S + i] = 0; P[i * S + k] = 0; }
    }
    const innovations = (observed) => {
      const found = new Float64Array(nRows), state = new Float64Array(S);
      const follow = (row) => { for (let i = 0; i < S; i += 1) state[i] += gains[row * S + i] * found[row]; };
      for (let t = 0, row = 0; t < T; t += 1) {
        state[1] *= phi;
        found[row] = observed[t] - state[0] - state[1];
        follow(row);
        for (let i = 2; i < S; i += 1) state[i] -= kept[t] * found[row];
        row += 1;
        for (const k of ended[t]) {
          found[row] = -state[k];
          follow(row);
          row += 1;
        }
        for (const k of ended[t]) state[k] = 0;
      }
      return found;
    };
    return { innovations, weight };
  }

  // The variance of any question to one column, and that with known coefficients beside how errors grow with them (_asked
  // in statespace/state_space.py). Rates are known where they are to be a regression on one constant.

  function column(model, place, ratesAreKnown = false) {
    const T = model.exposures.data.length, P = model.process_variance.shape[1], N = model.exposures.data;
    const [start, step, ofAr] = [0, 1, 2].map((i) => (ratesAreKnown ? 0 : model.state_variances.data[place * 3 + i]));
    const isConstant = ratesAreKnown || model.shift_variance.data.length === 1, constant = ratesAreKnown ? 0 : model.shift_variance.data[0];
    const gained = (t) => (t ? step : start) + (isConstant ? constant : model.shift_variance.data[t * P + place]);
    const nTerms = ratesAreKnown ? 1 : model.regressors.shape[1];
    const regressor = (t, i) => (ratesAreKnown ? 1 : model.regressors.data[t * nTerms + i]);
    const process = (t) => model.process_variance.data[t * P + place], noise = (t) => model.noise_variance.data[t * P + place];
    const { tree, phi } = model, levels = tree ? tree.edges.map((_, level) => level).filter((level) => tree.variances[level] !== null) : [];
    const ofShares = (t) => (process(t) + noise(t) > 0 && N[t] > 0 ? (process(t) + noise(t)) / N[t] ** 2 : Infinity);
    const seen = tree // without sums nothing is asked of single counts: shares are observed with both variances together
      ? { isExposed: (t) => N[t] > 0, noise, process }
      : { isExposed: () => true, noise: ofShares, process: () => 0 };
    const ends = levels.map((level) => {
      const isEnd = new Uint8Array(T);
      for (const edge of tree.edges[level].slice(1)) isEnd[edge - 1] = 1;
      return isEnd;
    });
    const sumVariances = levels.map((level) => tree.variances[level]);
    const { innovations, weight } = filterOf(T, { phi, gained, ofAr, ...seen, ends, sumVariances });
    const times = Array.from({ length: T }, (_, t) => t);
    const terms = Array.from({ length: nTerms }, (_, i) => innovations(times.map((t) => regressor(t, i))));
    const root = rootOf(terms, weight, (i) => (ratesAreKnown ? 1 : model.coefficient_variances.data[place * nTerms + i]));
    return (asked) => {
      const exposed = asked.map((one, t) => (seen.isExposed(t) ? one : 0));
      const covariances = priorCovariances(exposed, phi, ofAr, gained)
        .map((one, t) => (seen.isExposed(t) ? one + seen.process(t) * exposed[t] : 0));
      const own = innovations(covariances);
      let given = 0, variance = 0;
      for (let t = 0; t < T; t += 1) given += asked[t] * covariances[t];
      for (let row = 0; row < own.length; row += 1) given -= weight[row] * own[row] ** 2;
      const slopes = terms.map((term, i) => {
        let slope = 0;
        for (let t = 0; t < T; t += 1) slope += exposed[t] * regressor(t, i);
        for (let row = 0; row < own.length; row += 1) slope -= weight[row] * own[row] * term[row];
        return slope;
      });
      const solved = [];
      for (let i = 0; i < nTerms; i += 1) { // by forward substitution
        let one = slopes[i];
        for (let j = 0; j < i; j += 1) one -= root[i * nTerms + j] * solved[j];
        solved[i] = one / root[i * nTerms + i];
        variance += solved[i] ** 2;
      }
      return { variance: Math.max(given + variance, 0), given, slopes };
    };
  }

  // the Cholesky root of the posterior precision of the coefficients
  function rootOf(terms, weight, variance) {
    const n = terms.length, root = new Float64Array(n * n);
    for (let i = 0; i < n; i += 1) {
      for (let j = 0; j <= i; j += 1) {
        for (let row = 0; row < weight.length; row += 1) root[i * n + j] += weight[row] * terms[i][row] * terms[j][row];
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
      const { model } = noise, [T, P] = model.process_variance.shape, N = model.exposures.data;
      const process = model.process_variance.data, noises = model.noise_variance.data;
      const gain = (i) => (process[i] + noises[i] > 0 ? process[i] / (process[i] + noises[i]) : 0);
      const [k, m] = [noise.share_weights, noise.count_weights].map((part) => (part ? part.data : new Float64Array(P)));
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
            const i = t * P + place, g = gain(i), spread = g * noises[i], rest = 1 - g;
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
            variance += noise.inflation * columns[place](asked).variance;
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
    // leaves of a tree, of which sums were measured too (FusedNoise)
    "fused states": (noise) => {
      const { model } = noise, [T, P] = model.process_variance.shape, process = model.process_variance.data, noises = model.noise_variance.data;
      const ofTree = window.tacit.treeMoments(model.tree, T), columns = [];
      return (box) => {
        const asked = new Float64Array(T), n = box.time.length, common = [], moments = [0, 0, 0, 0, 0, 0];
        for (const t of box.time) asked[t] = 1;
        const [treeVariance, treeCumulant] = ofTree(asked);
        for (const place of box.columns) {
          columns[place] = columns[place] || [column(model, place), column(model, place, true)];
          const { variance } = columns[place][0](asked), { given, slopes: [slope] } = columns[place][1](asked);
          const ofShares = noise.inflation * Math.max(variance - given, 0), rest = slope / n;
          const followed = treeVariance > 0 ? Math.min(variance / treeVariance, 1) : 1;
          let [chance, excess, cells, squares] = [0, 0, 0, 0];
          for (const t of box.time) {
            const one = process[t * P + place], both = one + noises[t * P + place];
            const cell = both > 0 ? (one * noises[t * P + place]) / both : 0;
            chance += one; cells += cell; squares += cell ** 2;
            if (model.excess) excess += one * model.excess.data[t];
          }
          const alike = cells > 0 ? squares / cells ** 2 : 0, isKnown = Boolean(model.excess);
          const skew = noise.share_skews ? slope ** 3 * noise.share_skews.data[place] : 0;
          const found = [
            ofShares, given, rest ** 3 * chance + noise.poisson_third * ofShares + skew,
            rest ** 4 * chance + followed ** 4 * treeCumulant + noise.excess_kurtosis * alike * given ** 2,
            isKnown ? chance : 0, excess,
          ];
          found.forEach((one, i) => { moments[i] += one; });
          if (noise.kinds && noise.kind_sd) {
            const kind = noise.kinds.data[place];
            common[kind] = (common[kind] || 0) + slope * noise.kind_sd.data[place];
          }
        }
        for (const one of common) moments[0] += (one || 0) ** 2;
        return { moments, largest: Infinity, common };
      };
    },
    // counts as they stood at their time: standard deviations of shares add up (FilteredNoise)
    filtered: (noise) => {
      const [, P] = noise.gains.shape, N = noise.exposures.data, [k, m] = noise.weights.map((part) => part.data);
      const [gains, shares, counts, skews] = ["gains", "share_variance", "count_variance", "count_skew"].map((name) => noise[name].data);
      return (box) => {
        const isAsked = new Uint8Array(P);
        let [deviation, ofCounts, third, largest] = [0, 0, 0, 0];
        for (const place of box.columns) isAsked[place] = 1;
        for (const t of box.time) {
          let [ofK, ofM, variance] = [0, 0, 0];
          for (const place of box.columns) { ofK += k[t * P + place]; ofM += m[t * P + place]; }
          for (let place = 0; place < P; place += 1) {
            const i = t * P + place, onCounts = isAsked[place] - ofM;
            variance += (N[t] * (isAsked[place] - ofK - gains[i] * onCounts)) ** 2 * shares[i];
            ofCounts += onCounts ** 2 * counts[i];
            third += onCounts ** 3 * skews[i];
          }
          deviation += Math.sqrt(variance);
          largest += N[t];
        }
        const moments = [deviation ** 2, ofCounts, third, 0, 0, 0];
        return { moments, largest: noise.is_shared ? largest : Infinity, common: [] };
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
