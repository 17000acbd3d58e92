/** Steps of recurrent decoders as ONNX files: states of sizes that the file fixes. */
import { Prng } from "../../src/base/prng.ts";
import { plainTensor } from "../../src/tensor/plain_tensor.ts";
import { FileParts } from "./file_parts.ts";
import { node, writeModel } from "./write_model.ts";

/** A step of an LSTM, or of two GRUs on top of each other: states of a size that the file fixes. */
export function recurrentDecoder(
  op: "LSTM" | "GRU",
  { hidden, vocabulary, seed }: {
    hidden: number;
    vocabulary: number;
    seed: number;
  },
): { file: Uint8Array<ArrayBuffer>; states: Record<string, string> } {
  const prng = new Prng(seed);
  const parts = new FileParts();
  const weight = (...dims: number[]) =>
    parts.constant(plainTensor(
      "float32",
      dims,
      Float32Array.from(
        { length: dims.reduce((a, b) => a * b) },
        () => 3 * (2 * prng.float() - 1) / Math.sqrt(hidden),
      ),
    ));
  const gates = op === "LSTM" ? 4 : 3;
  const parted = op === "LSTM" ? ["h", "c"] : ["h"];
  const states: Record<string, string> = {};
  let x = parts.add("Transpose", [
    parts.add("Gather", [weight(vocabulary, hidden), "token"]),
  ], { perm: [1, 0, 2] });
  for (let layer = 0; layer < (op === "GRU" ? 2 : 1); layer++) {
    const names = parted.map((part) => `${part}${layer}`);
    for (const name of names) states[name] = `${name}_next`;
    parts.nodes.push(node(
      op,
      [
        x,
        weight(1, gates * hidden, hidden),
        weight(1, gates * hidden, hidden),
        weight(1, 2 * gates * hidden),
        "",
        ...names,
      ],
      [`y${layer}`, ...names.map((name) => states[name])],
      {
        hidden_size: hidden,
      },
    ));
    x = parts.add("Squeeze", [`y${layer}`, parts.ints(1)]);
  }
  parts.add(
    "MatMul",
    [
      parts.add("Squeeze", [x, parts.ints(0)]),
      weight(hidden, vocabulary),
    ],
    {},
    "logits",
  );
  const file = writeModel({
    graph: {
      inputs: [
        { name: "token", type: "int32", dims: ["n", 1] },
        ...Object.keys(states).map((name) => ({
          name,
          dims: [1, "n", hidden],
        })),
      ],
      outputs: [
        { name: "logits" },
        ...Object.values(states).map((name) => ({ name })),
      ],
      ...parts,
    },
  });
  return { file, states };
}
