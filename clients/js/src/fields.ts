/** Fields of a document that came from elsewhere: each is of its type, and there is no other. */

import { refuse } from "./errors";

export type Fields = Readonly<Record<string, unknown>>;

function damaged(what: string): never {
  refuse(`the plan is damaged: ${what}. Ask for it again.`);
}

/** An object with these fields and no others. */
export function object(
  value: unknown,
  what: string,
  needed: readonly string[],
  allowed: readonly string[] = [],
): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) damaged(`${what} must be an object`);
  const names = Object.keys(value as object);
  const missing = needed.find((name) => !names.includes(name));
  if (missing !== undefined) damaged(`${what} lacks ${missing}`);
  if (names.some((name) => !needed.includes(name) && !allowed.includes(name))) damaged(`${what} has a field too many`);
  return value as Fields;
}

export function text(fields: Fields, name: string): string {
  const value = fields[name];
  return typeof value === "string" ? value : damaged(`${name} must be text`);
}

export function texts(fields: Fields, name: string): string[] {
  const value = fields[name];
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string"))
    damaged(`${name} must be a list of texts`);
  return value as string[];
}

export function number(fields: Fields, name: string, least: number, most: number): number {
  const value = fields[name];
  const isFit = typeof value === "number" && value >= least && value <= most;
  return isFit ? value : damaged(`${name} must be a number from ${least} to ${most}`);
}

export function whole(fields: Fields, name: string, least: number): number {
  const value = fields[name];
  const isFit = Number.isSafeInteger(value) && (value as number) >= least;
  return isFit ? (value as number) : damaged(`${name} must be a whole number of at least ${least}`);
}

export function oneOf(fields: Fields, name: string, choices: readonly string[]): string {
  const value = text(fields, name);
  return choices.includes(value) ? value : damaged(`${name} must be one of ${choices.join(", ")}`);
}
