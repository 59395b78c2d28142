/**
 * Key map: which key does which action; the one table behind the shortcuts, the list that `?` opens and every hint on the
 * page. Keys have the names that shortcuts.js gives them. A rater's own keys are stored in this browser.
 */
import { safeStorage } from "../page/storage.js";

const STORAGE_KEY = "concord:keys";
const NAMED_KEYS = ["Space", "Enter", "Shift+Enter", "Ctrl+Enter"];

/** In the order of the list. `repeats`: holding the key repeats the action. `fixed`: its key cannot be changed. */
export const ACTIONS = [
  { name: "play", key: "Space" },
  { name: "switch", key: "s" },
  { name: "reference", key: "f" },
  { name: "back5", key: "j", repeats: true },
  { name: "on5", key: "l", repeats: true },
  { name: "restart", key: "k" },
  { name: "loop_start", key: "[" },
  { name: "loop_end", key: "]" },
  { name: "loop_clear", key: "\\" },
  { name: "mark", key: "e" },
  { name: "mark_end", key: "d" },
  { name: "louder", key: "+", repeats: true },
  { name: "quieter", key: "-", repeats: true },
  { name: "mute", key: "m" },
  { name: "spectrogram", key: "g" },
  { name: "next_question", key: "Enter" },
  { name: "previous_question", key: "Shift+Enter" },
  { name: "leave_text", key: "Escape", fixed: true },
  { name: "submit", key: "Ctrl+Enter" },
  { name: "undo", key: "z" },
  { name: "skip", key: "x" },
  { name: "help", key: "?" },
];

/** `actions` is the page's table; its custom keys are stored under `storageKey`. */
export function createKeyMap(localStorage, { actions = ACTIONS, storageKey = STORAGE_KEY } = {}) {
  const storage = safeStorage(localStorage);
  const customKeys = knownKeys(storage.getJson(storageKey), actions);
  const events = new EventTarget();
  let reserved = new Set();

  const assignedKey = ({ name, key, fixed }) => (fixed ? key : (customKeys[name] ?? key));

  /** The key of an action; null where it is reserved. */
  function keyOf(name) {
    const action = actions.find((each) => each.name === name);
    const key = action && assignedKey(action);
    return key && !reserved.has(key) ? key : null;
  }

  const actionOf = (key) => (reserved.has(key) ? undefined : actions.find((action) => assignedKey(action) === key)?.name);

  function save() {
    storage.setJson(storageKey, customKeys);
    events.dispatchEvent(new Event("change"));
  }

  return {
    actions,
    addEventListener: events.addEventListener.bind(events),
    keyOf,
    actionOf,
    repeats: (key) => Boolean(actions.find(({ name }) => name === actionOf(key))?.repeats),

    /** Reserve keys for a protocol's answers: a set of key names. */
    reserve(names) {
      reserved = names;
      events.dispatchEvent(new Event("change"));
    },

    /** Give an action another key. Null when done; else {problem: "unusable" | "reserved" | "taken", by}. */
    change(name, key) {
      if (key === null || !(key.length === 1 || NAMED_KEYS.includes(key))) return { problem: "unusable" };
      if (reserved.has(key) || /^[0-9]$/.test(key)) return { problem: "reserved" };
      const other = actions.find((action) => action.name !== name && assignedKey(action) === key);
      if (other) return { problem: "taken", by: other.name };
      customKeys[name] = key;
      save();
      return null;
    },

    reset() {
      for (const name of Object.keys(customKeys)) delete customKeys[name];
      save();
    },
  };
}

/** The stored keys of actions that this table has and that can be changed. */
function knownKeys(stored, actions) {
  const known = actions.filter(({ name, fixed }) => !fixed && typeof stored?.[name] === "string");
  return Object.fromEntries(known.map(({ name }) => [name, stored[name]]));
}
