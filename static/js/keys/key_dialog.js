/** Key dialog: the list of keyboard shortcuts that `?` opens, where each action can be given another key. */
import { h } from "../page/dom.js";
import { keyNameOf } from "./shortcuts.js";

const MODIFIERS = ["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"];

/**
 * `keys` is the key map, `singleKeys` the switch that `listenForKeys` returns, `task()` the current task and
 * `actionNames(task)` its actions; `answerRows(task)` are rows {keys, until, text} for keys that cannot be changed. Keeps
 * the hints on the page up to date too.
 */
export function createKeyDialog({ keys, singleKeys, task, actionNames, answerRows, t, page = document }) {
  const dialog = page.getElementById("keys-dialog");
  const part = (name) => dialog.querySelector(`[data-part="${name}"]`);
  let awaitingKeyFor = null; // the action whose new key is awaited

  function show() {
    announce("");
    render();
    dialog.showModal();
  }

  function render() {
    const names = actionNames(task());
    const shown = keys.actions.filter(({ name }) => names.includes(name));
    part("keys-actions").replaceChildren(...shown.map(row));
    part("keys-answers").replaceChildren(...answerRows(task()).map(answerRow));
  }

  function row({ name, fixed }) {
    const isAwaiting = awaitingKeyFor === name;
    const key = keys.keyOf(name);
    const change = h(
      "button",
      { type: "button", class: "plain-button", "data-change": name, "aria-label": t("keys.change_of", { action: t(`key.${name}`) }) },
      t("keys.change"),
    );
    change.addEventListener("click", () => wait(name));
    const face = isAwaiting ? h("em", {}, t("keys.press")) : key === null ? t("keys.none") : h("kbd", {}, keyLabel(key, t));
    const cells = [h("th", { scope: "row" }, t(`key.${name}`)), h("td", {}, face), h("td", {}, fixed ? null : change)];
    return h("tr", { class: isAwaiting ? "waiting" : null }, cells);
  }

  function answerRow({ keys: faces, until, text }) {
    const marks = faces.flatMap((face, n) => [n && until ? " … " : n ? " " : null, h("kbd", {}, face)]);
    return h("tr", {}, h("th", { scope: "row" }, t(text)), h("td", {}, marks), h("td", {}));
  }

  function wait(name) {
    awaitingKeyFor = name;
    render();
    announce(name ? t("keys.press_for", { action: t(`key.${name}`) }) : "");
    dialog.querySelector(`[data-change="${name}"]`)?.focus();
  }

  function announce(text) {
    part("keys-said").textContent = text;
  }

  /** The next key press is the new key; Escape and Tab cancel. */
  function onKeydown(event) {
    if (awaitingKeyFor === null || MODIFIERS.includes(event.key)) return;
    const name = awaitingKeyFor;
    if (event.key === "Tab") return void wait(null);
    event.preventDefault();
    event.stopPropagation();
    const conflict = event.key === "Escape" ? null : keys.change(name, keyNameOf(event));
    if (conflict) return announce(t(`keys.${conflict.problem}`, { action: conflict.by && t(`key.${conflict.by}`) }));
    awaitingKeyFor = null;
    render();
    announce(event.key === "Escape" ? "" : t("keys.changed", { action: t(`key.${name}`), key: keyLabel(keys.keyOf(name), t) }));
    dialog.querySelector(`[data-change="${name}"]`).focus();
  }

  const updateHints = () => showHints(page, { keys, singleKeys: singleKeys.on, t });

  dialog.addEventListener("keydown", onKeydown, { capture: true });
  dialog.addEventListener("cancel", (event) => awaitingKeyFor !== null && event.preventDefault());
  dialog.addEventListener("close", () => (awaitingKeyFor = null));
  part("keys-reset").addEventListener("click", () => {
    awaitingKeyFor = null;
    keys.reset();
    render();
    announce(t("keys.reset_done"));
  });
  const checkbox = part("keys-on");
  checkbox.checked = singleKeys.on;
  checkbox.addEventListener("change", () => {
    singleKeys.on = checkbox.checked;
    updateHints();
  });
  keys.addEventListener("change", updateHints);
  page.querySelector('[data-part="keys"]').addEventListener("click", show);
  return { show, updateHints };
}

/**
 * Writes each action's key where the page names the action: <kbd data-key-of="submit">, in a button or alone.
 * `singleKeys`: whether single-key shortcuts are on; a key that does nothing is not shown.
 */
function showHints(page, { keys, singleKeys, t }) {
  for (const hint of page.querySelectorAll("[data-key-of]")) {
    const key = keys.keyOf(hint.dataset.keyOf);
    const works = key !== null && (singleKeys || key.length > 1);
    hint.textContent = works ? keyLabel(key, t) : "";
    hint.hidden = !works;
    hint.setAttribute("aria-hidden", "true"); // aria-keyshortcuts below says it
    const control = hint.closest("button, a");
    if (works) control?.setAttribute("aria-keyshortcuts", ariaKeyName(key));
    else control?.removeAttribute("aria-keyshortcuts");
  }
}

const LABELS = { Enter: "⏎", "Shift+Enter": "⇧ ⏎", "Ctrl+Enter": "Ctrl ⏎", Escape: "Esc" };

/** A key as a <kbd> shows it; the space bar has its name in the page's language. */
export function keyLabel(key, t) {
  if (key === "Space") return t("key.space");
  return LABELS[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/** A key as aria-keyshortcuts wants it. */
export function ariaKeyName(key) {
  if (key === "Ctrl+Enter") return "Control+Enter";
  if (key === "+") return "Plus"; // the sign itself joins keys there
  return key.length === 1 ? key.toUpperCase() : key;
}
