// What tests ask the browser client, in Node and in Chromium alike: one request, one answer, both plain JSON.

const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (byte) => parseInt(byte, 16));
const hex = (array) => Array.from(array, (byte) => byte.toString(16).padStart(2, "0")).join("");
const numbers = (thresholds) => new Map(Object.entries(thresholds).map(([name, value]) => [name, BigInt(value)]));

/** Words of a list, each of 16 hexadecimal digits; fails when they are used up. */
function listed(words, isSimulation = true) {
  let used = 0;
  return {
    isSimulation,
    left: () => words.length - used,
    words(count) {
      if (used + count > words.length)
        throw new Error(`${count} words are asked for, and ${words.length - used} are left`);
      const drawn = words.slice(used, (used += count));
      return Uint8Array.from(drawn.flatMap((word) => [...bytes(word)].reverse()));
    },
  };
}

/** A store in memory; it may fail to save. */
function memory(kept = null) {
  return {
    kept,
    fails: false,
    load() {
      return this.kept;
    },
    save(text) {
      if (this.fails) throw new Error("the disk is full");
      this.kept = text;
    },
  };
}

/** Reports of devices that remember nothing yet, which only tests make without a memo. */
function firstReports(plan, events, source) {
  const located = events.map((event) => plan.locate(event));
  const reports = plan.mechanism.randomize(
    located.map(({ value }) => value),
    source,
  );
  return { bins: located.map(({ bin }) => bin), reports, isSimulation: source.isSimulation };
}

export function answersOf(client) {
  const mechanism = ({ name, thresholds, n_cells }) => client.mechanismOf(name, numbers(thresholds), n_cells);
  const questions = {
    coins({ threshold, count, words }) {
      const source = listed(words);
      const coins = client.coins(count, BigInt(threshold), source).join("");
      return { coins, left: source.left() };
    },
    reports(asked) {
      const source = listed(asked.words);
      const reports = mechanism(asked).randomize(asked.cells, source).map(hex);
      return { reports, left: source.left() };
    },
    plan({ plan }) {
      const { fingerprint, name, nPrivate, nBins, reportBytes } = client.readPlan(plan);
      return { fingerprint, name, nPrivate, nBins, reportBytes };
    },
    message({ plan, report_bytes, n_public, bins, reports, is_simulation, prior_epsilon, id }) {
      const format = { fingerprint: plan, reportBytes: report_bytes, nBins: n_public };
      const batch = { bins, reports: reports.map(bytes), isSimulation: is_simulation };
      return hex(client.encodeMessage(format, batch, { priorEpsilon: prior_epsilon, id: bytes(id) }));
    },
    events({ plan, events, words, id }) {
      const source = listed(words, false);
      const read = client.readPlan(plan);
      const batch = client.isRepeated(read.mechanism)
        ? firstReports(read, events, source)
        : read.randomize(events, source);
      const message = hex(client.encodeMessage(read, batch, { id: bytes(id) }));
      return { bins: batch.bins, reports: batch.reports.map(hex), message, left: source.left() };
    },
    randomize({ plan, events }) {
      return client.readPlan(plan).randomize(events).reports.map(hex);
    },
    messages({ plan, batches }) {
      const read = client.readPlan(plan);
      return batches.map((events) => hex(client.encodeMessage(read, read.randomize(events))));
    },
    split({ plan, events }) {
      const read = client.readPlan(plan);
      return events.map((event) => read.split(event));
    },
    times({ plan, times, clock }) {
      const axis = client.readPlan(plan).time;
      return times.map((time) => {
        try {
          return axis.bin(clock === "utc" ? new Date(`${time}Z`) : time);
        } catch (problem) {
          if (problem instanceof client.TacitError && problem.message.includes("outside")) return -1;
          throw problem;
        }
      });
    },
    memo(asked) {
      const source = listed(asked.words);
      const store = memory();
      const made = mechanism(asked);
      client.DeviceMemo.create(made, store);
      // every report by a memo that was read again, as after a restart
      const reports = asked.cells.map((cell) => hex(client.DeviceMemo.read(made, store).report(cell, source)));
      return { reports, memo: JSON.parse(store.kept), left: source.left() };
    },
    readMemo(asked) {
      client.DeviceMemo.read(mechanism(asked), memory(asked.memo));
      return "read";
    },
    createMemo(asked) {
      client.DeviceMemo.create(mechanism(asked), memory(asked.memo));
      return "created";
    },
    forgetful(asked) {
      const store = memory();
      const memo = client.DeviceMemo.create(mechanism(asked), store);
      const empty = store.kept;
      store.fails = true;
      let said = "";
      try {
        memo.report(0, client.secureRandomness);
      } catch (problem) {
        said = problem.message;
      }
      const isUnchanged = store.kept === empty;
      store.fails = false;
      memo.report(0, client.secureRandomness);
      return { said, isUnchanged, nKept: Object.keys(JSON.parse(store.kept).permanent).length };
    },
    device({ plan, event }) {
      const read = client.readPlan(plan);
      const memo = client.DeviceMemo.create(read.mechanism, memory());
      const batch = read.randomizeFrom(memo, event);
      return hex(client.encodeMessage(read, batch));
    },
    probabilities(asked) {
      const made = mechanism(asked);
      return asked.reports.map((report) => [...made.logProbabilities(bytes(report))]);
    },
    meanings({ plan, report }) {
      return client.readPlan(plan).meanings(bytes(report));
    },
    drawn(asked) {
      // reports made by the browser's own generator, and how often each came
      const made = mechanism(asked);
      const counts = {};
      for (let left = asked.count; left > 0; left -= asked.at_once) {
        const cells = new Array(Math.min(left, asked.at_once)).fill(asked.cell);
        for (const report of made.randomize(cells, client.secureRandomness)) {
          const name = hex(report);
          counts[name] = (counts[name] ?? 0) + 1;
        }
      }
      return counts;
    },
  };
  return (request) => {
    try {
      return { answer: questions[request.ask](request) };
    } catch (problem) {
      return { error: problem.message, isOurs: problem instanceof client.TacitError };
    }
  };
}
