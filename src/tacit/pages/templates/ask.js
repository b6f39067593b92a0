"use strict";
// Questions of a reader: typed, dragged on the chart of a place, or clicked on the map. The question is in the address.
(() => {
  const { all, byId, clamp, number, openAnswers, say } = window.tacit;
  const page = JSON.parse(byId("data").textContent), packed = JSON.parse(byId("answers").textContent);
  const question = { from: "", to: "", places: [], kinds: [], number: 0 };
  // groups come after the single places or kinds; a group's number asks for all that belong to it
  const nOf = { places: packed.places.length, kinds: (packed.kinds || []).length };
  const grouped = { places: packed.groups.places, kinds: packed.groups.kinds };
  const names = {
    places: [...packed.places, ...grouped.places.map((group) => group.name)],
    kinds: [...(packed.kinds || []), ...grouped.kinds.map((group) => group.name)],
  };
  const cellsOf = (axis) => [...new Set(question[axis].flatMap((one) => (
    one < nOf[axis] ? [one] : grouped[axis][one - nOf[axis]].cells)))];
  let opened = null;

  // The address: names as they are, so that a link reads as the question does

  function readAddress() {
    const asked = new URLSearchParams(window.location.hash.slice(1));
    if (!["from", "to", "places", "kinds", "numbers"].some((key) => asked.has(key))) return false; // a section's address
    for (const end of ["from", "to"]) question[end] = asked.get(end) || "";
    for (const axis of ["places", "kinds"]) {
      question[axis] = asked.getAll(axis).map((name) => names[axis].indexOf(name)).filter((one) => one >= 0);
    }
    question.number = Math.max(packed.numbers.findIndex((one) => one.name === asked.get("numbers")), 0);
    return true;
  }

  function address() {
    const asked = new URLSearchParams();
    for (const end of ["from", "to"]) if (question[end]) asked.set(end, question[end]);
    for (const axis of ["places", "kinds"]) for (const one of question[axis]) asked.append(axis, names[axis][one]);
    if (question.number) asked.set("numbers", packed.numbers[question.number].name);
    return asked.toString();
  }

  // Words

  function listed(axis, every) {
    const chosen = question[axis].map((one) => names[axis][one]);
    if (!chosen.length) return every;
    if (chosen.length === 1) return chosen[0];
    return say("%(first)s and %(last)s", { first: chosen.slice(0, -1).join(", "), last: chosen[chosen.length - 1] });
  }

  function when({ first, last }) {
    const [from, to] = [packed.labels[first], packed.labels[last]];
    if (first === last) return from;
    return /^\d{4}-\d{2}-\d{2}/.test(packed.starts[first]) && packed.is_by_day
      ? say("%(first_day)s to %(last_day)s", { first_day: from, last_day: to })
      : say("%(first)s to %(last)s", { first: from, last: to });
  }

  function show(value, note) {
    byId("answer-value").textContent = value;
    byId("answer-note").textContent = note;
  }

  function answered() {
    const found = opened.periods(question.from, question.to);
    if (!found) return show("–", say("No period of this release lies between these dates. Choose others."));
    const result = opened.answer({ ...found, number: question.number, places: cellsOf("places"), kinds: cellsOf("kinds") });
    const every = (axis) => listed(axis, say("all %(kinds)s", { kinds: packed.words[axis] }));
    const what = [packed.words.places ? every("places") : "", names.kinds.length ? every("kinds") : ""].filter(Boolean).join(", ");
    const where = `${[what, when(found)].filter(Boolean).join(say("; "))}.`;
    if (result.refused) return show("–", `${where} ${result.refused}`);
    const events = say("%(heading)s: %(text)s", { heading: page.unit, text: where });
    if (result.isExact) return show(number(result.value), `${events} ${say("An exact number, which is public.")}`);
    const values = {
      lower: number(result.lower), upper: number(result.upper), level: page.level, numbers: { measured: say("measured"), smoothed: say("smoothed"), filtered: say("filtered") }[kindOfNumbers()],
    };
    if (result.isReliable) {
      return show(number(clamp(result.value, result.lower, result.upper)),
        `${events} ${say("Between %(lower)s and %(upper)s (%(level)s interval); %(numbers)s numbers.", values)}`);
    }
    return show(`${values.lower}–${values.upper}`, `${events} ${say("Too uncertain for one number: between %(lower)s and %(upper)s (%(level)s interval); %(numbers)s numbers.", values)}`);
  }

  function kindOfNumbers() {
    return packed.numbers[question.number].name;
  }

  // The form

  const ends = { from: byId("ask-from"), to: byId("ask-to") };
  const switches = all("[name=ask-numbers]");

  function drawChosen(axis) {
    const list = byId(`ask-${axis}-chosen`);
    if (!list) return;
    list.replaceChildren(...question[axis].map((one) => {
      const item = document.createElement("li"), button = document.createElement("button");
      button.type = "button";
      button.textContent = `${names[axis][one]} ×`;
      button.setAttribute("aria-label", say("Leave %(name)s out of the question", { name: names[axis][one] }));
      button.addEventListener("click", () => toggle(axis, one));
      item.append(button);
      return item;
    }));
  }

  function draw() {
    for (const [end, input] of Object.entries(ends)) {
      // a date field holds whole dates: of a year or a month in the address its first or last day
      const found = opened && opened.periods(question.from, question.to);
      const bin = found ? (end === "from" ? found.first : found.last) : (end === "from" ? 0 : packed.starts.length - 1);
      input.value = packed.starts[bin].slice(0, 10);
      if (input.tagName === "SELECT") input.value = packed.starts[bin];
    }
    for (const axis of ["places", "kinds"]) drawChosen(axis);
    for (const one of switches) one.checked = Number(one.value) === question.number;
    window.tacit.showMeasured(packed.numbers[question.number].name === "measured");
    const asked = new Set(cellsOf("places").map((one) => names.places[one]));
    for (const shape of all("[data-place], [data-row]")) {
      shape.classList.toggle("asked", asked.has(page.places[Number(shape.dataset.place ?? shape.dataset.row)]));
    }
    if (opened) answered();
  }

  function change() {
    window.history.replaceState(null, "", `#${address()}`);
    draw();
  }

  function toggle(axis, one) {
    const chosen = question[axis];
    question[axis] = chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one];
    change();
  }

  for (const [end, input] of Object.entries(ends)) {
    input.addEventListener("change", () => {
      question[end] = input.value;
      change();
    });
  }
  for (const axis of ["places", "kinds"]) {
    const input = byId(`ask-${axis}`);
    if (!input) continue;
    // by Enter the only name with what was typed will do; what is no name stays, marked
    const add = (entered) => {
      const typed = input.value.trim().toLowerCase();
      const holding = names[axis].filter((name) => entered && typed && name.toLowerCase().includes(typed));
      const wanted = holding.length === 1 ? holding[0].toLowerCase() : typed;
      const found = names[axis].findIndex((name) => name.toLowerCase() === wanted);
      input.setAttribute("aria-invalid", String(entered && typed !== "" && found < 0));
      if (found < 0) return;
      input.value = "";
      if (!question[axis].includes(found)) toggle(axis, found);
    };
    input.addEventListener("input", () => add(false)); // choosing from the list
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      add(true);
    });
  }
  for (const one of switches) {
    one.addEventListener("change", () => {
      question.number = Number(one.value);
      change();
    });
  }
  byId("ask-all").addEventListener("click", () => {
    Object.assign(question, { from: "", to: "", places: [], kinds: [] });
    change();
  });

  // The map: a place alone, or one more where several are wanted

  window.tacit.whenChosen = (chosen, event) => {
    const place = names.places.indexOf(page.places[chosen]);
    if (byId("ask-several").checked || event.shiftKey || event.ctrlKey || event.metaKey) return toggle("places", place);
    question.places = [place];
    return change();
  };

  // The charts over time: dragged from one time to another

  window.tacit.whenDragged = (name, first, last) => {
    const starts = packed.starts.map((start) => Date.parse(start.length === 10 ? `${start}T00:00` : start));
    const inside = starts.flatMap((start, bin) => (start >= first && start <= last ? [bin] : []));
    if (!inside.length) return;
    question.from = packed.starts[inside[0]];
    question.to = packed.starts[inside[inside.length - 1]];
    // what was chosen stays; where nothing was, the chart of a place asks for that place
    const own = name === "totals" || !byId("place") ? [] : [names.places.indexOf(page.places[Number(byId("place").value)])];
    if (!question.places.length) question.places = own;
    change();
  };

  // All estimates as a table: made when it is asked for, from what the page holds anyway

  function table() {
    const cell = (text) => { // a name must not run as a formula, nor end its cell
      const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
      return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
    };
    const { values, below, above } = opened.data.numbers[question.number], nColumns = values.shape[1], nKinds = nOf.kinds || 1;
    const missing = new Set(packed.missing);
    const about = { basis: kindOfNumbers(), ...packed.columns }, alike = Object.values(about).map((value) => cell(String(value)));
    const rows = [["period", "place", ...(nOf.kinds ? ["kind"] : []), "estimate", ...(below ? ["low", "high"] : []), ...Object.keys(about)].join(",")];
    packed.starts.forEach((start, t) => {
      for (let column = 0; column < nColumns; column += 1) {
        const i = t * nColumns + column, value = values.data[i], isShown = !missing.has(t) && !Number.isNaN(value);
        const what = [start, names.places[Math.floor(column / nKinds)], ...(nOf.kinds ? [names.kinds[column % nKinds]] : [])];
        const limits = below ? [below.data[i], above.data[i]].map((away) => Math.floor(value) + away) : [];
        const shown = [Math.round(value * 10) / 10, ...limits].map((one) => (isShown ? String(one) : ""));
        rows.push([...what.map(cell), ...shown, ...alike].join(","));
      }
    });
    return `\ufeff${rows.join("\n")}\n`;
  }

  const link = byId("download-finest");
  if (link) {
    link.addEventListener("click", (event) => {
      if (!opened) return event.preventDefault();
      link.href = URL.createObjectURL(new Blob([table()], { type: "text/csv" }));
      return undefined;
    });
  }

  window.addEventListener("hashchange", () => {
    if (readAddress()) draw();
  });
  readAddress();
  draw();
  window.tacit.asked = openAnswers(packed).then((found) => {
    opened = found;
    draw();
    document.documentElement.dataset.answers = "yes";
    return found;
  });
})();
