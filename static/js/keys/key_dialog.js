/** Key dialog: the list of keyboard shortcuts that `?` opens, where each action can be given another key. */
import { h } from "../page/dom.js";
import { fill, translate } from "../page/texts.js";
import { keyNameOf } from "./shortcuts.js";

const ACTION_TITLES = {
  play: translate("Play or pause"),
  switch: translate("Switch to the other piece, keeping the place"),
  reference: translate("Play the reference clip"),
  back5: translate("Five seconds back"),
  on5: translate("Five seconds on"),
  restart: translate("Back to the start of the clip"),
  mark: translate("Mark an event here"),
  mark_end: translate("The latest mark ends here"),
  loop_start: translate("Repeat from here"),
  loop_end: translate("Repeat up to here"),
  loop_clear: translate("Stop repeating"),
  louder: translate("Louder"),
  quieter: translate("Quieter"),
  mute: translate("Sound off or on"),
  spectrogram: translate("Show or hide the spectrograms"),
  next_question: translate("To the next question"),
  previous_question: translate("To the question before"),
  leave_text: translate("Leave the text field, so that these keys work again"),
  submit: translate("Submit"),
  undo: translate("Change the answer before"),
  skip: translate("Skip the task"),
  help: translate("Show this list of keys"),
  accept: translate("Take the draft of the marked field"),
  edit: translate("Write in the marked field, beginning with its draft"),
  reject: translate("Reject the draft of the marked field"),
  correct: translate("Save the corrections"),
  save: translate("Save the corrections, also from within a text"),
  fine: translate("Fine as it is"),
  withdraw: translate("Withdraw the item"),
  send_back: translate("Return it to raters"),
  put_back: translate("Put it back and go to the next case"),
  take_back: translate("Undo the decision before"),
};

const PROBLEMS = {
  taken: translate("That key is already used for: {action}. Press another one."),
  reserved: translate("That key gives an answer in this study. Press another one."),
  unusable: translate("That key cannot be used. Press a letter, a sign, Space or Enter."),
};

const MODIFIERS = ["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"];

/**
 * `keys` is the key map, `singleKeys` the switch that `listenForKeys` returns, `task()` the current task and
 * `actionNames(task)` its actions; `answerRows(task)` are rows {keys, until, text} for keys that cannot be changed. Keeps
 * the hints on the page up to date too.
 */
export function createKeyDialog({ keys, singleKeys, task, actionNames, answerRows, page = document }) {
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
      { type: "button", class: "plain-button", "data-change": name, "aria-label": translate("Change the key for: {action}", { action: ACTION_TITLES[name] }) },
      translate("Change"),
    );
    change.addEventListener("click", () => wait(name));
    const face = isAwaiting ? h("em", {}, translate("Press a key")) : key === null ? translate("none here") : h("kbd", {}, keyLabel(key));
    const cells = [h("th", { scope: "row" }, ACTION_TITLES[name]), h("td", {}, face), h("td", {}, fixed ? null : change)];
    return h("tr", { class: isAwaiting ? "waiting" : null }, cells);
  }

  function answerRow({ keys: faces, until, text }) {
    const marks = faces.flatMap((face, n) => [n && until ? " … " : n ? " " : null, h("kbd", {}, face)]);
    return h("tr", {}, h("th", { scope: "row" }, text), h("td", {}, marks), h("td", {}));
  }

  function wait(name) {
    awaitingKeyFor = name;
    render();
    announce(name ? translate("Press the new key for: {action}. Esc leaves it as it is.", { action: ACTION_TITLES[name] }) : "");
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
    if (conflict) return announce(fill(PROBLEMS[conflict.problem], { action: ACTION_TITLES[conflict.by] }));
    awaitingKeyFor = null;
    render();
    announce(event.key === "Escape" ? "" : translate("{action}: the key is now {key}.", { action: ACTION_TITLES[name], key: keyLabel(keys.keyOf(name)) }));
    dialog.querySelector(`[data-change="${name}"]`).focus();
  }

  const updateHints = () => showHints(page, { keys, singleKeys: singleKeys.on });

  dialog.addEventListener("keydown", onKeydown, { capture: true });
  dialog.addEventListener("cancel", (event) => awaitingKeyFor !== null && event.preventDefault());
  dialog.addEventListener("close", () => (awaitingKeyFor = null));
  part("keys-reset").addEventListener("click", () => {
    awaitingKeyFor = null;
    keys.reset();
    render();
    announce(translate("All keys are reset to their defaults."));
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
function showHints(page, { keys, singleKeys }) {
  for (const hint of page.querySelectorAll("[data-key-of]")) {
    const key = keys.keyOf(hint.dataset.keyOf);
    const works = key !== null && (singleKeys || key.length > 1);
    hint.textContent = works ? keyLabel(key) : "";
    hint.hidden = !works;
    hint.setAttribute("aria-hidden", "true"); // aria-keyshortcuts below says it
    const control = hint.closest("button, a");
    if (works) control?.setAttribute("aria-keyshortcuts", ariaKeyName(key));
    else control?.removeAttribute("aria-keyshortcuts");
  }
}

const LABELS = { Enter: "⏎", "Shift+Enter": "⇧ ⏎", "Ctrl+Enter": "Ctrl ⏎", Escape: "Esc" };

/** A key as a <kbd> shows it; the space bar has its name in the page's language. */
export function keyLabel(key) {
  if (key === "Space") return translate("Space");
  return LABELS[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}

/** A key as aria-keyshortcuts wants it. */
export function ariaKeyName(key) {
  if (key === "Ctrl+Enter") return "Control+Enter";
  if (key === "+") return "Plus"; // the sign itself joins keys there
  return key.length === 1 ? key.toUpperCase() : key;
}
