/** The list of keys that `?` opens, where each action can be given another key. */
import { answerRows } from "../rating/protocol.js";
import { h } from "../page/dom.js";
import { nameOf } from "./shortcuts.js";

const rowsOf = ({ definition }) => answerRows(definition);
const MODIFIERS = ["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"];

/**
 * `keys` is the key map, `singles` the switch that `listen` gives, `task()` the task at hand and `offered(task)` the names
 * of the actions it has; `answers(task)` are rows for the keys that cannot be changed, as in answer_keys.js. Keeps the
 * hints on the page up to date too.
 */
export function createKeyDialog({ keys, singles, task, offered, answers = rowsOf, t, page = document }) {
  const dialog = page.getElementById("keys-dialog");
  const part = (name) => dialog.querySelector(`[data-part="${name}"]`);
  let waitingFor = null; // the action whose new key is awaited

  function show() {
    say("");
    list();
    dialog.showModal();
  }

  function list() {
    const has = offered(task());
    const shown = keys.actions.filter(({ name }) => has.includes(name));
    part("keys-actions").replaceChildren(...shown.map(row));
    part("keys-answers").replaceChildren(...answers(task()).map(answerRow));
  }

  function row({ name, fixed }) {
    const waits = waitingFor === name;
    const key = keys.keyOf(name);
    const change = h(
      "button",
      { type: "button", class: "plain-button", "data-change": name, "aria-label": t("keys.change_of", { action: t(`key.${name}`) }) },
      t("keys.change"),
    );
    change.addEventListener("click", () => wait(name));
    const face = waits ? h("em", {}, t("keys.press")) : key === null ? t("keys.none") : h("kbd", {}, faceOf(key, t));
    const cells = [h("th", { scope: "row" }, t(`key.${name}`)), h("td", {}, face), h("td", {}, fixed ? null : change)];
    return h("tr", { class: waits ? "waiting" : null }, cells);
  }

  function answerRow({ keys: faces, until, text }) {
    const marks = faces.flatMap((face, n) => [n && until ? " … " : n ? " " : null, h("kbd", {}, face)]);
    return h("tr", {}, h("th", { scope: "row" }, t(text)), h("td", {}, marks), h("td", {}));
  }

  function wait(name) {
    waitingFor = name;
    list();
    say(name ? t("keys.press_for", { action: t(`key.${name}`) }) : "");
    dialog.querySelector(`[data-change="${name}"]`)?.focus();
  }

  function say(text) {
    part("keys-said").textContent = text;
  }

  /** The next press is the new key; Escape and Tab leave it as it was. */
  function take(event) {
    if (waitingFor === null || MODIFIERS.includes(event.key)) return;
    const name = waitingFor;
    if (event.key === "Tab") return void wait(null);
    event.preventDefault();
    event.stopPropagation();
    const refusal = event.key === "Escape" ? null : keys.change(name, nameOf(event));
    if (refusal) return say(t(`keys.${refusal.problem}`, { action: refusal.by && t(`key.${refusal.by}`) }));
    waitingFor = null;
    list();
    say(event.key === "Escape" ? "" : t("keys.changed", { action: t(`key.${name}`), key: faceOf(keys.keyOf(name), t) }));
    dialog.querySelector(`[data-change="${name}"]`).focus();
  }

  const hint = () => showHints(page, { keys, singles: singles.on, t });

  dialog.addEventListener("keydown", take, { capture: true });
  dialog.addEventListener("cancel", (event) => waitingFor !== null && event.preventDefault());
  dialog.addEventListener("close", () => (waitingFor = null));
  part("keys-reset").addEventListener("click", () => {
    waitingFor = null;
    keys.reset();
    list();
    say(t("keys.reset_done"));
  });
  const box = part("keys-on");
  box.checked = singles.on;
  box.addEventListener("change", () => {
    singles.on = box.checked;
    hint();
  });
  keys.addEventListener("change", hint);
  page.querySelector('[data-part="keys"]').addEventListener("click", show);
  return { show, hint };
}

/** Writes each action's key where the page names the action: <kbd data-key-of="submit">, in a button or alone. */
/** `singles`: whether keys without Ctrl are on; a hint at a key that does nothing would be a lie. */
function showHints(page, { keys, singles, t }) {
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

/** Names of keys, as people read them and as assistive technology wants them. Pure. */
const FACES = { Enter: "⏎", "Shift+Enter": "⇧ ⏎", "Ctrl+Enter": "Ctrl ⏎", Escape: "Esc" };

/** What stands on a <kbd>. The space bar is called as the language calls it. */
export function faceOf(key, t) {
  if (key === "Space") return t("key.space");
  return FACES[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/** For aria-keyshortcuts. */
export function spokenOf(key) {
  if (key === "Ctrl+Enter") return "Control+Enter";
  if (key === "+") return "Plus"; // the sign itself joins keys there
  return key.length === 1 ? key.toUpperCase() : key;
}
