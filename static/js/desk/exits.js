/**
 * The ways out of a case, and what becomes of typed corrections on each: nobody loses them unasked, and whoever gets the
 * case back from its raters finds them again. Pure.
 */

/**
 * `dialogs.withdrawal(send)` and `dialogs.sendingBack(send)` each give what opens one; `discard(act)` asks before it
 * acts; `leave({decided})` goes on to the next case, which says what became of this one.
 */
export function createWays({ editor, sending, dialogs, discard, leave }) {
  /** Once the server has done it. */
  async function settle(sent, { comesBack = false } = {}) {
    if (!(await sent)) return;
    if (!comesBack || !editor.dirty) editor.forget();
    leave({ decided: true });
  }

  function putBack() {
    editor.forget();
    leave({ decided: false });
  }

  const askToWithdraw = dialogs.withdrawal(({ comment }) => settle(sending.withdraw(comment)));
  const askToReturn = dialogs.sendingBack((values) => settle(sending.sendBack(values), { comesBack: true }));
  const unlessDirty = (act) => (editor.dirty ? discard(act) : act());
  const comment = () => editor.content().comment;

  return {
    correct: (typed, version) => settle(sending.correct(typed, version)),
    fine: () => unlessDirty(() => settle(sending.fine(comment()))),
    send_back: () => askToReturn(comment()),
    withdraw: () => unlessDirty(() => askToWithdraw(comment())),
    put_back: () => unlessDirty(putBack),
  };
}
