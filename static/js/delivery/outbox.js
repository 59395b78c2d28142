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

/**
 * Where the outbox keeps its entries: all() put(entry) change(id, fields) remove(id). In IndexedDB each resolves once
 * it is on disk; in memory they last as long as the page.
 */
const DATABASE = "concord";
const ENTRIES = "outbox";

export function memoryStore() {
  const entries = new Map();
  return {
    all: async () => [...entries.values()],
    put: async (entry) => void entries.set(entry.id, entry),
    change: async (id, fields) => void (entries.has(id) && entries.set(id, { ...entries.get(id), ...fields })),
    remove: async (id) => void entries.delete(id),
  };
}

export function indexedStore(indexedDB = globalThis.indexedDB) {
  let opened = null;

  function open() {
    opened ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(DATABASE, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(ENTRIES, { keyPath: "id" });
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    opened.catch(() => (opened = null)); // maybe next time
    return opened;
  }

  /** Run `work(store)` in a transaction of its own; resolves with its request's result once all is written. */
  async function within(mode, work) {
    const database = await open();
    database.onclose = () => (opened = null); // the browser's data were cleared: begin again
    return new Promise((resolve, reject) => {
      const transaction = database.transaction(ENTRIES, mode, { durability: "strict" });
      const request = work(transaction.objectStore(ENTRIES));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  }

  return {
    all: () => within("readonly", (store) => store.getAll()),
    put: (entry) => within("readwrite", (store) => store.put(entry)),
    change: (id, fields) =>
      within("readwrite", (store) => {
        const found = store.get(id);
        found.onsuccess = () => found.result && store.put({ ...found.result, ...fields });
        return found;
      }),
    remove: (id) => within("readwrite", (store) => store.delete(id)),
  };
}

/**
 * `store`, with a copy in memory of all that this page has put there: what the store loses or does not take, the page
 * still has. `onUnsafe()` is told when the store fails: closing the page would then lose what waits.
 */
export function safely(store, { memory = memoryStore(), onUnsafe }) {
  const orElse = (instead) => (error) => {
    onUnsafe(error);
    return instead;
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
    async change(id, fields) {
      await memory.change(id, fields);
      await store.change(id, fields).catch(orElse());
    },
    async remove(id) {
      await memory.remove(id);
      await store.remove(id).catch(orElse());
    },
  };
}
