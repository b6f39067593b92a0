/** The frequency oracles of src/tacit/mechanisms/local: the same coins in the same order, and so the same reports. */

import type { Ratio } from "./epsilon";
import { refuse } from "./errors";
import { multiply, LARGEST_DEGREE } from "./galois";
import {
  COIN,
  COINS_AT_ONCE,
  below,
  coins,
  integersBelow,
  lane16,
  lane32,
  lowerProduct,
  upperProduct,
  type Randomness,
} from "./randomness";

/** A randomized answer from a device that trusts nobody. */
export interface Mechanism {
  /** The number of values that a device may hold. */
  readonly nCells: number;
  /** The length of every report. */
  readonly reportBytes: number;
  /** The largest ratios of the probabilities of one report under two values, one for each way to report. */
  readonly ratios: readonly Ratio[];
  /** Turn true cells into reports, one each. */
  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[];
  /** The logarithm of the probability of a report, for each cell that may be the true one. */
  logProbabilities(report: Uint8Array): Float64Array;
}

/** Integer thresholds by their names, as a plan has them. */
export type Thresholds = ReadonlyMap<string, bigint>;

/** The largest number of cells: those of lanes of 32 bits. */
const MOST_CELLS = 2 ** 31;

export function checkCells(cells: readonly number[], nCells: number): void {
  const nWrong = cells.filter((cell) => !(Number.isInteger(cell) && cell >= 0 && cell < nCells)).length;
  if (nWrong) refuse(`cells must be whole numbers from 0 to ${nCells - 1}; ${nWrong} of ${cells.length} are not.`);
}

/** Refuse thresholds that break the rule of their mechanism. */
export function fits(isFit: boolean): void {
  if (!isFit) refuse("the plan's thresholds do not fit its mechanism. Make the plan again.");
}

export function checkReport(isFit: boolean): void {
  if (!isFit) refuse("the report is not one of this plan. Use the plan that it was made under.");
}

/** Lists cut into parts of at most so many. */
export function* parts<T>(list: readonly T[], most: number): Generator<readonly T[]> {
  for (let first = 0; first < list.length; first += most) yield list.slice(first, first + most);
}

/** Bits, a byte each, as bytes: bit j of the report is bit j % 8 of byte j >> 3. */
export function packed(bits: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, j) => (bytes[j >>> 3] |= bit << (j & 7)));
  return bytes;
}

/** The bits of a report, a byte each; a bit beyond the last is refused. */
export function unpacked(report: Uint8Array, nBits: number): Uint8Array {
  checkReport(report.length === Math.ceil(nBits / 8));
  const bits = new Uint8Array(8 * report.length).map((_, j) => (report[j >>> 3] >>> (j & 7)) & 1);
  checkReport(!bits.subarray(nBits).includes(1));
  return bits.subarray(0, nBits);
}

/** A whole number below 2**53 as bytes, the lowest first. */
export function littleEndian(value: number, nBytes: number): Uint8Array {
  return new Uint8Array(nBytes).map((_, i) => Math.floor(value / 2 ** (8 * i)) & 0xff);
}

export function fromLittleEndian(report: Uint8Array): number {
  return report.reduceRight((value, byte) => value * 256 + byte, 0);
}

export function bitLength(n: number): number {
  return n.toString(2).length * Number(n > 0);
}

/** The logarithm of a share of 2**64, or of 2**128. */
export function logShare(part: bigint, whole: bigint = COIN): number {
  return Math.log(Number(part) / Number(whole));
}

/** Log-probabilities of a row of independent bits, ones with one chance for the true cell and another else. */
export function logOfBits(
  bits: Uint8Array,
  positions: (cell: number) => readonly number[],
  nCells: number,
  [one, zero, whole]: readonly [bigint, bigint, bigint],
): Float64Array {
  const others = [logShare(whole - zero, whole), logShare(zero, whole)];
  const own = [logShare(whole - one, whole), logShare(one, whole)];
  const base = bits.reduce((sum, bit) => sum + others[bit], 0);
  return Float64Array.from({ length: nCells }, (_, cell) =>
    positions(cell).reduce((sum, j) => sum + own[bits[j]] - others[bits[j]], base),
  );
}

/** Every cell's bit by a coin of its own. */
export class UnaryEncoding implements Mechanism {
  readonly reportBytes: number;
  readonly ratios: readonly Ratio[];

