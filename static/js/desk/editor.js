/**
 * The item's texts, as they are and as they should be, with what changes word by word, and models' drafts beside them.
 * A field is {name, original, text, changed, element}; the one at hand is the one that keys act on.
 */
import { h } from "../page/dom.js";
import { wordDiff } from "./word_diff.js";

const MARKS = { gone: "del", new: "ins" };

/** `memory`: see desk_memory.js; `say(text)` announces; `onChange()` follows every change. */
export function createEditor(root, { memory, t, say, onChange }) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const fields = [...root.querySelectorAll("[data-field]")].map(createField);
  const taken = {}; // the draft that a field's text began as
  const extras = { reason: part("reason"), comment: part("comment"), rewrite: part("rewrite") };
  let atHand = fields[0] ?? null;

  function createField(element) {
    const inside = (name) => element.querySelector(`[data-part="${name}"]`);
    const area = element.querySelector("textarea");
    const original = inside("original").textContent;
    const field = { name: element.dataset.field, element, area, original, show };
    let drawn = null;

    function show() {
      const changed = area.value !== original;
      element.classList.toggle("changed", changed);
      inside("changed").hidden = !changed;
      inside("diff-frame").hidden = !changed;
      fit(area);
      cancelAnimationFrame(drawn);
      drawn = requestAnimationFrame(() => inside("diff").replaceChildren(...(changed ? pieces(original, area.value, t) : [])));
      showTaken(field);
    }

    area.addEventListener("input", () => entered(field));
    element.addEventListener("focusin", () => mark(field));
    element.addEventListener("click", ({ target }) => {
      const draft = target.closest("[data-draft]");
      if (target.closest("[data-accept]")) take(field, draft);
      else if (target.closest("[data-edit]")) edit(field, draft);
      else if (target.closest("[data-reject]")) dropDraft(field, draft);
    });
    return field;
  }

  function showTaken({ name, element, area, original }) {
    const id = taken[name];
    for (const draft of element.querySelectorAll("[data-draft]")) {
      draft.classList.toggle("taken", draft.dataset.draft === String(id));
    }
    const note = element.querySelector('[data-part="taken"]');
    note.hidden = id === undefined || area.value === original;
    note.textContent = note.hidden ? "" : t("desk.begun_as_draft");
  }

  function entered(field) {
    if (field.area.value === field.original) delete taken[field.name];
    field.show();
    keep();
    onChange();
  }

  function keep() {
    const typed = content();
    const isEmpty = !Object.keys(typed.texts).length && !typed.reason && !typed.comment;
    if (isEmpty) memory.forget();
    else memory.write(typed);
  }

  /** What is changed, as the API takes it and as it is kept. */
  function content() {
    const changed = fields.filter(({ area, original }) => area.value !== original);
    const drafts = changed.filter(({ name }) => name in taken).map(({ name }) => [name, taken[name]]);
    return {
      texts: Object.fromEntries(changed.map(({ name, area }) => [name, area.value])),
      drafts: Object.fromEntries(drafts),
      reason: extras.reason.value,
      comment: extras.comment.value.trim(),
      rewrite: Boolean(extras.rewrite?.checked),
    };
  }

  function mark(field) {
    atHand = field;
    for (const other of fields) other.element.classList.toggle("at-hand", other === field);
  }

  const isOpen = (name, id) => Boolean(root.querySelector(`[data-field="${name}"] [data-draft="${id}"][data-open]`));

  const openDraft = (field) => field?.element.querySelector("[data-draft][data-open]");

  function take(field, draft = openDraft(field)) {
    if (!draft) return say(t("desk.no_draft"));
    mark(field);
    write(field.area, draft.querySelector('[data-part="draft-text"]').textContent);
    taken[field.name] = Number(draft.dataset.draft);
    entered(field);
    field.element.focus({ preventScroll: true });
    say(t("desk.taken"));
  }

  /** Write in the field: from its draft, unless something was written already. */
  function edit(field, draft) {
    if (!field) return;
    const begins = draft ?? (field.area.value === field.original ? openDraft(field) : null);
    if (begins && taken[field.name] !== Number(begins.dataset.draft)) take(field, begins);
    field.area.focus();
    field.area.setSelectionRange(field.area.value.length, field.area.value.length);
  }

  function dropDraft(field, draft) {
    if (taken[field.name] !== Number(draft.dataset.draft)) return;
    delete taken[field.name];
    field.show();
    keep();
  }

  function restore() {
    const kept = memory.read(isOpen);
    if (!kept) return;
    for (const { name, area } of fields) if (name in kept.texts) area.value = kept.texts[name];
    Object.assign(taken, kept.drafts);
    extras.reason.value = kept.reason;
    extras.comment.value = kept.comment;
    if (extras.rewrite) extras.rewrite.checked = kept.rewrite;
    say(t("desk.restored"));
  }

  for (const control of Object.values(extras)) control?.addEventListener("input", () => (keep(), onChange()));
  document.addEventListener("htmx:after:swap", () => fields.forEach(showTaken));
  restore();
  for (const field of fields) field.show();
  if (atHand) mark(atHand);

  return {
    content,
    get dirty() {
      return fields.some(({ area, original }) => area.value !== original);
    },
    nFields: fields.length,
    /** To the field of this number, from 1. */
    go(number) {
      const field = fields[number - 1];
      if (!field) return false;
      field.element.focus();
      field.element.scrollIntoView({ block: "nearest" });
      return true;
    },
    accept: () => take(atHand),
    edit: () => edit(atHand),
    reject() {
      const draft = openDraft(atHand);
      if (draft) draft.querySelector("[data-reject]").click();
      else say(t("desk.no_draft"));
    },
    focusReason: () => extras.reason.focus(),
    forget: memory.forget,
  };
}

/** In the browser's own list of changes, so that Ctrl+Z brings back what stood there. */
function write(area, text) {
  area.focus({ preventScroll: true });
  area.select();
  if (!document.execCommand("insertText", false, text)) area.value = text;
}

function fit(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`;
}

/** The changes as elements; in words for those who cannot see the marks. */
function pieces(before, after, t) {
  const hidden = (text) => h("span", { class: "visually-hidden" }, text);
  return wordDiff(before, after).map(({ kind, text }) =>
    kind === "same" ? text : h(MARKS[kind], {}, hidden(`[${t(`diff.${kind}`)} `), text, hidden("]")),
  );
}

/**
 * What an expert has typed about an item, kept in this tab until it is saved: a reload, a lost claim or a version that
 * changed meanwhile loses none of it. Pure but for the storage.
 */
export function createMemory(storage, name) {
  const quietly = (work) => {
    try {
      return work();
    } catch {
      return null; // storage full, or switched off: the page works on without it
    }
  };
  return {
    /**
     * {texts: {field: text}, drafts: {field: id}, reason, comment, rewrite}; null where nothing was typed. Of the drafts
     * only those that `isOpen(field, id)`: a later case of the item has others.
     */
    read: (isOpen) => quietly(() => withOpen(isOpen, JSON.parse(storage.getItem(name)))),
    write: (typed) => quietly(() => storage.setItem(name, JSON.stringify(typed))),
    forget: () => quietly(() => storage.removeItem(name)),
  };
}

function withOpen(isOpen, typed) {
  if (!typed) return typed;
  const open = Object.entries(typed.drafts ?? {}).filter(([field, id]) => isOpen(field, id));
  return { ...typed, drafts: Object.fromEntries(open) };
}
