import assert from "node:assert/strict";
import type { Model } from "../../src/graph/model.ts";
import type { Result } from "../../src/graph/result.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import { lstm } from "../../src/models/lstm.ts";
import { MODELS } from "../../src/models/registry.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { type Tensor, tensor } from "../../src/tensor/tensor.ts";
import { namedWeights, seededWeights } from "../../src/tensor/weights.ts";
import { pickOptions } from "../pick_options.ts";
import { endings, runRequests } from "../run_requests.ts";

const sizes = { hidden: 6, vocabulary: 10 };
const sequences: Record<string, Model> = {
  lstm: lstm(sizes),
  seq2seq: seq2seq({ hidden: 6, sourceVocabulary: 10 }),
};
const trees: Model = treeLstm(sizes);

function refuses(
  model: Model,
  input: unknown,
  name: "RangeError" | "TypeError",
  message: string | RegExp,
): void {
  assert.throws(() => (model.check as (input: unknown) => void)(input), {
    name,
    message,
  });
}

const all: Record<string, Model> = { ...sequences, treelstm: trees };
for (const name of Object.keys(all)) {
  const model: Model = all[name];
  Deno.test(`${name} refuses requests that are no object, or have unknown fields`, () => {
    for (
      const [input, shown] of [
        [undefined, "undefined"],
        [null, "null"],
        ["ab", '"ab"'],
        [[1, 2], "[1,2]"],
        [7, "7"],
      ]
    ) {
      refuses(
        model,
        input,
        "TypeError",
        `A request to "${name}" is an object, got ${shown}`,
      );
    }
    const good = name === "treelstm" ? { tree: 1 } : { tokens: [1] };
    model.check(good);
    refuses(
      model,
      { ...good, token: 1 },
      "TypeError",
      new RegExp(`A request to "${name}" has no field "token"; it takes `),
    );
  });
}

for (const [name, model] of Object.entries(sequences)) {
  Deno.test(`${name} refuses tokens that are no sequence, or an empty one`, () => {
    const circular: unknown[] = [];
    circular.push(circular);
    for (
      const [tokens, shown] of [
        [undefined, "undefined"],
        ["12", '"12"'],
        [5, "5"],
        [{ length: 2 }, '{"length":2}'],
        [{ circular }, "[object Object]"],
      ]
    ) {
      refuses(
        model,
        { tokens },
        "TypeError",
        `"tokens" of a request to "${name}" is an array of ids, got ${shown}`,
      );
    }
    for (const tokens of [[], new Int32Array(0)]) {
      refuses(
        model,
        { tokens },
        "RangeError",
        `"tokens" of a request to "${name}" is empty; a sequence has at least one id`,
      );
    }
  });

  Deno.test(`${name} refuses ids outside its vocabulary, naming position and value`, () => {
    for (
      const [id, shown] of [
        [10, "10"],
        [-1, "-1"],
        [1.5, "1.5"],
        [NaN, "NaN"],
        [Infinity, "Infinity"],
        ["3", '"3"'],
        [3n, "3n"],
        [null, "null"],
        [undefined, "undefined"],
        [[3], "[3]"],
      ]
    ) {
      refuses(
        model,
        { tokens: [0, 9, id] },
        "RangeError",
        `tokens[2] of a request to "${name}" is ${shown}; ids are integers from 0 to 9`,
      );
    }
    refuses(
      model,
      { tokens: new Array(2) },
      "RangeError",
      /tokens\[0\] .* is undefined/,
    );
    refuses(
      model,
      { tokens: Int32Array.of(1, 99) },
      "RangeError",
      /tokens\[1\] .* is 99/,
    );
  });
}

Deno.test("seq2seq refuses a limit of steps that is no positive integer", () => {
  for (
    const [maxSteps, shown] of [
      [0, "0"],
      [-3, "-3"],
      [2.5, "2.5"],
      [NaN, "NaN"],
      ["9", '"9"'],
      [null, "null"],
    ]
  ) {
    refuses(
      sequences["seq2seq"],
      { tokens: [1], maxSteps },
      "RangeError",
      `"maxSteps" of a request to "seq2seq" is a positive integer up to 16434 ` +
        `(the model's option "stepsMax"), got ${shown}`,
    );
  }
});

Deno.test("treelstm refuses trees whose nodes have another number of children", () => {
  const expected = (path: string, children: number) =>
    `${path} of a request to "treelstm" has ${children} children, expected 2`;
  refuses(trees, { tree: [] }, "RangeError", expected("tree", 0));
  refuses(trees, { tree: [1] }, "RangeError", expected("tree", 1));
  refuses(
    trees,
    { tree: [[1, 2], [3, [4, 5, 6]]] },
    "RangeError",
    expected("tree[1][1]", 3),
  );
});

Deno.test("treelstm refuses leaves that are no ids, naming their path", () => {
  for (
    const [leaf, shown] of [
      [undefined, "undefined"],
      ["x", '"x"'],
      [{ left: 1 }, '{"left":1}'],
    ]
  ) {
    refuses(
      trees,
      { tree: [[1, leaf], 2] },
      "TypeError",
      `tree[0][1] of a request to "treelstm" is neither a token id nor an array of children, got ${shown}`,
    );
  }
  refuses(trees, {}, "TypeError", /^tree of a request .* got undefined/);
  const hole: unknown[] = [1];
  hole.length = 2;
  refuses(trees, { tree: hole }, "TypeError", /tree\[1\] .* got undefined/);
  for (const leaf of [10, -1, 0.5]) {
    refuses(
      trees,
      { tree: [1, [leaf, 2]] },
      "RangeError",
      `tree[1][0] of a request to "treelstm" is ${leaf}; ids are integers from 0 to 9`,
    );
  }
});

