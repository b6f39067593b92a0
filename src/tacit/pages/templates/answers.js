"use strict";
// Answers to any box of periods, places and kinds, as Release.answer gives them: the value, its variance and its limits.
window.tacit = window.tacit || {};
(() => {
  const { number: inWords, say, sayMany } = window.tacit;
  const noises = {}; // by kind, from the scripts noise_*.js
  const numbersOf = (n) => Array.from({ length: n }, (_, i) => i);

  // the value at a part of the way through a table of equal steps
  function interpolated(table, part) {
    const at = Math.min(Math.max(part, 0), 1) * (table.length - 1), i = Math.min(Math.floor(at), table.length - 2);
    return table[i] + (at - i) * (table[i + 1] - table[i]);
  }

  // sums of cells that were measured more finely
  noises.sums = (model, level) => {
    const base = noises[model.base.kind](model.base, level), { groups } = model;
    const boxOf = (box) => {
      const fine = (axis) => {
        const chosen = new Set(box[axis]);
        return groups[axis].flatMap((group, i) => (chosen.has(group) ? [i] : []));
      };
      return withColumns(fine("time"), fine("place"), fine("kind"), groups.kind.length);
    };
    return {
      variance: (box) => base.variance(boxOf(box)),
      limits: (value, box) => base.limits(value, boxOf(box)),
    };
  };

  function withColumns(time, place, kind, nKinds) {
    return { time, place, kind, columns: place.flatMap((one) => kind.map((other) => one * nKinds + other)) };
  }

  // Arrays are packed as the release packs them: numbers in a row, deflated, in base64
  const ARRAYS = {
    "<f8": (buffer) => new Float64Array(buffer),
    "<f4": (buffer) => new Float32Array(buffer),
    "<i8": (buffer) => Array.from(new BigInt64Array(buffer), Number),
  };

  async function unpacked(content) {
    if (Array.isArray(content)) {
      return content.some((part) => part && typeof part === "object") ? Promise.all(content.map(unpacked)) : content;
    }
    if (!content || typeof content !== "object") return content;
    if ("zlib" in content) {
      const bytes = Uint8Array.from(atob(content.zlib), (letter) => letter.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      return { shape: content.shape, data: ARRAYS[content.type](await new Response(stream).arrayBuffer()) };
    }
    const parts = await Promise.all(Object.values(content).map(unpacked));
    return Object.fromEntries(Object.keys(content).map((key, i) => [key, parts[i]]));
  }

  async function openAnswers(packed) {
    const data = await unpacked(packed), [nTimes, nPlaces, nKinds] = data.sizes, nColumns = nPlaces * nKinds;
    const models = data.numbers.map((one) => noises[one.noise.kind](one.noise, data.level));
    const missing = new Set(data.missing);

    // the public number of reports of a box that spans whatever is private
    function knownTotal(box) {
      if (!data.totals) return null;
      const { shape, data: totals } = data.totals, sizes = [...shape, 1].slice(0, 3);
      const asked = [box.time, box.place, box.kind];
      if (asked.some((some, axis) => sizes[axis] === 1 && some.length < data.sizes[axis])) return null;
      const [times, places, kinds] = asked.map((some, axis) => (sizes[axis] === 1 ? [0] : some));
      let sum = 0;
      for (const t of times) for (const p of places) for (const k of kinds) sum += totals[(t * sizes[1] + p) * sizes[2] + k];
      return sum;
    }

    function sumOf(number, box) {
      const values = data.numbers[number].values.data;
      let sum = 0;
      for (const t of box.time) for (const c of box.columns) sum += values[t * nColumns + c];
      return sum;
    }

    const holds = ([measure, limit], count, error) => (
      measure === "count" ? count < limit : error > limit * Math.max(count, 0));

    // why a question is refused, or nothing
    function refusal(box, known) {
      if (box.time.every((t) => missing.has(t))) {
        return say("There are no data for the time asked for, which is not zero.");
      }
      if ((known !== null && !data.totals_are_counts) || !data.suppress.length) return null;
      const values = data.numbers[data.numbers.length - 1].values.data;
      const gone = box.time.reduce((n, t) => n + box.columns.filter((c) => Number.isNaN(values[t * nColumns + c])).length, 0);
      const asked = box.time.length * box.columns.length;
      if (gone) {
        const values = { n: inWords(gone), asked: inWords(asked) };
        return asked === 1 ? say("The count asked for is suppressed.")
          : sayMany("%(n)s of the %(asked)s counts asked for is suppressed, and gone from this release.", "%(n)s of the %(asked)s counts asked for are suppressed, and gone from this release.", gone, values);
      }
      if (data.remove) return null;
      const [count, error] = [sumOf(0, box), Math.sqrt(models[0].variance(box))];
      const isSuppressed = data.suppress.some((rule) => holds(rule, count, error));
      return isSuppressed ? say("The count asked for is suppressed. Ask for a longer time, or for more places.") : null;
    }

    // first and last are numbers of periods, both included; places and kinds are lists of numbers, none of them for all
    function answer({ first = 0, last = nTimes - 1, places = [], kinds = [], number = 0 }) {
      const all = (some, n) => (some.length ? [...some].sort((a, b) => a - b) : numbersOf(n));
      const time = numbersOf(last - first + 1).map((t) => t + first);
      const box = withColumns(time, all(places, nPlaces), all(kinds, nKinds), nKinds);
      const known = knownTotal(box), refused = refusal(box, known);
      if (refused) return { refused };
      if (known !== null) return { value: known, lower: known, upper: known, error: 0, isExact: true, isReliable: true };
      const value = sumOf(number, box), error = Math.sqrt(models[number].variance(box));
      const [lower, upper] = models[number].limits(value, box);
      const isGreyed = data.grey.some((rule) => holds(rule, value, error));
      return { value, lower, upper, error, isExact: false, isReliable: error <= data.largest_relative_error * value && !isGreyed };
    }

    // the numbers of the first and the last period of what a person wrote: 2018, 2018-03, 2018-03-04; null outside
    function periods(from, to) {
      const first = from ? data.starts.findIndex((start) => start.slice(0, from.length) >= from) : 0;
      let last = nTimes - 1;
      if (to) while (last >= 0 && data.starts[last].slice(0, to.length) > to) last -= 1;
      return first < 0 || last < first ? null : { first, last };
    }

    return { answer, periods, data };
  }

  Object.assign(window.tacit, { interpolated, noises, numbersOf, openAnswers });
})();
