/** The plan: the public agreement on what is counted and how privately, read from the JSON that a collector serves. */

import { LARGEST_EPSILON, SMALLEST_EPSILON, isEpsilonOf } from "./epsilon";
import { refuse } from "./errors";
import { number, object, oneOf, text, texts, whole, type Fields } from "./fields";
import { mechanismOf } from "./mechanisms";
import type { DeviceMemo } from "./memo";
import type { Batch, MessageFormat } from "./message";
import type { Mechanism, Thresholds } from "./oracles";
import { COIN, secureRandomness, type Randomness } from "./randomness";
import { isRepeated } from "./repeated";
import { hex, sha256 } from "./sha256";
import { TimeAxis } from "./time";

/** An event: when, where and, if the plan has kinds, of what kind; place and kind by the names of the plan's cells. */
export interface Event {
  readonly time: Date | string;
  readonly place: string;
  readonly kind?: string;
}

/** What a report could have meant: a value, the probability of the report if it was the true one, and its share. */
export interface Meaning {
  /** The number of the time bin, the names of place and kind: those that are private. */
  readonly value: { readonly time?: number; readonly place?: string; readonly kind?: string };
  readonly probability: number;
  /** The chance that it is the true value, for somebody to whom all were equally likely before. */
  readonly share: number;
}

const PARTS = ["format", "fingerprint", "privacy", "mechanism", "domain"];
const AXES = ["time", "place", "kind"] as const;
/** Cells of a domain at most, and bins of a time axis without end that are believed, as Python has them. */
const MOST_CELLS = 2 ** 26;
const FARTHEST_BIN = 2 ** 24;

export class Plan implements MessageFormat {
  readonly fingerprint: string;
  readonly name: string;
  readonly epsilon: number;
  readonly mechanismName: string;
  readonly mechanism: Mechanism;
  /** The coordinates that a report hides. */
  readonly private: readonly string[];
  /** Whom epsilon protects: one event, or one device that reports again and again from a memo. */
  readonly unit: string;
  readonly time: TimeAxis;
  readonly places: readonly string[];
  /** The kinds of events; null where the plan has none. */
  readonly kinds: readonly string[] | null;
  /** The number of values that a report may stand for. */
  readonly nPrivate: number;
  /** The number of public bins that a message may name. */
  readonly nBins: number;

  /** Read a plan from JSON, as text or parsed, and verify its fingerprint and that its thresholds give its epsilon. */
  constructor(given: unknown) {
    const content = object(parsed(given), "the plan", PARTS, ["name"]);
    const privacy = privacyOf(content.privacy);
    const domain = object(content.domain, "domain", ["time", "place"], ["kind"]);
    const mechanism = object(content.mechanism, "mechanism", ["name", "thresholds"]);
    this.name = "name" in content ? text(content, "name") : "counts";
    this.epsilon = number(privacy, "epsilon", SMALLEST_EPSILON, LARGEST_EPSILON);
    this.unit = oneOf(privacy, "unit", ["event", "device"]);
    this.time = new TimeAxis(domain.time);
    const place = namedAxis(domain.place, "place", "elsewhere");
    const kind = "kind" in domain ? namedAxis(domain.kind, "kind", "other") : null;
    [this.places, this.kinds] = [place.cells, kind?.cells ?? null];
    this.private = texts(privacy, "private");
    const axes = AXES.filter((axis) => axis !== "kind" || kind);
    const isInOrder = axes.filter((axis) => this.private.includes(axis)).join() === this.private.join();
    if (!isInOrder || !this.private.length) refuse(`private must name some of ${axes.join(", ")}, in this order.`);
    const isPrivate = (axis: string): boolean => this.private.includes(axis);
    if (isPrivate("time") && this.time.nBins === null) refuse("a private time needs a time axis with an end.");
    const sizes = this.sizes(this.time.nBins ?? 1);
    if (product(sizes) > MOST_CELLS) refuse("the plan has more cells than a file may have. Make one with fewer.");
    this.nPrivate = product(sizes.filter((_, axis) => isPrivate(AXES[axis])));
    const nPublic = product(sizes.filter((_, axis) => !isPrivate(AXES[axis])));
    const believed = Math.min(FARTHEST_BIN, Math.max(1, Math.floor(MOST_CELLS / this.nPrivate)));
    this.nBins = this.time.nBins === null ? believed : nPublic;
    this.mechanismName = text(mechanism, "name");
    const thresholds = thresholdsOf(mechanism.thresholds);
    this.mechanism = mechanismOf(this.mechanismName, thresholds, this.nPrivate);
    const nReports = "n_reports" in privacy ? whole(privacy, "n_reports", 1) : 0;
    if (this.unit === "device" ? !isRepeated(this.mechanism) : nReports > 0) {
      refuse("the unit device belongs to mechanisms that remember, and n_reports to the unit device.");
    }
    if (!isEpsilonOf(this.epsilon, this.mechanism.ratios)) {
      refuse("the plan's thresholds do not give the epsilon that it states. Do not use it.");
    }
    const format = this.unit === "device" ? 4 : kind ? 3 : place.hasElsewhere ? 2 : 1;
    if (content.format !== format)
      refuse(`the plan must have format ${format}. Load a newer client, or make it again.`);
    const canonical = {
      format,
      domain: { time: this.time.toFields(isPrivate("time")), place: place.fields, ...(kind && { kind: kind.fields }) },
      mechanism: { name: this.mechanismName, thresholds: hexed(thresholds) },
      privacy: { ...privacy, epsilon: new Float(this.epsilon) },
    };
    this.fingerprint = hex(sha256(new TextEncoder().encode(written(canonical)))).slice(0, 32);
    if (content.fingerprint !== this.fingerprint) {
      refuse(`the plan's content has the fingerprint ${this.fingerprint}, not the one that it says: it was edited.`);
    }
  }

