/**
 * Drafts: answers not yet sent, stored in the browser until the server has acknowledged them. A reload or a crash loses
 * nothing. A draft also holds the vote's `client_id`, the idempotency key: sent again after a crash, it is the same vote.
 */
import { safeStorage } from "../page/storage.js";

const PREFIX = "concord:draft:";
const MAX_AGE_MS = 2 * 24 * 3600 * 1000;

export function createDrafts(localStorage, { now = Date.now } = {}) {
  const storage = safeStorage(localStorage);

  function removeOld() {
    for (const key of storage.keys().filter((each) => each.startsWith(PREFIX))) {
      const draft = storage.getJson(key);
      if (!draft || now() - draft.savedAt > MAX_AGE_MS) storage.remove(key);
    }
  }

  return {
    /** The stored draft of an assignment, else a new one with an idempotency key of its own and the fields of `initial`. */
    open(assignmentId, initial = {}) {
      removeOld();
      const stored = storage.getJson(PREFIX + assignmentId);
      return stored ?? { clientId: newUuid(), values: {}, codes: [], comment: "", ...initial };
    },
    save: (assignmentId, draft) => void storage.setJson(PREFIX + assignmentId, { ...draft, savedAt: now() }),
    remove: (assignmentId) => void storage.remove(PREFIX + assignmentId),
  };
}

export function isEmpty(draft) {
  const hasValue = Object.values(draft.values).some((value) =>
    Object.values(value).some((part) => part !== undefined && part !== ""),
  );
  return !hasValue && !draft.codes.length && !draft.comment.trim();
}

/** A UUID of version 4. `randomUUID` exists only where the page came over TLS or from this machine. */
export function newUuid() {
  if (globalThis.crypto.randomUUID) return globalThis.crypto.randomUUID();
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
