import assert from "node:assert/strict";
import test from "node:test";
import { createWorkClock } from "../../../static/js/rating/breaks.js";

const RULES = { break_minutes: 25, stop_minutes: 45 };
const MINUTE = 60_000;

function storageOf(data = {}) {
  return { data, getItem: (key) => data[key] ?? null, setItem: (key, value) => (data[key] = value) };
}

/** A clock over a made-up time; `work(minutes)` passes with a sign of work every minute. */
function atWork({ storage = storageOf(), start = 1_800_000_000_000 } = {}) {
  let time = start;
  const now = () => time;
  let clock = createWorkClock(storage, { now });
  clock.recordActivity();
  return {
    get clock() {
      return clock;
    },
    work(minutes) {
      for (let passed = 0; passed < minutes; passed += 1) {
        time += MINUTE;
        clock.recordActivity();
      }
    },
    idle: (minutes) => (time += minutes * MINUTE),
    reload: () => (clock = createWorkClock(storage, { now })),
    get time() {
      return time;
    },
  };
}

test("a break is due after the study's minutes, and not before", () => {
  const day = atWork();
  day.work(24);
  assert.equal(day.clock.due(RULES), "work");
  day.work(1);
  assert.equal(day.clock.due(RULES), "break");
  assert.equal(day.clock.seconds, 25 * 60);
});

test("work goes on over a reload", () => {
  const day = atWork();
  day.work(24);
  day.reload();
  day.work(1);
  assert.equal(day.clock.due(RULES), "break");
});

test("a pause of more than five minutes begins anew; a shorter one does not", () => {
  const day = atWork();
  day.work(20);
  day.idle(4);
  day.work(1);
  assert.equal(day.clock.due(RULES), "break");
  day.idle(6);
  assert.equal(day.clock.due(RULES), "work");
  assert.equal(day.clock.seconds, 0);
});

test("a break can be put off once, for five minutes", () => {
  const day = atWork();
  day.work(25);
  assert.equal(day.clock.mayPostpone, true);
  day.clock.postpone();
  day.work(4);
  assert.equal(day.clock.due(RULES), "work");
  day.work(1);
  assert.equal(day.clock.due(RULES), "break");
  assert.equal(day.clock.mayPostpone, false);
});

test("whoever took the break is not asked again in this stretch, but in the next", () => {
  const day = atWork();
  day.work(25);
  day.clock.take();
  day.work(10);
  assert.equal(day.clock.due(RULES), "work");
  day.idle(6);
  day.work(26);
  assert.equal(day.clock.due(RULES), "break");
});

test("after the study's minutes no task is shown for ten, over reloads too; then work begins anew", () => {
  const day = atWork();
  day.work(45);
  assert.equal(day.clock.due(RULES), "stop");
  const until = day.clock.stop();
  assert.equal(until, day.time + 10 * MINUTE);
  day.idle(8);
  day.reload();
  day.clock.recordActivity();
  assert.equal(day.clock.due(RULES), "stop");
  assert.equal(day.clock.stop(), until);
  day.idle(2);
  assert.equal(day.clock.due(RULES), "work");
  day.clock.recordActivity();
  assert.equal(day.clock.seconds, 0);
});

test("zero minutes are never", () => {
  const day = atWork();
  day.work(300);
  assert.equal(day.clock.due({ break_minutes: 0, stop_minutes: 0 }), "work");
});

test("it works without storage, and with something else under its key", () => {
  const broken = {
    getItem() {
      throw new Error("forbidden");
    },
    setItem() {
      throw new Error("forbidden");
    },
  };
  for (const storage of [broken, undefined, storageOf({ "concord.work": "{" }), storageOf({ "concord.work": '"x"' })]) {
    const day = atWork({ storage });
    day.work(25);
    assert.equal(day.clock.due(RULES), "break");
  }
});

test("a clock that was set back begins anew", () => {
  const storage = storageOf();
  atWork({ storage }).work(30);
  assert.equal(atWork({ storage, start: 1_700_000_000_000 }).clock.seconds, 0);
});
