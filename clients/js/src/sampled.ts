/** Reports that each answer for one level of a tree, or one table of several coordinates. */

import type { Ratio } from "./epsilon";
import {
  HadamardResponse,
  LocalHashing,
  SubsetSelection,
  UnaryEncoding,
  checkCells,
  checkReport,
  logShare,
  fits,
  type Mechanism,
  type Thresholds,
} from "./oracles";
import { COIN, below, type Randomness } from "./randomness";

/** A level: its chance out of 2**64, its oracle, and the node that a cell lies in. */
interface Level {
  readonly chance: bigint;
  readonly oracle: Mechanism;
  readonly nodeOf: (cell: number) => number;
}

/** A level is named by one byte. */
const MOST_LEVELS = 255;

class SampledLevels implements Mechanism {
  readonly reportBytes: number;
  readonly ratios: readonly Ratio[];

  constructor(
    readonly nCells: number,
    private readonly levels: readonly Level[],
  ) {
    fits(levels.length >= 1 && levels.length <= MOST_LEVELS && levels.every(({ chance }) => chance > 0n));
    fits(levels.reduce((sum, { chance }) => sum + chance, 0n) === COIN);
    this.reportBytes = 1 + Math.max(...levels.map(({ oracle }) => oracle.reportBytes));
    this.ratios = levels.flatMap(({ oracle }) => oracle.ratios);
  }

  randomize(cells: readonly number[], randomness: Randomness): Uint8Array[] {
    checkCells(cells, this.nCells);
    const words = randomness.words(cells.length);
    let edge = 0n;
    const isBefore = this.levels.slice(0, -1).map(({ chance }) => below((edge += chance)));
    const chosen = cells.map((_, i) => isBefore.filter((test) => !test(words, i)).length);
    const reports = cells.map(() => new Uint8Array(this.reportBytes));
    this.levels.forEach(({ oracle, nodeOf }, level) => {
      const rows = [...cells.keys()].filter((i) => chosen[i] === level);
      const payloads = oracle.randomize(
        rows.map((i) => nodeOf(cells[i])),
        randomness,
      );
      rows.forEach((i, at) => {
        reports[i][0] = level + 1;
        reports[i].set(payloads[at], 1);
      });
    });
    return reports;
  }

  logProbabilities(report: Uint8Array): Float64Array {
    const level = this.levels[report[0] - 1];
    checkReport(report.length === this.reportBytes && level !== undefined);
    const end = 1 + level.oracle.reportBytes;
    checkReport(report.subarray(end).every((byte) => byte === 0));
    const ofNodes = level.oracle.logProbabilities(report.subarray(1, end));
    const chance = logShare(level.chance);
    return Float64Array.from({ length: this.nCells }, (_, cell) => chance + ofNodes[level.nodeOf(cell)]);
  }
}

/** A tree of the fan-outs of its levels, root first; its last nodes are cut short. */
export function hierarchical(thresholds: Thresholds, nCells: number): Mechanism {
  const found = levelsOf("level", thresholds);
  fits(found.reduce((sum, own) => sum + own.size, 0) === thresholds.size);
  const fanOuts = found.map((own) => taken(own, "fan-out"));
  fits(fanOuts.every((fanOut) => fanOut >= 2n));
  const sizes = fanOuts.map((_, level) => fanOuts.slice(level + 1).reduce((product, fanOut) => product * fanOut, 1n));
  const nNodes = sizes.map((size) => (BigInt(nCells) + size - 1n) / size);
  fits(nNodes.length > 0 && nNodes[0] === fanOuts[0]);
  fits(nNodes.every((n, level) => n > (level ? nNodes[level - 1] : 1n)));
  return new SampledLevels(
    nCells,
    found.map((own, level) => {
      const size = Number(sizes[level]);
      const chance = taken(own, "chance");
      const nodeOf = (cell: number): number => Math.floor(cell / size);
      return { chance, oracle: oracleOf(own, Number(nNodes[level])), nodeOf };
    }),
  );
}

/** Tables over axes of agreed sizes: each has some of the axes, the last all of them. */
export function sampledTables(thresholds: Thresholds, nCells: number): Mechanism {
  const sizes: number[] = [];
  for (let size; (size = thresholds.get(`axis ${sizes.length + 1}`)) !== undefined;) sizes.push(Number(size));
  fits(sizes.reduce((product, size) => product * size, 1) === nCells && sizes.length > 0 && Math.min(...sizes) >= 1);
  const found = levelsOf("table", thresholds);
  fits(found.reduce((sum, own) => sum + own.size, sizes.length) === thresholds.size);
  const masks = found.map((own) => taken(own, "axes"));
  fits(masks.length > 0 && masks[masks.length - 1] === (1n << BigInt(sizes.length)) - 1n);
  const axesOf = masks.map((mask) => [...sizes.keys()].filter((axis) => (mask >> BigInt(axis)) & 1n));
  fits(axesOf.every((axes) => axes.length > 0));
  fits(axesOf.every((axes, table) => table === 0 || comesBefore(axesOf[table - 1], axes)));
  return new SampledLevels(
    nCells,
    found.map((own, table) => {
      const chance = taken(own, "chance");
      const axes = axesOf[table];
      const behind = (axis: number): number => sizes.slice(axis + 1).reduce((product, size) => product * size, 1);
      const strides = axes.map((axis) => [behind(axis), sizes[axis]] as const);
      const nodeOf = (cell: number): number =>
        strides.reduce((node, [stride, size]) => node * size + (Math.floor(cell / stride) % size), 0);
      return {
        chance,
        oracle: oracleOf(
          own,
          axes.reduce((product, axis) => product * sizes[axis], 1),
        ),
        nodeOf,
      };
    }),
  );
}

/** Whether a set of axes stands before another: the smaller first, then in the order of the axes. */
function comesBefore(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return a.length < b.length;
  const at = a.findIndex((axis, i) => axis !== b[i]);
  return at >= 0 && a[at] < b[at];
}

/** The thresholds of every level, without the word and the number that their names begin with. */
function levelsOf(word: string, thresholds: Thresholds): Map<string, bigint>[] {
  const levels: Map<string, bigint>[] = [];
  for (;;) {
    const prefix = `${word} ${levels.length + 1} `;
    const own = [...thresholds].filter(([name]) => name.startsWith(prefix));
    if (!own.length) return levels;
    levels.push(new Map(own.map(([name, value]) => [name.slice(prefix.length), value])));
  }
}

function taken(own: Map<string, bigint>, name: string): bigint {
  const value = own.get(name);
  fits(value !== undefined);
  own.delete(name);
  return value as bigint;
}

/** The oracle that has thresholds of these names. */
function oracleOf(own: Thresholds, nNodes: number): Mechanism {
  const of = (name: string): bigint => own.get(name) ?? -1n;
  switch ([...own.keys()].sort().join()) {
    case "include,size":
      return new SubsetSelection(nNodes, of("size"), of("include"));
    case "ones,zeros":
      return new UnaryEncoding(nNodes, of("ones"), of("zeros"));
    case "bits,keep":
      return new LocalHashing(nNodes, of("bits"), of("keep"));
    default:
      fits(own.size === 1 && own.has("keep"));
      return new HadamardResponse(nNodes, of("keep"));
  }
}
