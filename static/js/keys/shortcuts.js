/** Keyboard shortcuts: which key presses are the page's, and which belong to the focused control. */
import { safeStorage } from "../page/storage.js";

const STORAGE_KEY = "concord:keys-off";

// The same key with and without Shift.
const SHIFT_VARIANTS = { "=": "+", _: "-" };

/** The name of a key press: "Space", "Shift+Enter", "Ctrl+Enter", "Escape", "?", "a", "Alt+3"; null for other chords. */
export function keyNameOf(event) {
  const { key, code = "", ctrlKey, metaKey, altKey, shiftKey, isComposing } = event;
  if (isComposing) return null; // an input method is composing
  if (event.getModifierState?.("AltGraph")) return key.length === 1 ? key.toLowerCase() : null; // "[" on many keyboards
  if (altKey) return !ctrlKey && !metaKey && /^Digit[0-9]$/.test(code) ? `Alt+${code.at(-1)}` : null;
  if (ctrlKey || metaKey) return key === "Enter" ? "Ctrl+Enter" : null;
  if (key === " ") return "Space";
  if (key === "Enter") return shiftKey ? "Shift+Enter" : "Enter";
  if (key === "Escape") return key;
  return key.length === 1 ? (SHIFT_VARIANTS[key] ?? key.toLowerCase()) : null;
}

/**
 * Whether a key press is a shortcut of the page. `focus` is {tag, type, checked, isClicked} of the focused element: Enter and
 * Space press a button that the keyboard has reached, not one that was clicked a moment ago.
 */
export function isPageShortcut(name, focus) {
  if (name === null) return false;
  if (name === "Ctrl+Enter") return true;
  const { tag, type } = focus;
  const isText = tag === "TEXTAREA" || tag === "SELECT" || (tag === "INPUT" && !["radio", "checkbox", "range"].includes(type));
  if (isText) return name === "Escape" || (type === "number" && name.endsWith("Enter"));
  const presses = ["A", "SUMMARY"].includes(tag) || (tag === "BUTTON" && !focus.isClicked);
  if (name === "Enter") return !presses;
  if (name === "Space") return !presses && type !== "checkbox" && !(type === "radio" && !focus.checked);
  return true;
}

/**
 * `onKey(name)` returns whether it did something; `repeats(name)` whether holding the key repeats it. Shortcuts rest while
 * a dialog is open. `on` of the returned switch turns single-key shortcuts on or off (WCAG 2.1.4).
 */
export function listenForKeys(onKey, { repeats, localStorage = globalThis.localStorage }) {
  const storage = safeStorage(localStorage);
  const clicked = watchClicks(document);
  let isOn = storage.getText(STORAGE_KEY) !== "1";
  document.addEventListener("keydown", (event) => {
    const name = keyNameOf(event);
    const { tagName: tag, type, checked } = document.activeElement ?? {};
    const isClicked = clicked.has(document.activeElement);
    if (event.repeat && !repeats(name)) return;
    if (document.querySelector("dialog[open]") || !isPageShortcut(name, { tag, type, checked, isClicked })) return;
    if (!isOn && name.length === 1) return;
    const wouldSubmit = type === "number" && name === "Enter"; // a form goes off by Enter in its fields
    if (!onKey(name) && !wouldSubmit) return;
    event.preventDefault();
    if (name === "Space" && isClicked) keepFromPressing(document.activeElement);
  });
  return {
    get on() {
      return isOn;
    },
    set on(value) {
      isOn = value;
      storage.setText(STORAGE_KEY, value ? "0" : "1");
    },
  };
}

/** Buttons that have the focus because they were clicked; the keyboard takes over when the focus moves. */
function watchClicks(page) {
  let button = null;
  page.addEventListener("pointerdown", ({ target }) => (button = target.closest?.("button") ?? null));
  page.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (target === button && relatedTarget !== button) button = null;
  });
  return { has: (element) => element !== null && element === button };
}

/** Firefox presses a button when Space comes up, whatever became of the key going down. */
function keepFromPressing(button) {
  const stop = (event) => event.key === " " && event.preventDefault();
  button.addEventListener("keyup", stop, { once: true });
}
