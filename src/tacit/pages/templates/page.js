"use strict";
(() => {
  const { all, byId, clamp, drawAll, drawLegend, number, redraw, say, showKind, watchKinds, watchShapes } = window.tacit;
  const data = JSON.parse(byId("data").textContent);

  // a view is a choice of kind: all kinds first; without kinds it is the only one
  const state = { view: 0, period: data.first, place: largestPlace(), step: chosenStep() };
  // the recommended numbers, or the measured ones where a reader switches to them
  const views = () => (state.isMeasured && data.measured ? data.measured : data.views);
  const view = () => views()[state.view];
  const mapPeriod = () => view().maps.periods[state.period];

  function largestPlace() {
    const counts = data.views[0].maps.periods[0].estimate.map((count) => count ?? -Infinity);
    return counts.indexOf(Math.max(...counts));
  }

  function chosenStep() {
    const select = byId("step");
    return select ? select.value : Object.keys(data.views[0].series).pop();
  }

  // Sentences

  function interval(lower, upper) {
    const limits = { lower: number(lower), upper: number(upper), level: data.level };
    return say("between %(lower)s and %(upper)s (%(level)s interval)", limits);
  }

  const hiddenWords = { suppressed: say("suppressed"), missing: say("no data") };

  function hidden(period, place) {
    return period.status ? hiddenWords[period.status[place]] : undefined;
  }

  function shadeClass(shade) {
    return { "-1": "unsure", "-2": "suppressed", "-3": "missing" }[shade] || `shade-${shade}`;
  }

  function said(heading, text) {
    return `${say("%(heading)s: %(text)s", { heading, text })}.`;
  }

  function placeSentence(place) {
    const period = mapPeriod();
    const where = [data.places[place], view().name, period.label].filter(Boolean).join(", ");
    if (hidden(period, place)) return said(where, hidden(period, place));
    const values = { n: number(period.estimate[place]), events: data.unit };
    values.interval = interval(period.lower[place], period.upper[place]);
    if (period.exact) return said(where, say("%(n)s %(events)s, exactly", values));
    return said(where, period.reliable[place]
      ? say("about %(n)s %(events)s, %(interval)s", values)
      : say("too uncertain for one number; %(interval)s", values));
  }

  function rowSentence(row) {
    const name = row.period[0].toUpperCase() + row.period.slice(1);
    const period = row.partial ? say("%(period)s (counted in part)", { period: name }) : name;
    if (row.estimate === null) return said(period, hiddenWords[row.status] || say("no number"));
    if (row.exact) return said(period, say("%(n)s, exact", { n: number(row.estimate) }));
    const values = { n: number(row.shown), interval: interval(row.lower, row.upper) };
    return said(period, "truth" in row
      ? say("about %(n)s, %(interval)s; true count %(truth)s", { ...values, truth: number(row.truth) })
      : say("about %(n)s, %(interval)s", values));
  }

  // The map

  const shapes = all("[data-place]");

  function countText(period, place) {
    if (hidden(period, place)) return hidden(period, place);
    return period.reliable[place]
      ? number(period.estimate[place])
      : `${number(period.lower[place])}–${number(period.upper[place])}`;
  }

  function drawMap() {
    const period = mapPeriod();
    for (const shape of shapes) {
      const place = Number(shape.dataset.place);
      const kind = shape.tagName.toLowerCase() === "button" ? "tile" : "outline";
      const shade = period.shade[place];
      const asked = shape.classList.contains("asked") ? " asked" : "";
      shape.setAttribute("class", `${kind} ${shadeClass(shade)}${asked}`);
      shape.setAttribute("aria-label", placeSentence(place));
      shape.setAttribute("aria-pressed", String(place === state.place));
      const count = shape.querySelector(".count");
      if (count) {
        count.textContent = countText(period, place);
        count.classList.toggle("word", hidden(period, place) !== undefined);
      }
      if (kind === "outline" && place === state.place) byId("chosen-ring").setAttribute("d", shape.getAttribute("d"));
    }
    for (const label of all("[data-label]")) {
      const place = Number(label.dataset.label);
      label.textContent = countText(period, place);
      label.setAttribute("class", shadeClass(period.shade[place]));
    }
    for (const name of all(".period-name")) name.textContent = period.label;
    drawShades(period);
  }

  function fromTo(first, last) {
    return say("%(first)s to %(last)s", { first: number(first), last: number(last) });
  }

  function drawShades(period) {
    const maps = view().maps;
    const limits = maps.limits[period.limits];
    const words = limits.length
      ? [say("fewer than %(n)s", { n: number(limits[0]) })]
          .concat(limits.slice(1).map((limit, i) => fromTo(limits[i], limit - 1)))
          .concat([say("%(n)s or more", { n: number(limits[limits.length - 1]) })])
      : [say("any count")];
    const hasNumbers = period.estimate.some((count) => count !== null);
    const shades = words.map((word, i) => [`shade-${i + maps.first_shades[period.limits]}`, word]);
    const items = hasNumbers ? shades.concat([["unsure", say("too uncertain for one number")]]) : [];
    for (const [status, word] of Object.entries(hiddenWords)) {
      if (period.status && period.status.includes(status)) items.push([status, word]);
    }
    if (byId("legend")) drawLegend(byId("legend"), items); // without places there is no map
  }

  function choosePlace(place) {
    state.place = place;
    if (byId("place")) byId("place").value = String(place);
    drawMap();
    drawSeries();
    markRow(true);
  }

  function choose(place, event) { // on the map, or in the list: the question above asks for it too
    choosePlace(place);
    if (window.tacit.whenChosen) window.tacit.whenChosen(place, event);
  }

  watchShapes(shapes, placeSentence, choose);

  // Rows for the charts

  function placeRows(withTruth) {
    const period = mapPeriod();
    const truth = withTruth ? data.laboratory[state.view].periods[state.period] : null;
    return data.places
      .map((place, i) => ({
        place, number: i, name: data.labels[i], estimate: period.estimate[i], lower: period.lower[i], upper: period.upper[i],
        shown: period.estimate[i] === null ? null : clamp(period.estimate[i], period.lower[i], period.upper[i]),
        reliable: period.reliable[i], word: hidden(period, i) || null,
        ...(truth ? { truth: truth[i] } : {}),
      }))
      .sort((a, b) => (b.estimate ?? -Number.MAX_VALUE) - (a.estimate ?? -Number.MAX_VALUE));
  }

  // The list of all places, where they are too many for a chart

  const list = byId("ranked");
  const made = (tag, className, ...content) => {
    const one = Object.assign(document.createElement(tag), { className });
    one.append(...content);
    return one;
  };
  const listed = !list ? [] : data.places.map((name, place) => {
    const button = Object.assign(made("button", ""), { type: "button" });
    button.dataset.row = place;
    button.addEventListener("click", (event) => choose(place, event));
    return made("li", "", button);
  });

  function markRow(isReached) {
    listed.forEach((item, place) => item.firstChild.setAttribute("aria-pressed", String(place === state.place)));
    const row = listed[state.place];
    if (isReached && row && (row.offsetTop < list.scrollTop || row.offsetTop + row.offsetHeight > list.scrollTop + list.clientHeight)) {
      list.scrollTop = row.offsetTop - list.clientHeight / 2;
    }
  }

  function drawList() {
    if (!list) return;
    const rows = placeRows(false), numbered = rows.filter((row) => row.estimate !== null);
    const most = Math.max(1, ...numbered.map((row) => row.upper)), at = (count) => `${100 * Math.sqrt(Math.max(count, 0) / most)}%`;
    for (const row of rows) {
      const item = listed[row.number], bar = made("span", "bar"), isExact = mapPeriod().exact;
      const value = made("span", "value", row.word || countText(mapPeriod(), row.number));
      let rank = "";
      if (row.estimate !== null) {
        const first = 1 + numbered.filter((other) => other.lower > row.upper).length;
        const last = numbered.filter((other) => other.upper >= row.lower).length;
        rank = first === last ? String(first) : `${first}–${last}`;
        const limits = made("i", ""), dot = made("b", "");
        [limits.style.left, limits.style.right, dot.style.left] = [at(row.lower), `calc(100% - ${at(row.upper)})`, at(row.shown)];
        bar.append(limits, dot);
        if (isExact) value.append(made("small", "", say("exact")));
        else if (row.reliable) value.append(made("small", "", `${number(row.lower)}–${number(row.upper)}`));
      }
      item.className = row.reliable ? "" : "little";
      item.firstChild.replaceChildren(made("span", "rank", rank), made("span", "name", row.place), bar, value);
    }
    list.append(...rows.map((row) => listed[row.number]));
    markRow(false);
  }

  function findInList() {
    const sought = byId("ranked-find").value.trim().toLowerCase();
    listed.forEach((item, place) => { item.hidden = !data.places[place].toLowerCase().includes(sought); });
    const n = listed.filter((item) => !item.hidden).length;
    byId("ranked-found").textContent = sought ? say("%(n)s of %(all)s", { n: number(n), all: number(listed.length) }) : "";
  }

  if (list) byId("ranked-find").addEventListener("input", findInList);

  // exact counts are embedded without limits
  function seriesRows(periods, columns, place, truth) {
    return periods.start.map((start, i) => {
      const estimate = columns.estimate[place][i];
      const [lower, upper] = ["lower", "upper"].map((name) => (columns.exact ? estimate : columns[name][place][i]));
      return {
        start, period: periods.period[i], partial: periods.partial[i], exact: columns.exact, estimate, lower, upper,
        shown: estimate === null ? null : clamp(estimate, lower, upper),
        ...(columns.status ? { status: columns.status[place][i] } : {}), ...(truth ? { truth: truth[place][i] } : {}),
      };
    });
  }

  function stepRows(name, number, place, truth) {
    return seriesRows(data.periods[state.step], views()[number][name][state.step], place, truth);
  }

  // Charts

  // reading begins at the last period that has a number
  const figure = (name, read, rows) => ({
    spec: data.specs[name], read, rows, sentence: rowSentence,
    get first() {
      const last = rows()[read].findLastIndex((row) => row.estimate !== null);
      return last < 0 ? undefined : last;
    },
  });
  const figures = {
    places: figure("places", null, () => ({ places: placeRows(false).slice(0, data.charted) })),
    "true-places": figure("true-places", null, () => ({ places: placeRows(true).slice(0, data.charted) })),
    totals: figure("totals", "series", () => ({ series: stepRows("totals", state.view, 0) })),
    series: figure("series", "series", () => ({ series: stepRows("series", state.view, state.place) })),
    recent: figure("recent", "series", () => ({ series: seriesRows(data.periods.recent, view().recent, state.place) })),
    "true-series": figure("true-series", "series", () => ({
      series: stepRows("series", state.view, state.place, data.laboratory[state.view].series[state.step]),
    })),
    choices: figure("choices", null, () => ({})),
  };

  // Small charts, one for each kind: all reach up to the largest of them

  const pickedViews = all(".pick-kind").map((pick) => Number(pick.dataset.view));

  function top() {
    const totals = pickedViews.map((number) => views()[number].totals[state.step]);
    return Math.max(0, ...totals.flatMap((columns) => (columns.exact ? columns.estimate[0] : columns.upper[0])));
  }

  for (const number of pickedViews) {
    const rows = () => ({ series: stepRows("totals", number, 0), top: [{ top: top() }] });
    figures[`kind-${number}`] = { spec: data.specs.kinds, read: null, rows };
  }

  function drawKinds() {
    for (const number of pickedViews) {
      redraw(`kind-${number}`, figures[`kind-${number}`]);
      const [value, note] = views()[number].total, caption = byId(`kind-title-${number}`);
      caption.querySelector("b").textContent = value;
      caption.querySelector("span").textContent = note;
    }
  }

  function drawSeries() {
    for (const name of all(".place-name")) name.textContent = data.places[state.place];
    for (const name of all(".step-name")) name.textContent = data.steps[state.step];
    for (const name of ["series", "totals", "recent", "true-series"]) redraw(name, figures[name]);
  }

  function drawTable() {
    for (const table of all(".matrix table")) {
      const first = Number(table.dataset.first);
      [...table.tBodies[0].rows].forEach((row, place) => {
        [...row.cells].slice(1).forEach((cell, i) => drawCell(cell, view().maps.periods[first + i], place));
      });
    }
  }

  function drawCell(cell, period, place) {
    const word = hidden(period, place);
    cell.className = word || !period.reliable[place] ? "little" : "";
    cell.textContent = word || number(period.estimate[place]) + (period.reliable[place] ? "" : "*");
    if (word) return;
    const limits = period.exact ? say("exact") : `${number(period.lower[place])}–${number(period.upper[place])}`;
    cell.append(Object.assign(document.createElement("small"), { textContent: limits }));
  }

  function drawTruth() {
    const table = byId("true-rows");
    if (!table) return;
    const period = mapPeriod();
    const truth = data.laboratory[state.view].periods[state.period];
    table.replaceChildren(...data.places.map((place, i) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = place;
      const cells = [number(truth[i])].concat(period.estimate[i] === null ? [hidden(period, i), "", ""] : [
        number(period.estimate[i]), fromTo(period.lower[i], period.upper[i]),
        number(period.estimate[i] - truth[i]),
      ]);
      row.append(head, ...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      return row;
    }));
  }

  // Choices

  function drawPeriod() {
    drawMap();
    drawList();
    drawTruth();
    redraw("places", figures.places);
    redraw("true-places", figures["true-places"]);
  }

  function chooseKind(number) {
    state.view = number;
    showKind(number, view());
    drawTable();
    drawPeriod();
    drawSeries();
  }

  if (byId("period")) {
    byId("period").addEventListener("change", (event) => {
      state.period = Number(event.target.value);
      drawPeriod();
    });
  }
  watchKinds(() => state.view, chooseKind);
  if (byId("place")) {
    byId("place").value = String(state.place);
    byId("place").addEventListener("change", (event) => choosePlace(Number(event.target.value)));
  }
  const steps = all(".step-choice");
  for (const choice of steps) {
    choice.addEventListener("change", (event) => {
      state.step = event.target.value;
      for (const other of steps) other.value = state.step;
      drawSeries();
      drawKinds();
    });
  }

  window.tacit.showMeasured = (isMeasured) => {
    if (!data.measured || isMeasured === Boolean(state.isMeasured)) return;
    state.isMeasured = isMeasured;
    if (data.views.length > 1) showKind(state.view, view());
    drawTable();
    drawPeriod();
    drawSeries();
    drawKinds();
  };

  drawMap();
  drawList();
  drawSeries();
  if (data.views.length > 1) drawTable();
  drawAll(figures);
})();
