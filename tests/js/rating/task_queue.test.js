import assert from "node:assert/strict";
import test from "node:test";
import { createProgress, createTaskQueue } from "../../../static/js/rating/task_queue.js";

const LEASE_MS = 15 * 60_000;
const task = (id, version = 1) => ({ kind: "ok", body: { assignment: { id, protocol_version: version } } });
const END = { kind: "ok", body: { assignment: null } };
const LOST = { kind: "unreachable" };

/** A queue over an API that hands out `outcomes` in turn and remembers what it was asked; `clock.now` can be moved. */
function queueOver(outcomes, calls = {}) {
  const requests = [];
  const events = { prefetched: [], dropped: [] };
  const clock = { now: 0 };
  const api = {
    next: async (holding) => {
      requests.push(holding);
      return outcomes.shift() ?? END;
    },
    protocol: async (number) => {
      requests.push(`protocol ${number}`);
      return { kind: "ok", body: { definition: { number } } };
    },
    ...calls,
  };
  const queue = createTaskQueue(api, {
    leaseMs: LEASE_MS,
    now: () => clock.now,
    onPrefetched: ({ id }) => events.prefetched.push(id),
    onDropped: (id) => events.dropped.push(id),
  });
  queue.addDefinition(1, { number: 1 });
  return { queue, requests, events, clock };
}

async function shown(queue) {
  return (await queue.take()).assignment?.id;
}

test("two tasks are fetched while this one is held, and shown without asking again", async () => {
  const { queue, requests, events } = queueOver([task("one"), task("two"), task("three"), task("four")]);
  await queue.take();
  await queue.prefetch();
  assert.deepEqual(queue.leasedIds(), ["one", "two", "three"]);
  assert.deepEqual(requests, [[], ["one"], ["one", "two"]]);
  assert.deepEqual(events.prefetched, ["two", "three"]);
  assert.equal(await shown(queue), "two");
  assert.equal(requests.length, 3);
  await queue.prefetch();
  assert.deepEqual(queue.leasedIds(), ["two", "three", "four"]);
});

test("never more than three are held, however often it looks ahead", async () => {
  const { queue, requests } = queueOver(["one", "two", "three", "four"].map((id) => task(id)));
  await queue.take();
  await Promise.all([queue.prefetch(), queue.prefetch()]);
  await queue.prefetch();
  assert.equal(queue.leasedIds().length, 3);
  assert.equal(requests.length, 3);
});

test("the task that is ready is the one that comes next, until its lease runs out", async () => {
  const { queue, clock } = queueOver([task("one"), task("two"), task("three")]);
  await queue.take();
  assert.equal(queue.ready, null);
  await queue.prefetch();
  assert.equal(queue.ready.assignment.id, "two");
  assert.deepEqual(queue.ready.definition, { number: 1 });
  assert.equal(await shown(queue), "two");
  clock.now = LEASE_MS;
  assert.equal(queue.ready, null);
});

test("a protocol that comes with a task ahead is fetched ahead as well", async () => {
  const { queue, requests } = queueOver([task("one"), task("two", 2)]);
  await queue.take();
  await queue.prefetch();
  const before = requests.length;
  assert.deepEqual((await queue.take()).definition, { number: 2 });
  assert.equal(requests.length, before);
});

test("a task fetched ahead is not shown once its lease has run out", async () => {
  const { queue, events, clock } = queueOver([task("one"), task("two"), task("three"), task("new")]);
  await queue.take();
  await queue.prefetch();
  clock.now = LEASE_MS;
  assert.equal(await shown(queue), "new");
  assert.deepEqual(events.dropped, ["two", "three"]);
});

test("a lease that the server keeps extending does not run out here either", async () => {
  const { queue, clock } = queueOver([task("one"), task("two"), END]);
  await queue.take();
  await queue.prefetch();
  for (const minute of [10, 20, 30]) {
    clock.now = minute * 60_000;
    for (const id of queue.leasedIds()) queue.leaseExtended(id);
  }
  assert.equal(await shown(queue), "two");
});

test("a task that the server closed is dropped", async () => {
  const { queue, events } = queueOver([task("one"), task("two"), task("three")]);
  await queue.take();
  await queue.prefetch();
  queue.drop("two");
  assert.deepEqual(events.dropped, ["two"]);
  assert.equal(await shown(queue), "three");
});

test("a task that is already held is not taken for another one", async () => {
  const { queue } = queueOver([task("one"), task("one")]);
  await queue.take();
  await queue.prefetch();
  assert.deepEqual(queue.leasedIds(), ["one"]);
});

test("that nothing was left to fetch ahead is asked again: something may have come back", async () => {
  const { queue } = queueOver([task("one"), END, task("two")]);
  await queue.take();
  await queue.prefetch();
  assert.equal(await shown(queue), "two");
});

/** A queue at work on its first task, over an API whose votes bring `votes` in turn; `sent` are their bodies. */
async function atWork(outcomes, votes) {
  const sent = [];
  const over = queueOver(outcomes, {
    submit: async (id, body) => {
      sent.push(body);
      return votes.shift();
    },
  });
  await over.queue.take();
  await over.queue.prefetch();
  return { ...over, sent };
}
const receipt = (id, next) => ({ kind: "ok", body: { client_id: "vote", surplus: false, ...(id && { next: { assignment: { id, protocol_version: 1 } } }), ...next } });

