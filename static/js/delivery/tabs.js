/** What the tabs of one account tell each other. Where there is no channel, each still hears the server. */

export function createTabs(account, { Channel = globalThis.BroadcastChannel } = {}) {
  if (!Channel) return { tell() {}, listen() {} };
  const channel = new Channel(`concord:${account}`);
  return {
    tell: (message) => channel.postMessage(message),
    listen: (onMessage) => channel.addEventListener("message", ({ data }) => onMessage(data)),
  };
}

/** Work that only one tab of this browser does at a time. Where there is no lock manager (no TLS), a note with an end. */
const NOTE_LASTS_MS = 25_000; // longer than a request may take
const LOOK_AGAIN_MS = 200;

/** `exclusively(work)` gives work's result. The browser frees the lock of a tab that died. */
export function oneTab(name, { locks = globalThis.navigator?.locks, storage = globalThis.localStorage } = {}) {
  return locks ? (work) => locks.request(name, work) : notes(name, storage);
}

/** Two tabs that write the note at the same moment both work: harmless, since the server knows a vote by its name. */
export function notes(name, storage, { now = Date.now, pause = sleep } = {}) {
  const me = `${now()}:${Math.random()}`;
  let before = Promise.resolve();

  const quietly = (work) => {
    try {
      return work();
    } catch {
      return null; // no storage: no other tab can be known of
    }
  };
  const isTaken = () => {
    const note = quietly(() => JSON.parse(storage.getItem(name)));
    return Boolean(note) && note.tab !== me && note.until > now();
  };

  async function alone(work) {
    while (isTaken()) await pause(LOOK_AGAIN_MS);
    quietly(() => storage.setItem(name, JSON.stringify({ tab: me, until: now() + NOTE_LASTS_MS })));
    try {
      return await work();
    } finally {
      quietly(() => storage.removeItem(name));
    }
  }

  return (work) => {
    const result = before.then(() => alone(work));
    before = result.catch(() => {});
    return result;
  };
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
