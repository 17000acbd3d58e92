/** ONNX operators in plain TypeScript. */
import type { MutantList } from "../mutant.ts";

const ELEMENTARY = "test/base/elementary_test.ts";
const ELEMENTS = "test/plain/elements_test.ts";
const MOVES = "test/plain/moves_test.ts";
const PRODUCTS = "test/plain/products_test.ts";
const REDUCTIONS = "test/plain/reductions_test.ts";
const REFUSALS = "test/plain/refusals_test.ts";
const SEQUENCES = "test/plain/sequences_test.ts";
const WINDOWS = "test/plain/windows_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "plain.wrapped-products",
    file: "src/plain/binary.ts",
    from: "integer: Math.imul,",
    to: "integer: (a, b) => a * b,",
    tests: [ELEMENTS],
    why:
      "integers wrap around as their type does, products beyond 2^53 among them",
  },
  {
    id: "plain.legacy-broadcast",
    file: "src/plain/binary.ts",
    from: "const behind = Math.max(0, a.dims.length - first - b.dims.length);",
    to: "const behind = 0;",
    tests: [ELEMENTS],
    why:
      "before operator set 7 axes lie under those from attribute axis on (Broadcasting of Add-6)",
  },
  {
    id: "plain.slice-end",
    file: "src/plain/moves.ts",
    from: "[bounded(start, 0, size), bounded(end, 0, size)]",
    to: "[bounded(start, 0, size), bounded(end, 0, size - 1)]",
    tests: [MOVES],
    why: "ends beyond an axis are its size (Slice-13)",
  },
  {
    id: "plain.reflection",
    file: "src/plain/padding.ts",
    from: "return back < size ? back : period - back;",
    to: "return Math.min(back, size - 1);",
    tests: [MOVES],
    why: "reflected padding goes back and forth (Pad-13)",
  },
  {
    id: "plain.last-window",
    file: "src/plain/windows.ts",
    from: "if ((out - 1) * stride >= size + before) out--;",
    to: "",
    tests: [WINDOWS],
    why:
      "windows that would start in the padding behind are ignored (AveragePool-22)",
  },
  {
    id: "plain.odd-padding",
    file: "src/plain/windows.ts",
    from: "return isUpper ? [less, total - less] : [total - less, less];",
    to: "return [less, total - less];",
    tests: [WINDOWS],
    why:
      "the odd element is at the end for SAME_UPPER, at the beginning for SAME_LOWER",
  },
  {
    id: "plain.output-padding",
    file: "src/plain/convolution.ts",
    from: "strides[axis] * (size - 1) + more[axis] +",
    to: "strides[axis] * (size - 1) +",
    tests: [WINDOWS],
    why: "output_padding belongs to the shape (ConvTranspose-22)",
  },
  {
    id: "plain.average-count",
    file: "src/plain/pooling.ts",
    from: "end(sum, counts?.[i] ?? count)",
    to: "end(sum, count)",
    tests: [WINDOWS],
    why: "count_include_pad counts padding, not what rounding up adds",
  },
  {
    id: "plain.saturation",
    file: "src/plain/quantized.ts",
    from: "return Math.max(least, Math.min(most, value));",
    to: "return value;",
    tests: [PRODUCTS],
    why: "what is quantised is cut off at the bounds of its type",
  },
  {
    id: "plain.reverse-length",
    file: "src/plain/recurrent.ts",
    from: "const t = isReversed ? length - 1 - s : s;",
    to: "const t = isReversed ? steps - 1 - s : s;",
    tests: [SEQUENCES],
    why: "a reversed sequence begins at its own last step",
  },
  {
    id: "plain.linear-before-reset",
    file: "src/plain/recurrent.ts",
    from: "reset[i] * (fromState[at] + stateBias[at])",
    to: "reset[i] * fromState[at] + stateBias[at]",
    tests: [SEQUENCES],
    why:
      "ht = g(Xt W + rt (Ht-1 R + Rb) + Wb) with linear_before_reset (GRU-22)",
  },
  {
    id: "plain.causal-offset",
    file: "src/plain/attention.ts",
    from: "query + (length === undefined ? past : length - queries)",
    to: "query",
    tests: [SEQUENCES],
    why:
      "causal masks are aligned at the bottom right: keys of the past come before (Attention-24)",
  },
  {
    id: "plain.masked-row",
    file: "src/plain/attention.ts",
    from: "if (isMasked) {",
    to: "if (false) {",
    tests: [SEQUENCES],
    why: "a query without keys has probabilities 0, not NaN (Attention-24)",
  },
  {
    id: "plain.softmax-lanes",
    file: "src/plain/softmax.ts",
    from: "opset < 13 ? upTo(rank).slice(axis) : [axis]",
    to: "[axis]",
    tests: [REDUCTIONS],
    why:
      "before operator set 13 a lane is everything from the axis on (Softmax-11)",
  },
  {
    id: "plain.stable-top",
    file: "src/plain/indexing.ts",
    from: "isNaNOf(b) || a - b",
    to: "isNaNOf(b) || b - a",
    tests: [MOVES],
    why: "of equal values the one with the lower index comes first (TopK-11)",
  },
  {
    id: "plain.result-size",
    file: "src/plain/layout.ts",
    from: "if (elementCount(dims) > ELEMENTS_MAX) {",
    to: "if (false) {",
    tests: [REFUSALS],
    why: "hostile dims are refused before memory is taken",
  },
  {
    id: "plain.negative-zero",
    file: "src/plain/largest_first.ts",
    from: "bits === -(2 ** 31) ? 0 : bits",
    to: "bits",
    tests: ["test/plain/largest_first_test.ts"],
    why: "-0 is in the bucket of 0, by whose bounds ids are collected",
  },
  {
    id: "plain.least-score",
    file: "src/plain/largest_first.ts",
    from: "if (bucket === LOWEST) return -Infinity;",
    to: "",
    tests: ["test/plain/largest_first_test.ts"],
    why: "-Infinity is a score, the other bits of its bucket are no numbers",
  },
  {
    id: "plain.angles-in-parts",
    file: "src/base/elementary/trigonometric.ts",
    from: "const third = n * QUARTER[2] - lost;",
    to: "const third = -lost;",
    tests: [ELEMENTARY],
    why: "quarters of a turn are taken off in three parts (Cody and Waite)",
  },
  {
    id: "plain.large-angles",
    file: "src/base/elementary/trigonometric.ts",
    from: "if (Math.abs(n) > QUARTERS_MAX) return large(x);",
    to: "",
    tests: [ELEMENTARY],
    why: "of large angles quarters are counted in whole numbers of any size",
  },
  {
    id: "plain.logarithm-near-one",
    file: "src/base/elementary/logarithm.ts",
    from: "return log(whole) * (x / (whole - 1));",
    to: "return log(whole);",
    tests: [ELEMENTARY],
    why: "what 1 + x was rounded by changes its logarithm",
  },
  {
    id: "plain.power-in-two-parts",
    file: "src/base/elementary/power.ts",
    from: "const rest = lost(exponent, high, most) + exponent * low;",
    to: "const rest = 0;",
    tests: [ELEMENTARY],
    why: "a power by a logarithm needs more of it than f64 has",
  },
];
