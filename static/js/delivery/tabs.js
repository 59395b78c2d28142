/**
 * Tabs of one browser: a lock that one tab holds at a time, and a channel between the tabs of one account. Without a lock
 * manager (no TLS) the lock is a record in localStorage that expires; without a channel each tab still asks the server.
 */
import { safeStorage } from "../page/storage.js";

const RECORD_LASTS_MS = 25_000; // longer than a request may take
const POLL_MS = 200;

/** `withLock(work)` resolves with work's result. The browser frees the lock of a tab that died. */
export function tabLock(name, { locks = globalThis.navigator?.locks, storage = globalThis.localStorage } = {}) {
  return locks ? (work) => locks.request(name, work) : storageLock(name, storage);
}

/** Two tabs that write the record at the same moment both work: harmless, since a vote has an idempotency key. */
export function storageLock(name, localStorage, { now = Date.now, wait = sleep } = {}) {
  const storage = safeStorage(localStorage); // without storage no other tab can be known of
  const tab = `${now()}:${Math.random()}`;
  let previous = Promise.resolve();

  function isHeldElsewhere() {
    const record = storage.getJson(name);
    return Boolean(record) && record.tab !== tab && record.until > now();
  }

  async function hold(work) {
    while (isHeldElsewhere()) await wait(POLL_MS);
    storage.setJson(name, { tab, until: now() + RECORD_LASTS_MS });
    try {
      return await work();
    } finally {
      storage.remove(name);
    }
  }

  return (work) => {
    const result = previous.then(() => hold(work));
    previous = result.catch(() => {});
    return result;
  };
}

/** `post(message)` reaches the other tabs of this account; `listen(onMessage)` gets theirs. */
export function createTabChannel(account, { Channel = globalThis.BroadcastChannel } = {}) {
  if (!Channel) return { post() {}, listen() {} };
  const channel = new Channel(`concord:${account}`);
  return {
    post: (message) => channel.postMessage(message),
    listen: (onMessage) => channel.addEventListener("message", ({ data }) => onMessage(data)),
  };
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
