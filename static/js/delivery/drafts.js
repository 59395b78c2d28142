/**
 * Answers under way, kept in the browser until the server has said yes: a reload or a crash loses nothing.
 * A draft also holds the vote's `client_id`, so that sending it again after a crash is still the same vote.
 */
const PREFIX = "concord:draft:";
const KEEP_MS = 2 * 24 * 3600 * 1000;

export function createDrafts(storage, { now = Date.now } = {}) {
  const quietly = (work) => {
    try {
      return work();
    } catch {
      return null; // storage full, or switched off: the page works on without it
    }
  };
  const stored = (key) => quietly(() => JSON.parse(storage.getItem(key)));
  const keys = () => quietly(() => Object.keys(storage).filter((key) => key.startsWith(PREFIX))) ?? [];

  return {
    /** The draft for an assignment: the one begun before, or a fresh one with a name of its own, begun as `given`. */
    open(assignmentId, given = {}) {
      for (const key of keys()) {
        const draft = stored(key);
        if (!draft || now() - draft.savedAt > KEEP_MS) quietly(() => storage.removeItem(key));
      }
      return stored(PREFIX + assignmentId) ?? { clientId: newId(), values: {}, codes: [], comment: "", ...given };
    },
    save(assignmentId, draft) {
      quietly(() => storage.setItem(PREFIX + assignmentId, JSON.stringify({ ...draft, savedAt: now() })));
    },
    remove(assignmentId) {
      quietly(() => storage.removeItem(PREFIX + assignmentId));
    },
  };
}

export function isEmpty(draft) {
  const entered = Object.values(draft.values).some((value) =>
    Object.values(value).some((part) => part !== undefined && part !== ""),
  );
  return !entered && !draft.codes.length && !draft.comment.trim();
}

/** A UUID. `randomUUID` exists only where the page came over TLS or from this machine. */
export function newId() {
  if (globalThis.crypto.randomUUID) return globalThis.crypto.randomUUID();
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
