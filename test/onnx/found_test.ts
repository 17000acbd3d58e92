/** What changed models have found (fuzz_test.ts): each is loaded or refused with a word. */
import assert from "node:assert/strict";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { loaded } from "./loaded.ts";
import { node, writeModel, type WrittenGraph } from "./write_model.ts";

const X = { name: "x", dims: [2, 3] };

const FOUND: Record<
  string,
  [Partial<WrittenGraph>, ReturnType<typeof loaded>]
> = {
  "a flag of another number than 1": [
    { nodes: [node("ArgMin", ["x"], ["y"], { axis: 1, keepdims: 7 })] },
    "run",
  ],
  "more inputs than the operator has": [
    { nodes: [node("Less", ["x", "x", "x"], ["y"])] },
    "refused",
  ],
  "no inputs": [{ nodes: [node("Equal", [], ["y"])] }, "refused"],
  "sizes of which nothing is known": [
    {
      nodes: [
        { ...node("Unknown", ["x"], ["s"]), domain: "own" },
        node("ConstantOfShape", ["s"], ["y"]),
      ],
    },
    "loaded",
  ],
  "an If without a branch": [
    {
      initializers: { yes: plainOf("bool", [], [1]) },
      nodes: [node("If", ["yes"], ["y"])],
    },
    "refused",
  ],
};

for (const [what, [graph, expected]] of Object.entries(FOUND)) {
  Deno.test(`a model with ${what} is ${expected}`, () => {
    const file = writeModel({
      graph: { inputs: [X], outputs: [{ name: "y" }], nodes: [], ...graph },
      opsets: { "": 20, own: 1 },
    });
    assert.equal(loaded(file), expected);
  });
}
