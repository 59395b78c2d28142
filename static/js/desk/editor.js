/**
 * Correction editor: the item's texts as they are and as corrected, with a word diff, and models' drafts beside them. A
 * field is {name, element, area, original, show()}; shortcuts act on the current one.
 */
import { h } from "../page/dom.js";
import { safeStorage } from "../page/storage.js";
import { translate } from "../page/texts.js";
import { wordDiff } from "./word_diff.js";

/** Of a word diff, for screen readers. */
const MARK_TEXTS = {
  gone: translate("gone:"),
  new: translate("new:"),
};

const MARKS = { gone: "del", new: "ins" };

/** `stored`: the stored corrections (below); `announce(text)` is for screen readers; `onChange()` follows every change. */
export function createEditor(root, { stored, announce, onChange }) {
  const part = (name) => root.querySelector(`[data-part="${name}"]`);
  const fields = [...root.querySelectorAll("[data-field]")].map(createField);
  const draftIds = {}; // by field: the draft that its text started from
  const remarks = { reason: part("reason"), comment: part("comment"), rewrite: part("rewrite") };
  let current = fields[0] ?? null;

  function createField(element) {
    const fieldPart = (name) => element.querySelector(`[data-part="${name}"]`);
    const area = element.querySelector("textarea");
    const original = fieldPart("original").textContent;
    const field = { name: element.dataset.field, element, area, original, show };
    let frame = null;

    function show() {
      const changed = area.value !== original;
      element.classList.toggle("changed", changed);
      fieldPart("changed").hidden = !changed;
      fieldPart("diff-frame").hidden = !changed;
      fitHeight(area);
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => fieldPart("diff").replaceChildren(...(changed ? diffElements(original, area.value) : [])));
      showDraftState(field);
    }

    area.addEventListener("input", () => onInput(field));
    element.addEventListener("focusin", () => setCurrent(field));
    element.addEventListener("click", ({ target }) => {
      const draft = target.closest("[data-draft]");
      if (target.closest("[data-accept]")) acceptDraft(field, draft);
      else if (target.closest("[data-edit]")) editDraft(field, draft);
      else if (target.closest("[data-reject]")) rejectDraft(field, draft);
    });
    return field;
  }

  function showDraftState({ name, element, area, original }) {
    const id = draftIds[name];
    for (const draft of element.querySelectorAll("[data-draft]")) {
      draft.classList.toggle("taken", draft.dataset.draft === String(id));
    }
    const note = element.querySelector('[data-part="taken"]');
    note.hidden = id === undefined || area.value === original;
    note.textContent = note.hidden ? "" : translate("Started from an AI draft.");
  }

  function onInput(field) {
    if (field.area.value === field.original) delete draftIds[field.name];
    field.show();
    save();
    onChange();
  }

  function save() {
    const { texts, reason, comment } = corrections();
    const isEmpty = !Object.keys(texts).length && !reason && !comment;
    if (isEmpty) stored.remove();
    else stored.write(corrections());
  }

  /** The corrections, as the API takes them and as they are stored. */
  function corrections() {
    const changed = fields.filter(({ area, original }) => area.value !== original);
    const drafts = changed.filter(({ name }) => name in draftIds).map(({ name }) => [name, draftIds[name]]);
    return {
      texts: Object.fromEntries(changed.map(({ name, area }) => [name, area.value])),
      drafts: Object.fromEntries(drafts),
      reason: remarks.reason.value,
      comment: remarks.comment.value.trim(),
      rewrite: Boolean(remarks.rewrite?.checked),
    };
  }

  function setCurrent(field) {
    current = field;
    for (const other of fields) other.element.classList.toggle("at-hand", other === field);
  }

  const isOpen = (name, id) => Boolean(root.querySelector(`[data-field="${name}"] [data-draft="${id}"][data-open]`));

  const openDraft = (field) => field?.element.querySelector("[data-draft][data-open]");

  function acceptDraft(field, draft = openDraft(field)) {
    if (!draft) return announce(translate("There is no draft here."));
    setCurrent(field);
    replaceText(field.area, draft.querySelector('[data-part="draft-text"]').textContent);
    draftIds[field.name] = Number(draft.dataset.draft);
    onInput(field);
    field.element.focus({ preventScroll: true });
    announce(translate("The draft is taken."));
  }

  /** Edit the field: from its draft, unless it has been edited already. */
  function editDraft(field, draft) {
    if (!field) return;
    const initialDraft = draft ?? (field.area.value === field.original ? openDraft(field) : null);
    if (initialDraft && draftIds[field.name] !== Number(initialDraft.dataset.draft)) acceptDraft(field, initialDraft);
    field.area.focus();
    field.area.setSelectionRange(field.area.value.length, field.area.value.length);
  }

  function rejectDraft(field, draft) {
    if (draftIds[field.name] !== Number(draft.dataset.draft)) return;
    delete draftIds[field.name];
    field.show();
    save();
  }

  function restore() {
    const saved = stored.read(isOpen);
    if (!saved) return;
    for (const { name, area } of fields) if (name in saved.texts) area.value = saved.texts[name];
    Object.assign(draftIds, saved.drafts);
    remarks.reason.value = saved.reason;
    remarks.comment.value = saved.comment;
    if (remarks.rewrite) remarks.rewrite.checked = saved.rewrite;
    announce(translate("Your unsaved text was restored."));
  }

  for (const control of Object.values(remarks)) control?.addEventListener("input", () => (save(), onChange()));
  document.addEventListener("htmx:after:swap", () => fields.forEach(showDraftState));
  restore();
  for (const field of fields) field.show();
  if (current) setCurrent(current);

  return {
    corrections,
    get isDirty() {
      return fields.some(({ area, original }) => area.value !== original);
    },
    nFields: fields.length,
    /** Focus the field of this number, from 1. */
    goToField(number) {
      const field = fields[number - 1];
      if (!field) return false;
      field.element.focus();
      field.element.scrollIntoView({ block: "nearest" });
      return true;
    },
    accept: () => acceptDraft(current),
    edit: () => editDraft(current),
    reject() {
      const draft = openDraft(current);
      if (draft) draft.querySelector("[data-reject]").click();
      else announce(translate("There is no draft here."));
    },
    focusReason: () => remarks.reason.focus(),
    removeStored: stored.remove,
  };
}