  get reportBytes(): number {
    return this.mechanism.reportBytes;
  }

  /** The public bin and the private value of an event, as numbers. */
  locate(event: Event): { bin: number; value: number } {
    return this.split([
      this.time.bin(event.time),
      numberOf(this.places, event.place, "place"),
      this.kindOf(event.kind),
    ]);
  }

  /** The same of the numbers of its time bin, place and kind (0 where the plan has no kinds). */
  split(coordinates: readonly [number, number, number]): { bin: number; value: number } {
    const sizes = this.sizes(this.time.nBins ?? this.nBins);
    if (coordinates.some((at, axis) => !(Number.isInteger(at) && at >= 0 && at < sizes[axis]))) {
      refuse("the event lies outside of the plan's domain.");
    }
    const along = (isHidden: boolean): number =>
      coordinates.reduce(
        (n, at, axis) => (this.private.includes(AXES[axis]) === isHidden ? n * sizes[axis] + at : n),
        0,
      );
    return { bin: along(false), value: along(true) };
  }

  /** Make a report of each event. Where the mechanism remembers, reports come from a memo. */
  randomize(events: readonly Event[], randomness: Randomness = secureRandomness): Batch {
    if (isRepeated(this.mechanism)) {
      refuse("reports of this plan come from what a device remembers, its memo. Use randomizeFrom.");
    }
    const located = events.map((event) => this.locate(event));
    const reports = this.mechanism.randomize(
      located.map(({ value }) => value),
      randomness,
    );
    return { bins: located.map(({ bin }) => bin), reports, isSimulation: randomness.isSimulation };
  }

  /** Make one report of what a device holds now, from its memo. */
  randomizeFrom(memo: DeviceMemo, event: Event, randomness: Randomness = secureRandomness): Batch {
    if (memo.mechanism !== this.mechanism)
      refuse("the memo belongs to another plan. Read it with this plan's mechanism.");
    const { bin, value } = this.locate(event);
    return { bins: [bin], reports: [memo.report(value, randomness)], isSimulation: randomness.isSimulation };
  }

  /** What one report could have meant: every value, with the probability of just this report. */
  meanings(report: Uint8Array): Meaning[] {
    const logs = this.mechanism.logProbabilities(report);
    const largest = logs.reduce((most, log) => Math.max(most, log), -Infinity);
    const total = logs.reduce((sum, log) => sum + Math.exp(log - largest), 0);
    return Array.from(logs, (log, value) => ({
      value: this.named(value),
      probability: Math.exp(log),
      share: Math.exp(log - largest) / total,
    }));
  }

