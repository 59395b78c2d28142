/** What was decided before this page, and the button that takes it back: null where nothing can be. */

/** `undo(caseId)` resolves with the case, null where it could not be; then the page of that case opens. */
export function createToast(root, { undo, onUndone }) {
  const button = root.querySelector("[data-undo]");
  if (!button) return null;

  async function press() {
    const undone = await undo(button.dataset.undo);
    if (!undone) return;
    onUndone();
    const address = new URL(globalThis.location);
    address.pathname = address.pathname.replace(/\d+\/$/, `${undone.id}/`);
    address.searchParams.delete("decided");
    globalThis.location.assign(address);
  }

  button.addEventListener("click", press);
  return { press };
}
