import { deepEqual, equal, ok, throws } from "node:assert/strict";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import { mean } from "../../src/base/statistics.ts";
import { interval, poisson, traceReplay } from "../../src/workload/arrivals.ts";
import type { InputKind } from "../../src/graph/model.ts";
import { inputGenerator } from "../../src/workload/inputs.ts";
import { formatTreeShape } from "./tree_shape.ts";
import { workload } from "../../src/workload/workload.ts";
import { assertRefuses } from "../option_refusals.ts";

const WITH_IDS: readonly InputKind[] = ["tokens", "seq2seq", "tree"];
const KINDS: readonly InputKind[] = [
  ...WITH_IDS,
  ...["image", "frames", "frames2seq"] as const,
];
const image = { height: 3, width: 2, channels: 2 };

function make(kind: InputKind, seed: number, ratePerS = 100, requests = 200) {
  return workload({
    arrivals: poisson({ ratePerS }),
    inputs: inputGenerator({ kind, vocabulary: 50, image, frameSize: 3 }),
    requests,
    seed,
  });
}

Deno.test("workload() is identical for equal seeds and differs for others", () => {
  for (const kind of KINDS) {
    const text = (seed: number) => JSON.stringify(make(kind, seed));
    equal(text(1), text(1));
    ok(text(1) !== text(2));
  }
});

Deno.test("workload() gives the same inputs at every rate", () => {
  for (const kind of KINDS) {
    const inputs = (ratePerS: number) =>
      make(kind, 1, ratePerS).map(({ input }) => input);
    deepEqual(inputs(10), inputs(5000));
  }
});

Deno.test("workload() takes English lengths for one sentence, the pair for two", () => {
  const tokens = make("tokens", 3, 100, 10_000) as {
    input: { tokens: number[] };
  }[];
  ok(
    Math.abs(mean(tokens.map(({ input }) => input.tokens.length)) / 26.51 - 1) <
      0.03,
  );
  const pairs = make("seq2seq", 3, 100, 10_000) as {
    input: { tokens: number[]; maxSteps: number };
    stepsFixed: number;
  }[];
  ok(
    Math.abs(mean(pairs.map(({ input }) => input.tokens.length)) / 24.27 - 1) <
      0.03,
  );
  ok(
    Math.abs(mean(pairs.map(({ stepsFixed }) => stepsFixed)) / 26.51 - 1) <
      0.03,
  );
  for (const { input, stepsFixed } of pairs) {
    equal(input.maxSteps, input.tokens.length + 50);
    ok(stepsFixed >= 1 && stepsFixed <= input.maxSteps);
  }
});

Deno.test("workload() hides the target length from the input", () => {
  for (const { input } of make("seq2seq", 1)) {
    deepEqual(Object.keys(input as object), ["tokens", "maxSteps"]);
  }
});

Deno.test("workload() draws ids over the whole vocabulary and none beyond", () => {
  for (const kind of WITH_IDS) {
    const ids = new Set<number>();
    const visit = (tree: ParseTree): void =>
      typeof tree === "number" ? void ids.add(tree) : tree.forEach(visit);
    for (const { input } of make(kind, 1)) {
      visit(
        kind === "tree"
          ? (input as { tree: ParseTree }).tree
          : (input as { tokens: number[] }).tokens,
      );
    }
    deepEqual(
      [...ids].sort((a, b) => a - b),
      Array.from({ length: 50 }, (_, id) => id),
    );
  }
});

Deno.test("workload() brings images of the model's size, a few different ones", () => {
  const images = make("image", 1).map(({ input }) =>
    (input as { image: Float32Array }).image
  );
  const different = new Set(images);
  ok(different.size > 10 && different.size <= 16, `${different.size} images`);
  for (const pixels of different) {
    equal(pixels.length, 12);
    ok(pixels.every((value) => value >= -1 && value < 1));
  }
  equal(
    new Set([...different].map((pixels) => pixels.join())).size,
    different.size,
  );
});

Deno.test("workload() brings utterances of 21 frames and 3 characters a token", () => {
  const lengths = { fixed: 5 };
  const one = (kind: InputKind) =>
    workload({
      arrivals: interval({ ratePerS: 1 }),
      inputs: inputGenerator({ kind, frameSize: 3, lengths, extraSteps: 4 }),
      requests: 1,
      seed: 1,
    })[0] as {
      input: { frames: Float32Array; maxSteps?: number };
      stepsFixed?: number;
    };
  const { input, stepsFixed } = one("frames2seq");
  equal(input.frames.length, 5 * 21 * 3);
  ok(input.frames.every((value) => value >= -1 && value < 1));
  deepEqual([input.maxSteps, stepsFixed], [19, 15]);
  const heard = one("frames");
  deepEqual(heard.input.frames, input.frames);
  deepEqual([Object.keys(heard.input), heard.stepsFixed], [
    ["frames"],
    undefined,
  ]);
  const tokens = make("frames", 3, 100, 5000).map(({ input }) =>
    (input as { frames: Float32Array }).frames.length / (21 * 3)
  );
  // The mean of "glue.cola".
  ok(Math.abs(mean(tokens) / 11.33 - 1) < 0.03);
});

