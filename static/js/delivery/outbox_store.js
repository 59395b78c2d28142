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
