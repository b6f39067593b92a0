/** Time cut into bins of the local calendar and clock, or into elapsed hours, as src/tacit/domain does. */

import { refuse } from "./errors";
import { oneOf, object, text, whole, type Fields } from "./fields";

const HOUR = 3600;
const DAY = 24 * HOUR;
const SLOTS = [2, 3, 4, 6, 8, 12];
const WIDTHS = new Map<string, number>([
  ["hour", HOUR],
  ...SLOTS.map((n): [string, number] => [`${n} hours`, n * HOUR]),
  ["day", DAY],
  ["week", 7 * DAY],
]);
const STEPS = [...WIDTHS.keys(), "month", "year"];
/** A Monday: 1970 began on a Thursday. */
const MONDAY = 4 * DAY;
/** The first second of the year 1, and the last that an axis may end at: the last day of 9998. */
const FIRST_SECOND = -62135596800;
const LAST_SECOND = 253370678400;

/** Seconds since 1970 of a wall-clock time as ISO 8601 writes it, without an offset; undefined where it is none. */
export function wallClock(written: string): number | undefined {
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(written);
  if (!found) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1).map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const isInCalendar = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && year > 1;
  return isInCalendar && hour < 24 && minute < 60 && second < 60 ? date.getTime() / 1000 : undefined;
}

/** The form in which a plan has a wall-clock time. */
function shortest(seconds: number): string {
  const written = new Date(seconds * 1000).toISOString().slice(0, 19);
  return written.endsWith("T00:00:00") ? written.slice(0, 10) : written.replace(/:00$/, "");
}

/** Bins of one step from a start on, in one time zone; without a number of bins they never end. */
export class TimeAxis {
  readonly step: string;
  readonly zone: string;
  readonly nBins: number | null;
  private readonly start: number;
  private readonly origin: number;
  private readonly from: number;
  private readonly until: number;
  private readonly clock: Intl.DateTimeFormat;

  constructor(value: unknown) {
    const names = ["start", "step", "zone"];
    const fields = object(value, "time", names, ["n_bins", "covered_from", "covered_until"]);
    this.step = oneOf(fields, "step", STEPS);
    this.zone = text(fields, "zone");
    this.nBins = "n_bins" in fields ? whole(fields, "n_bins", 1) : null;
    this.clock = clockOf(this.zone);
    this.start = moment(fields, "start");
    this.origin = this.isElapsed ? this.instantOf(this.start) : this.start;
    const past = this.isOfCalendar ? this.start - this.edge(0) : this.start - (this.step === "week" ? MONDAY : 0);
    if (this.isOfCalendar ? past : past % this.width)
      refuse(`the plan's time must start at the start of a ${this.step}. Make the plan again.`);
    const end = this.nBins === null ? Infinity : this.edge(this.nBins);
    if (end !== Infinity && !(end <= LAST_SECOND))
      refuse("the plan's time must end before the year 9999. Make the plan again.");
    this.from = "covered_from" in fields ? moment(fields, "covered_from") : this.edge(0);
    this.until = "covered_until" in fields ? moment(fields, "covered_until") : end;
    const isCovered =
      (!("covered_from" in fields) || (!this.isElapsed && this.edge(0) < this.from && this.from < this.edge(1))) &&
      (!("covered_until" in fields) ||
        (this.nBins !== null && !this.isElapsed && this.edge(this.nBins - 1) < this.until && this.until < end)) &&
      this.from < this.until;
    if (!isCovered) refuse("the plan's time must be covered from its first bin to its last. Make the plan again.");
  }

  /** The axis as a plan has it; the end only where it is agreed on. */
  toFields(withEnd: boolean): Fields {
    const isPart = (covered: number, edge: number): boolean => covered !== edge;
    return {
      start: shortest(this.start),
      step: this.step,
      zone: this.zone,
      ...(isPart(this.from, this.edge(0)) ? { covered_from: shortest(this.from) } : {}),
      ...(withEnd && this.nBins !== null ? { n_bins: this.nBins } : {}),
      ...(withEnd && this.nBins !== null && isPart(this.until, this.edge(this.nBins))
        ? { covered_until: shortest(this.until) }
        : {}),
    };
  }

