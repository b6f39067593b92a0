// The form of a survey: randomizes what is chosen on the device, shows what is sent, and sends it until it is counted.
// What is chosen is kept nowhere. Kept are, for this survey: the agreed plan, the period of the last report, the memo of
// a mechanism that remembers, and messages that nobody has acknowledged yet.

import { DeviceMemo, encodeMessage, isRepeated, readPlan } from "./client.mjs";

const SHOWN = 12; // answers listed; the others are summed up in a line
const survey = location.pathname.split("/").pop();
const address = `../v1/surveys/${survey}`; // seen from this page, wherever a proxy puts it
const token = new URLSearchParams(location.hash.slice(1)).get("token"); // behind the #: it is in no request's address
const at = (id) => document.getElementById(id);
const kept = {
  load: (name) => localStorage.getItem(`tacit ${survey} ${name}`),
  save: (name, text) => localStorage.setItem(`tacit ${survey} ${name}`, text),
};

function say(words = "") {
  const lost = isLost ? "A report that waited on this device was damaged, and is lost." : "";
  isLost = false;
  at("status").hidden = false;
  at("status").textContent = [lost, words].filter(Boolean).join(" ");
}

/** The plan that this device agreed to; another one under the same name is refused. */
async function agreedPlan() {
  const text = await (await fetch(`${address}/plan`)).text();
  const plan = readPlan(text);
  const before = kept.load("plan");
  if (before !== null && before !== plan.fingerprint) {
    throw new Error("The survey's plan is not the one that this device agreed to. Nothing is sent.");
  }
  kept.save("plan", plan.fingerprint);
  return plan;
}

function memoOf(plan) {
  const store = { load: () => kept.load("memo"), save: (text) => kept.save("memo", text) };
  return store.load() === null ? DeviceMemo.create(plan.mechanism, store) : DeviceMemo.read(plan.mechanism, store);
}

/** The headers of what is sent to the collector. */
const headersOf = (more = {}) => (token ? { ...more, Authorization: `Bearer ${token}` } : more);

/** What the collector takes now from this page; null where it cannot be reached, or something else answers. */
export async function intake() {
  try {
    const answer = await fetch(`${address}/intake`, { headers: headersOf(), cache: "no-store" });
    const told = answer.ok ? await answer.json() : null;
    return told !== null && typeof told.access === "string" ? told : null;
  } catch {
    return null;
  }
}

const NO_ACCESS = {
  "no-token": "This survey needs the link with a token that you were given. Nothing was randomized or sent.",
  "no-right": "The token in this link is not valid for this survey. Ask for a new link. Nothing was randomized or sent.",
};

const periodOf = (plan, event) => (plan.private.includes("time") ? 0 : plan.time.bin(event.time));

/** Refuse a report that the collector would refuse, before anything is spent. Unreached, it may wait. */
export function check(plan, event, taken) {
  if (taken === null) return;
  if (taken.access !== "allowed") throw new Error(NO_ACCESS[taken.access] ?? NO_ACCESS["no-right"]);
  if (taken.plan !== plan.fingerprint) throw new Error("The survey's plan has changed. Nothing was randomized or sent.");
  if (taken.is_simulation) throw new Error("This survey takes simulated reports alone. Nothing was randomized or sent.");
  const period = periodOf(plan, event);
  if (taken.first === null || period < taken.first || period > taken.last) {
    throw new Error("The survey takes no reports for this period now. Nothing was randomized or sent.");
  }
}

/** Make one report of what was chosen, at most one in a period. */
export function report(plan, event) {
  const { bin } = plan.locate(event);
  const period = periodOf(plan, event);
  const spent = kept.load("period");
  if (spent !== null && Number(spent) >= period) throw new Error("This device has reported for this period already.");
  const before = waiting();
  kept.save("period", String(period));
  const batch = isRepeated(plan.mechanism) ? plan.randomizeFrom(memoOf(plan), event) : plan.randomize([event]);
  const message = encodeMessage(plan, batch);
  kept.save("waiting", JSON.stringify([...before, hexOf(message)]));
  return { bin, report: batch.reports[0], message };
}

const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const bytesOf = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

let isLost = false; // whether messages waited that were damaged here

/** The messages that wait. What is no list of messages is damaged, and cannot be sent: it goes, and that is said. */
function waiting() {
  try {
    const found = JSON.parse(kept.load("waiting") ?? "[]");
    if (Array.isArray(found) && found.every((one) => /^([0-9a-f]{2})+$/.test(one))) return found;
  } catch {
    // not even JSON
  }
  isLost = true;
  kept.save("waiting", "[]");
  return [];
}

/** Send one message, and return the answer, whether it says counted, and its problem document, if it is one. */
async function post(hex) {
  const headers = headersOf({ "Content-Type": "application/vnd.tacit.message" });
  const answer = await fetch(`${address}/reports`, { method: "POST", headers, body: bytesOf(hex) });
  const told = await answer.json().catch(() => null);
  return { answer, isCounted: answer.ok && ["counted", "seen"].includes(told?.outcome), problem: told };
}

