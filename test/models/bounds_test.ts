/** What keeps requests and options of the models within bounds. */
import assert from "node:assert/strict";
import { CellGraph } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import type { ParseTree } from "../../src/graph/parse_tree.ts";
import { MODELS } from "../../src/models/registry.ts";
import { treeLstm } from "../../src/models/tree_lstm.ts";
import { shapesOnly, type WeightSource } from "../../src/tensor/weights.ts";
import { pickOptions } from "../pick_options.ts";

const SMALL = {
  ...{ hidden: 2, heads: 1, layers: 2, inner: 2, width: 1, base: 1, size: 4 },
  ...{ depth: 1, padding: "same", blocks: [1], vocabulary: 9, classes: 2 },
  ...{ sourceVocabulary: 9, features: 2, bins: [1, 1], span: 2 },
};

/** A model with small sizes of those that it has, and with the options given, which it may not have. */
function small(name: string, options: Record<string, unknown> = {}): Model {
  return MODELS[name].build({
    ...pickOptions(name, SMALL),
    ...(name === "inceptionv4" && { size: 27 }),
    weights: shapesOnly(),
    ...options,
  });
}

function takes(model: Model, input: unknown): void {
  (model.check as (input: unknown) => void)(input);
}

function refuses(
  model: Model,
  input: unknown,
  name: string,
  message: RegExp,
): void {
  assert.throws(
    () => takes(model, input),
    (error: Error) => {
      assert.equal(error.name, name);
      assert.match(error.message, message);
      return error.message.length < 300;
    },
  );
}

/** A list that is as long as it says and counts who looks inside. */
function endless(length: number): { list: number[]; looks: () => number } {
  let looks = 0;
  const list = new Proxy([] as number[], {
    get(target, key) {
      if (key === "length") return length;
      looks++;
      return Reflect.get(target, key) ?? 1;
    },
  });
  return { list, looks: () => looks };
}

const speech = ["las", "deepspeech2"];
const sequences = ["lstm", "seq2seq", "gnmt", "transformer", "bert"];

