/**
 * Task queue: prefetches the next two tasks while the rater works on the current one; the server leases all three to this
 * page, which is as many as it allows. At work each vote brings the task after those two.
 */
const PREFETCH_TASKS = 2;
const MIN_REMAINING_MS = 30_000; // a task whose lease is about to expire is not started

/**
 * `leaseMs` is how long a lease lasts after the server was last heard about it: only this page's clock counts.
 * `onPrefetched(assignment)` follows each prefetched task, so that its clips can be prefetched too, `onDropped(id)` one
 * that will not be shown after all.
 */
export function createTaskQueue(api, { leaseMs, now = Date.now, onPrefetched = () => {}, onDropped = () => {} }) {
  const definitions = new Map();
  let currentId = null;
  let prefetched = [];
  let prefetching = null;
  let isStopped = false;

  const leasedIds = () => [currentId, ...prefetched.map(({ assignment }) => assignment.id)].filter(Boolean);

  function filterPrefetched(isKept) {
    const dropped = prefetched.filter((task) => !isKept(task));
    prefetched = prefetched.filter(isKept);
    for (const { assignment } of dropped) onDropped(assignment.id);
    return prefetched;
  }
  const dropExpired = () => filterPrefetched(({ leasedAt }) => now() - leasedAt < leaseMs - MIN_REMAINING_MS);

  /** An outcome with the `definition` of a protocol version. */
  async function protocol(number) {
    if (!definitions.has(number)) {
      const outcome = await api.protocol(number);
      if (outcome.kind !== "ok") return outcome;
      definitions.set(number, outcome.body.definition);
    }
    return { kind: "ok", definition: definitions.get(number) };
  }

  /** Whether the response of a lease request brought a task that was not here yet. */
  function hold(assignment, leasedAt) {
    if (!assignment || leasedIds().includes(assignment.id)) return false;
    prefetched.push({ assignment, leasedAt });
    onPrefetched(assignment);
    return true;
  }

  async function fetchAhead() {
    while (currentId && !isStopped && prefetched.length < PREFETCH_TASKS) {
      const leasedAt = now();
      const outcome = await api.next(leasedIds());
      const assignment = outcome.kind === "ok" ? outcome.body.assignment : null;
      if (!hold(assignment, leasedAt)) return;
      await protocol(assignment.protocol_version);
    }
  }

  return {
    addDefinition: (number, definition) => definitions.set(number, definition),
    protocol,

    /** An outcome with the next task's `assignment` and `definition`; the first is null at the end of the queue. */
    async take() {
      currentId = null;
      isStopped = false;
      if (!dropExpired().length) await prefetching;
      const [ready] = dropExpired();
      const outcome = ready ? { kind: "ok", body: ready } : await api.next([]);
      if (outcome.kind !== "ok") return outcome;
      const { assignment } = outcome.body;
      if (!assignment) return { kind: "ok", assignment: null };
      const protocolOutcome = await protocol(assignment.protocol_version);
      if (protocolOutcome.kind !== "ok") return protocolOutcome;
      if (ready) prefetched.shift();
      currentId = assignment.id;
      return { kind: "ok", assignment, definition: protocolOutcome.definition };
    },

    /** The task that `take` would resolve with at once, {assignment, definition}; null where it has to be fetched. */
    get ready() {
      const [ready] = dropExpired();
      const definition = ready && definitions.get(ready.assignment.protocol_version);
      return definition ? { assignment: ready.assignment, definition } : null;
    },

    /** Fetch the tasks after this one. A failure is ignored: `take` requests again. */
    prefetch() {
      prefetching ??= fetchAhead().finally(() => (prefetching = null));
      return prefetching;
    },

    /**
     * Send a vote. That on the current task leases another one with the same request; sent again, it brings the same
     * one. Its outcome is the receipt alone.
     */
    async submit(id, judgment) {
      if (id !== currentId || isStopped) return api.submit(id, judgment);
      const leasedAt = now();
      const holding = leasedIds().filter((held) => held !== id);
      const outcome = await api.submit(id, { ...judgment, next: { holding } });
      if (outcome.kind !== "ok" || !outcome.body?.next) return outcome;
      const { next, ...receipt } = outcome.body;
      if (receipt.client_id === judgment.client_id) hold(next.assignment, leasedAt);
      return { ...outcome, body: receipt };
    },

    /** The assignments leased to this page. */
    leasedIds,

    /** Fetch no more; resolves with all leased ids, to be returned. */
    async stop() {
      isStopped = true;
      await prefetching;
      return leasedIds();
    },

    /** The server has just extended this lease. */
    leaseExtended(id) {
      for (const task of prefetched) if (task.assignment.id === id) task.leasedAt = now();
    },

    /** Closed by the server, or answered in another tab. */
    drop(id) {
      filterPrefetched(({ assignment }) => assignment.id !== id);
    },
  };
}

/**
 * The API for a preview: it names the tasks seen so far, since the server stores nothing of a preview, and leaves the
 * server's progress out, since the page counts for itself. Its votes bring no task.
 */
export function previewApi(api) {
  const seenIds = new Set();
  return {
    ...api,
    async next() {
      const outcome = await api.next([...seenIds]);
      if (outcome.kind !== "ok") return outcome;
      const { assignment } = outcome.body;
      if (assignment) seenIds.add(assignment.id);
      return { ...outcome, body: { assignment } };
    },
    submit: (id, { next, ...judgment }) => api.submit(id, judgment),
  };
}

/** Progress of the rater: the server's count, and the votes acknowledged since. */
export function createProgress(numbers, show) {
  let counted = null; // the server's numbers with the vote that was acknowledged last
  show(numbers);
  return {
    numbers,
    increment() {
      Object.assign(numbers, counted ?? { done: numbers.done + 1 });
      counted = null;
      show(numbers);
    },
    /** `submit`, whose response may bring the numbers that `increment` shows. */
    countedBy:
      (submit) =>
      async (...parameters) => {
        const outcome = await submit(...parameters);
        counted = outcome.body?.next?.progress ?? null;
        return outcome;
      },
    /** `fetchNext`, with the progress that its response brings shown; not while a vote is on its way (`isCounting()`). */
    updatedBy:
      (fetchNext, isCounting) =>
      async (...parameters) => {
        const { done } = numbers;
        const outcome = await fetchNext(...parameters);
        if (outcome.kind === "ok" && numbers.done === done && !isCounting()) {
          Object.assign(numbers, outcome.body.progress);
          show(numbers);
        }
        return outcome;
      },
  };
}