/** Send what waits; the same bytes each time, so that each counts once. Returns what to tell. */
export async function send() {
  for (const hex of waiting()) {
    let answer, isCounted, problem;
    try {
      ({ answer, isCounted, problem } = await post(hex));
      if (problem?.type?.endsWith(":damaged")) ({ answer, isCounted, problem } = await post(hex)); // changed on its way
    } catch {
      return "No connection. The report waits on this device and is sent when you open this page again.";
    }
    if ([408, 425, 429, 500, 502, 503, 504].includes(answer.status)) {
      return "The collector is busy. The report waits on this device and is sent when you open this page again.";
    }
    if ([401, 403, 407].includes(answer.status)) {
      return "The token in this link is not valid. The report waits on this device: open a new link of this survey.";
    }
    if (!isCounted && !problem?.type?.startsWith("urn:tacit:problem:")) {
      return "Something else than the collector answered. The report waits on this device and is sent when you open this page again.";
    }
    kept.save("waiting", JSON.stringify(waiting().filter((one) => one !== hex)));
    if (!isCounted) return `Not counted: ${problem.detail}`;
  }
  return "Counted. Thank you.";
}

/** Nothing is chosen beforehand where there is a choice: whoever just taps the button would report the first name. */
function options(select, names) {
  const none = names.length > 1 ? [new Option("Choose…", "")] : [];
  select.replaceChildren(...none, ...names.map((name) => new Option(name, name)));
}

/** A bound on a share in percent, rounded up as tacit plan does; the last digits of a float are not worth more. */
const percentAtMost = (share) => (Math.ceil(1000 * share * (1 - 1e-9)) / 10).toFixed(1);

/** Which parts of an answer everybody may see. */
function publicWords(plan) {
  const axes = ["time", "place", ...(plan.kinds ? ["kind"] : [])].filter((axis) => !plan.private.includes(axis));
  const named = axes.map((axis) => (axis === "time" ? "the period of now" : `the ${axis}`)).join(" and ");
  return named ? `Not hidden: ${named}.` : "Everything is hidden, the time too.";
}

function show(plan, made) {
  at("sent").hidden = false;
  at("public").textContent = `A message of ${made.message.length} bytes, with this report in it. ${publicWords(plan)}`;
  at("bytes").textContent = hexOf(made.report);
  const meanings = plan.meanings(made.report).sort((a, b) => b.share - a.share);
  const rows = meanings.slice(0, SHOWN).map(({ value, share }) => {
    const row = document.createElement("li");
    const [name, meter, percent] = ["span", "meter", "span"].map((tag) => document.createElement(tag));
    name.textContent = [value.place, value.kind].filter(Boolean).join(", ") || `period ${value.time}`;
    meter.value = share;
    meter.max = meanings[0].share;
    percent.textContent = `${(100 * share).toFixed(1)} %`;
    row.append(name, meter, percent);
    return row;
  });
  if (meanings.length > SHOWN) {
    const rest = document.createElement("li");
    rest.className = "rest";
    const share = meanings.slice(SHOWN).reduce((sum, one) => sum + one.share, 0);
    rest.textContent = `and ${meanings.length - SHOWN} others, together ${(100 * share).toFixed(1)} %`;
    rows.push(rest);
  }
  at("meanings").replaceChildren(...rows);
}

async function start() {
  const plan = await agreedPlan();
  options(at("place"), plan.places);
  at("place-row").hidden = plan.places.length < 2;
  at("kind-row").hidden = !plan.kinds;
  if (plan.kinds) options(at("kind"), plan.kinds);
  at("kind").required = Boolean(plan.kinds);
  const n = plan.nPrivate;
  const most = Math.exp(plan.epsilon) / (Math.exp(plan.epsilon) + n - 1);
  at("agreement").textContent =
    `Epsilon ${plan.epsilon}: whoever thought all ${n} answers equally likely can be at most ` +
    `${percentAtMost(most)} % sure of yours afterwards. ${publicWords(plan)}`;
  at("form").hidden = false;
  at("form").addEventListener("submit", async (submitted) => {
    submitted.preventDefault();
    at("send").disabled = true; // asking takes a moment, in which nothing is sent twice
    try {
      const event = { time: new Date(), place: at("place").value, ...(plan.kinds ? { kind: at("kind").value } : {}) };
      check(plan, event, await intake());
      const made = report(plan, event);
      at("form").hidden = true;
      show(plan, made);
      say(await send());
    } catch (problem) {
      say(problem.message);
    }
    at("send").disabled = false;
  });
  if (waiting().length) say(await send());
  else if (isLost) say();
}

start().catch((problem) => say(problem.message));