Deno.test("every model of sequences has a limit of tokens, and looks at no more", () => {
  for (const name of sequences) {
    assert(MODELS[name].options.includes("tokensMax"), name);
    const long = endless(1e9);
    refuses(
      small(name),
      { tokens: long.list },
      "RangeError",
      /^"tokens" of a request to ".*" are 1000000000 ids; the model takes up to (16384|512) \(its option "tokensMax"\)/,
    );
    assert.equal(long.looks(), 0);
    const limited = small(name, { tokensMax: 3 });
    takes(limited, { tokens: [1, 2, 3] });
    refuses(limited, { tokens: [1, 2, 3, 4] }, "RangeError", /4 ids; .* 3 \(/);
  }
  takes(small("lstm"), { tokens: new Int32Array(16_384) });
});

Deno.test("models of speech have a limit of frames, and look at no more", () => {
  for (const name of speech) {
    assert(MODELS[name].options.includes("framesMax"), name);
    const long = endless(2e9);
    refuses(
      small(name),
      { frames: long.list },
      "RangeError",
      /^"frames" of a request to ".*" are 2000000000 numbers; the model takes \d+ to \d+ frames \(up to its option "framesMax"\) of 2 numbers each$/,
    );
    assert.equal(long.looks(), 0);
    const limited = small(name, { framesMax: 8 });
    takes(limited, { frames: new Float32Array(16) });
    refuses(limited, { frames: new Float32Array(18) }, "RangeError", /to 8 /);
    refuses(limited, { frames: new Float32Array(15) }, "RangeError", /15 num/);
    refuses(limited, { frames: [] }, "RangeError", /0 numbers/);
    const frames = new Array(16).fill(0.5);
    takes(limited, { frames });
    frames[3] = Infinity;
    refuses(limited, { frames }, "RangeError", /^frames\[3\] .* Infinity;/);
  }
});

Deno.test("a decoder of prompts has one limit, of positions, and says so", () => {
  assert(MODELS["gpt"].options.includes("positionsMax"));
  const model = small("gpt", { positionsMax: 6 });
  takes(model, { tokens: [1, 2], maxSteps: 5 });
  refuses(
    model,
    { tokens: [1, 2], maxSteps: 6 },
    "RangeError",
    /up to 5 \(what the prompt leaves of the model's option "positionsMax"\), got 6$/,
  );
  const tokens = new Array(7).fill(1);
  refuses(model, { tokens }, "RangeError", /6 \(its option "positionsMax"\)$/);
});

Deno.test("every decoder has a limit of steps", () => {
  const las = small("las", { framesMax: 8, stepsMax: 6 });
  takes(las, { frames: [1, 2], maxSteps: 6 });
  refuses(las, { frames: [1, 2], maxSteps: 7 }, "RangeError", /up to 6 \(/);
  const heard = new CellGraph(las);
  las.unfold({ frames: new Array(16).fill(1) }, heard);
  assert.equal(heard.stepsMax, 6);
  for (const name of ["seq2seq", "gnmt", "transformer"]) {
    const model = small(name, { tokensMax: 4, extraSteps: 9, stepsMax: 6 });
    takes(model, { tokens: [1], maxSteps: 6 });
    refuses(
      model,
      { tokens: [1], maxSteps: 7 },
      "RangeError",
      /^"maxSteps" of a request to ".*" is a positive integer up to 6 \(the model's option "stepsMax"\), got 7$/,
    );
    refuses(small(name), { tokens: [1], maxSteps: 1e6 }, "RangeError", /up to/);
    const graph = new CellGraph(model);
    model.unfold({ tokens: [1, 2] }, graph);
    assert.equal(graph.stepsMax, 6);
  }
});

Deno.test("limits that are raised raise the limit of nodes as well", () => {
  assert.equal(small("lstm").nodesMax, 2 ** 20);
  assert.equal(small("lstm", { tokensMax: 3e6 }).nodesMax, 3e6 + 1);
  assert.equal(small("treelstm", { leavesMax: 1e6 }).nodesMax, 2e6 + 1);
  assert.equal(small("seq2seq", { tokensMax: 1e9 }).nodesMax, 2 ** 24 - 2);
});

/** Nodes that a request begins with, and those of a step more. */
function nodesOf(
  model: Model,
  input: unknown,
): { first: number; step: number } {
  const graph = new CellGraph(model);
  model.unfold(input, graph);
  graph.seal();
  const first = graph.nodes.length;
  graph.growing(() => model.grow?.(graph.nodes[first - 1], graph));
  return { first, step: graph.nodes.length - first };
}

Deno.test("the longest request that a model's options allow is within its limit of nodes, and that near it", () => {
  const [length, steps] = [1e6, 2e6];
  const tokens = (count: number) => ({ tokens: new Array(count).fill(1) });
  const frames = (count: number) => ({ frames: new Array(2 * count).fill(1) });
  const cases: [
    name: string,
    options: Record<string, number>,
    request: (length: number) => unknown,
    stepsMax: number,
  ][] = [
    ["seq2seq", { tokensMax: length, stepsMax: steps }, tokens, steps],
    ["gnmt", { tokensMax: length, stepsMax: steps }, tokens, steps],
    // One cell for all tokens, so that only steps are many.
    ["transformer", { tokensMax: 64, stepsMax: 3e5 }, tokens, 3e5],
    ["gpt", { positionsMax: length }, () => tokens(1), length],
    ["las", { framesMax: length, stepsMax: steps }, frames, steps],
    ["deepspeech2", { framesMax: length }, frames, 0],
  ];
  for (const [name, options, request, stepsMax] of cases) {
    const model = small(name, options);
    const [short, long] = [32, 64].map((n) => nodesOf(model, request(n)));
    const each = (long.first - short.first) / 32;
    const most = short.first + each * (length - 32) +
      Math.max(0, stepsMax - 1) * long.step;
    assert(most > 2 ** 20, `${name}: ${most}`);
    const { nodesMax = 0 } = model;
    assert(nodesMax >= most, `${name}: ${nodesMax} of ${most}`);
    assert(nodesMax <= 1.2 * most, `${name}: ${nodesMax} of ${most}`);
  }
});

/** A tree without an end, and how many of its nodes were looked into. */
function endlessTree(arity: number): { tree: unknown; looks: () => number } {
  let looks = 0;
  const node = (): unknown =>
    new Proxy(new Array(arity).fill(1), {
      get(list, key) {
        if (key !== "0") return Reflect.get(list, key);
        looks++;
        return node();
      },
    });
  return { tree: node(), looks: () => looks };
}

Deno.test("treelstm has a limit of leaves, and walks no further", () => {
  for (const arity of [1, 2, 3]) {
    const model = small("treelstm", { arity, leavesMax: 100 });
    const { tree, looks } = endlessTree(arity);
    refuses(
      model,
      { tree },
      "RangeError",
      /^"tree" of a request to "treelstm" has 10[1-3] (leaves|internal nodes) or more; the model takes up to 100 \(its option "leavesMax"\)$/,
    );
    assert(looks() <= 100, `${looks()} looks`);
  }
  const chain = (leaves: number): ParseTree =>
    Array.from({ length: leaves - 1 }).reduce<ParseTree>(
      (tree) => [tree, 1],
      1,
    );
  const model = small("treelstm", { leavesMax: 100 });
  takes(model, { tree: chain(100) });
  refuses(model, { tree: chain(101) }, "RangeError", /101 leaves or more/);
  refuses(small("treelstm"), { tree: chain(16_385) }, "RangeError", /16385/);
});

Deno.test("treelstm names a node far down without its whole path", () => {
  let tree: unknown = "leaf";
  for (let depth = 0; depth < 10_000; depth++) tree = [1, tree];
  refuses(
    treeLstm({ hidden: 2, vocabulary: 9, weights: shapesOnly() }),
    { tree },
    "TypeError",
    /^tree(\[1\]){8} \(9984 levels\) (\[1\]){8} of a request .* got "leaf"$/,
  );
});

Deno.test("models read what they checked, whatever a proxy says the next time", () => {
  const lengths = (first: number, then: number) => {
    let reads = 0;
    return new Proxy([1, 2, 3], {
      get: (list, key) =>
        key === "length"
          ? (reads++ === 0 ? first : then)
          : Reflect.get(list, key),
    });
  };
  for (const name of sequences) {
    const model = small(name);
    const tokens = lengths(3, 1e9);
    takes(model, { tokens });
    assert.throws(() => model.unfold({ tokens }, new CellGraph(model)), {
      name: "RangeError",
      message: /are 1000000000 ids/,
    });
  }
  for (const name of speech) {
    const model = small(name);
    const frames = lengths(16, 1e9);
    Object.assign(frames, new Array(16).fill(0));
    takes(model, { frames });
    assert.throws(() => model.unfold({ frames }, new CellGraph(model)), {
      name: "RangeError",
      message: /are 1000000000 numbers/,
    });
  }
  const shared = new Int32Array(new SharedArrayBuffer(8));
  const lstm = small("lstm");
  takes(lstm, { tokens: shared });
  shared[1] = 99;
  assert.throws(() => lstm.unfold({ tokens: shared }, new CellGraph(lstm)), {
    message: /tokens\[1\] .* is 99; ids are integers from 0 to 8/,
  });
  const images = small("unet");
  const image = lengths(16, 1e9);
  const pixels = new Array(16).fill(0);
  Object.assign(image, pixels);
  takes(images, { image });
  const graph = new CellGraph(images);
  images.unfold({ image }, graph);
  assert.equal(graph.inputs[0].data.length, 16);
});

Deno.test("models say what else than a list of ids or pixels they were given", () => {
  const others: [unknown, RegExp][] = [
    [new Uint8Array(3), /got Uint8Array of 3/],
    [new BigInt64Array(3), /got BigInt64Array of 3/],
    [new Float64Array(1e6), /got Float64Array of 1000000/],
    [new DataView(new ArrayBuffer(3)), /got DataView of 3 bytes/],
    [new Proxy(new Int32Array(3), {}), /got /],
    [new Set([1]), /got \[object Set\]/],
    ["x".repeat(1e6), /got "x+…/],
    [Proxy.revocable([], {}), /got \{/],
  ];
  const revoked = Proxy.revocable([], {});
  revoked.revoke();
  others.push([revoked.proxy, /got an object that cannot be read/]);
  for (const [value, message] of others) {
    for (const name of sequences) {
      refuses(small(name), { tokens: value }, "TypeError", message);
    }
    for (const name of speech) {
      refuses(small(name), { frames: value }, "TypeError", message);
    }
    refuses(small("treelstm"), { tree: value }, "TypeError", message);
    refuses(small("unet"), { image: value }, "TypeError", message);
  }
  refuses(
    small("lstm"),
    { tokens: [1], ["k".repeat(1e6)]: 1 },
    "TypeError",
    /has no field "k+…"; it takes tokens$/,
  );
  refuses(small("lstm"), { tokens: [[1, "x".repeat(1e7)]] }, "RangeError", /…/);
});

Deno.test("models refuse options that they do not have, and take all that the registry lists", () => {
  for (const [name, { options, tries }] of Object.entries(MODELS)) {
    assert.throws(() => small(name, { hiden: 64 }), {
      name: "TypeError",
      message: `Model "${name}" has no option "hiden"; it takes ${
        [...options, "weights"].join(", ")
      }`,
    });
    for (const given of [null, 5, "x", [1]]) {
      assert.throws(
        () => MODELS[name].build(given as unknown as Record<string, unknown>),
        { name: "TypeError", message: /takes an object with options, got / },
      );
    }
    for (const option of options) {
      const isFlag = tries.some((all) => all[option]?.includes(true));
      const other = isFlag ? 1 : true;
      for (const value of [Symbol(), {}, "x".repeat(1e6), other, -1, NaN]) {
        assert.throws(
          () => small(name, { [option]: value }),
          (error: Error) => {
            assert(error instanceof RangeError || error instanceof TypeError);
            assert(error.message.includes(`"${option}" of model "${name}"`));
            return error.message.length < 300;
          },
        );
      }
    }
  }
});

Deno.test("models name the tensor of a source of weights that returns something else", () => {
  const sources: [unknown, RegExp][] = [
    [
      () => undefined,
      /^Tensor ".*" of model ".*" is a tensor, .* got undefined$/,
    ],
    [() => Promise.resolve(1), /^Tensor ".*" of model ".*" .* got a promise/],
    [
      (_: string, shape: number[]) => ({ shape, data: new Float64Array(9) }),
      /^Tensor ".*" of model ".*" .* data that are Float64Array of 9$/,
    ],
    [
      new Map(),
      /^"weights" of model ".*" is a function .* got \[object Map\]$/,
    ],
  ];
  for (const name of Object.keys(MODELS)) {
    for (const [weights, message] of sources) {
      assert.throws(() => small(name, { weights: weights as WeightSource }), {
        name: "TypeError",
        message,
      });
    }
  }
});
