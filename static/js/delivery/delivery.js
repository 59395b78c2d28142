/** Delivery of votes: wires outbox, sender, tabs and the list of unsent answers to the page. */
import { createOutbox, indexedDBStore, withMemoryCopy } from "./outbox.js";
import { createSender } from "./sender.js";
import { createTabChannel, tabLock } from "./tabs.js";
import { createUnsentList } from "./unsent.js";

/**
 * `onWaiting(outcome, seconds)`: the oldest vote was not delivered. `onSettledElsewhere(entry, outcome)`: the server has
 * answered to a vote that nothing on this page waits for, here or in another tab. `entryStore`: where unsent votes are.
 */
export function createDelivery({ api, account, screen, language, onWaiting, onSettledElsewhere, entryStore = indexedDBStore() }) {
  const store = withMemoryCopy(entryStore, { onFailure: () => screen.showUnsafe() });
  const withLock = tabLock(`concord:outbox:${account}`);
  const endpoints = { judgment: api.submit, revision: api.revise, review: api.submitBlind };
  const send = ({ kind, assignmentId, caseId, body }) => endpoints[kind](kind === "review" ? caseId : assignmentId, body);
  const outbox = createOutbox({ store, account, send, withLock });
  const channel = createTabChannel(account);
  const sender = createSender({
    outbox,
    onWaiting(entry, outcome, seconds) {
      onWaiting(outcome, seconds);
      unsent.refresh();
    },
    onSettled(entry, outcome, isAwaited) {
      const { id, study, assignmentId, kind } = entry;
      channel.post({ entry: { id, study, assignmentId, kind }, outcome });
      if (!isAwaited) onSettledElsewhere(entry, outcome);
      unsent.refresh();
    },
  });
  const unsent = createUnsentList({ outbox, screen, language, onSendNow: () => sender.sendNow() });

  channel.listen(async ({ entry, outcome }) => {
    if (!(await sender.settleFromOtherTab(entry.id, outcome))) onSettledElsewhere(entry, outcome);
    unsent.refresh();
  });
  const retry = sender.retryUnlessThrottled;
  for (const type of ["online", "focus", "pageshow"]) globalThis.addEventListener(type, retry);
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && retry());
  unsent.refresh();

  return {
    outbox,
    sender,
    /** How many votes of this account the server has not acknowledged, as of the last refresh. */
    get count() {
      return unsent.count;
    },
  };
}
