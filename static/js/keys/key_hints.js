/** Writes each action's key where the page names the action: <kbd data-key-of="submit">, in a button or alone. */
import { faceOf, spokenOf } from "./key_names.js";

/** `singles`: whether keys without Ctrl are on; a hint at a key that does nothing would be a lie. */
export function showHints(page, { keys, singles, t }) {
  for (const hint of page.querySelectorAll("[data-key-of]")) {
    const key = keys.keyOf(hint.dataset.keyOf);
    const works = key !== null && (singles || key.length > 1);
    hint.textContent = works ? faceOf(key, t) : "";
    hint.hidden = !works;
    hint.setAttribute("aria-hidden", "true"); // said by the attribute below
    const control = hint.closest("button, a");
    if (works) control?.setAttribute("aria-keyshortcuts", spokenOf(key));
    else control?.removeAttribute("aria-keyshortcuts");
  }
}