  constructor(
    readonly nCells: number,
    private readonly ones: bigint,
    private readonly zeros: bigint,
  ) {
    fits(nCells >= 2 && 0n < zeros && zeros < ones && ones < COIN);
    this.reportBytes = Math.ceil(nCells / 8);
    this.ratios = [[ones * (COIN - zeros), zeros * (COIN - ones)]];
  }

  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    checkCells(cells, this.nCells);
    const reports: Uint8Array[] = [];
    for (const part of parts(cells, Math.max(1, Math.floor(COINS_AT_ONCE / this.nCells)))) {
      const noise = coins(part.length * this.nCells, this.zeros, randomness);
      const truth = this.ones + this.zeros === COIN ? null : coins(part.length, this.ones, randomness);
      part.forEach((cell, row) => {
        const bits = noise.subarray(row * this.nCells, (row + 1) * this.nCells);
        bits[cell] = truth ? truth[row] : bits[cell] ^ 1;
        reports.push(packed(bits));
      });
    }
    return reports;
  }

  logProbabilities(report: Uint8Array): Float64Array {
    return logOfBits(unpacked(report, this.nCells), (cell) => [cell], this.nCells, [this.ones, this.zeros, COIN]);
  }
}

/** Name the true cell, or one drawn from all of them. */
export class RandomizedResponse implements Mechanism {
  readonly reportBytes: number;
  readonly ratios: readonly Ratio[];
  private static readonly atOnce = 1 << 18;

  constructor(
    readonly nCells: number,
    private readonly keep: bigint,
  ) {
    fits(nCells >= 2 && nCells <= MOST_CELLS && 0n < keep && keep < COIN);
    this.reportBytes = Math.ceil(bitLength(nCells - 1) / 8);
    this.ratios = [[keep * BigInt(nCells) + COIN - keep, COIN - keep]];
  }

  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    checkCells(cells, this.nCells);
    const reports: Uint8Array[] = [];
    for (const part of parts(cells, RandomizedResponse.atOnce)) {
      const drawn = integersBelow(this.nCells, part.length, randomness);
      const kept = coins(part.length, this.keep, randomness);
      part.forEach((cell, i) => reports.push(littleEndian(kept[i] ? cell : drawn[i], this.reportBytes)));
    }
    return reports;
  }

  logProbabilities(report: Uint8Array): Float64Array {
    const named = fromLittleEndian(report);
    checkReport(report.length === this.reportBytes && named < this.nCells);
    const whole = COIN * BigInt(this.nCells);
    const found = new Float64Array(this.nCells).fill(logShare(COIN - this.keep, whole));
    found[named] = logShare(this.keep * BigInt(this.nCells) + COIN - this.keep, whole);
    return found;
  }
}

/** Name a column of a Hadamard matrix, more likely one of the half that supports the truth. */
export class HadamardResponse implements Mechanism {
  readonly reportBytes: number;
  readonly ratios: readonly Ratio[];
  private readonly nBits: number;
  private static readonly atOnce = 1 << 18;

  constructor(
    readonly nCells: number,
    private readonly keep: bigint,
  ) {
    fits(nCells >= 2 && nCells < MOST_CELLS && 0n < keep && keep < COIN);
    this.nBits = bitLength(nCells);
    this.reportBytes = Math.ceil(this.nBits / 8);
    this.ratios = [[COIN + keep, COIN - keep]];
  }

  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    checkCells(cells, this.nCells);
    const reports: Uint8Array[] = [];
    const laneBytes = this.reportBytes === 3 ? 4 : this.reportBytes;
    for (const part of parts(cells, HadamardResponse.atOnce)) {
      const words = randomness.words(Math.ceil((part.length * laneBytes) / 8));
      const kept = coins(part.length, this.keep, randomness);
      part.forEach((cell, i) => {
        const lane = laneBytes === 1 ? words[i] : laneBytes === 2 ? lane16(words, i) : lane32(words, i);
        const row = cell + 1;
        let column = lane % 2 ** this.nBits;
        if (kept[i] && isOdd(row & column)) column = (column ^ (row & -row)) >>> 0;
        reports.push(littleEndian(column, this.reportBytes));
      });
    }
    return reports;
  }

  logProbabilities(report: Uint8Array): Float64Array {
    const column = fromLittleEndian(report);
    const order = 2 ** this.nBits;
    checkReport(report.length === this.reportBytes && column < order);
    const chances = [COIN + this.keep, COIN - this.keep].map((part) => logShare(part, COIN * BigInt(order)));
    return Float64Array.from({ length: this.nCells }, (_, cell) => chances[Number(isOdd((cell + 1) & column))]);
  }
}

