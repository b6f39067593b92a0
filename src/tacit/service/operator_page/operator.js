// The operator's page: sums of all surveys, asked for with the administrator's token, which is kept in memory alone.

/** Every word of the page. Those of reasons come with the numbers. */
const WORDS = {
  title: "Collector",
  lead: "Sums over all senders. Nothing here is about one device.",
  token: "Administrator's token",
  show: "Show",
  kept: "The token stays in this page's memory and is gone when you close or reload it.",
  tokens: "Tokens",
  name: "Name",
  allows: "Allows to",
  survey: "Survey",
  all: "all",
  surveys: "Surveys",
  reports: "Reports counted",
  refused: "Messages refused",
  alarms: "Alarms",
  store: "Store",
  fails: (cause) => `cannot write: ${cause}`,
  free: "Free disk",
  of: (total) => `of ${total}`,
  waiting: "Waiting",
  commits: (n, failed) => `${n} commits, ${failed} failed`,
  plan: (id, epsilon) => `Plan ${id}, epsilon ${epsilon}.`,
  open: "Anybody may send.",
  closed: "Senders need a token.",
  simulated: "A simulation.",
  late: (n) => `Reports are taken for ${n} period${n === 1 ? "" : "s"} after their own.`,
  periods: "Closed periods",
  last: (label) => `last ${label}`,
  takes: "Takes reports for",
  none: "none",
  to: (label) => `to ${label}`,
  releases: "Releases",
  release: (one) => `Release ${one.number}, up to ${one.until}${one.is_signed ? ", signed" : ""}`,
  noReleases: "Nothing is published yet.",
  isPublic: "Everybody may read them.",
  notPublic: "Readers need a token.",
  perHour: "Reports per hour",
  chart: (most) => `Reports per hour in the last two days, at most ${most} in an hour.`,
  ago: "48 hours ago",
  most: (n) => `most in an hour: ${n}`,
  now: "this hour",
  few: (n) => `Counted by this process since it started; kept in memory alone. Grey: under ${n}.`,
  refusals: "Refused, by reason",
  reason: "Reason",
  messages: "Messages",
  noRefusals: "Nothing was refused.",
  versions: (one, time) => `Tacit ${one.tacit}, Python ${one.python}, ${one.database}. Asked at ${time}; again every minute.`,
  wrong: "The token was not accepted. Type the administrator's token.",
  lost: "No answer from the collector. These numbers are old; asking again every minute.",
  units: ["B", "kB", "MB", "GB", "TB"],
};
const EVERY_SECONDS = 60; // as often as the server looks for periods to close
const FREE_SHARE = 0.1; // of the disk: below it, the tile warns
const FEW_HEIGHT = 3; // of 100: a mark that is seen, and tells no number

const at = (id) => document.getElementById(id);
let token = new URLSearchParams(location.hash.slice(1)).get("token"); // behind the #: it is in no request's address
if (location.hash) history.replaceState(null, "", location.pathname); // and neither in the history nor on the screen

