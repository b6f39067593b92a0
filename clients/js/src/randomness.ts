/** Random words, exact coins and integers: as src/tacit/randomness does, word for word. No float takes part. */

export const COIN = 1n << 64n;
/** Binary digits that a round adds to coins that earlier rounds left undecided. */
const ROUNDS = [2, 3, 8];
/** Coins for which rounds do not pay: each takes a word. */
const FEW = 1024;
/** Coins tossed at a time: 2**16 words of 64. Part of what a keystream gives. */
export const COINS_AT_ONCE = 1 << 22;
/** Largest limit of lanes of 16 bits. */
export const LARGEST_NARROW_LIMIT = 1 << 12;
/** Bytes that browsers give at a time. */
const BYTES_AT_ONCE = 1 << 16;
const HALF = 2 ** 32;

/** Independent uniform words of 64 bits, 8 bytes each, the lowest byte first. */
export interface Randomness {
  /** Whether the words can be drawn again, so that reports protect nobody. */
  readonly isSimulation: boolean;
  words(count: number): Uint8Array;
}

/** The browser's cryptographic generator. */
export const secureRandomness: Randomness = {
  isSimulation: false,
  words(count) {
    const bytes = new Uint8Array(8 * count);
    for (let first = 0; first < bytes.length; first += BYTES_AT_ONCE) {
      crypto.getRandomValues(bytes.subarray(first, first + BYTES_AT_ONCE));
    }
    return bytes;
  },
};

/** Lane i of 16 bits, the lowest of each word first. */
export function lane16(words: Uint8Array, i: number): number {
  return words[2 * i] | (words[2 * i + 1] << 8);
}

/** Lane i of 32 bits: the lower half of word w is lane 2w, the upper half lane 2w + 1. */
export function lane32(words: Uint8Array, i: number): number {
  return (lane16(words, 2 * i) | (lane16(words, 2 * i + 1) << 16)) >>> 0;
}

/** A test of whether word i is below a threshold, up to 2**64. */
export function below(threshold: bigint): (words: Uint8Array, i: number) => boolean {
  const high = Number(threshold >> 32n);
  const low = Number(threshold & 0xffffffffn);
  return (words, i) => {
    const upper = lane32(words, 2 * i + 1);
    return upper < high || (upper === high && lane32(words, 2 * i) < low);
  };
}

/** The upper 32 bits of the product of two numbers below 2**32. */
export function upperProduct(a: number, b: number): number {
  const middle = (a >>> 16) * b + Math.floor(((a & 0xffff) * b) / 0x10000);
  return Math.floor(middle / 0x10000);
}

/** The lower 32 bits of the same. */
export function lowerProduct(a: number, b: number): number {
  return Math.imul(a, b) >>> 0;
}

/** Toss coins of probability threshold / 2**64: a 0 or 1 for each. */
export function coins(count: number, threshold: bigint, randomness: Randomness): Uint8Array {
  const heads = new Uint8Array(count);
  for (let first = 0; first < count; first += COINS_AT_ONCE) {
    toss(heads.subarray(first, first + COINS_AT_ONCE), threshold, randomness);
  }
  return heads;
}

function toss(heads: Uint8Array, threshold: bigint, randomness: Randomness): void {
  if (threshold === COIN) heads.fill(1);
  if (threshold === COIN || threshold === 0n) return;
  let open = Uint32Array.from(heads.keys());
  for (const nDigits of ROUNDS) {
    if (open.length <= FEW) break;
    const digits = [...(threshold >> BigInt(64 - nDigits)).toString(2).padStart(nDigits, "0")].map(Number);
    threshold = (threshold << BigInt(nDigits)) % COIN;
    while (threshold === 0n && digits[digits.length - 1] === 0) digits.pop();
    const nBytes = 8 * Math.ceil(open.length / 64);
    const words = randomness.words((digits.length * nBytes) / 8);
    open = open.filter((coin, i) => {
      for (let d = 0; d < digits.length; d++) {
        const digit = (words[d * nBytes + (i >>> 3)] >>> (i & 7)) & 1;
        if (digit !== digits[d]) {
          heads[coin] = digits[d];
          return false;
        }
      }
      return true;
    });
    if (threshold === 0n || open.length === 0) return;
  }
  const words = randomness.words(open.length);
  const isHead = below(threshold);
  open.forEach((coin, i) => (heads[coin] = Number(isHead(words, i))));
}

/** Draw integers, each uniform from 0 up to and without a limit of at most 2**31. */
export function integersBelow(limit: number, count: number, randomness: Randomness): Uint32Array {
  const isNarrow = limit <= LARGEST_NARROW_LIMIT;
  const words = randomness.words(Math.ceil((count * (isNarrow ? 2 : 4)) / 8));
  const values = new Uint32Array(count);
  let rejected: number[] = [];
  const surplus = HALF % limit;
  for (let i = 0; i < count; i++) {
    if (isNarrow) {
      const product = lane16(words, i) * limit;
      values[i] = product >>> 16;
      if ((product & 0xffff) < 0x10000 % limit) rejected.push(i);
    } else {
      const lane = lane32(words, i);
      values[i] = upperProduct(lane, limit);
      if (lowerProduct(lane, limit) < surplus) rejected.push(i);
    }
  }
  while (rejected.length) {
    const again = randomness.words(rejected.length);
    rejected = rejected.filter((i, at) => {
      const lane = lane32(again, 2 * at + 1);
      values[i] = upperProduct(lane, limit);
      return lowerProduct(lane, limit) < surplus;
    });
  }
  return values;
}
