/** Which key presses are ours, and which belong to what has the focus. */
const KEYS_OFF = "concord:keys-off";

/** A press by one name: "Space", "Enter", "Shift+Enter", "Ctrl+Enter", "Escape", "?", "a"; null for other chords. */
export function nameOf({ key, ctrlKey, metaKey, altKey, shiftKey, isComposing }) {
  if (isComposing || altKey) return null; // composing: an input method still has the word
  if (ctrlKey || metaKey) return key === "Enter" ? "Ctrl+Enter" : null;
  if (key === " ") return "Space";
  if (key === "Enter") return shiftKey ? "Shift+Enter" : "Enter";
  if (key === "Escape" || key === "?") return key;
  return key.length === 1 && !shiftKey ? key.toLowerCase() : key.length === 1 ? key.toLowerCase() : null;
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

/** `onKey(name)` returns whether it did something. Nothing is taken while a dialog is open. */
export function listen(onKey, { storage = globalThis.localStorage } = {}) {
  const single = { on: read(storage) !== "1" };
  document.addEventListener("keydown", (event) => {
    const name = nameOf(event);
    const { tagName: tag, type, checked } = document.activeElement ?? {};
    if (event.repeat && name !== "j" && name !== "l") return;
    if (document.querySelector("dialog[open]") || !isOurs(name, { tag, type, checked })) return;
    if (!single.on && name.length === 1) return;
    if (onKey(name)) event.preventDefault();
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