/** Whether a number of 32 bits has an odd number of ones. */
function isOdd(bits: number): boolean {
  for (let shift = 16; shift; shift >>= 1) bits ^= bits >>> shift;
  return (bits & 1) === 1;
}

/** A random hash function, and a value that the true cell may have under it. */
export class LocalHashing implements Mechanism {
  readonly reportBytes: number;
  readonly ratios: readonly Ratio[];
  readonly bits: number;
  readonly degree: number;
  /** Part of what a keystream gives. */
  static readonly atOnce = 1 << 16;

  constructor(
    readonly nCells: number,
    bits: bigint,
    private readonly keep: bigint,
  ) {
    this.bits = Number(bits);
    this.degree = Math.max(bitLength(nCells - 1), this.bits);
    fits(nCells >= 2 && this.bits >= 1 && this.degree <= LARGEST_DEGREE && 0n < keep && keep < COIN);
    this.reportBytes = Math.ceil((this.degree + this.bits) / 8);
    this.ratios = [[COIN - keep + (keep << bits), COIN - keep]];
  }

  hashed(a: number, cell: number): number {
    return multiply(a, cell, this.degree) >>> (this.degree - this.bits);
  }

  /** The report of a function and a hash value. */
  packed(a: number, value: number): Uint8Array {
    return littleEndian(a + value * 2 ** this.degree, this.reportBytes);
  }

  /** The function and the hash value of a report. */
  unpacked(report: Uint8Array): readonly [number, number] {
    const number = fromLittleEndian(report);
    checkReport(report.length === this.reportBytes && number < 2 ** (this.degree + this.bits));
    return [number % 2 ** this.degree, Math.floor(number / 2 ** this.degree)];
  }

  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    checkCells(cells, this.nCells);
    const reports: Uint8Array[] = [];
    for (const part of parts(cells, LocalHashing.atOnce)) {
      const words = randomness.words(part.length);
      const kept = this.coinsOf(words, part.length, randomness);
      part.forEach((cell, i) => {
        // the lowest 48 bits of a word, which a report may use up
        const number = lane32(words, 2 * i) + lane16(words, 4 * i + 2) * 2 ** 32;
        const a = number % 2 ** this.degree;
        const drawn = Math.floor(number / 2 ** this.degree) % 2 ** this.bits;
        const hashed = this.hashed(a, cell);
        reports.push(this.packed(a, kept[i] ? hashed : drawn));
      });
    }
    return reports;
  }

  logProbabilities(report: Uint8Array): Float64Array {
    return this.logOfKept(report, this.keep, COIN);
  }

  /** Log-probabilities where the true hash value is kept with any chance, and else drawn from all of them. */
  logOfKept(report: Uint8Array, kept: bigint, whole: bigint): Float64Array {
    const [a, value] = this.unpacked(report);
    const all = whole << BigInt(this.degree + this.bits);
    const chances = [whole - kept, whole - kept + (kept << BigInt(this.bits))].map((part) => logShare(part, all));
    return Float64Array.from({ length: this.nCells }, (_, cell) => chances[Number(this.hashed(a, cell) === value)]);
  }

  /** A coin by the highest 16 bits of each word; where they equal those of the threshold, by a word of its own. */
  private coinsOf(words: Uint8Array, count: number, randomness: Randomness): boolean[] {
    const first = Number(this.keep >> 48n);
    const digits = Array.from({ length: count }, (_, i) => lane16(words, 4 * i + 3));
    const undecided = [...digits.keys()].filter((i) => digits[i] === first);
    const kept = digits.map((digit) => digit < first);
    const more = randomness.words(undecided.length);
    const isHead = below((this.keep << 16n) % COIN);
    undecided.forEach((i, at) => (kept[i] = isHead(more, at)));
    return kept;
  }
}

