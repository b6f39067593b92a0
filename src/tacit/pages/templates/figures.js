"use strict";
// What pages have in common: numbers in words, the tooltip, shapes of a map, charts and the slider that reads them, and
// the choice of a kind.
window.tacit = (() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  // Sentences: in English as they stand, in another language from the catalog that the page holds, one form or two

  const language = document.documentElement.lang;
  const catalog = byId("messages") ? JSON.parse(byId("messages").textContent) : {};
  const filled = (sentence, values) => sentence.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
  const say = (sentence, values = {}) => filled((catalog[sentence] || [sentence])[0], values);
  const sayMany = (one, many, n, values) => {
    const forms = catalog[one] || [one, many];
    return filled(forms[new Intl.PluralRules(language).select(n) === "one" ? 0 : 1], values);
  };
  const number = (value) => (Math.round(value) || 0).toLocaleString(language).replace("-", "−");

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
      ? Object.entries(value).map(([name, content]) => say("%(heading)s: %(text)s", { heading: name, text: content })).join(say("; "))
      : String(value);
    showTip(text, { left: event.clientX, width: 0, top: event.clientY, bottom: event.clientY });
  }

  // Shapes of a map: buttons, or outlines that act as such

  function watchShapes(shapes, sentence, choose) {
    const ring = byId("reached-ring");
    for (const shape of shapes) {
      const place = Number(shape.dataset.place);
      const show = () => {
        if (ring) ring.setAttribute("d", shape.getAttribute("d"));
        showTip(sentence(place), shape.getBoundingClientRect());
      };
      const leave = () => {
        if (ring) ring.setAttribute("d", "");
        hideTip();
      };
      shape.addEventListener("pointerenter", show);
      shape.addEventListener("focus", show);
      shape.addEventListener("pointerleave", leave);
      shape.addEventListener("blur", leave);
      shape.addEventListener("click", (event) => choose(place, event));
      if (shape.tagName.toLowerCase() !== "button") {
        shape.addEventListener("keydown", (event) => {
          if (event.key === "Enter" || event.key === " ") {
            event.preventDefault();
            choose(place, event);
          }
        });
      }
    }
  }

  // A legend: the class of a swatch and its words, for each shade

  function drawLegend(list, items) {
    list.replaceChildren(...items.map(([kind, word]) => {
      const item = document.createElement("li");
      const swatch = document.createElement("i");
      swatch.className = kind;
      item.append(swatch, word);
      return item;
    }));
  }

  // Charts. A figure has: spec, rows() by data set, and where single values can be read: read (the name of the data
  // set), sentence(row)

  const views = {};

  async function draw(name, figure) {
    const box = byId(`chart-${name}`);
    if (!box || !figure.spec) return;
    const spec = { ...figure.spec, datasets: withPicked(figure) };
    const options = { actions: false, renderer: "svg", mode: "vega-lite", tooltip: chartTip, defaultStyle: false, ast: true, ...window.tacit.locale };
    const { view } = await window.vegaEmbed(box, spec, options);
    views[name] = view;
    watch(name, figure, box, view);
  }

  async function redraw(name, figure) {
    const view = views[name];
    if (!view) return;
    for (const [table, rows] of Object.entries(withPicked(figure))) view.data(table, rows);
    await view.resize().runAsync();
    startReading(name, figure);
  }

  function withPicked(figure) {
    const rows = figure.rows();
    if (!figure.read) return rows;
    const read = rows[figure.read];
    return { ...rows, picked: [{ ...read[figure.first === undefined ? read.length - 1 : figure.first], marked: 0 }] };
  }

  function reader(name) {
    const block = document.querySelector(`.reading[data-chart="${name}"]`);
    return block && { block, slider: block.querySelector("input"), output: block.querySelector("output") };
  }

  function startReading(name, figure) {
    const found = reader(name);
    if (!found) return;
    const last = figure.rows()[figure.read].length - 1;
    found.block.hidden = false;
    found.slider.max = String(last);
    pick(name, figure, figure.first === undefined ? last : figure.first, false);
  }

  function pick(name, figure, index, isMarked) {
    const found = reader(name);
    const row = figure.rows()[figure.read][index];
    found.slider.value = String(index);
    found.output.textContent = figure.sentence(row);
    found.slider.setAttribute("aria-valuetext", figure.sentence(row));
    views[name].data("picked", [{ ...row, marked: isMarked ? 1 : 0 }]).runAsync();
  }

  function watch(name, figure, box, view) {
    const found = reader(name);
    if (!found) return;
    startReading(name, figure);
    const picked = () => Number(found.slider.value);
    found.slider.addEventListener("input", () => pick(name, figure, picked(), true));
    found.slider.addEventListener("focus", () => pick(name, figure, picked(), true));
    found.slider.addEventListener("blur", () => pick(name, figure, picked(), false));
    box.addEventListener("pointermove", (event) => {
      const frame = box.querySelector("svg").getBoundingClientRect();
      const time = view.scale("x").invert(event.clientX - frame.left - view.origin()[0]);
      const away = figure.rows()[figure.read].map((row) => Math.abs(Date.parse(row.start) - time));
      pick(name, figure, away.indexOf(Math.min(...away)), true);
    });
    box.addEventListener("pointerleave", () => pick(name, figure, picked(), false));
    watchDrags(name, box, view);
  }

  // From one time to another: the page's script of answers says what that asks for
  function watchDrags(name, box, view) {
    const band = document.createElement("div");
    band.className = "dragged";
    let start = null;
    const left = () => box.querySelector("svg").getBoundingClientRect().left + view.origin()[0];
    const time = (x) => Number(view.scale("x").invert(x - left()));
    const end = () => {
      start = null;
      band.remove();
    };
    box.style.touchAction = "pan-y pinch-zoom"; // a finger that moves sideways is ours, up and down it scrolls
    box.addEventListener("pointerdown", (event) => {
      if (window.tacit.whenDragged && event.button === 0 && event.isPrimary) start = event.clientX;
    });
    box.addEventListener("pointermove", (event) => {
      if (start === null || Math.abs(event.clientX - start) < 5) return;
      event.preventDefault();
      box.append(band);
      band.style.left = `${Math.min(start, event.clientX) - box.getBoundingClientRect().left}px`;
      band.style.width = `${Math.abs(event.clientX - start)}px`;
    });
    box.addEventListener("pointerup", (event) => {
      if (start !== null && Math.abs(event.clientX - start) >= 5) {
        window.tacit.whenDragged(name, ...[start, event.clientX].sort((a, b) => a - b).map(time));
      }
      end();
    });
    box.addEventListener("pointercancel", end);
    box.addEventListener("pointerleave", end);
  }

  function drawAll(figures) {
    Promise.all(Object.entries(figures).map(([name, figure]) => draw(name, figure))).then(() => {
      document.documentElement.dataset.drawn = "yes";
    });
  }

  // Kinds of events: lists to choose from all over a page, and names to press; a view is what a page shows of a choice

  const picks = all(".pick-kind");

  function watchKinds(chosen, choose) {
    for (const choice of all(".kind-choice")) {
      choice.addEventListener("change", (event) => choose(Number(event.target.value)));
    }
    for (const pick of picks) {
      const own = Number(pick.dataset.view);
      pick.addEventListener("click", () => choose(chosen() === own ? 0 : own));   // a second time leads back to all
    }
  }

  function showKind(chosen, view) {
    const choices = all(".kind-choice");
    for (const choice of choices) choice.value = String(chosen);
    const words = view.name || choices[0].selectedOptions[0].textContent.toLowerCase();
    for (const name of all(".kind-name")) name.textContent = words;
    for (const pick of picks) pick.setAttribute("aria-pressed", String(Number(pick.dataset.view) === chosen));
    byId("headline-figures").replaceChildren(...view.headline.map((item) => {
      const [block, term, value, note] = ["div", "dt", "b", "dd"].map((tag) => document.createElement(tag));
      value.textContent = item.value;
      term.append(value, ` ${item.name}`);
      note.textContent = item.note;
      block.append(term, note);
      return block;
    }));
  }

  const locale = byId("locale") ? JSON.parse(byId("locale").textContent) : {};
  return { all, byId, clamp, drawAll, drawLegend, language, locale, number, redraw, say, sayMany, showKind, watchKinds, watchShapes };
})();