/** Through the browser's undo history, so that Ctrl+Z restores the text before. */
function replaceText(area, text) {
  area.focus({ preventScroll: true });
  area.select();
  if (!document.execCommand("insertText", false, text)) area.value = text;
}

function fitHeight(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`;
}

/** The word diff as elements, with words for screen readers. */
function diffElements(before, after) {
  const hidden = (text) => h("span", { class: "visually-hidden" }, text);
  return wordDiff(before, after).map(({ kind, text }) =>
    kind === "same" ? text : h(MARKS[kind], {}, hidden(`[${MARK_TEXTS[kind]} `), text, hidden("]")),
  );
}

/**
 * Unsaved corrections of an item, stored in this tab until they are saved: a reload, a lost claim or a version that changed
 * meanwhile loses none of them.
 */
export function createStoredCorrections(sessionStorage, storageKey) {
  const storage = safeStorage(sessionStorage);
  return {
    /**
     * {texts: {field: text}, drafts: {field: id}, reason, comment, rewrite}; null where nothing was typed. Of the drafts
     * only those that `isOpen(field, id)`: a later case of the item has others.
     */
    read(isOpen) {
      const corrections = storage.getJson(storageKey);
      if (!corrections) return null;
      const drafts = Object.entries(corrections.drafts ?? {}).filter(([field, id]) => isOpen(field, id));
      return { ...corrections, drafts: Object.fromEntries(drafts) };
    },
    write: (corrections) => void storage.setJson(storageKey, corrections),
    remove: () => void storage.remove(storageKey),
  };
}