/** Name several cells, the true one more often than not among them. */
export class SubsetSelection implements Mechanism {
  readonly reportBytes: number;
  readonly ratios: readonly Ratio[];
  private readonly size: number;
  /** Cells up to which one word names the whole subset: the others are two blocks of 16. */
  private static readonly mostRanked = 33;
  /** Words drawn at a time. Part of what a keystream gives. */
  private static readonly wordsAtOnce = 1 << 17;

  constructor(
    readonly nCells: number,
    size: bigint,
    private readonly include: bigint,
  ) {
    const k = BigInt(nCells);
    fits(nCells >= 2 && nCells <= MOST_CELLS && 1n <= size && size < k);
    fits(size * COIN < include * k && include < COIN);
    this.size = Number(size);
    this.reportBytes = Math.ceil(nCells / 8);
    this.ratios = [[include * (k - size), (COIN - include) * size]];
  }

  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    checkCells(cells, this.nCells);
    return this.nCells <= SubsetSelection.mostRanked
      ? this.ranked(cells, randomness)
      : this.repaired(cells, randomness);
  }

  logProbabilities(report: Uint8Array): Float64Array {
    const bits = unpacked(report, this.nCells);
    checkReport(bits.reduce((sum, bit) => sum + bit, 0) === this.size);
    const without = logShare(COIN - this.include) - logChoose(this.nCells - 1, this.size);
    const within = logShare(this.include) - logChoose(this.nCells - 1, this.size - 1);
    return Float64Array.from(bits, (bit) => (bit ? within : without));
  }

  private ranked(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    const reports: Uint8Array[] = [];
    const limits = [choose(this.nCells - 1, this.size), choose(this.nCells - 1, this.size - 1)];
    const surplus = limits.map((limit) => 2 ** 32 % limit);
    const first = Number(this.include >> 32n);
    const isHead = below((this.include << 32n) % COIN);
    for (const part of parts(cells, SubsetSelection.wordsAtOnce)) {
      const words = randomness.words(part.length);
      const coin = part.map((_, i) => Number(lane32(words, 2 * i + 1) < first));
      const open = [...part.keys()].filter((i) => lane32(words, 2 * i + 1) === first);
      const more = randomness.words(open.length);
      open.forEach((i, at) => (coin[i] = Number(isHead(more, at))));
      const lanes = part.map((_, i) => lane32(words, 2 * i));
      const isSurplus = (i: number): boolean => lowerProduct(lanes[i], limits[coin[i]]) < surplus[coin[i]];
      let again = [...part.keys()].filter(isSurplus);
      while (again.length) {
        const drawn = randomness.words(again.length);
        again.forEach((i, at) => (lanes[i] = lane32(drawn, 2 * at + 1)));
        again = again.filter(isSurplus);
      }
      part.forEach((cell, i) => {
        const rank = upperProduct(lanes[i], limits[coin[i]]);
        reports.push(this.written(cell, coin[i], placesOfRank(rank, this.nCells - 1, this.size - coin[i])));
      });
    }
    return reports;
  }

  private repaired(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    const reports: Uint8Array[] = [];
    const nPlaces = this.nCells - 1;
    const { digits, nLanes } = coinsAndLanes(this.nCells, this.size);
    const laneBytes = nPlaces <= 1 << 12 ? 2 : 4;
    const laneWords = Math.ceil((nLanes * laneBytes) / 8);
    const lineWords = Math.ceil(this.nCells / 64);
    const isIncluded = below(this.include);
    const atOnce = Math.max(1, Math.floor(SubsetSelection.wordsAtOnce / (laneWords + lineWords)));
    for (const part of parts(cells, atOnce)) {
      const lines = new Uint8Array(part.length * lineWords * 8);
      for (const digit of digits) {
        const words = randomness.words(part.length * lineWords);
        lines.forEach((byte, i) => (lines[i] = digit ? byte | words[i] : byte & words[i]));
      }
      const isInverted = Number(2 * this.size > this.nCells);
      const coinWords = randomness.words(part.length);
      const rows = part.map((cell, i) => {
        const line = lines.subarray(i * lineWords * 8, (i + 1) * lineWords * 8);
        const bits = new Uint8Array(this.nCells);
        for (let j = 0; j < nPlaces; j++) bits[j] = ((line[j >>> 3] >>> (j & 7)) & 1) ^ isInverted;
        const coin = Number(isIncluded(coinWords, i));
        return { cell, coin, bits, lacking: this.size - coin - bits.reduce((sum, bit) => sum + bit, 0) };
      });
      // all rows take their first lanes, even those that lack nothing
      let open = rows;
      while (open.length) {
        const words = randomness.words(open.length * laneWords);
        open.forEach((row, i) =>
          repair(row, words.subarray(i * laneWords * 8, (i + 1) * laneWords * 8), laneBytes, nPlaces),
        );
        open = open.filter((row) => row.lacking !== 0);
      }
      for (const row of rows) reports.push(this.written(row.cell, row.coin, row.bits));
    }
    return reports;
  }

  /** The report of a line of places: the true cell's bit moves to the last cell, and its coin takes its place. */
  private written(cell: number, coin: number, bits: Uint8Array): Uint8Array {
    bits[this.nCells - 1] |= bits[cell];
    bits[cell] = coin;
    return packed(bits);
  }
}

