// Answers in Node: a request a line on the standard input, an answer a line on the output.
import { createInterface } from "node:readline";
import { webcrypto } from "node:crypto";
import { answersOf } from "./answers.mjs";

globalThis.crypto ??= webcrypto; // Node 18 has it under another name
const answer = answersOf(await import(process.argv[2]));
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
}
