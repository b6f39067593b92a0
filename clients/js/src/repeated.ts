/** Randomizers for devices that report again and again: permanent rows, drawn once, and fresh coins in every report. */

import type { Ratio } from "./epsilon";
import {
  LocalHashing,
  checkCells,
  logOfBits,
  packed,
  parts,
  fits,
  unpacked,
  type Mechanism,
  type Thresholds,
} from "./oracles";
import { COIN, coins, lane32, type Randomness } from "./randomness";
import { sha256 } from "./sha256";

/** A randomizer in two rounds. A slot is a value, or its hash value under a function that the device drew for life. */
export interface RepeatedMechanism extends Mechanism {
  readonly memoName: string;
  readonly thresholds: Thresholds;
  /** The number of functions that a device draws its own from; 1 where there is nothing to draw. */
  readonly nFunctions: number;
  readonly slotLimit: number;
  /** Whether all reports about one value together tell no more than some epsilon. */
  readonly isBounded: boolean;
  functions(count: number, randomness: Randomness): number[];
  slots(functions: readonly number[], cells: readonly number[]): number[];
  permanentRows(functions: readonly number[], slots: readonly number[], randomness: Randomness): Uint8Array[];
  instantaneous(permanent: readonly Uint8Array[], randomness: Randomness): Uint8Array[];
}

export function isRepeated(mechanism: Mechanism): mechanism is RepeatedMechanism {
  return "memoName" in mechanism;
}

/** First reports: what is permanent is drawn for each cell, used once and forgotten. */
function firstReports(
  mechanism: RepeatedMechanism,
  cells: readonly number[],
  atOnce: number,
  randomness: Randomness,
): Uint8Array[] {
  checkCells(cells, mechanism.nCells);
  const reports: Uint8Array[] = [];
  for (const part of parts(cells, atOnce)) {
    const functions = mechanism.functions(part.length, randomness);
    const rows = mechanism.permanentRows(functions, mechanism.slots(functions, part), randomness);
    for (const report of mechanism.instantaneous(rows, randomness)) reports.push(report);
  }
  return reports;
}

/** Longitudinal RAPPOR and L-OSUE: permanent noisy bits, one-hot or those of a Bloom filter. */
export class LongitudinalRappor implements RepeatedMechanism {
  readonly memoName = "longitudinal";
  readonly nFunctions = 1;
  readonly reportBytes: number;
  readonly ratios: readonly Ratio[];
  readonly thresholds: Thresholds;
  readonly slotLimit: number;
  readonly isBounded: boolean;
  private readonly permanent: bigint;
  private readonly ones: bigint;
  private readonly zeros: bigint;
  /** The threshold of a true bit; undefined where permanent coins are symmetric. */
  private readonly kept: bigint | undefined;
  private readonly nBits: number;
  private readonly positions: (cell: number) => readonly number[];
  private readonly chances: readonly [bigint, bigint, bigint];
  /** Bytes of reports made at a time. Part of what a keystream gives. */
  private static readonly bytesAtOnce = 1 << 20;

  constructor(
    readonly nCells: number,
    given: Thresholds,
  ) {
    const of = (name: string): bigint => given.get(name) as bigint;
    [this.permanent, this.ones, this.zeros] = [of("permanent"), of("ones"), of("zeros")];
    this.kept = given.get("kept") === COIN - this.permanent ? undefined : given.get("kept");
    const kept = this.kept ?? COIN - this.permanent;
    fits(nCells >= 2 && this.permanent < kept && kept <= COIN && this.zeros < this.ones && this.ones <= COIN);
    fits(!(this.permanent === 0n && this.zeros === 0n) && !(kept === COIN && this.ones === COIN));
    this.thresholds = new Map([...given].filter(([name]) => name !== "kept" || this.kept !== undefined));
    const isBloom = given.has("n_bits");
    this.nBits = isBloom ? Number(of("n_bits")) : nCells;
    const rows = isBloom ? bloomPositions(nCells, this.nBits, Number(of("hashes"))) : undefined;
    this.positions = rows ? (cell) => rows[cell] : (cell) => [cell];
    const nDiffering = rows ? largestDifference(rows) : 1;
    fits(nDiffering >= 1);
    this.reportBytes = Math.ceil(this.nBits / 8);
    this.slotLimit = nCells;
    this.isBounded = this.permanent !== 0n && kept !== COIN;
    const chance = (share: bigint): bigint => share * this.ones + (COIN - share) * this.zeros;
    const [one, zero, whole] = [chance(kept), chance(this.permanent), COIN * COIN];
    this.chances = [one, zero, whole];
    const power = BigInt(nDiffering);
    this.ratios = [[(one * (whole - zero)) ** power, (zero * (whole - one)) ** power]];
  }

  functions(count: number): number[] {
    return new Array<number>(count).fill(0);
  }

  slots(_functions: readonly number[], cells: readonly number[]): number[] {
    checkCells(cells, this.nCells);
    return [...cells];
  }

  permanentRows(_functions: readonly number[], slots: readonly number[], randomness: Randomness): Uint8Array[] {
    const rows = this.coinRows(slots.length, this.permanent, randomness);
    const places = slots.map(this.positions);
    const nHashes = places.length ? places[0].length : 0;
    const apart = this.kept === undefined ? null : coins(slots.length * nHashes, this.kept, randomness);
    places.forEach((own, row) =>
      own.forEach((j, at) => (rows[row][j] = apart ? apart[row * nHashes + at] : rows[row][j] ^ 1)),
    );
    return rows.map(packed);
  }

