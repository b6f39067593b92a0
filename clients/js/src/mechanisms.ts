/** The table of mechanisms, and the way from a plan's thresholds to the code that honours them. */

import { refuse } from "./errors";
import {
  HadamardResponse,
  LocalHashing,
  RandomizedResponse,
  SubsetSelection,
  UnaryEncoding,
  fits,
  type Mechanism,
  type Thresholds,
} from "./oracles";
import { LongitudinalHashing, LongitudinalRappor } from "./repeated";
import { hierarchical, sampledTables } from "./sampled";

type Made = (nCells: number, of: (name: string) => bigint, thresholds: Thresholds) => Mechanism;

/** A mechanism and the names of its thresholds; null where they are numbered. */
const KINDS: readonly (readonly [readonly string[], readonly string[] | null, Made])[] = [
  [
    ["unary", "optimized unary", "tuned unary"],
    ["ones", "zeros"],
    (k, of) => new UnaryEncoding(k, of("ones"), of("zeros")),
  ],
  [["response"], ["keep"], (k, of) => new RandomizedResponse(k, of("keep"))],
  [["subset"], ["include", "size"], (k, of) => new SubsetSelection(k, of("size"), of("include"))],
  [["hadamard"], ["keep"], (k, of) => new HadamardResponse(k, of("keep"))],
  [["hashing", "binary hashing"], ["bits", "keep"], (k, of) => new LocalHashing(k, of("bits"), of("keep"))],
  [["hierarchical"], null, (k, _, thresholds) => hierarchical(thresholds, k)],
  [["sampled tables"], null, (k, _, thresholds) => sampledTables(thresholds, k)],
  [
    ["longitudinal", "optimized longitudinal"],
    ["ones", "permanent", "zeros"],
    (k, _, thresholds) => new LongitudinalRappor(k, thresholds),
  ],
  [
    ["longitudinal hashing", "binary longitudinal hashing"],
    ["bits", "keep", "permanent_keep"],
    (k, _, thresholds) => new LongitudinalHashing(k, thresholds),
  ],
];
/** Those of longitudinal RAPPOR that may be left out: a coin of its own for true bits, and a Bloom filter. */
const OPTIONAL: readonly string[] = ["kept", "hashes", "n_bits"];

/** Make a mechanism; thresholds that do not fit it are refused. Whether they give an epsilon is another question. */
export function mechanismOf(name: string, thresholds: Thresholds, nCells: number): Mechanism {
  const kind = KINDS.find(([names]) => names.includes(name));
  if (!kind) refuse("the plan's mechanism is unknown to this client. Load a newer one.");
  const [, needed, made] = kind;
  if (needed) {
    const isRappor = needed.includes("permanent");
    fits(needed.every((one) => thresholds.has(one)) && thresholds.has("hashes") === thresholds.has("n_bits"));
    fits([...thresholds.keys()].every((one) => needed.includes(one) || (isRappor && OPTIONAL.includes(one))));
  }
  return made(nCells, (one) => thresholds.get(one) as bigint, thresholds);
}
