/** Reparse of an upload: another format or protocol, once selected, is applied at once. Without scripts a button does it. */
export default function start(form) {
  form.querySelector('[data-part="again"]').hidden = true;
  form.addEventListener("change", () => form.requestSubmit());
}
