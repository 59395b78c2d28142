/** Which key presses are ours, and which belong to what has the focus. */
const KEYS_OFF = "concord:keys-off";

// What is on one key with another sign, with and without Shift.
const SAME_KEY = { "=": "+", _: "-" };

/** A press by one name: "Space", "Shift+Enter", "Ctrl+Enter", "Escape", "?", "a", "Alt+3"; null for other chords. */
export function nameOf(event) {
  const { key, code = "", ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
  if (isComposing) return null; // an input method still has the word
  if (event.getModifierState?.("AltGraph")) return key.length === 1 ? key.toLowerCase() : null; // "[" on many keyboards
  if (altKey) return !ctrlKey && !metaKey && /^Digit[0-9]$/.test(code) ? `Alt+${code.at(-1)}` : null;
  if (ctrlKey || metaKey) return key === "Enter" ? "Ctrl+Enter" : null;
  if (key === " ") return "Space";
  if (key === "Enter") return shiftKey ? "Shift+Enter" : "Enter";
  if (key === "Escape") return key;
  return key.length === 1 ? (SAME_KEY[key] ?? key.toLowerCase()) : null;
}

/** Whether a press is for the page. `focus` is {tag, type, checked} of what has the focus. */
export function isOurs(name, focus) {
  if (name === null) return false;
  if (name === "Ctrl+Enter") return true;
  const { tag, type } = focus;
  const isText = tag === "TEXTAREA" || tag === "SELECT" || (tag === "INPUT" && !["radio", "checkbox", "range"].includes(type));
  if (isText) return name === "Escape" || (type === "number" && name.endsWith("Enter"));
  const presses = ["BUTTON", "A", "SUMMARY"].includes(tag);
  if (name === "Enter") return !presses;
  if (name === "Space") return !presses && type !== "checkbox" && !(type === "radio" && !focus.checked);
  return true;
}

/**
 * `onKey(name)` returns whether it did something; `repeats(name)` says whether holding the key goes on doing it. Nothing
 * is taken while a dialog is open. `on` of what it returns switches the keys that are pressed alone.
 */
export function listen(onKey, { repeats, storage = globalThis.localStorage }) {
  const single = { on: read(storage) !== "1" };
  document.addEventListener("keydown", (event) => {
    const name = nameOf(event);
    const { tagName: tag, type, checked } = document.activeElement ?? {};
    if (event.repeat && !repeats(name)) return;
    if (document.querySelector("dialog[open]") || !isOurs(name, { tag, type, checked })) return;
    if (!single.on && name.length === 1) return;
    const wouldSend = type === "number" && name === "Enter"; // a form goes off by Enter in its fields
    if (onKey(name) || wouldSend) event.preventDefault();
  });
  return {
    get on() {
      return single.on;
    },
    set on(value) {
      single.on = value;
      write(storage, value ? "0" : "1");
    },
  };
}

function read(storage) {
  try {
    return storage.getItem(KEYS_OFF);
  } catch {
    return null;
  }
}

function write(storage, value) {
  try {
    storage.setItem(KEYS_OFF, value);
  } catch {
    // the choice then holds for this page only
  }
}
