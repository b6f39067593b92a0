/** An error that is raised on purpose: a sentence for people, never with a private value. */
export class TacitError extends Error {
  override readonly name = "TacitError";
}

export function refuse(sentence: string): never {
  throw new TacitError(sentence);
}