function made(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

const whole = (n) => n.toLocaleString("en");

function bytes(n) {
  let unit = 0;
  for (; n >= 1000 && unit < WORDS.units.length - 1; unit += 1) n /= 1000;
  return `${unit && n < 100 ? n.toFixed(1) : Math.round(n)} ${WORDS.units[unit]}`;
}

function tiles(list, entries) {
  list.replaceChildren(
    ...entries.map(([name, value, below, warns]) => {
      const tile = made("div", undefined, warns ? "warns" : "");
      const number = made("dd", value);
      if (below) number.append(made("small", below));
      tile.append(made("dt", name), number);
      return tile;
    }),
  );
  return list;
}

const SVG = "http://www.w3.org/2000/svg";

function drawn(tag, attributes) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

/** Bars of the last hours; a small number has a grey mark of one height. */
function chart(hours, least) {
  const most = Math.max(least, ...hours.map((n) => n ?? 0));
  const figure = made("figure");
  const picture = drawn("svg", { viewBox: `0 0 ${hours.length} 100`, preserveAspectRatio: "none", role: "img" });
  picture.setAttribute("aria-label", WORDS.chart(whole(most)));
  picture.append(drawn("line", { x1: 0, x2: hours.length, y1: 100, y2: 100, "vector-effect": "non-scaling-stroke" }));
  hours.forEach((n, place) => {
    if (n === 0) return;
    const height = n === null ? FEW_HEIGHT : Math.max(FEW_HEIGHT, (100 * n) / most);
    const bar = drawn("rect", { x: place + 0.1, y: 100 - height, width: 0.8, height });
    if (n === null) bar.setAttribute("class", "few");
    picture.append(bar);
  });
  const caption = made("figcaption");
  const highest = Math.max(0, ...hours.map((n) => n ?? 0));
  caption.append(made("span", WORDS.ago), made("span", highest ? WORDS.most(whole(highest)) : ""), made("span", WORDS.now));
  figure.append(picture, caption);
  return figure;
}

function rows(body, lines) {
  body.replaceChildren(
    ...lines.map((cells) => {
      const row = made("tr");
      row.append(...cells.map((cell) => (typeof cell === "number" ? made("td", whole(cell), "number") : made("td", cell))));
      return row;
    }),
  );
}

function refusals(counts, titles) {
  const lines = Object.entries(counts).sort((a, b) => b[1] - a[1]).map(([reason, n]) => [titles[reason] ?? reason, n]);
  if (!lines.length) return made("p", WORDS.noRefusals, "note");
  const table = made("table");
  const head = table.createTHead().insertRow();
  head.append(made("th", WORDS.reason), made("th", WORDS.messages, "number"));
  rows(table.createTBody(), lines);
  return table;
}

function releases(survey) {
  const list = made("div");
  const words = survey.releases.length ? (survey.is_public ? WORDS.isPublic : WORDS.notPublic) : WORDS.noReleases;
  list.append(made("p", words, "note"), ...survey.releases.map((one) => made("p", WORDS.release(one), "release")));
  return list;
}

function section(survey, found) {
  const block = made("section");
  const words = [
    WORDS.plan(survey.plan.slice(0, 12), survey.epsilon),
    survey.is_open ? WORDS.open : WORDS.closed,
    WORDS.late(survey.late),
    ...(survey.is_simulation ? [WORDS.simulated] : []),
  ];
  const periods = survey.open_periods;
  block.append(
    made("h2", survey.survey),
    made("p", words.join(" "), "note"),
    tiles(made("dl", undefined, "tiles"), [
      [WORDS.reports, whole(survey.n_reports)],
      [WORDS.periods, whole(survey.n_closed), survey.last_closed && WORDS.last(survey.last_closed)],
      [WORDS.takes, periods[0] ?? WORDS.none, periods.length > 1 && WORDS.to(periods.at(-1))],
    ]),
  );
  if (survey.alarms.length) {
    const list = made("ul", undefined, "alarms");
    list.append(...survey.alarms.map((alarm) => made("li", alarm)));
    block.append(made("h3", WORDS.alarms), list);
  }
  const columns = made("div", undefined, "columns");
  const [left, right] = [made("div"), made("div")];
  left.append(made("h3", WORDS.perHour), chart(survey.hours, found.least_shown), made("p", WORDS.few(found.least_shown), "note"));
  right.append(made("h3", WORDS.refusals), refusals(survey.refusals, found.titles));
  right.append(made("h3", WORDS.releases), releases(survey));
  columns.append(left, right);
  block.append(columns);
  return block;
}

function show(found) {
  const sum = (values) => values.reduce((total, one) => total + one, 0);
  const refused = sum(found.surveys.flatMap((one) => Object.values(one.refusals)));
  const alarms = sum(found.surveys.map((one) => one.alarms.length));
  tiles(at("sums"), [
    [WORDS.surveys, whole(found.surveys.length)],
    [WORDS.reports, whole(sum(found.surveys.map((one) => one.n_reports)))],
    [WORDS.refused, whole(refused)],
    [WORDS.alarms, whole(alarms), "", alarms > 0],
    [WORDS.waiting, whole(found.waiting), WORDS.commits(whole(found.commits), whole(found.failed_commits)), found.failed_commits > 0],
    [WORDS.store, bytes(found.store_bytes), found.store_failure ? WORDS.fails(found.store_failure) : "", Boolean(found.store_failure)],
    [WORDS.free, bytes(found.disk.free), WORDS.of(bytes(found.disk.total)), found.disk.free < FREE_SHARE * found.disk.total],
  ]);
  at("surveys").replaceChildren(...found.surveys.map((one) => section(one, found)));
  rows(at("tokens"), found.tokens.map((one) => [one.name, one.scope, one.survey === "*" ? WORDS.all : one.survey]));
  at("versions").textContent = WORDS.versions(found.versions, new Date().toTimeString().slice(0, 5));
  at("found").hidden = false;
}

function say(words) {
  at("status").hidden = !words;
  at("status").textContent = words;
}

async function ask() {
  let answer;
  try {
    answer = await fetch("v1/operator", { headers: { Authorization: `Bearer ${token}` }, cache: "no-store" });
  } catch {
    say(WORDS.lost);
    return;
  }
  const content = await answer.json();
  if (answer.status === 401 || answer.status === 403) {
    token = null;
    at("found").hidden = true;
    at("entry").hidden = false;
    say(WORDS.wrong);
    return;
  }
  at("entry").hidden = true;
  say(answer.ok ? "" : content.detail);
  if (answer.ok) show(content);
}

for (const node of document.querySelectorAll("[data-word]")) node.textContent = WORDS[node.dataset.word];
at("entry").hidden = token !== null;
at("entry").addEventListener("submit", (submitted) => {
  submitted.preventDefault();
  token = at("token").value.trim();
  at("token").value = "";
  ask();
});
if (token !== null) ask();
setInterval(() => token !== null && ask(), 1000 * EVERY_SECONDS);
