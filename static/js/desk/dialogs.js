/** The desk's two dialogs: withdrawing an item, and asking raters again. Each wants a comment, and sends by Ctrl+Enter. */

/** `read(form)` gives {values} or {fault}; `send(values)` takes it from there, and says on the page how it went. */
function createDialog(name, { read, send, t }) {
  const dialog = document.getElementById(`${name}-dialog`);
  const form = dialog.querySelector("form");
  const comment = document.getElementById(`${name}-comment`);
  const problem = document.getElementById(`${name}-problem`);

  function say(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const { values, fault } = read(new FormData(form));
    const text = comment.value.trim();
    if (fault || !text) {
      say(t(fault ?? "desk.no_comment"));
      if (!fault) comment.focus();
      return;
    }
    dialog.close();
    send({ ...values, comment: text });
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit();
  });
  dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());

  /** `begun`: what was typed as a comment already. */
  return (begun) => {
    say("");
    comment.value ||= begun;
    dialog.showModal();
  };
}

export const createWithdrawal = (parts) => createDialog("withdraw", { ...parts, read: () => ({ values: {} }) });

export function createReturn(parts) {
  const form = document.querySelector("#return-dialog form");
  form.addEventListener("change", ({ target }) => {
    if (target.name === "judgment" && target.checked) form.querySelector('[value="raters"]').checked = true;
  });
  return createDialog("return", { ...parts, read: readReturn });
}

/** Whom to ask, from the form, as the API takes it. */
export function readReturn(data) {
  if (data.get("to") === "pool") return { values: { to: "pool", votes: Number(data.get("votes")) || undefined } };
  const judgments = data.getAll("judgment");
  if (data.get("to") === "raters" && judgments.length) return { values: { to: "raters", judgments } };
  return { values: {}, fault: "desk.nobody_chosen" };
}
