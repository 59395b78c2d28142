/**
 * Which key does what: the one table behind the keys themselves, the list that `?` opens and every hint on the page.
 * Keys have the names that shortcuts.js gives them. What a rater changes is kept in this browser.
 */
import { answerKeys } from "../rating/protocol.js";

const CHOSEN = "concord:keys";
const NAMED = ["Space", "Enter", "Shift+Enter", "Ctrl+Enter"];

/** In the order of the list. `repeats`: holding the key down goes on. `fixed`: what every text field means by it. */
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

/** `actions` is the page's table, `store` where its chosen keys are kept. */
export function createKeyMap(storage, { actions = ACTIONS, store = CHOSEN } = {}) {
  const chosen = stored(storage, { actions, store });
  const events = new EventTarget();
  let reserved = new Set();

  const wanted = ({ name, key, fixed }) => (fixed ? key : (chosen[name] ?? key));

  /** The key of an action; null where this protocol's answers need it. */
  function keyOf(name) {
    const action = actions.find((each) => each.name === name);
    const key = action && wanted(action);
    return key && !reserved.has(key) ? key : null;
  }

  const actionOf = (key) => (reserved.has(key) ? undefined : actions.find((action) => wanted(action) === key)?.name);

  function keep() {
    try {
      storage.setItem(store, JSON.stringify(chosen));
    } catch {
      // the choice then holds for this page only
    }
    events.dispatchEvent(new Event("change"));
  }

  return {
    actions,
    addEventListener: events.addEventListener.bind(events),
    keyOf,
    actionOf,
    repeats: (key) => Boolean(actions.find(({ name }) => name === actionOf(key))?.repeats),

    /** Leave the answers of this protocol their keys. */
    reserveFor(definition) {
      reserved = answerKeys(definition);
      events.dispatchEvent(new Event("change"));
    },

    /** Give an action another key. Null when done; else {problem: "unusable" | "reserved" | "taken", by}. */
    change(name, key) {
      if (key === null || !(key.length === 1 || NAMED.includes(key))) return { problem: "unusable" };
      if (reserved.has(key) || /^[0-9]$/.test(key)) return { problem: "reserved" };
      const other = actions.find((action) => action.name !== name && wanted(action) === key);
      if (other) return { problem: "taken", by: other.name };
      chosen[name] = key;
      keep();
      return null;
    },

    reset() {
      for (const name of Object.keys(chosen)) delete chosen[name];
      keep();
    },
  };
}

/** What was chosen before, without what this table does not know. */
function stored(storage, { actions, store }) {
  let found = null;
  try {
    found = JSON.parse(storage.getItem(store));
  } catch {
    // unreadable is as good as none
  }
  const known = actions.filter(({ name, fixed }) => !fixed && typeof found?.[name] === "string");
  return Object.fromEntries(known.map(({ name }) => [name, found[name]]));
}