Deno.test("workload() takes fixed lengths, clipped lengths and complete trees", () => {
  const one = (
    options: Partial<Parameters<typeof inputGenerator>[0]> & {
      kind: InputKind;
    },
  ) =>
    workload({
      arrivals: interval({ ratePerS: 1 }),
      inputs: inputGenerator({ vocabulary: 9, ...options }),
      requests: 1,
      seed: 1,
    })[0];
  equal(
    (one({ kind: "tokens", lengths: { fixed: 24 } }).input as {
      tokens: number[];
    }).tokens.length,
    24,
  );
  equal(
    one({ kind: "seq2seq", lengths: { fixed: 24 }, extraSteps: 0 }).stepsFixed,
    24,
  );
  equal(
    formatTreeShape(
      (one({ kind: "tree", trees: { complete: 4 } }).input as {
        tree: ParseTree;
      }).tree,
    ),
    "((..)(..))",
  );
});

Deno.test("workload() replays a whole trace unless told how much of it", () => {
  const arrivals = traceReplay({
    csv: "t_seconds,input_tokens,output_tokens\n0,1,1\n2,1,1\n3,1,1\n",
  });
  const inputs = inputGenerator({ kind: "tokens", vocabulary: 5 });
  deepEqual(workload({ arrivals, inputs, seed: 1 }).map(({ atNs }) => atNs), [
    0,
    2e9,
    3e9,
  ]);
  equal(workload({ arrivals, inputs, seed: 1, requests: 2 }).length, 2);
});

Deno.test("workload() names what is out of range", () => {
  const inputs = inputGenerator({ kind: "tokens", vocabulary: 5 });
  const arrivals = poisson({ ratePerS: 1 });
  throws(
    () => workload({ arrivals, inputs, seed: 1 }),
    /"requests" is an integer from 1 to 1000000; .* give how many/,
  );
  throws(() => workload({ arrivals, inputs, seed: 1, requests: 0 }), /got 0/);
  throws(
    () => workload({ arrivals, inputs, seed: 0.5, requests: 1 }),
    /"seed" is an integer, got 0.5/,
  );
  throws(
    () => inputGenerator({ kind: "tokens", vocabulary: 0 }),
    /"vocabulary" .* got 0/,
  );
  throws(
    () => inputGenerator({ kind: "audio" as never, vocabulary: 5 }),
    /got "audio"/,
  );
  throws(() => inputGenerator({ kind: "image" }), /give "image" as the model/);
  throws(
    () => inputGenerator({ kind: "frames" }),
    /give "frameSize" as the model/,
  );
  throws(
    () => inputGenerator({ kind: "frames2seq", frameSize: 2, extraSteps: -1 }),
    /"extraSteps" of a workload is an integer from 0, got -1/,
  );
  throws(
    () => inputGenerator({ kind: "seq2seq", vocabulary: 5, extraSteps: -1 }),
    /got -1/,
  );
});

Deno.test("workload() takes processes and inputs of a caller's own, and refuses what they cannot be", async () => {
  const inputs = { name: "own", next: () => ({ input: 7, stepsFixed: 2 }) };
  const arrivals = (timesNs: unknown) => ({
    arrivals: { name: "own", timesNs: () => timesNs },
  });
  const good = { ...arrivals([5, 5]), inputs, requests: 2, seed: 1 };
  deepEqual(workload(good as never), [
    { atNs: 5, input: 7, stepsFixed: 2 },
    { atNs: 5, input: 7, stepsFixed: 2 },
  ]);
  await assertRefuses(good, workload, [
    {
      with: { seeds: [1] },
      name: "TypeError",
      message: 'workload() has no option "seeds"; it takes ' +
        "arrivals, inputs, requests, seed",
    },
    {
      with: { arrivals: undefined },
      name: "TypeError",
      message: /^"arrivals" is an arrival process, .*"timesNs", got undefined$/,
    },
    {
      with: { inputs: () => 7 },
      name: "TypeError",
      message: /^"inputs" is an input generator, which has a method "next"/,
    },
    {
      with: { seed: undefined },
      name: "RangeError",
      message: '"seed" is an integer, got undefined',
    },
    {
      with: { requests: 1_000_001 },
      name: "RangeError",
      message: '"requests" is an integer from 1 to 1000000, got 1000001',
    },
    {
      with: arrivals([5]),
      name: "TypeError",
      message: 'Arrivals "own" are a list of 2 times, got 1',
    },
    {
      with: arrivals(undefined),
      name: "TypeError",
      message: 'Arrivals "own" are a list of 2 times, got undefined',
    },
    {
      with: arrivals([5, 4]),
      name: "RangeError",
      message:
        'Arrivals "own" are nanoseconds from 0 on, ascending, got 4 behind 5',
    },
    {
      with: arrivals([NaN, 4]),
      name: "RangeError",
      message: /, got NaN behind 0$/,
    },
    {
      with: arrivals([-1, 4]),
      name: "RangeError",
      message: /, got -1 behind 0$/,
    },
    {
      with: arrivals([0, Infinity]),
      name: "RangeError",
      message: /take longer than 2\^53 ns/,
    },
  ]);
});
