/** How cells become calls of kernels: what is fused, where rows lie (src/engine/lowering). */
import type { MutantList, MutantTest } from "../mutant.ts";

const LOWERING = "test/engine/lowering_test.ts";
const RANDOM_CELLS: MutantTest = {
  file: LOWERING,
  filter: "keeps the meaning of random cells",
};
const IMAGES = "test/engine/image_lowering_test.ts";
const RAGGED = "test/engine/ragged_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "lowering.fused-reader",
    file: "src/engine/lowering/elementwise.ts",
    from: "const reader = lowering.onlyReader(value);",
    to: "const reader = lowering.readers(value).at(0);",
    tests: [LOWERING],
    why:
      "a Gemm takes over an activation only where nobody else reads its sums",
  },
  {
    id: "lowering.logits-read",
    file: "src/engine/lowering/dense.ts",
    from: "const stored = lowering.leaves(y) || readers.length > 1;",
    to: "const stored = lowering.leaves(y);",
    tests: [LOWERING],
    why: "logits that somebody else reads are stored",
  },
  {
    id: "lowering.logits-leave",
    file: "src/engine/lowering/dense.ts",
    from: "const stored = lowering.leaves(y) || readers.length > 1;",
    to: "const stored = readers.length > 1;",
    tests: [LOWERING],
    why: "logits that leave the cell are stored",
  },
  {
    id: "lowering.segments-leave",
    file: "src/engine/lowering/rows.ts",
    from: "!lowering.leaves(value) &&",
    to: "",
    tests: [RANDOM_CELLS],
    why: "a Concat that leaves the cell is a row, not two segments",
  },
  {
    id: "lowering.segments-argmax",
    file: "src/engine/lowering/rows.ts",
    from:
      '!lowering.readers(reader.outputs[0]).some(({ op }) => op === "ArgMax")',
    to: "true",
    tests: [LOWERING],
    why: "the projection with arg-max has one segment",
  },
  {
    id: "lowering.concat-places",
    file: "src/engine/lowering/rows.ts",
    from: "      bytes += partBytes;\n",
    to: "",
    tests: [RANDOM_CELLS],
    why: "parts of a Concat lie one after the other",
  },
  {
    id: "lowering.residual-rows",
    file: "src/engine/lowering/dense.ts",
    from: "value !== y && value.width === y.width &&",
    to: "value !== y &&",
    tests: ["test/engine/row_shapes_test.ts"],
    why: "a row that is added again and again is no residual",
  },
  {
    id: "lowering.rows-of-a-row",
    file: "src/engine/lowering/lowering.ts",
    from: "return times(rowsOf(value));",
    to: "return times(1);",
    tests: ["test/engine/row_shapes_test.ts"],
    why: "a row that has axes is many rows of a kernel",
  },
  {
    id: "lowering.axes-that-move",
    file: "src/engine/lowering/rows.ts",
    from: "      ...order.slice(at, from),\n",
    to: "",
    tests: ["test/engine/row_shapes_test.ts"],
    why: "axes that another one is put in front of follow it",
  },
  {
    id: "lowering.matrix-of-a-turn",
    file: "src/engine/tensors/compiled_calls.ts",
    from: "table(...call) + bytes * turn!.number",
    to: "table(...call)",
    tests: ["test/engine/row_shapes_test.ts"],
    why: "every request's product is with its own matrix",
  },
  {
    id: "lowering.range-of-a-request",
    file: "src/engine/lowering/quantized.ts",
    from: 'if (per === "request" && rowsOf(x) > 1) {',
    to: "if (x.id < 0) {",
    tests: ["test/engine/quantized_test.ts"],
    why: "DynamicQuantizeLinear takes one range for all that a request brings",
  },
  {
    id: "lowering.bits-of-a-reshape",
    file: "src/engine/lowering/quantized.ts",
    from: "return seven(producer.inputs[0], lowering);",
    to: "return 1;",
    tests: ["test/engine/quantized_test.ts"],
    why: "kernels that take 7 bits are told so of 7 bits alone",
  },
  {
    id: "lowering.unsigned-weights",
    file: "src/tensor/quantized.ts",
    from: "(zero?.[scale.length === 1 ? 0 : i] ?? 0) - shift,",
    to: "zero?.[scale.length === 1 ? 0 : i] ?? 0,",
    tests: ["test/engine/quantized_test.ts"],
    why: "zero points of unsigned bytes move with them",
  },
  {
    id: "lowering.clip-in-place",
    file: "src/engine/lowering/elementwise.ts",
    from: "    from = to;\n",
    to: "",
    tests: [RANDOM_CELLS],
    why: "Clip's second bound cuts what the first has left",
  },
  {
    id: "lowering.stacked-channels",
    file: "src/engine/lowering/images.ts",
    from: "before += part.image!.channels;",
    to: "",
    tests: ["test/models/deepspeech2_test.ts"],
    why: "images are stacked along their channels",
  },
  {
    id: "lowering.crop-middle",
    file: "src/engine/lowering/images.ts",
    from: "const left = Math.floor((from.width - to.width) / 2);",
    to: "const left = from.width - to.width;",
    tests: [RANDOM_CELLS, IMAGES],
    why: "CenterCropPad takes the middle",
  },
  {
    id: "lowering.causal",
    file: "src/engine/lowering/attention.ts",
    from: '? lowering.offset(lowering.cacheTable(cache, "position"), 1)',
    to: '? lowering.cacheTable(cache, "position")',
    tests: [RAGGED, "test/models/transformer_test.ts"],
    why: "a causal token sees those before it and itself",
  },
];
