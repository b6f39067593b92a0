// The form of a survey: randomizes what is chosen on the device, shows what is sent, and sends it until it is counted.
// What is chosen is kept nowhere. Kept are, for this survey: the agreed plan, the period of the last report, the memo of
// a mechanism that remembers, and messages that nobody has acknowledged yet; until the tab is closed, the link's token.

import { DeviceMemo, encodeMessage, isRepeated, readPlan } from "./client.mjs";

const SHOWN = 12; // answers listed; the others are summed up in a line
const survey = location.pathname.split("/").pop();
const address = `../v1/surveys/${survey}`; // seen from this page, wherever a proxy puts it
const at = (id) => document.getElementById(id);

// Sentences: in English as they stand, in another language from the catalog that the page holds, one form or two
const language = document.documentElement.lang;
const catalog = at("messages") ? JSON.parse(at("messages").textContent) : {};
const filled = (sentence, values) => sentence.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
const say = (sentence, values = {}) => filled((catalog[sentence] ?? [sentence])[0], values);
const sayMany = (one, many, n, values) => {
  const forms = catalog[one] ?? [one, many];
  return filled(forms[new Intl.PluralRules(language).select(n) === "one" ? 0 : 1], values);
};
const number = (value, digits = 0) => value.toLocaleString(language, { maximumFractionDigits: digits });
const percent = (share) => share.toLocaleString(language, { style: "percent", minimumFractionDigits: 1 });

const TOKEN = `tacit ${survey} token`;

/** The token of the link: behind the #, so that it is in no request's address. Neither the history nor the screen keeps it. */
function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given !== null) sessionStorage.setItem(TOKEN, given);
  if (location.hash) history.replaceState(null, "", location.pathname);
  return sessionStorage.getItem(TOKEN);
}

const token = takeToken();
addEventListener("hashchange", () => {
  takeToken(); // another link, opened in the same tab
  location.reload();
});

const kept = {
  load: (name) => localStorage.getItem(`tacit ${survey} ${name}`),
  save: (name, text) => localStorage.setItem(`tacit ${survey} ${name}`, text),
};

function tell(...words) {
  const lost = isLost ? say("A report that waited on this device was damaged, and is lost.") : "";
  isLost = false;
  at("status").textContent = [lost, ...words].filter(Boolean).join(" ");
  at("status").hidden = !at("status").textContent;
  at("status").scrollIntoView({ block: "nearest" });
}

/** The plan that this device agreed to; another one under the same name is refused. */
async function agreedPlan() {
  const answer = await fetch(`${address}/plan`).catch(() => null);
  if (answer === null) throw new Error(say("No connection. Open this page again when there is one."));
  const plan = readPlan(await answer.text());
  const before = kept.load("plan");
  if (before !== null && before !== plan.fingerprint) {
    throw new Error(say("The survey's plan is not the one that this device agreed to. Nothing is sent."));
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
  "no-token": say("This survey needs the link with a token that you were given."),
  "no-right": say("The token in this link is not valid for this survey. Ask for a new link."),
};

const periodOf = (plan, event) => (plan.private.includes("time") ? 0 : plan.time.bin(event.time));

/** Why no report of this moment would be counted, in a sentence; nothing if it would. Unreached, it may wait. */
export function refusal(plan, time, taken) {
  let period;
  try {
    period = periodOf(plan, { time });
  } catch {
    return say("The survey takes no reports for this period now."); // before its first or after its last
  }
  const spent = kept.load("period");
  if (spent !== null && Number(spent) >= period) return say("This device has reported for this period already.");
  if (taken === null) return "";
  if (taken.access !== "allowed") return NO_ACCESS[taken.access] ?? NO_ACCESS["no-right"];
  if (taken.plan !== plan.fingerprint) return say("The survey's plan has changed.");
  if (taken.is_simulation) return say("This survey takes simulated reports alone.");
  const isTaken = taken.first !== null && period >= taken.first && period <= taken.last;
  return isTaken ? "" : say("The survey takes no reports for this period now.");
}

/** Make one report of what was chosen, at most one in a period. */
export function report(plan, event) {
  const { bin } = plan.locate(event);
  const period = periodOf(plan, event);
  const spent = kept.load("period");
  if (spent !== null && Number(spent) >= period) throw new Error(say("This device has reported for this period already."));
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
      return say("No connection. The report waits on this device and is sent when you open this page again.");
    }
    if ([408, 425, 429, 500, 502, 503, 504].includes(answer.status)) {
      return say("The collector is busy. The report waits on this device and is sent when you open this page again.");
    }
    if ([401, 403, 407].includes(answer.status)) {
      return say("The token in this link is not valid. The report waits on this device: open a new link of this survey.");
    }
    if (!isCounted && !problem?.type?.startsWith("urn:tacit:problem:")) {
      return say("Something else than the collector answered. The report waits on this device and is sent when you open this page again.");
    }
    kept.save("waiting", JSON.stringify(waiting().filter((one) => one !== hex)));
    if (!isCounted) return notCounted(problem);
  }
  return say("Counted. Thank you.");
}