Deno.test("treelstm refuses what contains itself, and a part that occurs twice", () => {
  const cycle: unknown[] = [1];
  cycle.push([2, cycle]);
  const part: ParseTree = [1, 2];
  for (
    const [tree, where] of [
      [[3, cycle], "tree[1][1][1]"],
      [[part, part], "tree[1]"],
    ] as const
  ) {
    refuses(
      trees,
      { tree },
      "RangeError",
      `${where} of a request to "treelstm" occurs twice or contains itself: not a tree`,
    );
  }
});

Deno.test("treelstm takes trees as deep as they come", () => {
  let tree: ParseTree = 1;
  for (let depth = 0; depth < 5000; depth++) tree = [tree, depth % 10];
  trees.check({ tree });
  const [end] = endings(trees, [{ tree }]);
  assert(!(end instanceof Error), String(end));
  let broken: unknown = "leaf";
  for (let depth = 0; depth < 5000; depth++) broken = [broken, 1];
  refuses(trees, { tree: broken }, "TypeError", /got "leaf"$/);
});

Deno.test("models refuse sizes and choices that make no sense", () => {
  const builders: Record<string, (options: object) => unknown> = {
    lstm: (options) => lstm({ ...sizes, ...options }),
    seq2seq: (options) =>
      seq2seq({ hidden: 6, sourceVocabulary: 10, ...options }),
    treelstm: (options) => treeLstm({ ...sizes, ...options }),
  };
  const sizesOf: Record<string, string[]> = {
    lstm: ["hidden", "embedding", "vocabulary", "classes"],
    seq2seq: [
      "hidden",
      "embedding",
      "sourceVocabulary",
      "targetVocabulary",
      "extraSteps",
    ],
    treelstm: ["hidden", "embedding", "vocabulary", "arity", "classes"],
  };
  for (const [name, build] of Object.entries(builders)) {
    for (const option of sizesOf[name]) {
      for (const value of [-1, 1.5, "8"]) {
        const none = name === "treelstm" && option === "classes"
          ? ", or 0 for none"
          : "";
        assert.throws(() => build({ [option]: value }), {
          name: "RangeError",
          message:
            `"${option}" of model "${name}" is a positive integer${none}, got ${
              JSON.stringify(value)
            }`,
        });
      }
    }
  }
  assert.throws(() => builders["seq2seq"]({ rnn: "rnn" }), {
    name: "RangeError",
    message: '"rnn" of model "seq2seq" is one of lstm, gru, got "rnn"',
  });
  assert.throws(() => builders["lstm"]({ head: "tagger" }), {
    name: "RangeError",
    message:
      '"head" of model "lstm" is one of classifier, language-model, none, got "tagger"',
  });
  for (const option of ["go", "eos"]) {
    assert.throws(() => builders["seq2seq"]({ [option]: 10 }), {
      name: "RangeError",
      message: `"${option}" of model "seq2seq" is an id below 10, got 10`,
    });
  }
});

Deno.test("models ask for every weight once, and refuse one that is missing, misshapen or not finite", () => {
  for (const [name, { build }] of Object.entries(MODELS)) {
    const sizes = pickOptions(name, {
      hidden: 3,
      heads: 1,
      layers: 2,
      vocabulary: 4,
      sourceVocabulary: 4,
      tokensMax: 5,
      width: 1,
      base: 1,
      classes: 2,
      blocks: [1, 1],
    });
    const named = new Map<string, Tensor>();
    const seeded = seededWeights(1);
    build({
      ...sizes,
      weights(asked, shape, fanIn, around) {
        assert(!named.has(asked), `${name} asks for ${asked} once`);
        const made = seeded(asked, shape, fanIn, around);
        named.set(asked, made);
        return made;
      },
    });
    assert(named.size > 3);
    for (const [asked, { shape, data }] of named) {
      const withOther = (other?: Tensor) => () => {
        const tensors = new Map(named);
        if (other) tensors.set(asked, other);
        else tensors.delete(asked);
        return build({ ...sizes, weights: namedWeights(tensors, "w.file") });
      };
      withOther(tensor(shape, data))();
      assert.throws(withOther(), {
        name: "RangeError",
        message: new RegExp(`^w\\.file has no tensor "${asked}"`),
      });
      assert.throws(withOther(tensor([1, ...shape], data)), {
        name: "RangeError",
        message: new RegExp(`^Tensor "${asked}" of w\\.file has shape`),
      });
      assert.throws(
        withOther(tensor(shape, Float32Array.from(data, () => NaN))),
        {
          name: "RangeError",
          message: new RegExp(`^Tensor "${asked}" holds NaN at element 0`),
        },
      );
    }
  }
});

Deno.test("seq2seq ends with <eos>, its own limit, or the source's length and the extra steps", () => {
  const length = (result: Result | undefined) => result!["tokens"].data.length;
  const endless = seq2seq({
    hidden: 6,
    sourceVocabulary: 10,
    eos: null,
    extraSteps: 4,
  });
  const results = runRequests(endless, [
    { tokens: [1, 2, 3] },
    { tokens: [1, 2, 3], maxSteps: 2 },
    { tokens: [1, 2, 3], maxSteps: 30 },
  ]);
  assert.deepEqual(results.map(length), [7, 2, 30]);
  const ids = [...results[2]["tokens"].data];
  // The same weights with one of these ids as <eos> stop where it appears first.
  for (const eos of new Set(ids)) {
    const stopping = seq2seq({ hidden: 6, sourceVocabulary: 10, eos });
    const [stopped] = runRequests(stopping, [
      { tokens: [1, 2, 3], maxSteps: 30 },
    ]);
    assert.deepEqual(
      [...stopped["tokens"].data],
      ids.slice(0, ids.indexOf(eos) + 1),
    );
  }
});
