"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const number = (value) => (Math.round(value) || 0).toLocaleString("en-US").replace("-", "−");
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
  const views = {};

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

  // The tooltip: shown on hover and on focus, left with Escape

  const tip = byId("tip");

  function showTip(text, box) {
    tip.textContent = text;
    tip.hidden = false;
    const width = document.documentElement.clientWidth;
    const left = clamp(box.left + box.width / 2 - tip.offsetWidth / 2, 8, Math.max(8, width - tip.offsetWidth - 8));
    const above = box.top - tip.offsetHeight - 8;
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${(above > 4 ? above : box.bottom + 8) + window.scrollY}px`;
  }

  function hideTip() {
    tip.hidden = true;
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
  });

  function chartTip(handler, event, item, value) {
    if (!value) return hideTip();
    const text = typeof value === "object"
      ? Object.entries(value).map(([name, content]) => `${name}: ${content}`).join("; ")
      : String(value);
    showTip(text, { left: event.clientX, width: 0, top: event.clientY, bottom: event.clientY });
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
      if (count) count.textContent = countText(period, place);
      if (kind === "outline" && place === state.place) byId("chosen-ring").setAttribute("d", shape.getAttribute("d"));
    }
    for (const label of all("[data-label]")) {
      const place = Number(label.dataset.label);
      label.textContent = countText(period, place);
      label.setAttribute("class", shadeClass(period.shade[place]));
    }
    for (const name of all(".period-name")) name.textContent = period.label;
    drawLegend(period);
  }

  function drawLegend(period) {
    const limits = data.maps.limits[period.limits];
    const words = limits.length
      ? [`fewer than ${number(limits[0])}`]
          .concat(limits.slice(1).map((limit, i) => `${number(limits[i])} to ${number(limit - 1)}`))
          .concat([`${number(limits[limits.length - 1])} or more`])
      : ["any count"];
    const items = words.map((word, i) => [`shade-${i + data.maps.first_shades[period.limits]}`, word]).concat([["unsure", "too uncertain for one number"]]);
    for (const [status, word] of Object.entries(hiddenWords)) {
      if (period.status && period.status.includes(status)) items.push([status, word]);
    }
    byId("legend").replaceChildren(...items.map(([kind, word]) => {
      const item = document.createElement("li");
      const swatch = document.createElement("i");
      swatch.className = kind;
      item.append(swatch, word);
      return item;
    }));
  }

  function choosePlace(place) {
    state.place = place;
    if (byId("place")) byId("place").value = String(place);
    drawMap();
    drawSeries();
  }

  for (const shape of shapes) {
    const place = Number(shape.dataset.place);
    const ring = byId("reached-ring");
    const show = () => {
      if (ring) ring.setAttribute("d", shape.getAttribute("d"));
      showTip(placeSentence(place), shape.getBoundingClientRect());
    };
    const leave = () => {
      if (ring) ring.setAttribute("d", "");
      hideTip();
    };
    shape.addEventListener("pointerenter", show);
    shape.addEventListener("focus", show);
    shape.addEventListener("pointerleave", leave);
    shape.addEventListener("blur", leave);
    shape.addEventListener("click", () => choosePlace(place));
    if (shape.tagName.toLowerCase() !== "button") {
      shape.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choosePlace(place);
        }
      });
    }
  }

  // Rows for the charts

  function placeRows(withTruth) {
    const period = data.maps.periods[state.period];
    const truth = withTruth ? data.laboratory.periods[state.period] : null;
    return data.places
      .map((place, i) => period.estimate[i] === null ? null : ({
        place, name: data.short[i], estimate: period.estimate[i], lower: period.lower[i], upper: period.upper[i],
        shown: clamp(period.estimate[i], period.lower[i], period.upper[i]), reliable: period.reliable[i],
        ...(truth ? { truth: truth[i] } : {}),
      }))
      .filter((row) => row !== null)
      .sort((a, b) => b.estimate - a.estimate)
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

  function withPicked(series) {
    return { series, picked: [{ ...series[series.length - 1], marked: 0 }] };
  }

  const rowsOf = {
    places: () => ({ places: placeRows(false) }),
    "true-places": () => ({ places: placeRows(true) }),
    totals: () => withPicked(seriesRows(data.totals[state.step], 0)),
    series: () => withPicked(seriesRows(data.series[state.step], state.place)),
    recent: () => withPicked(seriesRows(data.recent, state.place)),
    "true-series": () => withPicked(
      seriesRows(data.series[state.step], state.place, data.laboratory.series[state.step]),
    ),
    choices: () => ({}),
  };

  // Charts

  async function draw(name) {
    const box = byId(`chart-${name}`);
    if (!box || !data.specs[name]) return;
    const spec = { ...data.specs[name], datasets: rowsOf[name]() };
    const options = { actions: false, renderer: "svg", mode: "vega-lite", tooltip: chartTip, defaultStyle: false };
    const { view } = await window.vegaEmbed(box, spec, options);
    views[name] = view;
    watch(name, box, view);
  }

  async function redraw(name) {
    const view = views[name];
    if (!view) return;
    for (const [table, rows] of Object.entries(rowsOf[name]())) view.data(table, rows);
    await view.resize().runAsync();
    startReading(name);
  }

  // Reading single values, with the pointer or with the slider

  function reader(name) {
    const block = document.querySelector(`.reading[data-chart="${name}"]`);
    return block && { block, slider: block.querySelector("input"), output: block.querySelector("output") };
  }

  function startReading(name) {
    const found = reader(name);
    if (!found) return;
    const last = rowsOf[name]().series.length - 1;
    found.block.hidden = false;
    found.slider.max = String(last);
    found.slider.value = String(last);
    pick(name, last, false);
  }

  function pick(name, index, isMarked) {
    const found = reader(name);
    const row = rowsOf[name]().series[index];
    found.slider.value = String(index);
    found.output.textContent = rowSentence(row);
    found.slider.setAttribute("aria-valuetext", rowSentence(row));
    views[name].data("picked", [{ ...row, marked: isMarked ? 1 : 0 }]).runAsync();
  }

  function watch(name, box, view) {
    const found = reader(name);
    if (!found) return;
    startReading(name);
    found.slider.addEventListener("input", () => pick(name, Number(found.slider.value), true));
    const unmark = () => pick(name, Number(found.slider.value), false);
    found.slider.addEventListener("focus", () => pick(name, Number(found.slider.value), true));
    found.slider.addEventListener("blur", unmark);
    box.addEventListener("pointermove", (event) => {
      const frame = box.querySelector("svg").getBoundingClientRect();
      const time = view.scale("x").invert(event.clientX - frame.left - view.origin()[0]);
      const starts = rowsOf[name]().series.map((row) => Math.abs(Date.parse(row.start) - time));
      pick(name, starts.indexOf(Math.min(...starts)), true);
    });
    box.addEventListener("pointerleave", unmark);
  }

  function drawSeries() {
    for (const name of all(".place-name")) name.textContent = data.places[state.place];
    for (const name of all(".step-name")) name.textContent = state.step;
    for (const name of ["series", "totals", "recent", "true-series"]) redraw(name);
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
      const cells = [
        number(truth[i]), number(period.estimate[i]), `${number(period.lower[i])} to ${number(period.upper[i])}`,
        number(period.estimate[i] - truth[i]),
      ];
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
      redraw("places");
      redraw("true-places");
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
  Promise.all(Object.keys(data.specs).map(draw)).then(() => {
    document.documentElement.dataset.drawn = "yes";
  });
})();
