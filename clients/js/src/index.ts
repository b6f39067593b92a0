/** The browser client of Tacit: read a plan, randomize events on the device, encode messages. */

export { TacitError } from "./errors";
export { mechanismOf } from "./mechanisms";
export { DeviceMemo, type MemoStore } from "./memo";
export { encodeMessage, type Batch, type MessageFormat, type MessageLabel } from "./message";
export type { Mechanism } from "./oracles";
export { Plan, readPlan, type Event, type Meaning } from "./plan";
export { coins, secureRandomness, type Randomness } from "./randomness";
export { isRepeated, type RepeatedMechanism } from "./repeated";
