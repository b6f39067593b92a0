/** The memory of a device between reports, in the form of src/tacit/mechanisms/local/memo.py. */

import { TacitError, refuse } from "./errors";
import type { RepeatedMechanism } from "./repeated";
import type { Randomness } from "./randomness";
import { hex } from "./sha256";

/** Where a memo is kept, on the device alone. ``save`` returns when the text is kept, and throws where it is not. */
export interface MemoStore {
  load(): string | null;
  save(text: string): void;
}

const NOTICE =
  "PRIVATE. This file says which values the device has held. Keep it on the device; do not send or copy it.";

/** The permanent rows of one device. They are kept before the first report made of them exists. */
export class DeviceMemo {
  private isSimulation: boolean | null = null;
  private own: number | null = null;
  private readonly rows = new Map<number, Uint8Array>();

  private constructor(
    readonly mechanism: RepeatedMechanism,
    private readonly store: MemoStore,
  ) {
    if (!mechanism.isBounded) refuse("averaging the reports of such a plan gives the value away. Make another plan.");
  }

  /** Start an empty memo; one that is there is never replaced: a new one would spend epsilon_infinity again. */
  static create(mechanism: RepeatedMechanism, store: MemoStore): DeviceMemo {
    const memo = new DeviceMemo(mechanism, store);
    if (store.load() !== null) refuse("there is a memo already. Go on with DeviceMemo.read.");
    memo.save();
    return memo;
  }

  /** Go on with the memo of a store, made under the same mechanism. */
  static read(mechanism: RepeatedMechanism, store: MemoStore): DeviceMemo {
    const memo = new DeviceMemo(mechanism, store);
    const kept = store.load();
    if (kept === null) refuse("there is no memo. Only for a device that never reported, start one: DeviceMemo.create.");
    try {
      memo.restore(JSON.parse(kept));
    } catch (problem) {
      if (problem instanceof TacitError && problem.message.includes("another mechanism")) throw problem;
      refuse("the memo is damaged. Bring it back from a backup: a new one spends epsilon_infinity again.");
    }
    return memo;
  }

  /** Make one report about a value: fresh coins around a permanent row that is drawn only the first time. */
  report(cell: number, randomness: Randomness): Uint8Array {
    this.isSimulation ??= randomness.isSimulation;
    if (this.isSimulation !== randomness.isSimulation) {
      refuse("a memo must be used with the kind of randomness it was made with. Make one of its own for a simulation.");
    }
    const { mechanism } = this;
    const own = this.own ?? mechanism.functions(1, randomness)[0];
    const [slot] = mechanism.slots([own], [cell]);
    this.own = own;
    if (!this.rows.has(slot)) {
      this.rows.set(slot, mechanism.permanentRows([own], [slot], randomness)[0]);
      try {
        this.save();
      } catch (problem) {
        this.rows.delete(slot); // nothing may be sent of a row that would be forgotten
        if (!this.rows.size) this.own = null;
        throw problem;
      }
    }
    return mechanism.instantaneous([this.rows.get(slot) as Uint8Array], randomness)[0];
  }

  private get hasFunction(): boolean {
    return this.mechanism.nFunctions > 1;
  }

  private described(): { name: string; n_cells: number; thresholds: Record<string, string> } {
    const thresholds = [...this.mechanism.thresholds].map(([name, value]) => [name, `0x${value.toString(16)}`]);
    return {
      name: this.mechanism.memoName,
      n_cells: this.mechanism.nCells,
      thresholds: Object.fromEntries(thresholds),
    };
  }

  private save(): void {
    const rows = [...this.rows].sort(([a], [b]) => a - b).map(([slot, row]) => [String(slot), hex(row)]);
    this.store.save(
      JSON.stringify({
        format: this.hasFunction ? 2 : 1,
        kind: "memo",
        notice: NOTICE,
        mechanism: this.described(),
        is_simulation: this.isSimulation,
        permanent: Object.fromEntries(rows),
        ...(this.hasFunction ? { function: this.own } : {}),
      }),
    );
  }

  private restore(content: Record<string, unknown>): void {
    const sorted = (value: object): string => JSON.stringify(Object.entries(value).sort());
    const [mechanism, ours] = [content.mechanism as ReturnType<DeviceMemo["described"]>, this.described()];
    const isOurs = mechanism.name === ours.name && mechanism.n_cells === ours.n_cells;
    if (!isOurs || sorted(mechanism.thresholds) !== sorted(ours.thresholds)) {
      refuse("the memo belongs to another mechanism. Use the plan it was made under.");
    }
    const { is_simulation: isSimulation, function: own = null } = content;
    const rows = Object.entries(content.permanent as Record<string, string>);
    const isFit =
      content.kind === "memo" &&
      content.format === (this.hasFunction ? 2 : 1) &&
      (typeof isSimulation === "boolean" || (isSimulation === null && !rows.length)) &&
      (own === null
        ? !this.hasFunction || !rows.length
        : this.hasFunction &&
          Number.isInteger(own) &&
          (own as number) >= 0 &&
          (own as number) < this.mechanism.nFunctions);
    if (!isFit) refuse("the memo is damaged.");
    this.isSimulation = isSimulation as boolean | null;
    this.own = own as number | null;
    for (const [slot, row] of rows) {
      if (!/^(0|[1-9]\d*)$/.test(slot) || Number(slot) >= this.mechanism.slotLimit) refuse("the memo is damaged.");
      this.rows.set(Number(slot), this.checkedRow(row));
    }
  }

  private checkedRow(written: string): Uint8Array {
    if (!/^([0-9a-f]{2})+$/.test(written)) refuse("the memo is damaged.");
    const row = Uint8Array.from(written.match(/../g) as string[], (byte) => parseInt(byte, 16));
    this.mechanism.logProbabilities(row); // a permanent row has the form of a report
    const number = row.reduceRight((value, byte) => value * 256 + byte, 0);
    if (this.hasFunction && number % this.mechanism.nFunctions !== this.own) refuse("the memo is damaged.");
    return row;
  }
}
