import assert from "node:assert/strict";
import test from "node:test";
import { createDelivery, pauseAfter } from "../../static/js/delivery.js";

/** A delivery whose sends answer from a list; pauses last until it is nudged, unless `pause` says otherwise. */
function delivering(outcomes, { pause = () => new Promise(() => {}), onWaiting = () => {} } = {}) {
  const sent = [];
  const delivery = createDelivery({
    send: async () => {
      sent.push(true);
      return outcomes.shift();
    },
    onWaiting,
    pause,
  });
  return { delivery, sent };
}

test("a vote that arrives is sent once", async () => {
  const { delivery, sent } = delivering([{ kind: "ok" }]);
  assert.equal((await delivery.run()).kind, "ok");
  assert.equal(sent.length, 1);
});

test("it tries again after a failure and after silence, with growing pauses", async () => {
  const pauses = [];
  const outcomes = [{ kind: "unreachable" }, { kind: "failed" }, { kind: "ok" }];
  const { delivery, sent } = delivering(outcomes, { pause: async (seconds) => pauses.push(seconds) });
  await delivery.run();
  assert.equal(sent.length, 3);
  assert.deepEqual(pauses, [2, 4]);
  assert.equal(pauseAfter(20), 60);
});

test("a refusal is final", async () => {
  const { delivery, sent } = delivering([{ kind: "refused", code: "invalid" }]);
  assert.equal((await delivery.run()).code, "invalid");
  assert.equal(sent.length, 1);
});

test("signed out, it waits for a nudge and not for a clock", async () => {
  const waits = [];
  const { delivery, sent } = delivering([{ kind: "signed_out" }, { kind: "ok" }], {
    pause: () => assert.fail("no clock can sign anybody in"),
    onWaiting: (outcome, seconds) => {
      waits.push(seconds);
      setTimeout(() => delivery.nudge());
    },
  });
  assert.equal((await delivery.run()).kind, "ok");
  assert.deepEqual(waits, [null]);
  assert.equal(sent.length, 2);
});

test("a nudge cuts a pause short", async () => {
  const { delivery, sent } = delivering([{ kind: "unreachable" }, { kind: "ok" }], {
    onWaiting: () => setTimeout(() => delivery.nudge()),
  });
  await delivery.run();
  assert.equal(sent.length, 2);
});

test("cancelled while waiting, it sends no more", async () => {
  const { delivery, sent } = delivering([{ kind: "unreachable" }], { onWaiting: () => setTimeout(() => delivery.cancel()) });
  assert.equal((await delivery.run()).kind, "cancelled");
  assert.equal(sent.length, 1);
});

test("cancelled while a try is under way, a vote that arrived still counts as arrived", async () => {
  let answer;
  const delivery = createDelivery({ send: () => new Promise((resolve) => (answer = resolve)), onWaiting() {} });
  const run = delivery.run();
  delivery.cancel();
  answer({ kind: "ok" });
  assert.equal((await run).kind, "ok");
});
