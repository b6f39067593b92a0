"use strict";
(() => {
  const { all, byId, clamp, drawAll, drawLegend, number, redraw, watchShapes } = window.tacit;
  const data = JSON.parse(byId("data").textContent);

  const state = { period: data.maps.first, place: largestPlace(), step: chosenStep() };

  function largestPlace() {
    const counts = data.maps.periods[0].estimate;
    return counts.indexOf(Math.max(...counts));
  }

  function chosenStep() {
    const select = byId("step");
    return select ? select.value : Object.keys(data.series).pop();
  }

  // Sentences

  function interval(lower, upper) {
    return `between ${number(lower)} and ${number(upper)} (${data.level} interval)`;
  }

  const hiddenWords = { suppressed: "suppressed", missing: "no data" };

  function hidden(period, place) {
    return period.status ? hiddenWords[period.status[place]] : undefined;
  }

  function shadeClass(shade) {
    return { "-1": "unsure", "-2": "suppressed", "-3": "missing" }[shade] || `shade-${shade}`;
  }

  function placeSentence(place) {
    const period = data.maps.periods[state.period];
    if (hidden(period, place)) return `${data.places[place]}, ${period.label}: ${hidden(period, place)}.`;
    const [count, lower, upper] = [period.estimate[place], period.lower[place], period.upper[place]];
    let what = `about ${number(count)} ${data.unit}, ${interval(lower, upper)}`;
    if (!period.reliable[place]) what = `too uncertain for one number; ${interval(lower, upper)}`;
    if (period.exact) what = `${number(count)} ${data.unit}, exactly`;
    return `${data.places[place]}, ${period.label}: ${what}.`;
  }

  function rowSentence(row) {
    const part = row.partial ? " (counted in part)" : "";
    const truth = "truth" in row ? `; true count ${number(row.truth)}` : "";
    const period = row.period[0].toUpperCase() + row.period.slice(1);
    if (row.estimate === null) return `${period}${part}: ${hiddenWords[row.status] || "no number"}.`;
    return row.exact
      ? `${period}${part}: ${number(row.estimate)}, exact.`
      : `${period}${part}: about ${number(row.shown)}, ${interval(row.lower, row.upper)}${truth}.`;
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
    const period = data.maps.periods[state.period];
    for (const shape of shapes) {
      const place = Number(shape.dataset.place);
      const kind = shape.tagName.toLowerCase() === "button" ? "tile" : "outline";
      const shade = period.shade[place];
      shape.setAttribute("class", `${kind} ${shadeClass(shade)}`);
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

  function drawShades(period) {
    const limits = data.maps.limits[period.limits];
    const words = limits.length
      ? [`fewer than ${number(limits[0])}`]
          .concat(limits.slice(1).map((limit, i) => `${number(limits[i])} to ${number(limit - 1)}`))
          .concat([`${number(limits[limits.length - 1])} or more`])
      : ["any count"];
    const hasNumbers = period.estimate.some((count) => count !== null);
    const shades = words.map((word, i) => [`shade-${i + data.maps.first_shades[period.limits]}`, word]);
    const items = hasNumbers ? shades.concat([["unsure", "too uncertain for one number"]]) : [];
    for (const [status, word] of Object.entries(hiddenWords)) {
      if (period.status && period.status.includes(status)) items.push([status, word]);
    }
    drawLegend(byId("legend"), items);
  }

  function choosePlace(place) {
    state.place = place;
    if (byId("place")) byId("place").value = String(place);
    drawMap();
    drawSeries();
  }

  watchShapes(shapes, placeSentence, choosePlace);

  // Rows for the charts

  function placeRows(withTruth) {
    const period = data.maps.periods[state.period];
    const truth = withTruth ? data.laboratory.periods[state.period] : null;
    return data.places
      .map((place, i) => ({
        place, name: data.short[i], estimate: period.estimate[i], lower: period.lower[i], upper: period.upper[i],
        shown: period.estimate[i] === null ? null : clamp(period.estimate[i], period.lower[i], period.upper[i]),
        reliable: period.reliable[i], word: hidden(period, i) || null,
        ...(truth ? { truth: truth[i] } : {}),
      }))
      .sort((a, b) => (b.estimate ?? -Number.MAX_VALUE) - (a.estimate ?? -Number.MAX_VALUE))
      .slice(0, data.charted);
  }

  function seriesRows(columns, place, truth) {
    return columns.start.map((start, i) => {
      const estimate = columns.estimate[place][i];
      const lower = columns.lower[place][i];
      const upper = columns.upper[place][i];
      return {
        start, period: columns.period[i], partial: columns.partial[i], exact: columns.exact, estimate, lower, upper,
        shown: estimate === null ? null : clamp(estimate, lower, upper),
        ...(columns.status ? { status: columns.status[place][i] } : {}), ...(truth ? { truth: truth[place][i] } : {}),
      };
    });
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
    places: figure("places", null, () => ({ places: placeRows(false) })),
    "true-places": figure("true-places", null, () => ({ places: placeRows(true) })),
    totals: figure("totals", "series", () => ({ series: seriesRows(data.totals[state.step], 0) })),
    series: figure("series", "series", () => ({ series: seriesRows(data.series[state.step], state.place) })),
    recent: figure("recent", "series", () => ({ series: seriesRows(data.recent, state.place) })),
    "true-series": figure("true-series", "series", () => ({
      series: seriesRows(data.series[state.step], state.place, data.laboratory.series[state.step]),
    })),
    choices: figure("choices", null, () => ({})),
  };

  function drawSeries() {
    for (const name of all(".place-name")) name.textContent = data.places[state.place];
    for (const name of all(".step-name")) name.textContent = state.step;
    for (const name of ["series", "totals", "recent", "true-series"]) redraw(name, figures[name]);
  }

  function drawTruth() {
    const table = byId("true-rows");
    if (!table) return;
    const period = data.maps.periods[state.period];
    const truth = data.laboratory.periods[state.period];
    table.replaceChildren(...data.places.map((place, i) => {
      const row = document.createElement("tr");
      const head = document.createElement("th");
      head.scope = "row";
      head.textContent = place;
      const cells = [number(truth[i])].concat(period.estimate[i] === null ? [hidden(period, i), "", ""] : [
        number(period.estimate[i]), `${number(period.lower[i])} to ${number(period.upper[i])}`,
        number(period.estimate[i] - truth[i]),
      ]);
      row.append(head, ...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      return row;
    }));
  }

  // Choices

  if (byId("period")) {
    byId("period").addEventListener("change", (event) => {
      state.period = Number(event.target.value);
      drawMap();
      drawTruth();
      redraw("places", figures.places);
      redraw("true-places", figures["true-places"]);
    });
  }
  if (byId("place")) {
    byId("place").value = String(state.place);
    byId("place").addEventListener("change", (event) => choosePlace(Number(event.target.value)));
  }
  if (byId("step")) {
    byId("step").addEventListener("change", (event) => {
      state.step = event.target.value;
      drawSeries();
    });
  }

  drawMap();
  drawSeries();
  drawAll(figures);
})();
