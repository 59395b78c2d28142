/** What was heard, as it travels with the vote. */
import assert from "node:assert/strict";
import { test } from "node:test";

import { createListeningLog, merged } from "../../static/js/listening_log.js";

test("what is heard twice counts once", () => {
  const log = createListeningLog({ now: () => 0 });
  log.note("a", 0, 5);
  log.note("a", 3, 8);
  log.note("a", 20, 21);
  log.note("b", 1, 2);
  assert.deepEqual(log.heard("a"), [[0, 8], [20, 21]]);
  assert.equal(log.heardSeconds("a"), 9);
  assert.equal(log.heardSeconds("c"), 0);
});

test("stretches that touch become one", () => {
  assert.deepEqual(merged([[5, 6], [0, 1], [1, 2]]), [[0, 2], [5, 6]]);
});

test("muted and hidden time is counted once, however often it is said", () => {
  let now = 0;
  const log = createListeningLog({ now: () => now });
  log.during("muted", true);
  now = 2;
  log.during("muted", true);
  now = 3;
  log.during("muted", false);
  log.during("muted", false);
  log.during("hidden", true);
  now = 4.5;
  const { muted_s, hidden_s, shown_s } = log.toJSON();
  assert.deepEqual([muted_s, hidden_s, shown_s], [3, 1.5, 4.5]);
});

test("however much was heard, the log fits, understates and says so", () => {
  const log = createListeningLog({ now: () => 0 });
  for (let i = 0; i < 900; i += 1) log.note(i % 2 ? "a" : "b", i, i + 0.5 + (i % 7) / 100);
  const before = log.heardSeconds("a") + log.heardSeconds("b");
  const json = log.toJSON({ session_s: 12 });
  const sent = Object.values(json.heard).flat().reduce((sum, [from, to]) => sum + to - from, 0);
  assert.ok(JSON.stringify(json).length <= 4096);
  assert.ok(json.dropped > 0 && sent < before);
  assert.equal(json.session_s, 12);
  assert.deepEqual(log.heard("a").length, 450);
});

test("the lowest and the highest volume are kept", () => {
  const log = createListeningLog({ now: () => 0 });
  for (const value of [0.5, 0.2, 0.9]) log.volume(value);
  assert.deepEqual(log.toJSON().volume, [0.2, 1]);
});
