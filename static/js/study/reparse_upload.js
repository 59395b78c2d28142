/** Another format or protocol is chosen: read the files so at once. Without scripts there is a button for it. */
export default function start(form) {
  form.querySelector('[data-part="again"]').hidden = true;
  form.addEventListener("change", () => form.requestSubmit());
}
