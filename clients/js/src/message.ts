/** Messages to a collector, as src/tacit/collection/wire/message.py has them, byte for byte. */

import { refuse } from "./errors";
import { secureRandomness } from "./randomness";
import { sha256 } from "./sha256";

/** Reports in any order, each with its public bin. */
export interface Batch {
  readonly bins: readonly number[];
  readonly reports: readonly Uint8Array[];
  /** Whether they were made with words that can be drawn again. */
  readonly isSimulation: boolean;
}

/** What a message needs of its plan. */
export interface MessageFormat {
  readonly fingerprint: string;
  readonly reportBytes: number;
  /** Bins are whole numbers below this. */
  readonly nBins: number;
}

const MAGIC = "TACITMSG";
const VERSION = 3;
const ID_BYTES = 16;
const HEADER_BYTES = 72;
/** Of the SHA-256 of all other bytes, at the end. */
const CHECKSUM_BYTES = 8;
/** The largest epsilon that a label may state. */
const MOST_EPSILON = 500;

/** What a message says beside its reports. */
export interface MessageLabel {
  /** What the same events had cost before. */
  readonly priorEpsilon?: number;
  /** By which a collector counts a message once: drawn at random, and sent again with the same message only. */
  readonly id?: Uint8Array;
}

/** Pack reports. Nothing of their order is left. */
export function encodeMessage(format: MessageFormat, batch: Batch, label: MessageLabel = {}): Uint8Array {
  const { bins, reports } = batch;
  const { priorEpsilon = 0, id = secureRandomness.words(ID_BYTES / 8) } = label;
  if (id.length !== ID_BYTES) refuse(`id must have ${ID_BYTES} bytes. Leave it out, and it is drawn.`);
  const { fingerprint, reportBytes, nBins } = format;
  if (bins.length !== reports.length || reports.some((report) => report.length !== reportBytes)) {
    refuse(`reports must have ${reportBytes} bytes each, and one bin. Use what the plan's mechanism gave.`);
  }
  if (bins.some((bin) => !(Number.isInteger(bin) && bin >= 0 && bin < nBins))) {
    refuse(`bins must be whole numbers from 0 to ${nBins - 1}. Use the plan's bins.`);
  }
  if (!(priorEpsilon >= 0 && priorEpsilon <= MOST_EPSILON)) refuse("priorEpsilon must be a number of at least 0.");
  const order = [...bins.keys()].sort((a, b) => bins[a] - bins[b] || compared(reports[a], reports[b]));
  const runs = new Map<number, number>();
  for (const i of order) runs.set(bins[i], (runs.get(bins[i]) ?? 0) + 1);
  const payload = HEADER_BYTES + 16 * runs.size;
  const end = payload + reports.length * reportBytes;
  const message = new Uint8Array(end + CHECKSUM_BYTES);
  const view = new DataView(message.buffer);
  message.set(new TextEncoder().encode(MAGIC));
  view.setUint16(8, VERSION, true);
  view.setUint16(10, Number(batch.isSimulation), true);
  view.setUint32(12, reportBytes, true);
  for (let i = 0; i < 16; i++) message[16 + i] = parseInt(fingerprint.slice(2 * i, 2 * i + 2), 16);
  message.set(id, 32);
  view.setFloat64(48, priorEpsilon, true);
  view.setBigUint64(56, BigInt(runs.size), true);
  view.setBigUint64(64, BigInt(reports.length), true);
  [...runs.keys(), ...runs.values()].forEach((n, i) => view.setBigInt64(HEADER_BYTES + 8 * i, BigInt(n), true));
  order.forEach((i, at) => message.set(reports[i], payload + at * reportBytes));
  message.set(sha256(message.subarray(0, end)).subarray(0, CHECKSUM_BYTES), end);
  return message;
}

/** The order of two reports as numbers, whose lowest byte stands first. */
function compared(a: Uint8Array, b: Uint8Array): number {
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return a[i] - b[i];
  return 0;
}
