/** Whether thresholds give the epsilon that a plan states and no more, decided in whole numbers. */

/** A fraction: numerator and denominator. */
export type Ratio = readonly [bigint, bigint];

/** What an epsilon may lie above that of its thresholds, relatively: the last digits of a float. */
const SLACK = 1e-9;
export const SMALLEST_EPSILON = 1e-6;
export const LARGEST_EPSILON = 32;
/** Binary digits after the point; the thresholds of two rounds have 128 together. */
const DIGITS = 384n;
/** No float from SMALLEST_EPSILON on has more binary digits after the point. */
const FLOAT_DIGITS = 72;
/** The argument of the series is divided by two so often. */
const HALVINGS = 16n;

/** exp(x) times 2**DIGITS, to more than 300 binary digits. */
function exponential(x: number): bigint {
  const exact = BigInt(x * 2 ** FLOAT_DIGITS) << (DIGITS - BigInt(FLOAT_DIGITS));
  const small = exact >> HALVINGS;
  let sum = 0n;
  let n = 0n;
  for (let term = 1n << DIGITS; term; term = ((term * small) >> DIGITS) / n) {
    sum += term;
    n += 1n;
  }
  for (let i = 0n; i < HALVINGS; i++) sum = (sum * sum) >> DIGITS;
  return sum;
}

/** Whether no ratio exceeds exp(epsilon), and the largest comes as near as rounding thresholds explains. */
export function isEpsilonOf(epsilon: number, ratios: readonly Ratio[]): boolean {
  const most = exponential(epsilon);
  const least = exponential(epsilon * (1 - SLACK));
  const scaled = ratios.map(([above, under]) => [above << DIGITS, under] as const);
  return (
    scaled.every(([above, under]) => above <= under * most) && scaled.some(([above, under]) => above >= under * least)
  );
}
