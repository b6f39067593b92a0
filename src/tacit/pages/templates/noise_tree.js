"use strict";
// The noise of a curator's counts (counts/noise/tree.py, marginals.py, joined.py): variance and fourth cumulant of a box
// by least squares on trees or tables, and the interval of the variance-gamma distribution that has both.
(() => {
  const { noises, interpolated, numbersOf } = window.tacit;

  // Trees: as Passes and TreeFusion in counts/tree_least_squares.py

  // the weights of a question to the leaves on all nodes, by level
  function nodeWeights(model, nLeaves) {
    const height = model.edges.length, last = model.variances[height];
    const edges = [...model.edges, numbersOf(nLeaves + 1)];
    const parents = []; // of every node below a level, the number of its parent
    for (let level = 0; level < height; level += 1) {
      const above = edges[level], parent = new Int32Array(edges[level + 1].length - 1);
      for (let child = 0, node = 0; child < parent.length; child += 1) {
        while (edges[level + 1][child] >= above[node + 1]) node += 1;
        parent[child] = node;
      }
      parents.push(parent);
    }
    const added = (level, below) => {
      const sums = new Float64Array(edges[level].length - 1);
      below.forEach((one, child) => { sums[parents[level][child]] += one; });
      return sums;
    };
    const gains = [], shares = [];
    let below = new Float64Array(nLeaves).fill(last);
    for (let level = height - 1; level >= 0; level -= 1) {
      const sums = added(level, below), own = model.variances[level];
      shares[level + 1] = below.map((one, child) => (sums[parents[level][child]] > 0 ? one / sums[parents[level][child]] : 0));
      gains[level] = sums.map((sum) => (own === null || sum + own === 0 ? 0 : sum / (sum + own)));
      below = sums.map((sum, node) => sum * (1 - gains[level][node]));
    }
    return (asked) => {
      let weights = asked;
      const beyond = [];
      for (let level = height - 1; level >= 0; level -= 1) {
        const means = added(level, weights.map((w, child) => w * shares[level + 1][child]));
        beyond[level + 1] = weights.map((w, child) => w - means[parents[level][child]]);
        weights = means;
      }
      beyond[0] = weights;
      for (let level = 0; level < height; level += 1) {
        const kept = beyond[level].map((w, node) => (1 - gains[level][node]) * w);
        beyond[level] = beyond[level].map((w, node) => gains[level][node] * w);
        beyond[level + 1] = beyond[level + 1].map((w, child) => w + kept[parents[level][child]]);
      }
      return beyond;
    };
  }

  function treeMoments(model, nLeaves) {
    const ask = nodeWeights(model, nLeaves);
    return (asked) => {
      let variance = 0, cumulant = 0;
      ask(asked).forEach((weights, level) => {
        if (model.variances[level] === null) return;
        for (const w of weights) {
          variance += model.variances[level] * w ** 2;
          cumulant += model.cumulants[level] * w ** 4;
        }
      });
      return [variance, cumulant];
    };
  }

  Object.assign(window.tacit, { nodeWeights, treeMoments });

  const MOMENTS = {
    tree(model) {
      const nLeaves = model.edges.length ? model.edges[0][1] : 1, ask = treeMoments(model, nLeaves);
      const place = model.order ? new Map(model.order.map((cell, leaf) => [cell, leaf])) : null;
      return (box) => {
        const [leaves, trees] = model.axis === "time" ? [box.time, box.columns] : [box.columns, box.time];
        const asked = new Float64Array(nLeaves);
        for (const cell of leaves) asked[place ? place.get(cell) : cell] = 1;
        return ask(asked).map((moment) => moment * trees.length);
      };
    },
    // a places and b kinds are asked: weights of residuals have one value where a cell is asked and one where it is not
    marginals(model) {
      const [nPlaces, nKinds] = model.sizes;
      return (box) => {
        const a = box.place.length, b = box.kind.length, sum = a * b;
        const residuals = (i, j) => [
          sum / (nPlaces * nKinds), (i * b - sum / nPlaces) / nKinds, (j * a - sum / nKinds) / nPlaces,
          i * j - (i * b) / nKinds - (j * a) / nPlaces + sum / (nPlaces * nKinds),
        ];
        let variance = 0, cumulant = 0;
        for (let table = 0; table < 4; table += 1) {
          for (const i of table % 2 ? [1, 0] : [0]) {
            for (const j of table > 1 ? [1, 0] : [0]) {
              const n = (table % 2 ? (i ? a : nPlaces - a) : 1) * (table > 1 ? (j ? b : nKinds - b) : 1);
              const parts = residuals(i, j);
              const load = parts.reduce((all, one, axes) => all + ((axes & table) === axes ? model.weights[axes][table] * one : 0), 0);
              variance += n * model.variances[table] * load ** 2;
              cumulant += n * model.cumulants[table] * load ** 4;
            }
          }
        }
        return [variance * box.time.length, cumulant * box.time.length];
      };
    },
  };

  noises["variance gamma"] = (model, level) => {
    const joined = model.moments.kind === "joined" ? partsOf(model.moments, level) : null;
    const own = joined ? null : MOMENTS[model.moments.kind](model.moments);
    const moments = (box) => (joined
      ? joined.asked(box).map((one) => one.noise.moments(one.box)).reduce(([v, c], [w, d]) => [v + w, c + d], [0, 0])
      : own(box));

    function margin(box) {
      let [variance, cumulant] = moments(box);
      if (variance === 0) return 0;
      if (model.is_whole || model.is_grainy) [variance, cumulant] = [variance + 1 / 12, cumulant - 1 / 120];
      const kurtosis = cumulant / variance ** 2;
      const clipped = Math.min(Math.max(kurtosis, 0), model.largest_kurtosis);
      const place = clipped / (clipped + 3), end = model.largest_kurtosis / (model.largest_kurtosis + 3);
      const found = interpolated(model.factors, place / end) * Math.sqrt(variance);
      if (model.is_whole) return Math.ceil(found - 0.5);
      if (model.is_grainy) return found + 0.5;
      return model.smooth_kurtosis !== null && kurtosis > model.smooth_kurtosis ? Math.ceil(found) : found;
    }

    return {
      moments,
      variance: (box) => moments(box)[0],
      limits(value, box) {
        const touched = joined ? joined.asked(box) : [];
        if (touched.length === 1) return touched[0].noise.limits(value, touched[0].box);
        const half = margin(box);
        return [Math.max(value - half, 0), Math.max(value + half, 0)];
      },
    };
  };

  // Periods that were measured one after another
  function partsOf(model, level) {
    let start = 0;
    const parts = model.parts.map((part, i) => {
      start += model.n_times[i];
      return { noise: noises[part.kind](part, level), first: start - model.n_times[i], stop: start };
    });
    return {
      asked: (box) => parts
        .map(({ noise, first, stop }) => (
          { noise, box: { ...box, time: box.time.filter((t) => t >= first && t < stop).map((t) => t - first) } }))
        .filter((one) => one.box.time.length > 0),
    };
  }
})();
