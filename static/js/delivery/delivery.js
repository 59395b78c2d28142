/** Everything between a finished vote and the server: the outbox, its delivery, the other tabs, and what the page says. */
import { createDelivery } from "./retry.js";
import { createTabs, oneTab } from "./tabs.js";
import { createOutbox, indexedStore, safely } from "./outbox.js";
import { createUnsaved } from "./unsent.js";

/**
 * `onWaiting(outcome, seconds)`: the oldest vote could not be sent. `onStray(entry, outcome)`: one that nobody on this
 * page waits for was settled, here or in another tab. `kept`: the store that the votes wait in.
 */
export function createPost({ api, account, screen, t, language, onWaiting, onStray, kept = indexedStore() }) {
  const store = safely(kept, { onUnsafe: () => screen.unsafe() });
  const exclusively = oneTab(`concord:outbox:${account}`);
  const ways = { judgment: api.submit, revision: api.revise, review: api.judgeBlind };
  const send = ({ kind, assignmentId, caseId, body }) => ways[kind](kind === "review" ? caseId : assignmentId, body);
  const outbox = createOutbox({ store, account, send, exclusively });
  const tabs = createTabs(account);
  const delivery = createDelivery({
    outbox,
    onWaiting(entry, outcome, seconds) {
      onWaiting(outcome, seconds);
      unsaved.refresh();
    },
    onSettled(entry, outcome, isAwaited) {
      const { id, study, assignmentId, kind } = entry;
      tabs.tell({ entry: { id, study, assignmentId, kind }, outcome });
      if (!isAwaited) onStray(entry, outcome);
      unsaved.refresh();
    },
  });
  const unsaved = createUnsaved({ outbox, screen, t, language, onSendNow: () => delivery.sendNow() });

  tabs.listen(async ({ entry, outcome }) => {
    if (!(await delivery.learn(entry.id, outcome))) onStray(entry, outcome);
    unsaved.refresh();
  });
  for (const type of ["online", "focus", "pageshow"]) globalThis.addEventListener(type, delivery.nudge);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && delivery.nudge());
  unsaved.refresh();

  return {
    outbox,
    delivery,
    /** How many votes of this account are not with the server, as far as was seen last. */
    get count() {
      return unsaved.count;
    },
  };
}
