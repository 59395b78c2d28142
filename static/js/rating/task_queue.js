/**
 * Tasks to come. While one is at hand the next two are fetched, so that they are there at once; the server keeps all
 * three leased to this page, which is as many as it allows.
 */

const AHEAD = 2;
const TOO_SHORT_MS = 30_000; // a lease about to end is no task to begin

/**
 * `leaseMs` is how long a lease lasts after the server was last heard about it: no clock but this one is asked.
 * `onAhead(assignment)` is told of each task to come, so that its sound can be fetched,
 * `onGone(id)` of one that will not come after all.
 */
export function createQueue(api, { leaseMs, now = Date.now, onAhead = () => {}, onGone = () => {} }) {
  const definitions = new Map();
  let current = null;
  let ahead = [];
  let fetching = null;
  let stopped = false;

  const held = () => [current, ...ahead.map(({ assignment }) => assignment.id)].filter(Boolean);

  function keep(isKept) {
    const gone = ahead.filter((task) => !isKept(task));
    ahead = ahead.filter(isKept);
    for (const { assignment } of gone) onGone(assignment.id);
    return ahead;
  }
  const dropStale = () => keep(({ since }) => now() - since < leaseMs - TOO_SHORT_MS);

  /** What a protocol version asks: an outcome with `definition`. */
  async function definition(number) {
    if (!definitions.has(number)) {
      const outcome = await api.protocol(number);
      if (outcome.kind !== "ok") return outcome;
      definitions.set(number, outcome.body.definition);
    }
    return { kind: "ok", definition: definitions.get(number) };
  }

  async function fill() {
    while (current && !stopped && ahead.length < AHEAD) {
      const since = now();
      const outcome = await api.next(held());
      const assignment = outcome.kind === "ok" ? outcome.body.assignment : null;
      if (!assignment || held().includes(assignment.id)) return;
      ahead.push({ assignment, since });
      onAhead(assignment);
      await definition(assignment.protocol_version);
    }
  }

  return {
    learn: (number, definition) => definitions.set(number, definition),
    definition,

    /** An outcome with the next task's `assignment` and `definition`; the first is null at the end of the queue. */
    async take() {
      current = null;
      stopped = false;
      if (!dropStale().length) await fetching;
      const [ready] = dropStale();
      const outcome = ready ? { kind: "ok", body: ready } : await api.next([]);
      if (outcome.kind !== "ok") return outcome;
      const { assignment } = outcome.body;
      if (!assignment) return { kind: "ok", assignment: null };
      const asks = await definition(assignment.protocol_version);
      if (asks.kind !== "ok") return asks;
      if (ready) ahead.shift();
      current = assignment.id;
      return { kind: "ok", assignment, definition: asks.definition };
    },

    /** Fetch the tasks after this one. Failing is no matter: `take` asks again. */
    lookAhead() {
      fetching ??= fill().finally(() => (fetching = null));
      return fetching;
    },

    /** The assignments leased to this page. */
    held,

    /** Fetch no more; resolves with all that is held, to be given back. */
    async stop() {
      stopped = true;
      await fetching;
      return held();
    },

    /** The server has just extended this lease. */
    extended(id) {
      for (const task of ahead) if (task.assignment.id === id) task.since = now();
    },

    /** Closed by the server, or answered in another tab. */
    drop(id) {
      keep(({ assignment }) => assignment.id !== id);
    },
  };
}

/**
 * The API as a preview uses it. It names the tasks that it has seen, for the server keeps no account of them, and goes by
 * its own count of how far it is.
 */
export function previewing(api) {
  const seen = new Set();
  return {
    ...api,
    async next() {
      const outcome = await api.next([...seen]);
      if (outcome.kind !== "ok") return outcome;
      const { assignment } = outcome.body;
      if (assignment) seen.add(assignment.id);
      return { ...outcome, body: { assignment } };
    },
  };
}

/** How far the rater is: the server's count, and the votes that it has taken since it last said so. */
export function createProgress(numbers, show) {
  show(numbers);
  return {
    numbers,
    counted() {
      numbers.done += 1;
      show(numbers);
    },
    /** `ask`, listening to the progress that comes with its answer; not while a vote is counted (`isCounting()`). */
    following:
      (ask, isCounting) =>
      async (...about) => {
        const { done } = numbers;
        const outcome = await ask(...about);
        if (outcome.kind === "ok" && numbers.done === done && !isCounting()) {
          Object.assign(numbers, outcome.body.progress);
          show(numbers);
        }
        return outcome;
      },
  };
}