  private named(value: number): Meaning["value"] {
    const found: { time?: number; place?: string; kind?: string } = {};
    const sizes = this.sizes(this.time.nBins ?? 1);
    for (const axis of [2, 1, 0] as const) {
      if (!this.private.includes(AXES[axis])) continue;
      const at = value % sizes[axis];
      value = Math.floor(value / sizes[axis]);
      if (axis === 0) found.time = at;
      else found[AXES[axis]] = (axis === 1 ? this.places : (this.kinds as readonly string[]))[at];
    }
    return found;
  }

  private sizes(nTimes: number): [number, number, number] {
    return [nTimes, this.places.length, this.kinds?.length ?? 1];
  }

  private kindOf(kind: string | undefined): number {
    if (this.kinds) return numberOf(this.kinds, kind, "kind");
    return kind === undefined ? 0 : refuse("the plan has no kinds. Leave the kind out.");
  }
}

/** Read a plan from JSON, as text or parsed. */
export function readPlan(given: unknown): Plan {
  return new Plan(given);
}

function parsed(given: unknown): unknown {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch {
    return refuse("the plan is not JSON. Ask for it again.");
  }
}

/** The part of a plan on privacy, of one for devices. */
function privacyOf(value: unknown): Fields {
  const central = ["most", "most_per_cell", "window", "rho", "delta"];
  const privacy = object(value, "privacy", ["epsilon", "private", "unit", "neighbors"], ["n_reports", ...central]);
  const neighbors = oneOf(privacy, "neighbors", ["replace", "add or remove"]);
  if (neighbors !== "replace" || central.some((name) => name in privacy)) {
    refuse("the plan is for a curator who counts, not for devices that randomize.");
  }
  return privacy;
}

interface NamedAxis {
  readonly cells: readonly string[];
  readonly hasElsewhere: boolean;
  readonly fields: Fields;
}

/** Places or kinds. Tables of names, which a fingerprint does not cover, are not read. */
function namedAxis(value: unknown, word: string, rest: string): NamedAxis {
  const fields = object(value, word, ["level", "cells"], ["elsewhere", "gazetteer"]);
  const [level, cells] = [text(fields, "level"), texts(fields, "cells")];
  if (!cells.length || new Set(cells).size < cells.length)
    refuse(`the plan's ${word}s must be different names, one at least.`);
  const hasElsewhere = fields.elsewhere === true;
  if ("elsewhere" in fields && !(hasElsewhere && cells.includes(rest))) refuse(`the plan lacks a ${word} ${rest}.`);
  return { cells, hasElsewhere, fields: { level, cells, ...(hasElsewhere ? { elsewhere: true } : {}) } };
}

function numberOf(cells: readonly string[], name: string | undefined, word: string): number {
  const found = cells.indexOf(name as string);
  return found >= 0 ? found : refuse(`the ${word} must be one of the plan's ${cells.length}, by its name there.`);
}

function thresholdsOf(value: unknown): Thresholds {
  const fields = object(value, "thresholds", [], Object.keys((value as object | null) ?? {}));
  const found = Object.entries(fields).map(([name, digits]): [string, bigint] => {
    const isHex = typeof digits === "string" && /^0x(0|[1-9a-f][0-9a-f]{0,16})$/.test(digits);
    if (!isHex || BigInt(digits) > COIN) refuse("the plan is damaged: a threshold must lie between 0 and 2**64.");
    return [name, BigInt(digits)];
  });
  return new Map(found);
}

function hexed(thresholds: Thresholds): Record<string, string> {
  return Object.fromEntries([...thresholds].map(([name, value]) => [name, `0x${value.toString(16)}`]));
}

/** A number that Python has as a float. */
class Float {
  constructor(readonly value: number) {}

  /** The shortest digits that give the number back, in Python's form: 2.0, 0.0001, 1e-05. */
  toString(): string {
    const { value } = this;
    if (Number.isInteger(value)) return `${value}.0`;
    return value < 1e-4 ? value.toExponential().replace(/e-(\d)$/, "e-0$1") : String(value);
  }
}

/** JSON with sorted keys and no spaces, as Python writes it: the bytes under the fingerprint. */
function written(value: unknown): string {
  if (value instanceof Float) return value.toString();
  if (Array.isArray(value)) return `[${value.map(written).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, one]) => `${JSON.stringify(name)}:${written(one)}`).join()}}`;
}

function product(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all * one, 1);
}