/** What the collector refuses for good; its own words are English, and stand for what hardly ever happens. */
function notCounted(problem) {
  const isOver = ["early", "late", "closed"].some((reason) => problem.type.endsWith(`:${reason}`));
  if (isOver) return say("Not counted: the survey takes no reports for that period any more.");
  return say("Not counted: %(detail)s", { detail: problem.detail });
}

/** Nothing is chosen beforehand where there is a choice: whoever just taps the button would report the first name. */
function options(select, names) {
  const none = names.length > 1 ? [new Option(say("Choose…"), "")] : [];
  select.replaceChildren(...none, ...names.map((name) => new Option(name, name)));
}

/** A bound on a share in percent, rounded up as tacit plan does; the last digits of a float are not worth more. */
const percentAtMost = (share) => percent(Math.ceil(1000 * share * (1 - 1e-9)) / 1000);

/** Which parts of an answer everybody may see. */
function publicWords(plan) {
  const nouns = { time: say("current period"), place: nounOf("place"), kind: nounOf("kind") };
  const isChosen = { time: true, place: plan.places.length > 1, kind: plan.kinds };
  const axes = Object.keys(nouns).filter((axis) => isChosen[axis] && !plan.private.includes(axis));
  if (!axes.length) return say("Everything is hidden, the time too.");
  const [last, ...before] = axes.map((axis) => nouns[axis]).reverse();
  const first = before.reverse().join(", ");
  return say("Not hidden: %(parts)s.", { parts: first ? say("%(first)s and %(last)s", { first, last }) : last });
}

/** What the survey calls a place or a kind, as it stands inside a sentence. */
const nounOf = (axis) => at(`${axis}-noun`).dataset.noun;

function show(plan, made) {
  at("sent").hidden = false;
  const n = made.message.length;
  const size = say("A message of %(n)s bytes, with this report in it.", { n: number(n) }); // a checksum alone has eight
  at("public").textContent = `${size} ${publicWords(plan)}`;
  at("bytes").textContent = hexOf(made.report);
  const meanings = plan.meanings(made.report).sort((a, b) => b.share - a.share);
  const rows = meanings.slice(0, SHOWN).map(({ value, share }) => {
    const row = document.createElement("li");
    const [name, meter, likely] = ["span", "meter", "span"].map((tag) => document.createElement(tag));
    name.textContent = [value.place, value.kind].filter(Boolean).join(", ") || say("period %(n)s", { n: value.time });
    meter.value = share;
    meter.max = meanings[0].share;
    likely.textContent = percent(share);
    row.append(name, meter, likely);
    return row;
  });
  if (meanings.length > SHOWN) {
    const rest = document.createElement("li");
    rest.className = "rest";
    const share = meanings.slice(SHOWN).reduce((sum, one) => sum + one.share, 0);
    const [others, together] = [meanings.length - SHOWN, percent(share)];
    const values = { n: number(others), share: together };
    rest.textContent = sayMany("and %(n)s other, %(share)s", "and %(n)s others, together %(share)s", others, values);
    rows.push(rest);
  }
  at("meanings").replaceChildren(...rows);
}

let isBusy = false; // while a report is made and sent

/** Send what waits, and say at once if no report would be counted now, before anything is chosen. */
async function look(plan) {
  const sent = waiting().length ? await send() : "";
  const now = new Date();
  const refused = refusal(plan, now, null) || refusal(plan, now, await intake()); // what is noted here needs no network
  if (isBusy) return;
  if (!at("form").hidden) {
    at("send").disabled = Boolean(refused);
    tell(sent, refused);
  } else if (sent) tell(sent);
}

/** Report what is chosen, unless it would not be counted. Returns whether it would not. */
async function submit(plan) {
  const event = { time: new Date(), place: at("place").value, ...(plan.kinds ? { kind: at("kind").value } : {}) };
  const refused = refusal(plan, event.time, await intake());
  if (refused) {
    tell(refused, say("Nothing was randomized or sent."));
    return true;
  }
  const made = report(plan, event);
  at("form").hidden = true;
  show(plan, made);
  tell(await send());
  return false;
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
  const values = { epsilon: number(plan.epsilon, 20), n: number(n), share: percentAtMost(most) };
  const sure = say(
    "Epsilon %(epsilon)s: whoever thought all %(n)s answers equally likely can be at most %(share)s sure of yours afterwards.",
    values,
  );
  at("agreement").textContent = `${sure} ${publicWords(plan)}`;
  at("form").addEventListener("submit", async (pressed) => {
    pressed.preventDefault();
    isBusy = at("send").disabled = true; // asking takes a moment, in which nothing is sent twice
    try {
      at("send").disabled = await submit(plan);
    } catch (problem) {
      tell(problem.message);
      at("send").disabled = false;
    }
    isBusy = false;
  });
  // a page that was left open looks again: another period may have begun
  document.addEventListener("visibilitychange", () => document.hidden || isBusy || look(plan));
  at("form").hidden = false;
  await look(plan);
}

start().catch((problem) => tell(problem.message));
