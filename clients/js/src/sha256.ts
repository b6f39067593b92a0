/** SHA-256 (FIPS 180-4). Browsers give theirs to pages of a secure origin alone, and only by promises. */

/** The first 32 bits of the fractional parts of roots of the first primes: square roots, and cube roots. */
function constants(): { initial: number[]; rounds: number[] } {
  const primes: number[] = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const part = (root: bigint): number => Number(root & 0xffffffffn);
  return {
    initial: primes.slice(0, 8).map((prime) => part(root(BigInt(prime) << 64n, 2n))),
    rounds: primes.map((prime) => part(root(BigInt(prime) << 96n, 3n))),
  };
}

/** The largest whole number whose power is at most n, found bit by bit. */
function root(n: bigint, power: bigint): bigint {
  let found = 0n;
  for (let bit = 1n << 40n; bit; bit >>= 1n) if ((found | bit) ** power <= n) found |= bit;
  return found;
}

const { initial, rounds } = constants();

export function sha256(message: Uint8Array): Uint8Array {
  const padded = new Uint8Array(64 * Math.ceil((message.length + 9) / 64));
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, 8n * BigInt(message.length));
  const state = Int32Array.from(initial);
  const w = new Int32Array(64);
  const turn = (x: number, n: number): number => (x >>> n) | (x << (32 - n));
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const [early, late] = [w[i - 15], w[i - 2]];
      const mixedEarly = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
      w[i] = w[i - 16] + mixedEarly + w[i - 7] + (turn(late, 17) ^ turn(late, 19) ^ (late >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const choice = (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + h + rounds[i] + w[i];
      const majority = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + choice) | 0, c, b, a, (choice + majority) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] += x));
  }
  const digest = new DataView(new ArrayBuffer(32));
  state.forEach((x, i) => digest.setInt32(4 * i, x));
  return new Uint8Array(digest.buffer);
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
