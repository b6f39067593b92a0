"use strict";
// The noise of frequency oracles (counts/noise/oracle.py): the variance of a box, and exact limits where it is a number
// of coin flips, or of numbers of two distributions; the same rules as counts/exact_intervals.py. And the noise of reports
// that each answered for one level of a tree (counts/noise/sampled.py).
(() => {
  const { noises } = window.tacit;
  const ROUNDING = 1e-13; // as _ROUNDING in exact_intervals

  function erfc(x) {
    if (x < 0) return 2 - erfc(-x);
    if (x < 3) { // erf by a series of positive terms
      let term = x, sum = x;
      for (let n = 1; term > sum * 1e-17; n += 1) sum += term *= (2 * x * x) / (2 * n + 1);
      return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
    }
    let fraction = x; // the continued fraction, from its far end
    for (let n = 120; n > 0; n -= 1) fraction = x + n / 2 / fraction;
    return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
  }

  // P(C <= c) by the Edgeworth series with Sheppard's corrections
  function edgeworthBelow(c, [mean, second, third, fourth]) {
    const variance = second - 1 / 12;
    const skew = third / variance ** 1.5, kurtosis = (fourth + 1 / 120) / variance ** 2;
    const z = (c + 0.5 - mean) / Math.sqrt(variance);
    const density = Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI);
    const correction = (skew / 6) * (z ** 2 - 1) + (kurtosis / 24) * (z ** 3 - 3 * z)
      + (skew ** 2 / 72) * (z ** 5 - 10 * z ** 3 + 15 * z);
    return Math.min(Math.max(0.5 * erfc(-z / Math.SQRT2) - density * correction, 0), 1);
  }

  // the least m in 0..largest for which a monotone condition holds, or largest + 1
  function firstOf(largest, holds) {
    let low = 0, high = largest + 1;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (holds(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // all m that make neither tail beyond what is seen rarer than the tail; tails(m) are P(C >= seen) and P(C <= seen)
  function invert(tails, largest, tail) {
    const lower = Math.min(firstOf(largest, (m) => tails(m)[0] > tail), largest);
    return [lower, Math.max(firstOf(largest, (m) => tails(m)[1] <= tail) - 1, 0)];
  }

  function logFactorial(n) {
    if (n < 32) {
      let sum = 0;
      for (let i = 2; i <= n; i += 1) sum += Math.log(i);
      return sum;
    }
    const x = n + 1; // Stirling's series
    return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * x) - 1 / (360 * x ** 3)
      + 1 / (1260 * x ** 5);
  }

  function binomial(n, p) {
    const margin = 12 * Math.sqrt(n * p * (1 - p)) + 40;
    const first = Math.max(0, Math.floor(n * p - margin)), last = Math.min(n, Math.ceil(n * p + margin));
    const mass = [];
    for (let k = first; k <= last; k += 1) {
      const ways = logFactorial(n) - logFactorial(k) - logFactorial(n - k);
      mass.push(Math.exp(ways + (k && k * Math.log(p)) + (n - k && (n - k) * Math.log1p(-p))));
    }
    return { first, mass };
  }

  function convolved(a, b) {
    const mass = new Float64Array(a.mass.length + b.mass.length - 1);
    a.mass.forEach((one, i) => b.mass.forEach((other, j) => { mass[i + j] += one * other; }));
    return { first: a.first + b.first, mass };
  }

  function power(distribution, n) {
    let result = { first: 0, mass: [1] }, square = distribution;
    for (let left = n; left > 0; left = Math.floor(left / 2)) {
      if (left % 2) result = convolved(result, square);
      if (left > 1) square = trimmed(convolved(square, square));
    }
    return result;
  }

  // without ends that no tail can notice
  function trimmed({ first, mass }) {
    let low = 0, high = mass.length;
    while (low < high - 1 && mass[low] < 1e-25) low += 1;
    while (high > low + 1 && mass[high - 1] < 1e-25) high -= 1;
    return { first: first + low, mass: mass.slice(low, high) };
  }

  function tailsAt({ first, mass }, seen) {
    let least = 0, most = 0;
    mass.forEach((chance, i) => {
      if (first + i >= seen) least += chance;
      if (first + i <= seen) most += chance;
    });
    return [least, most];
  }

  function bySeries(cumulants, seen) {
    return (m) => [1 - edgeworthBelow(seen - 1, cumulants(m)), edgeworthBelow(seen, cumulants(m))];
  }

  function cumulantsOf({ first, mass }) {
    const mean = mass.reduce((sum, chance, i) => sum + chance * (first + i), 0);
    const [second, third, fourth] = [2, 3, 4].map((n) => (
      mass.reduce((sum, chance, i) => sum + chance * (first + i - mean) ** n, 0)));
    return [mean, second, third, fourth - 3 * second ** 2];
  }

  const mixed = (m, inside, rest, outside) => inside.map((one, i) => m * one + rest * outside[i]);

  // the hypergeometric distribution of how many marked ones are among those drawn from n
  function hypergeometric(n, marked, drawn) {
    if (marked < 0 || drawn < 0 || marked > n || drawn > n) return { first: 0, mass: [] };
    const first = Math.max(0, drawn - (n - marked)), last = Math.min(marked, drawn), logs = [0];
    for (let at = first; at < last; at += 1) {
      const step = Math.log((marked - at) * (drawn - at)) - Math.log((at + 1) * (n - marked - drawn + at + 1));
      logs.push(logs[logs.length - 1] + step);
    }
    const most = Math.max(...logs), mass = logs.map((one) => Math.exp(one - most));
    const total = mass.reduce((sum, one) => sum + one, 0);
    return { first, mass: mass.map((one) => one / total) };
  }

  // For every kind of report: coins(size), and variances(asked) of one report by its true cell, whatever the weights asked
  const sumOf = (weights) => weights.reduce((sum, w) => sum + w, 0);
  const squaresOf = (weights) => weights.reduce((sum, w) => sum + w * w, 0);
  const coin = (oracle) => (size) => (size === 1 ? { p: oracle.p, q: oracle.q, perCell: true } : null);

  const ORACLES = {
    unary: (oracle) => ({
      coins: () => ({ p: oracle.p, q: oracle.q, perCell: true }),
      variances(asked) {
        const [p, q] = [oracle.p * (1 - oracle.p), oracle.q * (1 - oracle.q)], squares = squaresOf(asked);
        return asked.map((w) => (squares * q + w * w * (p - q)) / (oracle.p - oracle.q) ** 2);
      },
    }),
    response: (oracle) => ({
      coins: (size) => (
        size === oracle.n_cells ? null : { p: oracle.p + (size - 1) * oracle.q, q: size * oracle.q, perCell: size === 1 }),
      variances(asked) {
        const mean = sumOf(asked) / oracle.n_cells, gap = oracle.p - oracle.q;
        const weights = asked.map((w) => w - mean), squares = squaresOf(weights);
        return weights.map((w) => Math.max(oracle.q * squares + gap * w * w - (gap * w) ** 2, 0) / gap ** 2);
      },
    }),
    subset: (oracle) => ({
      coins: coin(oracle),
      variances(asked) {
        const { n_cells: k, size: s, p, q } = oracle;
        const mean = sumOf(asked) / k, withTrue = (p * (s - 1)) / (k - 1);
        const twoOthers = k > 2 ? (p * (s - 1) * (s - 2) + (1 - p) * s * (s - 1)) / ((k - 1) * (k - 2)) : 0;
        const weights = asked.map((w) => w - mean);
        const all = squaresOf(weights);
        return weights.map((w) => { // the weights of all cells add up to 0
          const squares = all - w * w;
          const square = p * w * w + q * squares - 2 * withTrue * w * w + twoOthers * (w * w - squares);
          return Math.max(square - (p * w - q * w) ** 2, 0) / (p - q) ** 2;
        });
      },
      pair(size) {
        const others = oracle.n_cells - 1;
        return [[size - 1, 1], [size, 0]].map(([marked, shift]) => {
          const mass = new Array(oracle.size + 2).fill(0);
          for (const [chance, drawn, named] of [[oracle.p, oracle.size - 1, shift], [1 - oracle.p, oracle.size, 0]]) {
            const found = hypergeometric(others, marked, drawn);
            found.mass.forEach((one, i) => { mass[found.first + i + named] += chance * one; });
          }
          return trimmed({ first: 0, mass });
        });
      },
    }),
    hadamard: (oracle) => ({
      coins: coin(oracle),
      variances(asked) {
        const kept = 2 * oracle.p - 1, pairs = new Array(oracle.n_cells).fill(0), squares = squaresOf(asked);
        const cells = asked.flatMap((w, i) => (w ? [i + 1] : []));
        for (const a of cells) {
          for (const b of cells) if ((a ^ b) >= 1 && (a ^ b) <= oracle.n_cells) pairs[(a ^ b) - 1] += asked[a - 1] * asked[b - 1];
        }
        return asked.map((w, u) => Math.max((squares + kept * pairs[u]) / kept ** 2 - w * w, 0));
      },
    }),
    hashing: (oracle) => ({
      coins: coin(oracle),
      variances(asked) {
        const { q, p } = oracle, kept = (p - q) / (1 - q), size = sumOf(asked);
        const drawn = q * (q * size ** 2 + (1 - q) * squaresOf(asked));
        const cells = asked.flatMap((w, i) => (w ? [i] : []));
        return asked.map((w, u) => {
          let squares = 0;
          for (const a of cells) for (const b of cells) squares += asked[a] * asked[b] * meeting(oracle, a ^ u, b ^ u);
          const mean = q * size + (p - q) * w;
          return Math.max(kept * squares + (1 - kept) * drawn - mean ** 2, 0) / (p - q) ** 2;
        });
      },
    }),
  };
  ORACLES.longitudinal = ORACLES.unary;

  // the chance that two elements of the field are both sent to the value of 0
  function meeting(oracle, x, y) {
    if (x === 0 && y === 0) return 1;
    if (x === 0 || y === 0 || x === y) return oracle.q;
    let ratio = 0;
    for (let left = oracle.inverses[x], one = y; left; left >>= 1) { // y / x in the field
      if (left & 1) ratio ^= one;
      one <<= 1;
      if (one >> oracle.degree) one ^= oracle.polynomial;
    }
    return oracle.meetings[ratio];
  }

  // the numbers of the public bins of a box, which of k private values it asks for, and how many reports there are
  function partsOf(model, k, box) {
    const axes = [box.time, box.place, box.kind];
    const numbered = (isPrivate) => axes.reduce((found, asked, axis) => (
      model.private[axis] !== isPrivate ? found
        : found.flatMap((number) => asked.map((one) => number * model.sizes[axis] + one))), [0]);
    const bins = numbered(false), cells = numbered(true), asked = new Array(k).fill(0);
    for (const cell of cells) asked[cell] = 1;
    return { bins, asked, size: cells.length, n: bins.reduce((sum, bin) => sum + model.reports.data[bin], 0) };
  }

  // the variance of a box whose reports add so much each, by their true cells
  function varianceOf(model, { bins, n }, perReport) {
    if (!model.counts) return n * perReport[0];
    const { data } = model.counts, k = perReport.length;
    return bins.reduce((sum, bin) => sum + perReport.reduce((s, one, u) => s + one * data[bin * k + u], 0), 0);
  }

  noises["sampled tree"] = (model, level) => {
    const { tree } = model, nLeaves = tree.edges[0][1], ask = window.tacit.nodeWeights(tree, nLeaves);
    const oracles = model.distributions.map((oracle) => ORACLES[oracle.kind](oracle));
    const edges = [...tree.edges, Array.from({ length: nLeaves + 1 }, (_, leaf) => leaf)];

    // what a report adds to the variance, by its true leaf, and the largest step it can take the answer
    function askedOf(asked) {
      const squares = new Array(nLeaves).fill(0), means = new Array(nLeaves).fill(0), weights = ask(Float64Array.from(asked));
      let step = 0;
      oracles.forEach((oracle, i) => {
        const own = Array.from(weights[i + 1]), { p, q } = model.distributions[i], chance = model.chances[i], ends = edges[i + 1];
        const mean = own.reduce((sum, w, node) => sum + w * (ends[node + 1] - ends[node]), 0) / nLeaves;
        oracle.variances(own).forEach((variance, node) => {
          const centred = own[node] - mean, added = (variance + centred ** 2) / chance;
          for (let leaf = ends[node]; leaf < ends[node + 1]; leaf += 1) { squares[leaf] += added; means[leaf] += centred; }
        });
        step = Math.max(step, Math.max(...own.map(Math.abs)) / chance / (p - q));
      });
      return { perReport: squares.map((square, leaf) => Math.max(square - means[leaf] ** 2, 0)), step };
    }

    return {
      variance(box) {
        const parts = partsOf(model, nLeaves, box);
        return varianceOf(model, parts, askedOf(parts.asked).perReport);
      },
      limits(value, box) {
        const parts = partsOf(model, nLeaves, box), { perReport, step } = askedOf(parts.asked), isFew = parts.n < model.few;
        const variance = isFew ? parts.n * Math.max(...perReport) : varianceOf(model, parts, perReport);
        const isNormal = !isFew && variance >= model.squared_steps * step ** 2;
        const margin = isNormal ? model.normal * Math.sqrt(variance) : Math.sqrt(variance / (1 - level));
        return [value - margin, value + margin].map((limit) => Math.min(Math.max(limit, 0), parts.n));
      },
    };
  };

  noises.oracle = (model, level) => {
    const oracle = model.distribution, own = ORACLES[oracle.kind](oracle), tail = (1 - level) / 2, gap = oracle.p - oracle.q;
    const variance = (parts) => varianceOf(model, parts, own.variances(parts.asked));

    function byCoins(value, { n, size }, { p, q, perCell }) {
      const flips = perCell ? n * size : n, heads = Math.round(value * gap + n * size * oracle.q);
      const cumulants = ([p, q].map((x) => [x, x * (1 - x), x * (1 - x) * (1 - 2 * x), x * (1 - x) * (1 - 6 * x * (1 - x))]));
      if (flips > model.listed && flips * q * (1 - q) >= model.series_variance) {
        return invert(bySeries((m) => mixed(m, cumulants[0], flips - m, cumulants[1]), heads), n, tail);
      }
      const seen = Math.min(Math.max(heads, 0), flips);
      return invert((m) => tailsAt(convolved(binomial(m, p), binomial(flips - m, q)), seen), n, tail);
    }

    function byDistributions(value, { n, size }) {
      if (size === oracle.n_cells) return [n, n];
      const pair = own.pair(size), [inside, outside] = pair.map(cumulantsOf);
      const seen = Math.round(value * gap + n * size * oracle.q);
      if (n > model.listed && n * Math.min(inside[1], outside[1]) >= model.series_variance) {
        return invert(bySeries((m) => mixed(m, inside, n - m, outside), seen), n, tail);
      }
      const at = Math.min(Math.max(seen, n * least(pair)), n * most(pair));
      return invert((m) => tailsAt(convolved(power(pair[0], m), power(pair[1], n - m)), at), n, tail - ROUNDING);
    }
    const least = (pair) => Math.min(...pair.map((one) => one.first));
    const most = (pair) => Math.max(...pair.map((one) => one.first + one.mass.length - 1));

    return {
      variance: (box) => variance(partsOf(model, oracle.n_cells, box)),
      limits(value, box) {
        const asked = partsOf(model, oracle.n_cells, box), coins = own.coins(asked.size);
        if (coins) return byCoins(value, asked, coins);
        if (own.pair) return byDistributions(value, asked);
        const worst = asked.n * Math.max(...own.variances(asked.asked));
        const margin = asked.n < model.few ? Math.sqrt(worst / (1 - level)) : model.normal * Math.sqrt(variance(asked));
        return [value - margin, value + margin].map((limit) => Math.min(Math.max(limit, 0), asked.n));
      },
    };
  };
})();
