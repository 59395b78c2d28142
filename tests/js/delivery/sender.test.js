import assert from "node:assert/strict";
import test from "node:test";
import { backoffSeconds, createSender } from "../../../static/js/delivery/sender.js";

const OK = { kind: "ok", body: {} };
const never = () => new Promise(() => {});

/** A delivery over an outbox whose oldest entry gets `outcomes` in turn; settled ones leave it. */
function sendingFrom(outcomes, { ids = ["one"], onWaiting = () => {}, ...options } = {}) {
  const pending = [...ids];
  let last = Promise.resolve();
  const inTurn = (work) => (last = last.then(work));
  const sent = [];
  const settled = [];
  const outbox = {
    sendNext: () =>
      inTurn(async () => {
        if (!pending.length) return null;
        const [id] = pending;
        sent.push(id);
        const outcome = await outcomes.shift();
        if (outcome.kind === "ok" || outcome.kind === "refused") pending.shift();
        return { entry: { id }, outcome };
      }),
    withdraw: (id) =>
      inTurn(async () => {
        const place = pending.indexOf(id);
        if (place >= 0) pending.splice(place, 1);
        return place >= 0;
      }),
    remove: async (id) => void (pending.includes(id) && pending.splice(pending.indexOf(id), 1)),
  };
  const sender = createSender({
    outbox,
    onWaiting: (entry, outcome, seconds) => onWaiting(sender, outcome, seconds),
    onSettled: (entry, outcome, isAwaited) => settled.push([entry.id, outcome.kind, isAwaited]),
    wait: never,
    random: () => 1,
    ...options,
  });
  return { sender, sent, settled, pending };
}

test("a vote that arrives is sent once", async () => {
  const { sender, sent, settled } = sendingFrom([OK]);
  assert.equal((await sender.deliver("one")).kind, "ok");
  assert.deepEqual(sent, ["one"]);
  assert.deepEqual(settled, [["one", "ok", true]]);
});

test("it tries again after a failure and after silence, with growing pauses", async () => {
  const pauses = [];
  const outcomes = [{ kind: "unreachable" }, { kind: "failed" }, { kind: "signed_out" }, OK];
  const { sender, sent } = sendingFrom(outcomes, { wait: async (seconds) => pauses.push(seconds) });
  await sender.deliver("one");
  assert.equal(sent.length, 4);
  assert.deepEqual(pauses, [2, 4, 8]);
});

test("pauses grow to half a minute, and chance takes up to half of them away", () => {
  assert.equal(backoffSeconds(20, {}, () => 1), 30);
  assert.equal(backoffSeconds(20, {}, () => 0), 15);
  assert.equal(backoffSeconds(0, {}, () => 0), 1);
});

test("a server that asks for a while gets it, and a returning network does not cut it short", async () => {
  let time = 0;
  const waits = [];
  const outcomes = [{ kind: "failed", retryAfter: 90 }, OK];
  const { sender, sent } = sendingFrom(outcomes, {
    now: () => time,
    onWaiting: (sender, outcome, seconds) => {
      waits.push(seconds);
      sender.retryUnlessThrottled();
      setTimeout(() => {
        assert.equal(sent.length, 1);
        time = 90_000;
        sender.retryUnlessThrottled();
      });
    },
  });
  await sender.deliver("one");
  assert.deepEqual(waits, [90]);
  assert.equal(sent.length, 2);
});

test("somebody who presses the button need not wait", async () => {
  const outcomes = [{ kind: "failed", retryAfter: 90 }, OK];
  const { sender, sent } = sendingFrom(outcomes, { onWaiting: (sender) => setTimeout(() => sender.sendNow()) });
  await sender.deliver("one");
  assert.equal(sent.length, 2);
});

test("a refusal is final, and the next vote goes", async () => {
  const { sender, sent } = sendingFrom([{ kind: "refused", code: "invalid" }, OK], { ids: ["one", "two"] });
  const outcomes = await Promise.all([sender.deliver("one"), sender.deliver("two")]);
  assert.deepEqual(outcomes.map(({ kind }) => kind), ["refused", "ok"]);
  assert.deepEqual(sent, ["one", "two"]);
});

test("a nudge cuts a pause short", async () => {
  const { sender, sent } = sendingFrom([{ kind: "unreachable" }, OK], {
    onWaiting: (sender) => setTimeout(() => sender.retryUnlessThrottled()),
  });
  await sender.deliver("one");
  assert.equal(sent.length, 2);
});

test("cancelled while waiting, it sends no more", async () => {
  const { sender, sent } = sendingFrom([{ kind: "unreachable" }], {
    onWaiting: (sender) => setTimeout(() => sender.cancel("one")),
  });
  assert.equal((await sender.deliver("one")).kind, "cancelled");
  assert.equal(sent.length, 1);
});

test("cancelled while it is just being sent, a vote that arrived counts as arrived", async () => {
  let arrive;
  const { sender } = sendingFrom([new Promise((resolve) => (arrive = resolve))]);
  const outcome = sender.deliver("one");
  const cancelled = sender.cancel("one");
  arrive(OK);
  await cancelled;
  assert.equal((await outcome).kind, "ok");
});

test("what another tab has sent is settled here, and not sent again", async () => {
  const { sender, sent } = sendingFrom([{ kind: "unreachable" }], {
    onWaiting: (sender) => setTimeout(() => sender.settleFromOtherTab("one", OK)),
  });
  assert.equal((await sender.deliver("one")).kind, "ok");
  await sender.drain();
  assert.equal(sent.length, 1);
  assert.equal(await sender.settleFromOtherTab("somebody else's", OK), false);
});

test("nobody who waits is told yes before the server has said it", async () => {
  const { sender } = sendingFrom([], { ids: [] }); // nothing to send: an empty outbox is no answer
  let settled = false;
  sender.deliver("one").then(() => (settled = true));
  await sender.drain();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(settled, false);
});

test("a vote that comes in while the last one is settled is sent as well", async () => {
  const { sender, pending, sent } = sendingFrom([OK, OK]);
  const first = sender.deliver("one").then(() => {
    pending.push("two");
    return sender.deliver("two");
  });
  assert.equal((await first).kind, "ok");
  assert.deepEqual(sent, ["one", "two"]);
});

test("a store that fails while sending is a failure to try again, not the end", async () => {
  const results = [
    () => Promise.reject(new Error("AbortError")),
    async () => ({ entry: { id: "one" }, outcome: OK }),
    async () => null,
  ];
  const outbox = { sendNext: () => results.shift()() };
  const sender = createSender({ outbox, onWaiting() {}, onSettled() {}, wait: async () => {} });
  assert.equal((await sender.deliver("one")).kind, "ok");
});
