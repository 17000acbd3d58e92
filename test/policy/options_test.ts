/** Options of baselines, searches and estimates are checked where they come in. */
import assert from "node:assert/strict";
import {
  BASELINES,
  searchWindow,
} from "../../src/policy/baselines/search_window.ts";
import {
  engineConfiguration,
  searchConfigurations,
} from "../../src/policy/e2bird/offline.ts";
import { decTimesteps } from "../../src/policy/common/exec_time.ts";
import { graph } from "../../src/policy/baselines/graph_batching.ts";
import { lstm } from "../../src/models/lstm.ts";
import { profileOf } from "../../src/policy/profile.ts";
import { assertRefuses } from "../option_refusals.ts";

Deno.test("every baseline refuses options that are not", async () => {
  for (const [name, baseline] of Object.entries(BASELINES)) {
    await assertRefuses(
      { windowNs: 3, batchSizeMax: 4 },
      (options) => graph(baseline(options)),
      [
        {
          with: { windowMs: 3 },
          name: "TypeError",
          message:
            `Baseline "${name}" has no option "windowMs"; it takes batchSizeMax, windowNs`,
        },
        {
          with: { batchSizeMax: NaN },
          name: "RangeError",
          message: /^"batchSizeMax" of policy "graph" is .*, got NaN$/,
        },
      ],
    );
    assert.throws(() => baseline(undefined as never), {
      name: "TypeError",
      message: `Baseline "${name}" takes an object with options, got undefined`,
    });
  }
});

Deno.test("searchWindow() refuses arguments that are not", () => {
  const search = searchWindow as (...args: unknown[]) => unknown;
  for (
    const [args, message] of [
      [[5, () => 1], /^"windowsNs" is an array, got 5$/],
      [[[1, NaN], () => 1], /^"windowsNs\[1\]" is at least 0, got NaN$/],
      [[["1"], () => 1], /^"windowsNs\[0\]" is at least 0, got "1"$/],
      [[[1]], /^"score" is a function, got undefined$/],
      [
        [[0, 1, 2], (ns: number) => ns === 0 ? NaN : ns],
        /^"score\(0\)" is a number, got NaN$/,
      ],
    ] as const
  ) assert.throws(() => search(...args), { message });
});

Deno.test("searchConfigurations() refuses options that are not", async () => {
  await assertRefuses(
    {
      totals: [2],
      sizes: 2,
      objective: "last",
      latenciesNs: (sizes: readonly number[]) => sizes,
    },
    searchConfigurations,
    [
      {
        with: { total: [2] },
        name: "TypeError",
        message:
          'searchConfigurations() has no option "total"; it takes totals, sizes, objective, latenciesNs',
      },
      {
        with: { totals: 2 },
        name: "TypeError",
        message: '"totals" is an array, got 2',
      },
      {
        with: { totals: [2, NaN] },
        name: "RangeError",
        message: '"totals[1]" is a positive integer, got NaN',
      },
      {
        with: { sizes: 0 },
        name: "RangeError",
        message: '"sizes" is an integer from 1 to 31, got 0',
      },
      {
        with: { objective: "mean" },
        name: "RangeError",
        message: '"objective" is one of worker, inference, last, got "mean"',
      },
      {
        with: { latenciesNs: undefined },
        name: "TypeError",
        message: '"latenciesNs" is a function, got undefined',
      },
      {
        with: { latenciesNs: () => [NaN] },
        name: "RangeError",
        message: '"latenciesNs()[0]" is at least 0, got NaN',
      },
      {
        with: { latenciesNs: (sizes: readonly number[]) => sizes.slice(1) },
        name: "RangeError",
        message: '"latenciesNs()" is as many as there are workers, 2, got 1',
      },
    ],
  );
});

Deno.test("engineConfiguration() refuses what are no counts", () => {
  assert.throws(() => engineConfiguration(undefined as never), {
    name: "TypeError",
    message: '"configurations" is an object, got undefined',
  });
  assert.throws(() => engineConfiguration({ 4: 1 } as never), {
    name: "TypeError",
    message: '"configurations[4]" is an array, got 1',
  });
  assert.throws(() => engineConfiguration({ 4: [0, NaN] }), {
    name: "RangeError",
    message:
      '"configurations[4][1]" is an integer from 0 to 2147483648, got NaN',
  });
});

Deno.test("decTimesteps() refuses arguments that are not", () => {
  assert.throws(() => decTimesteps(undefined as never), {
    name: "TypeError",
    message: '"lengths" are pairs of length and count, got undefined',
  });
  assert.throws(() => decTimesteps([1, 2] as never), {
    name: "TypeError",
    message: '"lengths[0]" is an array, got 1',
  });
  assert.throws(() => decTimesteps([[1, NaN]]), {
    name: "RangeError",
    message: /^"lengths\[0\]\[1\]" is an integer from 0 to \d+, got NaN$/,
  });
  assert.throws(() => decTimesteps([[1, 2]], NaN), {
    name: "RangeError",
    message: '"coverage" is in (0, 1], got NaN',
  });
});

Deno.test("what a profile's function returns is a time, or said to be none", () => {
  const model = lstm({ hidden: 4, vocabulary: 10 });
  const [cell] = model.cells;
  for (const given of [NaN, -1, Infinity, undefined, "5"]) {
    const profile = profileOf("auto", () => given as number);
    assert.throws(() => profile(cell, 3), {
      name: "RangeError",
      message: /^"profile" of policy "auto" .* for 3 rows of cell "lstm_step"$/,
    });
  }
  for (const given of [0, 0.5, 1e9]) {
    assert.equal(profileOf("auto", () => given)(cell, 3), given);
  }
});
