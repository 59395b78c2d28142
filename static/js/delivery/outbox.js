/**
 * Outbox: votes on their way to the server. A vote is stored here while it is sent for the first time (until both are done,
 * its draft is in the browser too), and removed only when the server has acknowledged it, or when its rater has read why it
 * was refused. Votes are sent one after the other, by one tab at a time, and only under the account that gave them: the
 * oldest first, but for one added where nothing waited when this tab last looked. An entry:
 *   {id, account, study, assignmentId, kind: "judgment" | "revision" | "review", body, createdAt, tries, lastError,
 *    refusal}
 * `id` is the vote's client_id, its idempotency key: sent twice, it is one vote. A review, an expert's blind judgment, has
 * a `caseId`. Browsers hold such entries over upgrades: their fields, and the names of database and store, stay.
 */
const DATABASE = "concord";
const ENTRIES = "outbox";

/**
 * `store`: one of the stores below. `send(entry)` resolves with an outcome (api.js). `withLock(work)` runs work while no
 * other tab does. This page never sends an acknowledged vote again, even where the store fails to remove it.
 */
export function createOutbox({ store, account, send, withLock, now = Date.now }) {
  const removed = new Set();
  let isEmpty = false; // nothing waited when this tab last looked
  let fresh = null; // the one vote added since: known without another look
  let written = Promise.resolve(); // everything added so far

  async function entries() {
    await written;
    const all = await store.all();
    return all.filter(({ id }) => !removed.has(id)).sort((one, other) => one.createdAt - other.createdAt);
  }
  const pending = async () => (await entries()).filter((entry) => entry.account === account);

  /** An acknowledgement must name this very vote: an access page may answer 200 to anything. */
  function verified(entry, outcome) {
    if (outcome.kind !== "ok" || outcome.body?.client_id === entry.id) return outcome;
    return { kind: "failed", status: outcome.status, detail: "" };
  }

  function remove(id) {
    removed.add(id);
    return store.remove(id);
  }

  /** The same vote with other answers takes its own place. */
  async function write(entry) {
    const all = await store.all();
    const previous = all.find(({ id }) => id === entry.id);
    const last = Math.max(0, ...all.map(({ createdAt }) => createdAt));
    const createdAt = previous?.createdAt ?? Math.max(now(), last + 1); // a clock set back does not change the order
    await store.put({ ...entry, createdAt });
  }

  /** The one vote added since this tab saw that nothing waits, which need not be looked for; once. */
  function takeFresh() {
    const entry = fresh;
    fresh = null;
    return entry;
  }

  async function oldest() {
    const entry = (await pending()).find(({ refusal }) => !refusal) ?? null;
    isEmpty = entry === null;
    return entry;
  }

  async function attempt(entry) {
    const outcome = verified(entry, await send(entry));
    if (outcome.kind === "ok") removed.add(entry.id);
    return { entry, outcome };
  }

  /** Store what became of an entry; resolves with its argument. */
  async function note(attempted) {
    const { entry, outcome } = await attempted;
    await written;
    if (outcome.kind === "ok") await store.remove(entry.id);
    else if (outcome.kind === "refused") await store.update(entry.id, { refusal: outcome });
    else await store.update(entry.id, { tries: entry.tries + 1, lastError: outcome });
    return attempted;
  }

  return {
    /** Resolves when the entry is stored; it can be sent meanwhile. */
    add(entry) {
      removed.delete(entry.id); // it was refused, and is corrected now
      const added = { tries: 0, lastError: null, refusal: null, ...entry, account };
      fresh = isEmpty ? added : null;
      isEmpty = false;
      const writing = write(added);
      written = Promise.allSettled([written, writing]);
      return writing;
    },

    /** This account's entries, oldest first. */
    pending,

    /** How many entries wait for another account to sign in on this browser. */
    pendingOfOthers: async () => (await entries()).filter((entry) => entry.account !== account).length,

    /**
     * Try to send the next: resolves with {entry, outcome}, or null when nothing is left to send. What is in the store by
     * then says so too, but for the entry of a vote just added, which has arrived: that is removed in a moment.
     */
    async sendNext() {
      const known = takeFresh();
      const attempted = known && attempt(known); // at once: no other tab knows of it yet
      const noted = withLock(async () => {
        const entry = known ?? (await oldest());
        return entry && note(attempted ?? attempt(entry));
      });
      if ((await attempted)?.outcome.kind !== "ok") return noted;
      noted.catch(() => {}); // another attempt to remove it: the server takes it for what it is
      return attempted;
    },

    /** Take back a vote that was not sent yet. False when it is too late. */
    withdraw: (id) =>
      withLock(async () => {
        if (fresh?.id === id) fresh = null;
        if (!(await pending()).some((entry) => entry.id === id)) return false;
        await store.remove(id);
        return true;
      }),

    /** Another tab has sent it; or its rater has read why it was refused. */
    remove,
  };
}

/** A store of entries that lasts as long as the page. */
export function memoryStore() {
  const entries = new Map();
  return {
    all: async () => [...entries.values()],
    put: async (entry) => void entries.set(entry.id, entry),
    update: async (id, fields) => void (entries.has(id) && entries.set(id, { ...entries.get(id), ...fields })),
    remove: async (id) => void entries.delete(id),
  };
}

/** A store of entries in IndexedDB: each call resolves once its change is on disk. */
export function indexedDBStore(indexedDB = globalThis.indexedDB) {
  let connection = null;

  function connect() {
    connection ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(ENTRIES, { keyPath: "id" });
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    connection.catch(() => (connection = null)); // the next call tries again
    return connection;
  }

  /** Run `work(store)` in a transaction of its own; resolves with its request's result once all is written. */
  async function transact(mode, work) {
    const database = await connect();
    database.onclose = () => (connection = null); // the browser's data were cleared: connect again
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(ENTRIES, mode, { durability: "strict" });
      const request = work(transaction.objectStore(ENTRIES));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  }

  return {
    all: () => transact("readonly", (store) => store.getAll()),
    put: (entry) => transact("readwrite", (store) => store.put(entry)),
    update: (id, fields) =>
      transact("readwrite", (store) => {
        const request = store.get(id);
        request.onsuccess = () => request.result && store.put({ ...request.result, ...fields });
        return request;
      }),
    remove: (id) => transact("readwrite", (store) => store.delete(id)),
  };
}

/**
 * `store` with a copy in memory of every entry that this page has put there: entries that the store loses or does not
 * take are still sent. `onFailure(error)`: the store failed, and closing the page would lose what waits.
 */
export function withMemoryCopy(store, { memory = memoryStore(), onFailure }) {
  const orElse = (fallback) => (error) => {
    onFailure(error);
    return fallback;
  };
  return {
    async all() {
      const both = [...(await store.all().catch(orElse([]))), ...(await memory.all())];
      return [...new Map(both.map((entry) => [entry.id, entry])).values()];
    },
    async put(entry) {
      await memory.put(entry);
      await store.put(entry).catch(orElse());
    },
    async update(id, fields) {
      await memory.update(id, fields);
      await store.update(id, fields).catch(orElse());
    },
    async remove(id) {
      await memory.remove(id);
      await store.remove(id).catch(orElse());
    },
  };
}