  /** The bin of an instant, or of a wall-clock time of the plan's zone as "2018-03-25" or "2018-03-25T02:30". */
  bin(when: Date | string): number {
    const instant = typeof when === "string" ? this.instantOfText(when) : Math.floor(when.getTime() / 1000);
    if (Number.isNaN(instant)) refuse("the time is no date. Give a Date, or write it as 2018-03-25T02:30.");
    const isNear = instant >= FIRST_SECOND && instant <= LAST_SECOND;
    const clock = isNear && !this.isElapsed ? this.localOf(instant) : instant;
    if (!(isNear && clock >= this.from && clock < this.until)) refuse("the time lies outside of the plan's time axis.");
    return this.binOf(clock);
  }

  private get isElapsed(): boolean {
    return this.step === "hour";
  }

  /** Whether bins have the lengths of the calendar's months or years. */
  private get isOfCalendar(): boolean {
    return this.step === "month" || this.step === "year";
  }

  private get width(): number {
    return WIDTHS.get(this.step) as number;
  }

  private instantOfText(written: string): number {
    const local = wallClock(written);
    return local === undefined ? NaN : this.instantOf(local);
  }

  private binOf(clock: number): number {
    if (!this.isOfCalendar) return Math.floor((clock - this.origin) / this.width);
    const [at, start] = [new Date(clock * 1000), new Date(this.origin * 1000)];
    const years = at.getUTCFullYear() - start.getUTCFullYear();
    return this.step === "year" ? years : 12 * years + at.getUTCMonth() - start.getUTCMonth();
  }

  /** The moment on the clock at which a bin starts. */
  private edge(bin: number): number {
    if (!this.isOfCalendar) return this.origin + bin * this.width;
    const edge = new Date(0);
    const start = new Date(this.origin * 1000);
    const isYear = this.step === "year";
    edge.setUTCFullYear(start.getUTCFullYear() + (isYear ? bin : 0), isYear ? 0 : start.getUTCMonth() + bin, 1);
    return edge.getTime() / 1000;
  }

  /** The wall-clock seconds of an instant. */
  private localOf(instant: number): number {
    const parts = new Map(this.clock.formatToParts(instant * 1000).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) as number;
    const date = new Date(0);
    date.setUTCFullYear(of("year"), of("month") - 1, of("day"));
    date.setUTCHours(of("hour"), of("minute"), of("second"));
    return date.getTime() / 1000;
  }

  /** The instant of a wall-clock time: the first of a repeated one; a skipped one is moved forward. */
  private instantOf(local: number): number {
    const [before, after] = [local - DAY, local + DAY].map((instant) => this.localOf(instant) - instant);
    const [early, late] = [local - before, local - after];
    if (this.localOf(early) === local) return early;
    return this.localOf(late) === local ? late : early;
  }
}

function moment(fields: Fields, name: string): number {
  const seconds = wallClock(text(fields, name));
  if (seconds === undefined || shortest(seconds) !== fields[name]) {
    refuse(`the plan is damaged: ${name} must be a wall-clock time. Ask for it again.`);
  }
  return seconds;
}

function clockOf(zone: string): Intl.DateTimeFormat {
  const isName = /^[A-Za-z][\w+-]*(\/[\w+-]+)*$/.test(zone);
  try {
    if (isName) {
      return new Intl.DateTimeFormat("en-US-u-ca-gregory-nu-latn", {
        timeZone: zone,
        hourCycle: "h23",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
      });
    }
  } catch {
    // said below, for names that browsers do not know as for those that are none
  }
  return refuse("the plan's time zone is unknown to this browser. Install a newer one, or make the plan again.");
}
