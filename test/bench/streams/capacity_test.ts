/** Doubling and bisecting find what is carried. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { findCapacity } from "../../../bench/streams/capacity.ts";
import type { Trial } from "../../../bench/streams/trial.ts";
import { propertyRuns } from "../../property_runs.ts";

function trial(streams: number, late: number): Trial {
  const times = { p50Ms: 1, p99Ms: 1, p999Ms: 1 };
  const cores = { cores: 1, mainCores: 1, disturbedSeconds: 0, others: 0 };
  return { streams, frames: 1000, done: 1, late, ...times, ...cores };
}

Deno.test("what a machine carries is found to 6 %, and never more than that", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(5000),
      fc.constantFrom(1, 16, 40),
      fc.constantFrom(100, 4096),
      fc.constantFrom(0.5, 0.9, 1),
      async (carries, from, most, share) => {
        const tried: number[] = [];
        const longer = Math.floor(share * carries);
        const carried = (streams: number, most: number) => {
          tried.push(streams);
          return Promise.resolve(trial(streams, streams <= most ? 0 : 1));
        };
        const { streams, confirmed, trials } = await findCapacity({
          attempt: (streams) => carried(streams, carries),
          confirm: (streams) => carried(streams, longer),
          from,
          most,
        });
        const expected = Math.min(longer, most);
        assert(streams <= expected, `${streams} of ${expected}`);
        assert(expected - streams <= Math.max(1, 0.07 * expected));
        assert.equal(confirmed?.streams ?? 0, streams);
        assert(tried.every((streams) => streams >= 1 && streams <= most));
        const shown = trials.map(({ streams }) => streams);
        assert.deepEqual(shown, [...shown].sort((a, b) => a - b));
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("a load that was disturbed once is tried again", async () => {
  let attempts = 0;
  const attempt = (streams: number) => {
    const isDisturbed = attempts++ % 2 === 0;
    return Promise.resolve(
      trial(streams, isDisturbed || streams > 100 ? 0.02 : 0.001),
    );
  };
  const search = { attempt, confirm: attempt, from: 16, most: 1000 };
  const { streams } = await findCapacity(search);
  assert(streams > 93 && streams <= 100, `${streams}`);
});

Deno.test("the longer trial decides by 99.9 %", async () => {
  const search = (late: number) => ({
    attempt: (streams: number) => Promise.resolve(trial(streams, 0.009)),
    confirm: (streams: number) =>
      Promise.resolve(trial(streams, streams > 50 ? late : 0)),
    from: 16,
    most: 64,
  });
  assert.equal((await findCapacity(search(0.001))).streams, 64);
  const { streams } = await findCapacity(search(0.0011));
  assert(streams > 46 && streams <= 50, `${streams}`);
});

for (const from of [16, 100]) {
  Deno.test(`a load that is refused by chance does not end the search from ${from} on, if more are carried`, async () => {
    let refused = 0;
    const attempt = (streams: number) => {
      const isChance = streams > 18 && streams <= 200 && refused++ < 2;
      return Promise.resolve(trial(streams, isChance || streams > 200 ? 1 : 0));
    };
    const search = { attempt, confirm: attempt, from, most: 1000 };
    const { streams } = await findCapacity(search);
    assert(streams > 186 && streams <= 200, `${streams}`);
  });
}

Deno.test("a search from near what is carried takes few trials", async () => {
  for (const from of [90, 100, 112]) {
    let tried = 0;
    const attempt = (streams: number) => {
      tried++;
      return Promise.resolve(trial(streams, streams > 100 ? 1 : 0));
    };
    const search = { attempt, confirm: attempt, from, most: 10_000 };
    const { streams } = await findCapacity(search);
    assert(streams > 93 && streams <= 100, `${streams}`);
    assert(tried <= 12, `${tried} trials from ${from}`);
  }
});

Deno.test("a machine whose pauses no load survives for long is given up after few trials", async () => {
  for (const survives of [0, 1, 7, 30]) {
    let long = 0;
    const { streams } = await findCapacity({
      attempt: (streams) => Promise.resolve(trial(streams, 0)),
      confirm: (streams) => {
        long++;
        return Promise.resolve(trial(streams, streams > survives ? 0.002 : 0));
      },
      from: 54,
      most: 54,
    });
    assert(streams <= survives && survives - streams <= 2);
    assert(long <= 24, `${long} long trials to find ${survives}`);
  }
});
