/** ONNX files on their way to cells: what is folded, put together, lowered and cut into steps. */
import type { MutantList } from "../mutant.ts";

const CELL_PARTS = "test/onnx/cell_parts_test.ts";
const CONTRIB = "test/onnx/contrib_test.ts";
const CUT = "test/onnx/cut_models_test.ts";
const FOUND = "test/onnx/cut_found_test.ts";
const FUSED = "test/onnx/fused_models_test.ts";
const LOOPS = "test/onnx/loop_cells_test.ts";
const QUANTIZED_LSTM = "test/onnx/quantized_lstm_test.ts";
const SIMPLIFY = "test/onnx/simplify_test.ts";
const SOURCE = "test/onnx/source_test.ts";
const STEPS = "test/onnx/step_cells_test.ts";
const SHAPES = "test/onnx/control_shapes_test.ts";

const CUTS = "test/onnx/cut_bits_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "onnx.trim-taps",
    file: "src/onnx/lower/trim_taps.ts",
    from: "if (at >= 0 && at < size) return true;",
    to: "if (at > 0 && at < size) return true;",
    tests: ["test/onnx/trim_taps_test.ts"],
    why: "a tap that meets an element stays",
  },
  {
    id: "onnx.lstm-bytes",
    file: "src/onnx/quantize/lstm_layer.ts",
    from: "dims: [directions * rows, k], data }",
    to: "dims: [directions, rows * k], data }",
    tests: ["test/onnx/quantize_recurrent_test.ts"],
    why: "every column of an LSTM has a scale of its own",
  },
  {
    id: "onnx.draws-of-seeds",
    file: "src/onnx/decoder/decoder_model.ts",
    from: 'new Prng(seed).fork("draws")',
    to: "new Prng(seed)",
    tests: ["test/onnx/sampled_decoders_test.ts"],
    why: "seeds in a row draw first tokens apart",
  },
  {
    id: "onnx.passed-on-type",
    file: "src/onnx/simplify/simplify.ts",
    from: "return from !== null && from === result.type;",
    to: "return true;",
    tests: [SIMPLIFY],
    why: "a Cast to another type is kept",
  },
  {
    id: "onnx.certain-branch",
    file: "src/onnx/simplify/simplify.ts",
    from: 'const name = condition === 0 ? "else_branch" : "then_branch";',
    to: 'const name = condition === 0 ? "then_branch" : "else_branch";',
    tests: [SIMPLIFY],
    why: "an If whose condition is constant is the branch that it chooses",
  },
  {
    id: "onnx.living-captured",
    file: "src/onnx/names.ts",
    from:
      "for (const graph of graphsOf(attribute)) names.push(...graph.captured);",
    to: "",
    tests: [LOOPS],
    why: "what graphs inside a node read is needed by it",
  },
  {
    id: "onnx.fused-reader",
    file: "src/onnx/fuse/pattern.ts",
    from:
      "return readers.length === 1 && !this.#results.has(value) &&\n        this.#is(readers[0], ops)",
    to: "return !this.#results.has(value) && this.#is(readers[0], ops)",
    tests: [FUSED],
    why: "parts that somebody else reads stay",
  },
  {
    id: "onnx.fused-axis",
    file: "src/onnx/fuse/pattern.ts",
    from: "(given[0] === -1 || given[0] === (rank ?? 0) - 1);",
    to: "true;",
    tests: [FUSED],
    why: "a normalisation is put together over the last axis alone",
  },
  {
    id: "onnx.gelu-number",
    file: "src/onnx/fuse/fuse_parts.ts",
    from:
      "if (isScaled || !parts.isNumber(next.name, 0.044715)) return undefined;",
    to: "if (isScaled) return undefined;",
    tests: [FUSED],
    why: "the GELU of the hyperbolic tangent has 0.044715, nothing else",
  },
  {
    id: "onnx.gelu-power",
    file: "src/onnx/fuse/fuse_parts.ts",
    from: "return left === 0 && isScaled ? nodes.toReversed() : undefined;",
    to: "return isScaled ? nodes.toReversed() : undefined;",
    tests: [FUSED],
    why: "the inner sum has the cube of x",
  },
  {
    id: "onnx.rms-epsilon",
    file: "src/onnx/fuse/fuse_parts.ts",
    from: '["epsilon", { kind: "float", value: epsilon }],\n  ]);\n};',
    to: '["epsilon", { kind: "float", value: 1 }],\n  ]);\n};',
    tests: [FUSED],
    why: "a normalisation keeps its epsilon",
  },
  {
    id: "onnx.lstm-gates",
    file: "src/onnx/fuse/fuse_cells.ts",
    from: "gates: gates.map(({ place }) => place),",
    to: "gates: gates.map((_, i) => i),",
    tests: [CELL_PARTS],
    why: "gates of a step in parts are put into ONNX's order",
  },
  {
    id: "onnx.lstm-shift",
    file: "src/onnx/fuse/fuse_cells.ts",
    from: "bias[gate * hidden + i] += shift;",
    to: "bias[gate * hidden + i] += 0;",
    tests: [CELL_PARTS],
    why: "what is added to a gate is part of its bias",
  },
  {
    id: "onnx.gru-state",
    file: "src/onnx/fuse/fuse_cells.ts",
    from: "h.terms[0].name === blend.h && this.#isRow(blend.h, hidden) &&",
    to: "this.#isRow(blend.h, hidden) &&",
    tests: [CELL_PARTS],
    why: "a GRU keeps the state that it is made of",
  },
  {
    id: "onnx.leaky-slope",
    file: "src/onnx/lower/elementwise.ts",
    from: "const isSlope = Math.fround(alpha) > 0 && alpha <= 1;",
    to: "const isSlope = true;",
    tests: [FOUND],
    why: "kernels compute a LeakyRelu of slopes from 0 to 1 alone",
  },
  {
    id: "onnx.bias-axis",
    file: "src/onnx/lower/lowered_node.ts",
    from: "n === (i + rank - bias.dims.length === axis ? size : 1)",
    to: "true",
    tests: [CUT, FOUND],
    why: "a sum behind a product is its bias only along the axis of outputs",
  },
  {
    id: "onnx.gru-reset",
    file: "src/onnx/lower/recurrence.ts",
    from: 'attributeOf(node, "linear_before_reset", "int") === 1',
    to: "true",
    tests: [STEPS],
    why: "linear_before_reset says when a GRU resets its state",
  },
  {
    id: "onnx.reverse-last",
    file: "src/onnx/step_graph.ts",
    from:
      "const position = directions[direction].isReverse ? 0 : positions - 1;",
    to: "const position = positions - 1;",
    tests: [STEPS],
    why: "the last state of the way back is that of the first position",
  },
  {
    id: "onnx.loop-slices",
    file: "src/onnx/loop_body.ts",
    from: "if (dims[axis] < body.rounds) return true;",
    to: "return true;",
    tests: [LOOPS],
    why: "a Gather of the round's number is a slice",
  },
  {
    id: "onnx.loop-condition",
    file: "src/onnx/loop_body.ts",
    from: "if (!constant || Number(constant.data[0]) !== 1) return undefined;",
    to: "",
    tests: [LOOPS],
    why: "a Loop that may end by value is run as a whole",
  },
  {
    id: "onnx.scan-direction",
    file: "src/onnx/step_graph.ts",
    from: "return input.isReversed ? slices.toReversed() : slices;",
    to: "return slices;",
    tests: [LOOPS],
    why: "a Scan goes over an input from its end where it says so",
  },
  {
    id: "onnx.scan-stack",
    file: "src/onnx/step_graph.ts",
    from: "at(isReversed ? rounds - 1 - i : i)",
    to: "at(i)",
    tests: [LOOPS],
    why: "a Scan puts its results together from the end where it says so",
  },
  {
    id: "onnx.loop-rounds",
    file: "src/onnx/shapes/control.ts",
    from: "scalarOf(condition) === 1 && scalarOf(next) === 1;",
    to: "scalarOf(condition) === 1;",
    tests: [SHAPES],
    why: "how often a Loop goes round is known only if its condition is",
  },
  {
    id: "onnx.loop-end",
    file: "src/plain/control.ts",
    from: "const STEPS_MAX = 2 ** 20;",
    to: "const STEPS_MAX = 2;",
    tests: [LOOPS],
    why: "a loop may go round 2^20 times",
  },
  {
    id: "onnx.quantized-relu",
    file: "src/onnx/fuse/fuse_quantized.ts",
    from: "if (relu && unsignedZero(type, zero) !== 0) return;",
    to: "",
    tests: ["test/onnx/quantized_models_test.ts"],
    why: "bytes that end below 0 do not cut off what Relu does",
  },
  {
    id: "onnx.quantized-zero",
    file: "src/onnx/lower/quantized_recurrence.ts",
    from: "const r = bytesOf(at(2), at(10), at(11));",
    to: "const r = bytesOf(at(2), at(8), at(9));",
    tests: [QUANTIZED_LSTM],
    why: "both weights of an LSTM have scales of their own",
  },
  {
    id: "onnx.contrib-alpha",
    file: "src/onnx/contrib/layers.ts",
    from: "if (alpha === 1) given.add(",
    to: "if (alpha > 0) given.add(",
    tests: [CONTRIB],
    why: "FusedMatMul is multiplied with alpha",
  },
  {
    id: "onnx.contrib-wanted",
    file: "src/onnx/contrib/expansion.ts",
    from: 'return name !== "" && this.isRead(name);',
    to: 'return name !== "";',
    tests: [CONTRIB],
    why: "a result that nobody reads does not have a node refused",
  },
  {
    id: "onnx.fetched-bytes",
    file: "src/onnx/source.ts",
    from: "if (length > bytesMax) {",
    to: "if (length > 2 * bytesMax) {",
    tests: [SOURCE],
    why: "no file is fetched that is larger than bytesMax",
  },
  {
    id: "onnx.unreadable",
    file: "src/onnx/source.ts",
    from:
      'if (code === "ENOENT" || code === "ENOTDIR") return undefined;\n        throw error;',
    to: "return undefined;",
    tests: [SOURCE],
    why: "a file that cannot be read is not said to be missing",
  },
  {
    id: "onnx.cut-belongs",
    file: "src/onnx/cuts.ts",
    from: '    "BatchNormalization",\n',
    to: "",
    tests: [CUTS],
    why: "nothing is cut between a layer and what is computed with it",
  },
  {
    id: "onnx.cut-rest",
    file: "src/onnx/cuts.ts",
    from: "if (work < least) starts.pop();",
    to: "",
    tests: [CUTS],
    why: "what is left at the end is no cell of its own",
  },
  {
    id: "onnx.cut-groups",
    file: "src/onnx/operator_time.ts",
    from: 'return operator.shape.groups > 1 ? "groups" : "products";',
    to: 'return "products";',
    tests: [CUTS],
    why: "kernels of grouped convolutions are slower",
  },
];
