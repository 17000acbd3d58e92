/** What a file says, as it says it: names, types, functions, files beside it. */
import type { MutantList } from "../mutant.ts";

const TENSOR = ["test/onnx/read_tensor_test.ts"];
const MODEL = ["test/onnx/read_model_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "onnx_read.inside",
    file: "src/onnx/read/external_data.ts",
    from: "!/^[. ]*$/.test(part)",
    to: 'part !== ""',
    tests: TENSOR,
    why:
      "no tensor is of a file outside of the model's folder (CVE-2022-25882)",
  },
  {
    id: "onnx_read.flood",
    file: "src/onnx/read/external_data.ts",
    from: "if (file.taken > SHARED_MAX * file.bytes.length) {",
    to: "if (file.taken < 0) {",
    tests: TENSOR,
    why: "a small file does not become as large as it likes",
  },
  {
    id: "onnx_read.narrow",
    file: "src/onnx/read/read_tensor.ts",
    from: 'out[i] !== values[i] || type === "bool" && values[i] > 1',
    to: 'type === "bool" && values[i] > 1',
    tests: TENSOR,
    why: "an element that its type does not have is refused",
  },
  {
    id: "onnx_read.bfloat16",
    file: "src/onnx/read/read_tensor.ts",
    from: "return widenBfloat16(",
    to: "return widenFloat16(",
    tests: TENSOR,
    why: "the two floats of 16 bits are told apart",
  },
  {
    id: "onnx_read.captured",
    file: "src/onnx/read/check_graph.ts",
    from: "for (const outer of found.captured) use(outer, before[i]);",
    to: "",
    tests: MODEL,
    why: "a node runs after those that graphs inside it read",
  },
  {
    id: "onnx_read.given-attribute",
    file: "src/onnx/read/inline_functions.ts",
    from: "[...called.defaults, ...node.attributes]",
    to: "[...node.attributes, ...called.defaults]",
    tests: MODEL,
    why:
      "a call's attribute goes before its function's (onnx.proto, FunctionProto)",
  },
  {
    id: "onnx_read.call-names",
    file: "src/onnx/read/inline_functions.ts",
    from: "}:${this.#calls++}/`",
    to: "}:${0 * this.#calls++}/`",
    tests: MODEL,
    why: "two calls of one function do not share its values",
  },
  {
    id: "onnx_read.inner-names",
    file: "src/onnx/read/inline_functions.ts",
    from: "inputs: graph.inputs.map(renamed),",
    to: "inputs: graph.inputs,",
    tests: MODEL,
    why: "graphs inside of functions find their own inputs",
  },
];