interface Row {
  readonly bits: Uint8Array;
  lacking: number;
}

/** Take places, or give them back, at random, until the row lacks none or its lanes are used up. */
function repair(row: Row, words: Uint8Array, laneBytes: number, nPlaces: number): void {
  const wanted = Number(row.lacking > 0);
  const range = 2 ** (8 * laneBytes);
  for (let i = 0; i < words.length / laneBytes && row.lacking; i++) {
    const lane = laneBytes === 2 ? lane16(words, i) : lane32(words, i);
    const place = laneBytes === 2 ? (lane * nPlaces) >>> 16 : upperProduct(lane, nPlaces);
    const rest = laneBytes === 2 ? (lane * nPlaces) & 0xffff : lowerProduct(lane, nPlaces);
    if (row.bits[place] !== wanted && rest >= range % nPlaces) {
      row.bits[place] = wanted;
      row.lacking += wanted ? -1 : 1;
    }
  }
}

/** Binary digits of the coins that subsets of many cells start from, the last first, and how many lanes repair them. */
function coinsAndLanes(nCells: number, named: number): { digits: number[]; nLanes: number } {
  const nDigits = 5;
  const size = Math.min(named, nCells - named);
  const deviation = wholeRoot(Math.floor((size * (nCells - size)) / nCells));
  let chance = Math.floor(((size - deviation) * 2 ** nDigits) / nCells);
  if (chance < 2) chance = 0;
  const lacking = size - Math.floor((chance * nCells) / 2 ** nDigits);
  const nLanes = Math.ceil(((lacking + deviation) * nCells) / (nCells - size));
  const nZeros = chance ? bitLength(chance & -chance) - 1 : nDigits;
  return { digits: Array.from({ length: nDigits - nZeros }, (_, i) => (chance >>> (nZeros + i)) & 1), nLanes };
}

function wholeRoot(n: number): number {
  const root = Math.floor(Math.sqrt(n));
  return root * root > n ? root - 1 : (root + 1) ** 2 <= n ? root + 1 : root;
}

/** The number of subsets, exactly, where it is below 2**53. */
function choose(n: number, size: number): number {
  let found = 1;
  for (let i = 0; i < size; i++) found = (found * (n - i)) / (i + 1);
  return size < 0 ? 0 : found;
}

function logChoose(n: number, size: number): number {
  let found = 0;
  for (let i = 0; i < size; i++) found += Math.log((n - i) / (i + 1));
  return found;
}

/** The subset of at most 32 places by its rank: by how many are beyond the first 16, by these, by the others. */
function placesOfRank(rank: number, nPlaces: number, size: number): Uint8Array {
  const bits = new Uint8Array(nPlaces + 1);
  const nLower = Math.min(nPlaces, 16);
  let beyond = 0;
  let lower = choose(nLower, size);
  for (;;) {
    const count = choose(nPlaces - nLower, beyond) * lower;
    if (rank < count) break;
    rank -= count;
    beyond += 1;
    lower = choose(nLower, size - beyond);
  }
  take(bits.subarray(16), Math.floor(rank / lower), beyond);
  take(bits, rank % lower, size - beyond);
  return bits;
}

/** Mark the subset of a size that stands at a rank among all of that size, as binary numbers in ascending order. */
function take(bits: Uint8Array, rank: number, size: number): void {
  for (let left = size; left; left--) {
    let place = left - 1;
    while (choose(place + 1, left) <= rank) place += 1;
    bits[place] = 1;
    rank -= choose(place, left);
  }
}
