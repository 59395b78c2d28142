import assert from "node:assert/strict";
import test from "node:test";
import { notes, oneTab } from "../../../static/js/delivery/tabs.js";

function fakeStorage() {
  const items = new Map();
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => void items.set(key, value),
    removeItem: (key) => void items.delete(key),
  };
}

const soon = () => new Promise((resolve) => setTimeout(resolve));

/** Two tabs that write down when their work begins and ends. */
function tabs(makeTab) {
  const log = [];
  const work = (name) => async () => {
    log.push(`${name} begins`);
    await soon();
    log.push(`${name} ends`);
  };
  return { log, run: () => Promise.all(["one", "two"].map((name) => makeTab()(work(name)))) };
}

test("without a lock manager the work of two tabs still does not overlap", async () => {
  const storage = fakeStorage();
  const { log, run } = tabs(() => notes("outbox", storage, { pause: soon }));
  await run();
  assert.deepEqual(log, ["one begins", "one ends", "two begins", "two ends"]);
});

test("the note of a tab that died ends by itself", async () => {
  const storage = fakeStorage();
  let time = 0;
  const options = { now: () => time, pause: async () => (time += 1000) };
  notes("outbox", storage, options)(() => new Promise(() => {})); // never ends
  await soon();
  await notes("outbox", storage, options)(async () => {});
  assert.ok(time >= 25_000);
});

test("work that fails frees the way and says so", async () => {
  const exclusively = notes("outbox", fakeStorage());
  await assert.rejects(exclusively(() => Promise.reject(new Error("no"))));
  assert.equal(await exclusively(async () => "done"), "done");
});

test("without storage a page works alone", async () => {
  const refuse = () => {
    throw new Error("SecurityError");
  };
  const exclusively = notes("outbox", { getItem: refuse, setItem: refuse, removeItem: refuse });
  assert.equal(await exclusively(async () => "done"), "done");
});

test("the browser's own lock is taken where there is one", async () => {
  const asked = [];
  const locks = { request: (name, work) => asked.push(name) && work() };
  assert.equal(await oneTab("outbox", { locks })(async () => "done"), "done");
  assert.deepEqual(asked, ["outbox"]);
});
