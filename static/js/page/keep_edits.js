/**
 * Keeps what somebody has typed into a form and not saved: over other pages of the site, a reload, and a session that has
 * expired. It is stored for this tab, by account and address, and offered again with a button that discards it. Leaving the
 * site, or closing the tab, asks first. Entries of a page's contents that have such edits are marked.
 */
import { safeStorage } from "./storage.js";

const PREFIX = "concord:edits:";

export default function keepEdits(form) {
  const storage = safeStorage(globalThis.sessionStorage);
  const keyOf = (address) => `${PREFIX}${form.dataset.account}:${new URL(address, location.href).pathname}`;
  const key = keyOf(form.action);
  const part = (name) => form.querySelector(`[data-part="${name}"]`);
  const saved = savedEntriesOf(form); // not what it holds now: somebody may have typed before this module was loaded
  const wasRefused = "unsaved" in form.dataset; // what the page shows now is what the server has just refused
  let isLeaving = false;

  const isEdited = () => wasRefused || !equal(entriesOf(form), saved);

  function show(kind = "unsaved") {
    const edited = isEdited();
    part("unsaved").hidden = !edited;
    if (edited) part("unsaved-text").textContent = part("unsaved-text").dataset[kind];
    markContents();
  }

  function markContents() {
    for (const link of document.querySelectorAll(".contents a")) {
      link.classList.toggle("has-edits", storage.getText(keyOf(link.href)) !== null);
    }
  }

  function keep() {
    if (isEdited()) storage.setJson(key, { saved, entries: entriesOf(form) });
    else storage.remove(key);
    show();
  }

  function discard() {
    storage.remove(key);
    isLeaving = true;
    location.assign(location.href.split("#")[0]);
  }

  const kept = wasRefused ? null : storage.getJson(key);
  const isStored = kept?.sent && document.querySelector(".messages .success, [data-saved]");
  if (kept && !isStored && !equal(kept.entries, saved)) {
    restore(form, kept.entries, editedNames(form));
    show(equal(kept.saved, saved) ? "restored" : "outdated");
  } else keep();

  form.addEventListener("input", keep);
  form.addEventListener("change", keep);
  form.addEventListener("submit", () => {
    if (isEdited()) storage.setJson(key, { saved, entries: entriesOf(form), sent: true });
    isLeaving = true;
  });
  part("discard").addEventListener("click", discard);
  // Coming back from another page of this site brings them back: no reason to ask.
  document.addEventListener("click", ({ target }) => {
    if (!staysOnSite(target.closest?.("a[href]"))) return;
    isLeaving = true;
    setTimeout(() => (isLeaving = false), 500); // a link into this very page
  });
  addEventListener("pageshow", () => (isLeaving = false));
  addEventListener("beforeunload", (event) => {
    if (!isLeaving && isEdited()) event.preventDefault();
  });
}

function staysOnSite(link) {
  return Boolean(link) && link.origin === location.origin && link.target !== "_blank";
}

const SECRET = ["file", "password", "hidden", "submit", "button"];

/** What a form holds, as [name, value] pairs; without files, passwords and what the page itself put there. */
export const entriesOf = (form) => namedControls(form).flatMap(entriesOfControl);

/** The same pairs as the server sent them, whatever has been typed since. */
const savedEntriesOf = (form) => namedControls(form).map(asSent).flatMap(entriesOfControl);

function asSent(control) {
  const copy = control.cloneNode(true);
  if (["checkbox", "radio"].includes(copy.type)) copy.checked = copy.defaultChecked;
  else if (copy.options) for (const option of copy.options) option.selected = option.defaultSelected;
  else copy.value = copy.defaultValue;
  return copy;
}

const namedControls = (form) => [...form.elements].filter(({ name, type }) => name && !SECRET.includes(type));

function entriesOfControl(control) {
  if (["checkbox", "radio"].includes(control.type)) return control.checked ? [[control.name, control.value]] : [];
  if (control.type === "select-multiple") return [...control.selectedOptions].map(({ value }) => [control.name, value]);
  return [[control.name, control.value]];
}

/** Names of the controls that hold something else than the server sent. */
function editedNames(form) {
  const byName = (entries) => Map.groupBy(entries, ([name]) => name);
  const [saved, now] = [byName(savedEntriesOf(form)), byName(entriesOf(form))];
  return new Set([...saved.keys(), ...now.keys()].filter((name) => !equal(saved.get(name), now.get(name))));
}

/**
 * Put such pairs back, except for controls with the names to skip. Controls that the pairs do not know are unchecked, or
 * stay as they are where they hold a text.
 */
export function restore(form, entries, skip = new Set()) {
  const values = new Map();
  for (const [name, value] of entries) values.set(name, [...(values.get(name) ?? []), value]);
  const next = new Map();
  for (const control of namedControls(form)) {
    if (skip.has(control.name)) continue;
    const own = values.get(control.name) ?? [];
    if (["checkbox", "radio"].includes(control.type)) control.checked = own.includes(control.value);
    else if (control.type === "select-multiple") for (const option of control.options) option.selected = own.includes(option.value);
    else {
      const index = next.get(control.name) ?? 0;
      next.set(control.name, index + 1);
      if (index < own.length) control.value = own[index];
    }
  }
}

const equal = (one, other) => JSON.stringify(one) === JSON.stringify(other);
