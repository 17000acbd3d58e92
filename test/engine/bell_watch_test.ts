import assert from "node:assert/strict";
import { BellWatch } from "../../src/engine/wall/bell_watch.ts";

const LOOK_NS = 100;

/** A bell, and a watch of it that has a clock and turns of the test's. */
function watched(lookNs = LOOK_NS) {
  const words = new Int32Array(new SharedArrayBuffer(4));
  let nowNs = 0;
  let waiting: (() => void)[] = [];
  let heard = 0;
  const watch = new BellWatch({ words, index: 0 }, lookNs, {
    nowNs: () => nowNs,
    nextTurn: (callback) => void waiting.push(callback),
  });
  const ring = () => {
    Atomics.add(words, 0, 1);
    return Atomics.notify(words, 0);
  };
  return {
    ring,
    heard: () => heard,
    wait: () => watch.onRing(Atomics.load(words, 0), () => heard++),
    /** As long a turn of the event loop, in which who waits for one has it. @returns how many that were */
    turn(ns: number): number {
      nowNs += ns;
      const now = waiting;
      waiting = [];
      for (const callback of now) callback();
      return now.length;
    },
  };
}

/** Turns of the real event loop in which a promise of `waitAsync` is settled, and many more. */
const TURNS_MAX = 1000;

async function settled(isSettled: () => boolean): Promise<void> {
  for (let turn = 0; !isSettled(); turn++) {
    assert(turn < TURNS_MAX, "it never hears of it");
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
}

Deno.test("a watch sleeps at first, and looks once a wait was short", async () => {
  const { wait, turn, ring, heard } = watched();
  wait();
  assert.equal(turn(LOOK_NS - 1), 0, "it does not look");
  assert.equal(ring(), 1, "it sleeps");
  await settled(() => heard() === 1);

  wait();
  assert.equal(turn(50), 1, "it looks");
  assert.equal(heard(), 1);
  assert.equal(ring(), 0, "nobody has to be woken");
  assert.equal(turn(1), 1);
  assert.equal(heard(), 2);
  assert.equal(turn(1), 0, "once is enough");
});

Deno.test("a watch that has looked for long enough sleeps, and does so at once after a long wait", async () => {
  const { wait, turn, ring, heard } = watched();
  wait();
  turn(80);
  ring();
  await settled(() => heard() === 1);

  wait();
  for (let ns = 0; ns < LOOK_NS; ns += 10) assert.equal(turn(10), 1, `${ns}`);
  assert.equal(turn(10), 0, "it looks no longer");
  assert.equal(ring(), 1, "it sleeps");
  await settled(() => heard() === 2);

  for (let n = 3; n <= 6; n++) {
    wait();
    assert.equal(turn(LOOK_NS), 0, "the wait before was long");
    assert.equal(ring(), 1);
    await settled(() => heard() === n);
  }
});

Deno.test("a watch looks for half as long again as the last wait was", async () => {
  const { wait, turn, ring, heard } = watched();
  wait();
  turn(20);
  ring();
  await settled(() => heard() === 1);
  wait();
  assert.equal(turn(29), 1);
  assert.equal(turn(1), 1);
  assert.equal(turn(1), 0);
  assert.equal(ring(), 1);
  await settled(() => heard() === 2);
});

Deno.test("looks in vain are put off for twice as many waits each time, until one pays", async () => {
  const { wait, turn, ring, heard } = watched();
  let waits = 0;
  /** @returns whether it looked */
  const rung = async (afterNs: number): Promise<boolean> => {
    wait();
    const looked = turn(afterNs) > 0;
    turn(0);
    ring();
    turn(0);
    waits++;
    await settled(() => heard() === waits);
    return looked;
  };
  await rung(10);
  const looks: boolean[] = [];
  // In vain: longer than half as long again, and shorter than what is allowed for.
  for (const ns of [16, 16, 25, 25, 25, 38, 38, 38, 38, 38]) {
    looks.push(await rung(ns));
  }
  const [n, Y] = [false, true];
  assert.deepEqual(looks, [Y, n, Y, n, n, Y, n, n, n, n]);
  assert.equal(await rung(38), true);
  // That one paid.
  assert.deepEqual([await rung(60), await rung(60), await rung(60)], [Y, n, Y]);
});

Deno.test("a watch that is not to look sleeps, and hears of what was rung before", async () => {
  const { wait, turn, ring, heard } = watched(0);
  for (let n = 1; n <= 3; n++) {
    wait();
    assert.equal(turn(0), 0);
    ring();
    await settled(() => heard() === n);
  }
});

Deno.test("a bell that was rung before the watch began is heard", async () => {
  const words = new Int32Array(new SharedArrayBuffer(4));
  words[0] = 7;
  const watch = new BellWatch({ words, index: 0 }, LOOK_NS, {
    nowNs: () => 0,
    nextTurn: (callback) => void setTimeout(callback, 0),
  });
  for (let i = 0; i < 3; i++) {
    await new Promise<void>((resolve) => watch.onRing(6, resolve));
  }
});
