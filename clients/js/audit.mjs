// Reports of the browser client for an audit: tacit audit plan.json --command "node clients/js/audit.mjs plan.json".
// Reads the number of a true value a line, and writes its report a line, in hexadecimal digits.
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { readPlan, secureRandomness } from "../../src/tacit/collection/browser_client.mjs";

globalThis.crypto ??= webcrypto; // Node 18 has it under another name
try {
  const plan = readPlan(readFileSync(process.argv[2], "utf-8"));
  const values = readFileSync(0, "utf-8").split("\n").filter(Boolean).map(Number);
  const reports = plan.mechanism.randomize(values, secureRandomness);
  process.stdout.write(reports.map((report) => `${Buffer.from(report).toString("hex")}\n`).join(""));
} catch (problem) {
  console.error(problem.message);
  process.exitCode = 2;
}
