/** Multiplication in the fields of 2**m elements, as docs/hash.md specifies it. */

const POLYNOMIALS = [
  0x3, 0x7, 0xb, 0x13, 0x25, 0x43, 0x83, 0x11d, 0x211, 0x409, 0x805, 0x1053, 0x201b, 0x402b, 0x8003, 0x1002d, 0x20009,
  0x40027, 0x80027, 0x100009, 0x200005, 0x400003, 0x800021, 0x100001b,
];

export const LARGEST_DEGREE = POLYNOMIALS.length;

/** Multiply two elements; the same work is done whatever they are. */
export function multiply(a: number, b: number, degree: number): number {
  const polynomial = POLYNOMIALS[degree - 1];
  let product = 0;
  for (let i = 0; i < degree; i++) {
    product ^= -((a >>> i) & 1) & b;
    b = (b << 1) ^ (-(b >>> (degree - 1)) & polynomial);
  }
  return product;
}
