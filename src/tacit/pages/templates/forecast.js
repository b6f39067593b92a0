"use strict";
(() => {
  const { all, byId, drawAll, drawLegend, language, number, redraw, say, showKind, watchKinds, watchShapes } = window.tacit;
  const data = JSON.parse(byId("data").textContent);

  // a view is a choice of kind: all kinds first; without kinds it is the only one. Place 0 is all together, place n is n + 1
  const state = { view: 0, period: data.first, place: 0 };
  const view = () => data.views[state.view];
  const mapPeriod = () => view().maps.periods[state.period];

  // Sentences

  function expected(value) {
    const tenths = (some) => some.toLocaleString(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    if (value > 0 && value < 0.05) return say("under %(limit)s", { limit: tenths(0.1) });
    return value < 9.95 ? tenths(value) : number(value);
  }

  function spans(limits) {
    return limits.map(([lower, upper], i) => say("%(often)s between %(lower)s and %(upper)s",
      { often: data.often[i], lower: number(lower), upper: number(upper) })).join(say("; "));
  }

  function said(heading, value, limits) {
    const text = say("about %(n)s %(events)s; %(spans)s.", { n: expected(value), events: data.events, spans: spans(limits) });
    return say("%(heading)s: %(text)s", { heading, text });
  }

  function placeSentence(place) {
    const period = mapPeriod();
    const where = [data.places[place], view().name, period.label].filter(Boolean).join(", ");
    const limits = data.often.map((_, i) => [period.lower[i][place], period.upper[i][place]]);
    return said(where, period.expected[place], limits);
  }

  function fanSentence(row) {
    return said(row.label, row.expected, [[row.lower1, row.upper1], [row.lower0, row.upper0]]);
  }

  // The map

  const shapes = all("[data-place]");

  function drawMap() {
    const period = mapPeriod();
    for (const shape of shapes) {
      const place = Number(shape.dataset.place);
      const kind = shape.tagName.toLowerCase() === "button" ? "tile" : "outline";
      shape.setAttribute("class", `${kind} shade-${period.shade[place]}`);
      shape.setAttribute("aria-label", placeSentence(place));
      shape.setAttribute("aria-pressed", String(place + 1 === state.place));
      const count = shape.querySelector(".count");
      if (count) count.textContent = expected(period.expected[place]);
    }
    const chosen = shapes.find((shape) => Number(shape.dataset.place) + 1 === state.place);
    const ring = byId("chosen-ring");
    if (ring) ring.setAttribute("d", chosen ? chosen.getAttribute("d") : "");
    for (const label of all("[data-label]")) {
      const place = Number(label.dataset.label);
      label.textContent = expected(period.expected[place]);
      label.setAttribute("class", `shade-${period.shade[place]}`);
    }
    for (const name of all(".period-name")) name.textContent = period.label;
    const maps = view().maps;
    const first = maps.first_shades[period.limits];
    if (byId("legend")) drawLegend(byId("legend"), shadeWords(maps.limits[period.limits]).map((word, i) => [`shade-${i + first}`, word]));
  }

  function shadeWords(limits) {
    if (!limits.length) return [say("any number")];
    const between = limits.slice(1).map((limit, i) => say("%(first)s to under %(last)s", { first: number(limits[i]), last: number(limit) }));
    const [least, most] = [limits[0], limits[limits.length - 1]].map(number);
    return [say("under %(limit)s", { limit: least }), ...between, say("%(n)s or more", { n: most })];
  }

  // The places side by side

  const places = {
    spec: data.specs.places,
    rows: () => {
      const period = mapPeriod();
      const rows = data.places.map((place, i) => ({
        place, name: data.labels[i], estimate: period.expected[i], shown: period.expected[i], reliable: true,
        lower: period.lower[0][i], upper: period.upper[0][i],
      }));
      return { places: rows.sort((a, b) => b.estimate - a.estimate).slice(0, data.charted) };
    },
  };

  // The fan

  const fan = {
    spec: data.specs.fan,
    read: "fan",
    first: 0,
    rows: () => {
      const { past, fan: coming } = view();
      const names = ["expected", "lower0", "upper0", "lower1", "upper1"];
      const numbers = (i) => Object.fromEntries(names.map((name) => [name, coming[name][state.place][i]]));
      return {
        past: past.start.map((start, i) => ({ start, count: past.count[state.place][i] })),
        fan: coming.start.map((start, i) => ({ start, label: coming.label[i], ...numbers(i) })),
      };
    },
    sentence: fanSentence,
  };

  function choosePlace(place) {
    state.place = place;
    if (byId("place")) { // without places there is nothing to choose
      byId("place").value = String(place);
      for (const name of all(".place-name")) name.textContent = byId("place").selectedOptions[0].textContent;
    }
    drawMap();
    redraw("fan", fan);
  }

  // Crews: how many are enough, from the counts that are not exceeded so often

  function drawCrews() {
    if (!byId("crews")) return;
    const counts = view().crews[byId("quantile").value];
    const perCrew = Number(byId("per-crew").value);
    const isRight = Number.isFinite(perCrew) && perCrew > 0;
    byId("per-crew").setAttribute("aria-invalid", String(!isRight));
    if (!isRight) return;
    const needed = counts.map((row) => row.map((count) => Math.ceil(count / perCrew - 1e-9)));
    const sums = needed[0].map((_, bin) => needed.slice(1).reduce((sum, row) => sum + row[bin], 0));
    const fill = (row, values) => values.forEach((value, i) => { row.cells[i + 1].textContent = number(value); });
    for (const row of all("[data-crews]")) fill(row, needed[Number(row.dataset.crews) + 1]);
    if (byId("crews-sum")) fill(byId("crews-sum"), sums);
    fill(byId("crews-shared"), needed[0]);
    for (const name of all(".often")) name.textContent = byId("quantile").selectedOptions[0].textContent;
    for (const name of all(".per-crew")) name.textContent = perCrew.toLocaleString(language);
  }

  // The table: all places together stand last in it, and first in the fan

  function drawTable() {
    const coming = view().fan;
    [...byId("matrix").querySelector("tbody").rows].forEach((row, i, rows) => {
      const place = (i + 1) % rows.length;
      [...row.cells].slice(1).forEach((cell, bin) => {
        cell.textContent = expected(coming.expected[place][bin]);
        const span = `${number(coming.lower1[place][bin])}–${number(coming.upper1[place][bin])}`;
        cell.append(Object.assign(document.createElement("small"), { textContent: span }));
      });
    });
  }

  // Choices

  function chooseKind(chosen) {
    state.view = chosen;
    showKind(chosen, view());
    drawTable();
    drawCrews();
    drawMap();
    redraw("places", places);
    redraw("fan", fan);
  }

  watchShapes(shapes, placeSentence, (place) => choosePlace(place + 1));
  if (byId("period")) {
    byId("period").addEventListener("change", (event) => {
      state.period = Number(event.target.value);
      drawMap();
      redraw("places", places);
    });
  }
  if (byId("place")) byId("place").addEventListener("change", (event) => choosePlace(Number(event.target.value)));
  watchKinds(() => state.view, chooseKind);
  if (byId("crews")) {
    byId("quantile").addEventListener("change", drawCrews);
    byId("per-crew").addEventListener("input", drawCrews);
  }

  choosePlace(0);
  drawCrews();
  drawAll({ places, fan });
})();