test("a vote brings the task after the two that are held, and no other request is made", async () => {
  const { queue, requests, events, sent } = await atWork([task("one"), task("two"), task("three")], [receipt("four")]);
  const outcome = await queue.submit("one", { client_id: "vote" });
  assert.deepEqual(sent, [{ client_id: "vote", next: { holding: ["two", "three"] } }]);
  assert.deepEqual(outcome.body, { client_id: "vote", surplus: false });
  assert.equal(await shown(queue), "two");
  await queue.prefetch();
  assert.deepEqual(queue.leasedIds(), ["two", "three", "four"]);
  assert.deepEqual(events.prefetched, ["two", "three", "four"]);
  assert.equal(requests.length, 3);
});

test("a vote that is sent again brings the same task once", async () => {
  const { queue } = await atWork([task("one"), task("two"), task("three")], [LOST, receipt("four"), receipt("four")]);
  for (let n = 0; n < 3; n += 1) await queue.submit("one", { client_id: "vote" });
  assert.deepEqual(queue.leasedIds(), ["one", "two", "three", "four"]);
});

test("a vote on a task of another tab, or whose receipt is another's, brings nothing", async () => {
  const { queue, sent } = await atWork([task("one"), END], [receipt(null), receipt("two", { client_id: "other" }), receipt(null)]);
  for (const id of ["elsewhere", "one", "one"]) assert.equal((await queue.submit(id, { client_id: "vote" })).kind, "ok");
  assert.deepEqual(sent[0], { client_id: "vote" });
  assert.deepEqual(queue.leasedIds(), ["one"]);
});

test("at the end nothing is held", async () => {
  const { queue } = queueOver([END]);
  assert.equal((await queue.take()).assignment, null);
  assert.deepEqual(queue.leasedIds(), []);
});

test("another protocol version is fetched once, before its task is shown", async () => {
  const { queue, requests } = queueOver([task("one", 2), task("two", 2)]);
  assert.deepEqual((await queue.take()).definition, { number: 2 });
  assert.deepEqual((await queue.take()).definition, { number: 2 });
  assert.deepEqual(requests, [[], "protocol 2", []]);
});

test("a failure is handed on; one while looking ahead is no matter", async () => {
  const { queue } = queueOver([LOST, task("one"), LOST, task("two")]);
  assert.equal((await queue.take()).kind, "unreachable");
  assert.equal(await shown(queue), "one");
  await queue.prefetch();
  assert.equal(await shown(queue), "two");
});

test("whoever stops gets all that is held, also what was just being fetched, and nothing more is fetched", async () => {
  let respond;
  const { queue, requests } = queueOver([task("one"), new Promise((resolve) => (respond = resolve)), task("three")]);
  await queue.take();
  queue.prefetch();
  const stopped = queue.stop();
  respond(task("two"));
  assert.deepEqual(await stopped, ["one", "two"]);
  assert.equal(requests.length, 2);
});

// ── Progress ────────────────────────────────────────────────────────────

const progressResponse = (done) => ({ kind: "ok", body: { progress: { done, tasks: 9 } } });

test("what the server says of the progress holds", async () => {
  const shown = [];
  const progress = createProgress({ done: 0, tasks: 5 }, ({ done, tasks }) => shown.push(`${done}/${tasks}`));
  await progress.updatedBy(async () => progressResponse(3), () => false)([]);
  progress.increment();
  assert.deepEqual(shown, ["0/5", "3/9", "4/9"]);
});

test("an answer from before a vote was counted does not take it back", async () => {
  const progress = createProgress({ done: 0, tasks: 9 }, () => {});
  let respond;
  const request = progress.updatedBy(() => new Promise((resolve) => (respond = resolve)), () => false)([]);
  progress.increment();
  respond(progressResponse(0));
  await request;
  assert.equal(progress.numbers.done, 1);
});

test("a vote that is on its way is counted once, not by the server and here", async () => {
  const progress = createProgress({ done: 0, tasks: 9 }, () => {});
  await progress.updatedBy(async () => progressResponse(1), () => true)([]);
  progress.increment();
  assert.equal(progress.numbers.done, 1);
});

test("a vote that brings the server's count shows that, once", async () => {
  const progress = createProgress({ done: 0, tasks: 5 }, () => {});
  await progress.countedBy(async () => ({ kind: "ok", body: { next: progressResponse(4).body } }))();
  progress.increment();
  assert.deepEqual(progress.numbers, { done: 4, tasks: 9 });
  progress.increment();
  assert.equal(progress.numbers.done, 5);
});

test("a failure says nothing of the progress", async () => {
  const progress = createProgress({ done: 2, tasks: 9 }, () => {});
  assert.equal((await progress.updatedBy(async () => ({ kind: "unreachable" }), () => false)([])).kind, "unreachable");
  assert.equal(progress.numbers.done, 2);
});
