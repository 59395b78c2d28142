import assert from "node:assert/strict";
import test from "node:test";
import { createDelivery, pauseAfter } from "../../../static/js/delivery/retry.js";

const OK = { kind: "ok", body: {} };
const never = () => new Promise(() => {});

/** A delivery over an outbox whose oldest entry gets `outcomes` in turn; settled ones leave it. */
function delivering(outcomes, { ids = ["one"], onWaiting = () => {}, ...options } = {}) {
  const waiting = [...ids];
  let last = Promise.resolve();
  const inTurn = (work) => (last = last.then(work));
  const sent = [];
  const settled = [];
  const outbox = {
    sendNext: () =>
      inTurn(async () => {
        if (!waiting.length) return null;
        const [id] = waiting;
        sent.push(id);
        const outcome = await outcomes.shift();
        if (outcome.kind === "ok" || outcome.kind === "refused") waiting.shift();
        return { entry: { id }, outcome };
      }),
    withdraw: (id) =>
      inTurn(async () => {
        const place = waiting.indexOf(id);
        if (place >= 0) waiting.splice(place, 1);
        return place >= 0;
      }),
    forget: async (id) => void (waiting.includes(id) && waiting.splice(waiting.indexOf(id), 1)),
  };
  const delivery = createDelivery({
    outbox,
    onWaiting: (entry, outcome, seconds) => onWaiting(delivery, outcome, seconds),
    onSettled: (entry, outcome, isAwaited) => settled.push([entry.id, outcome.kind, isAwaited]),
    pause: never,
    random: () => 1,
    ...options,
  });
  return { delivery, sent, settled, waiting };
}

test("a vote that arrives is sent once", async () => {
  const { delivery, sent, settled } = delivering([OK]);
  assert.equal((await delivery.deliver("one")).kind, "ok");
  assert.deepEqual(sent, ["one"]);
  assert.deepEqual(settled, [["one", "ok", true]]);
});

test("it tries again after a failure and after silence, with growing pauses", async () => {
  const pauses = [];
  const outcomes = [{ kind: "unreachable" }, { kind: "failed" }, { kind: "signed_out" }, OK];
  const { delivery, sent } = delivering(outcomes, { pause: async (seconds) => pauses.push(seconds) });
  await delivery.deliver("one");
  assert.equal(sent.length, 4);
  assert.deepEqual(pauses, [2, 4, 8]);
});

test("pauses grow to half a minute, and chance takes up to half of them away", () => {
  assert.equal(pauseAfter(20, {}, () => 1), 30);
  assert.equal(pauseAfter(20, {}, () => 0), 15);
  assert.equal(pauseAfter(0, {}, () => 0), 1);
});

test("a server that asks for a while gets it, and a returning network does not cut it short", async () => {
  let time = 0;
  const waits = [];
  const outcomes = [{ kind: "failed", againAfter: 90 }, OK];
  const { delivery, sent } = delivering(outcomes, {
    now: () => time,
    onWaiting: (delivery, outcome, seconds) => {
      waits.push(seconds);
      delivery.nudge();
      setTimeout(() => {
        assert.equal(sent.length, 1);
        time = 90_000;
        delivery.nudge();
      });
    },
  });
  await delivery.deliver("one");
  assert.deepEqual(waits, [90]);
  assert.equal(sent.length, 2);
});

test("somebody who presses the button need not wait", async () => {
  const outcomes = [{ kind: "failed", againAfter: 90 }, OK];
  const { delivery, sent } = delivering(outcomes, { onWaiting: (delivery) => setTimeout(() => delivery.sendNow()) });
  await delivery.deliver("one");
  assert.equal(sent.length, 2);
});

test("a refusal is final, and the next vote goes", async () => {
  const { delivery, sent } = delivering([{ kind: "refused", code: "invalid" }, OK], { ids: ["one", "two"] });
  const outcomes = await Promise.all([delivery.deliver("one"), delivery.deliver("two")]);
  assert.deepEqual(outcomes.map(({ kind }) => kind), ["refused", "ok"]);
  assert.deepEqual(sent, ["one", "two"]);
});

test("a nudge cuts a pause short", async () => {
  const { delivery, sent } = delivering([{ kind: "unreachable" }, OK], {
    onWaiting: (delivery) => setTimeout(() => delivery.nudge()),
  });
  await delivery.deliver("one");
  assert.equal(sent.length, 2);
});

test("cancelled while waiting, it sends no more", async () => {
  const { delivery, sent } = delivering([{ kind: "unreachable" }], {
    onWaiting: (delivery) => setTimeout(() => delivery.cancel("one")),
  });
  assert.equal((await delivery.deliver("one")).kind, "cancelled");
  assert.equal(sent.length, 1);
});

test("cancelled while it is just being sent, a vote that arrived counts as arrived", async () => {
  let arrive;
  const { delivery } = delivering([new Promise((resolve) => (arrive = resolve))]);
  const outcome = delivery.deliver("one");
  const cancelled = delivery.cancel("one");
  arrive(OK);
  await cancelled;
  assert.equal((await outcome).kind, "ok");
});

test("what another tab has sent is settled here, and not sent again", async () => {
  const { delivery, sent } = delivering([{ kind: "unreachable" }], {
    onWaiting: (delivery) => setTimeout(() => delivery.learn("one", OK)),
  });
  assert.equal((await delivery.deliver("one")).kind, "ok");
  await delivery.drain();
  assert.equal(sent.length, 1);
  assert.equal(await delivery.learn("somebody else's", OK), false);
});

test("nobody who waits is told yes before the server has said it", async () => {
  const { delivery } = delivering([], { ids: [] }); // nothing to send: an empty outbox is no answer
  let settled = false;
  delivery.deliver("one").then(() => (settled = true));
  await delivery.drain();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(settled, false);
});

test("a vote that comes in while the last one is settled is sent as well", async () => {
  const { delivery, waiting, sent } = delivering([OK, OK]);
  const first = delivery.deliver("one").then(() => {
    waiting.push("two");
    return delivery.deliver("two");
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
  const delivery = createDelivery({ outbox, onWaiting() {}, onSettled() {}, pause: async () => {} });
  assert.equal((await delivery.deliver("one")).kind, "ok");
});
