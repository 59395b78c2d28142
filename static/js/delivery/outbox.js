/**
 * Votes on their way to the server. One is written here before it is sent, and is gone only when the server has it, or
 * when its rater has read why not. Sent one after the other, oldest first, by one tab at a time; never under another
 * account than the one that gave it. An entry:
 *   {id, account, study, assignmentId, kind: "judgment" | "revision" | "review", body, createdAt, tries, lastError,
 *    refusal}
 * `id` is the vote's client_id: sending it twice is still one vote. A review, an expert's blind judgment, has a `caseId`.
 */

/**
 * `store`: see outbox_store.js. `send(entry)` gives an outcome of api.js. `exclusively(work)` runs work while no other
 * tab does. What the server has taken is never sent again by this page, even where the store fails to forget it.
 */
export function createOutbox({ store, account, send, exclusively, now = Date.now }) {
  const taken = new Set();

  async function entries() {
    const all = await store.all();
    return all.filter(({ id }) => !taken.has(id)).sort((one, other) => one.createdAt - other.createdAt);
  }
  const mine = async () => (await entries()).filter((entry) => entry.account === account);

  /** Sure that it is the server's answer to this very vote: an access page may say 200 to anything. */
  function settled(entry, outcome) {
    if (outcome.kind !== "ok" || outcome.body?.client_id === entry.id) return outcome;
    return { kind: "failed", status: outcome.status, detail: "" };
  }

  function forget(id) {
    taken.add(id);
    return store.remove(id);
  }

  return {
    /** Resolves when the entry is safely written. The same vote with other answers takes its own place. */
    async add(entry) {
      taken.delete(entry.id); // refused before, and mended
      const all = await store.all();
      const before = all.find(({ id }) => id === entry.id);
      const last = Math.max(0, ...all.map(({ createdAt }) => createdAt));
      const createdAt = before?.createdAt ?? Math.max(now(), last + 1); // a clock set back does not change the order
      await store.put({ tries: 0, lastError: null, refusal: null, ...entry, account, createdAt });
    },

    /** This account's entries, oldest first. */
    waiting: mine,

    /** How many wait for another account to sign in on this browser. */
    ofOthers: async () => (await entries()).filter((entry) => entry.account !== account).length,

    /** Try to send the oldest. Gives {entry, outcome}; null when nothing is left to send. */
    sendNext: () =>
      exclusively(async () => {
        const entry = (await mine()).find(({ refusal }) => !refusal);
        if (!entry) return null;
        const outcome = settled(entry, await send(entry));
        if (outcome.kind === "ok") await forget(entry.id);
        else if (outcome.kind === "refused") await store.change(entry.id, { refusal: outcome });
        else await store.change(entry.id, { tries: entry.tries + 1, lastError: outcome });
        return { entry, outcome };
      }),

    /** Take a vote back that was not sent yet. False when it is too late: it is no longer there. */
    withdraw: (id) =>
      exclusively(async () => {
        if (!(await mine()).some((entry) => entry.id === id)) return false;
        await store.remove(id);
        return true;
      }),

    /** The server has it, as another tab says; or its rater has read why it was refused. */
    forget,
  };
}
