import assert from "node:assert/strict";
import test from "node:test";
import { createQueue } from "../../static/js/queue.js";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const task = (id, { expires = "2026-01-01T12:15:00Z", version = 1 } = {}) => ({
  kind: "ok",
  body: { assignment: { id, protocol_version: version, expires_at: expires }, progress: { done: 0, tasks: 9 } },
});
const END = { kind: "ok", body: { assignment: null, progress: { done: 9, tasks: 9 } } };

/** A queue over an API that hands out `outcomes` in turn and remembers what it was asked. */
function queueOver(outcomes) {
  const asked = [];
  const api = {
    next: async (holding) => {
      asked.push(holding);
      return outcomes.shift();
    },
    protocol: async (number) => {
      asked.push(`protocol ${number}`);
      return { kind: "ok", body: { definition: { number } } };
    },
  };
  const queue = createQueue(api, { now: () => NOW });
  queue.learn(1, { number: 1 });
  return { queue, asked };
}

test("the next task is fetched while this one is held, and taken without asking again", async () => {
  const { queue, asked } = queueOver([task("one"), task("two")]);
  await queue.take();
  await queue.lookAhead();
  assert.deepEqual(queue.held(), ["one", "two"]);
  const second = await queue.take();
  assert.equal(second.body.assignment.id, "two");
  assert.equal(second.fresh, false);
  assert.deepEqual(asked, [[], ["one"]]);
});

test("a task fetched ahead is not shown once its lease has run out", async () => {
  const { queue, asked } = queueOver([task("one"), task("old", { expires: "2026-01-01T11:59:00Z" }), task("new")]);
  await queue.take();
  await queue.lookAhead();
  assert.equal((await queue.take()).body.assignment.id, "new");
  assert.equal(asked.length, 3);
});

test("a task that the server closed is dropped", async () => {
  const { queue } = queueOver([task("one"), task("two"), task("three")]);
  await queue.take();
  await queue.lookAhead();
  queue.drop("two");
  assert.equal((await queue.take()).body.assignment.id, "three");
});

test("that nothing was left to fetch ahead is asked again: something may have come back", async () => {
  const { queue } = queueOver([task("one"), END, task("two")]);
  await queue.take();
  await queue.lookAhead();
  assert.equal((await queue.take()).body.assignment.id, "two");
});

test("at the end nothing is held", async () => {
  const { queue } = queueOver([END]);
  assert.equal((await queue.take()).body.assignment, null);
  assert.deepEqual(queue.held(), []);
});

test("another protocol version is fetched once, before its task is shown", async () => {
  const { queue, asked } = queueOver([task("one", { version: 2 }), task("two", { version: 2 })]);
  assert.deepEqual((await queue.take()).definition, { number: 2 });
  assert.deepEqual((await queue.take()).definition, { number: 2 });
  assert.deepEqual(asked, [[], "protocol 2", []]);
});

test("a failure is handed on", async () => {
  const { queue } = queueOver([{ kind: "unreachable" }]);
  assert.equal((await queue.take()).kind, "unreachable");
});
