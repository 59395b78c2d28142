/**
 * Tasks to come. While one is at hand the next is fetched, so that it is there at once; the server keeps both leased.
 */
export function createQueue(api, { now = Date.now } = {}) {
  const definitions = new Map();
  let current = null;
  let ahead = null;
  let fetching = null;

  async function fetchDefinition(number) {
    if (definitions.has(number)) return { kind: "ok" };
    const outcome = await api.protocol(number);
    if (outcome.kind === "ok") definitions.set(number, outcome.body.definition);
    return outcome;
  }

  return {
    learn: (number, definition) => definitions.set(number, definition),

    /** The outcome of asking for the next task; `body.assignment` is null at the end of the queue. */
    async take() {
      current = null;
      await fetching;
      const ready = ahead && Date.parse(ahead.body.assignment.expires_at) > now() ? ahead : null;
      ahead = null;
      const outcome = ready ?? (await api.next([]));
      if (outcome.kind !== "ok" || !outcome.body.assignment) return outcome;
      const { assignment } = outcome.body;
      const known = await fetchDefinition(assignment.protocol_version);
      if (known.kind !== "ok") return known;
      current = assignment;
      return { ...outcome, fresh: !ready, definition: definitions.get(assignment.protocol_version) };
    },

    /** Fetch the task after this one. Failing is no matter: `take` asks again. */
    lookAhead() {
      fetching = (async () => {
        const outcome = await api.next([current.id]);
        if (outcome.kind === "ok" && outcome.body.assignment) ahead = outcome;
      })();
      return fetching;
    },

    /** The assignments leased to this page. */
    held: () => [current?.id, ahead?.body.assignment.id].filter(Boolean),

    /** The server has closed one of them. */
    drop(id) {
      if (ahead?.body.assignment.id === id) ahead = null;
    },
  };
}