  instantaneous(permanent: readonly Uint8Array[], randomness: Randomness): Uint8Array[] {
    const forOnes = this.coinRows(permanent.length, this.ones, randomness);
    const forZeros = this.coinRows(permanent.length, this.zeros, randomness);
    return permanent.map((row, i) =>
      packed(unpacked(row, this.nBits).map((bit, j) => (bit ? forOnes[i][j] : forZeros[i][j]))),
    );
  }

  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    const atOnce = Math.max(1, Math.floor(LongitudinalRappor.bytesAtOnce / this.reportBytes));
    return firstReports(this, cells, atOnce, randomness);
  }

  logProbabilities(report: Uint8Array): Float64Array {
    return logOfBits(unpacked(report, this.nBits), this.positions, this.nCells, this.chances);
  }

  /** Rows of coins; coins of whole bytes are tossed, and those beyond the last bit are lost. */
  private coinRows(nRows: number, threshold: bigint, randomness: Randomness): Uint8Array[] {
    const width = 8 * this.reportBytes;
    const tossed = coins(nRows * width, threshold, randomness);
    return Array.from({ length: nRows }, (_, row) => tossed.subarray(row * width, row * width + this.nBits));
  }
}

/** The different bits of every cell, from SHA-256 as src/tacit/mechanisms/local/memoized.py says. */
function bloomPositions(nCells: number, nBits: number, hashes: number): number[][] {
  fits(hashes >= 1 && nBits > hashes && nBits <= 2 ** 26);
  const prefix = new TextEncoder().encode("tacit bloom 1");
  return Array.from({ length: nCells }, (_, cell) => {
    const found: number[] = [];
    for (let counter = 0; found.length < hashes; counter++) {
      const message = new Uint8Array(prefix.length + 12);
      message.set(prefix);
      new DataView(message.buffer).setBigUint64(prefix.length, BigInt(cell), true);
      new DataView(message.buffer).setUint32(prefix.length + 8, counter, true);
      const digest = sha256(message);
      for (let i = 0; i < 8; i++) {
        const bit = lane32(digest, i) % nBits;
        if (!found.includes(bit) && found.length < hashes) found.push(bit);
      }
    }
    return found;
  });
}

/** The largest number of bits set for one cell of a pair and not for the other. */
function largestDifference(rows: readonly (readonly number[])[]): number {
  let largest = 0;
  for (const bits of rows) {
    for (const others of rows) largest = Math.max(largest, others.filter((bit) => !bits.includes(bit)).length);
    if (largest === bits.length) break;
  }
  return largest;
}

/** Longitudinal hashing: a hash function for life, remembered noisy hash values, and fresh noise around them. */
export class LongitudinalHashing implements RepeatedMechanism {
  readonly memoName = "longitudinal hashing";
  readonly nFunctions: number;
  readonly slotLimit: number;
  readonly isBounded = true;
  readonly reportBytes: number;
  readonly ratios: readonly Ratio[];
  private readonly first: LocalHashing;
  private readonly permanentKeep: bigint;
  private readonly keep: bigint;

  constructor(
    readonly nCells: number,
    readonly thresholds: Thresholds,
  ) {
    const of = (name: string): bigint => thresholds.get(name) as bigint;
    [this.permanentKeep, this.keep] = [of("permanent_keep"), of("keep")];
    this.first = new LocalHashing(nCells, of("bits"), this.permanentKeep);
    fits(0n < this.keep && this.keep <= COIN);
    this.nFunctions = 2 ** this.first.degree;
    this.slotLimit = 2 ** this.first.bits;
    this.reportBytes = this.first.reportBytes;
    const both = this.permanentKeep * this.keep;
    const rest = COIN * COIN - both;
    this.ratios = [[rest + (both << BigInt(this.first.bits)), rest]];
  }

  functions(count: number, randomness: Randomness): number[] {
    const words = randomness.words(count);
    return Array.from({ length: count }, (_, i) => lane32(words, 2 * i) % this.nFunctions);
  }

  slots(functions: readonly number[], cells: readonly number[]): number[] {
    checkCells(cells, this.nCells);
    return cells.map((cell, i) => this.first.hashed(functions[i], cell));
  }

  permanentRows(functions: readonly number[], slots: readonly number[], randomness: Randomness): Uint8Array[] {
    const values = this.keptOrDrawn(slots, this.permanentKeep, randomness);
    return values.map((value, i) => this.first.packed(functions[i], value));
  }

  instantaneous(permanent: readonly Uint8Array[], randomness: Randomness): Uint8Array[] {
    const rows = permanent.map((row) => this.first.unpacked(row));
    const values = this.keptOrDrawn(
      rows.map(([, value]) => value),
      this.keep,
      randomness,
    );
    return values.map((value, i) => this.first.packed(rows[i][0], value));
  }

  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    return firstReports(this, cells, LocalHashing.atOnce, randomness);
  }

  logProbabilities(report: Uint8Array): Float64Array {
    return this.first.logOfKept(report, this.permanentKeep * this.keep, COIN * COIN);
  }

  /** Keep each value with a chance of threshold / 2**64, else draw one from all of them. */
  private keptOrDrawn(values: readonly number[], threshold: bigint, randomness: Randomness): number[] {
    const words = randomness.words(values.length);
    const kept = coins(values.length, threshold, randomness);
    return values.map((value, i) => (kept[i] ? value : lane32(words, 2 * i) % this.slotLimit));
  }
}
