/** Folders of models to serve, written for the purpose. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { plainOf } from "../../../src/tensor/plain_tensor.ts";
import { node, writeModel } from "../../onnx/write_model.ts";

/** y = x w, of rows of two. */
export function scaleFile(w: number): Uint8Array<ArrayBuffer> {
  return writeModel({
    graph: {
      inputs: [{ name: "x", type: "float32", dims: ["rows", 2] }],
      outputs: [{ name: "y" }],
      initializers: { w: plainOf("float32", [2, 2], [w, 0, 0, w]) },
      nodes: [node("MatMul", ["x", "w"], ["y"])],
    },
  });
}

/** y = x w, of which a request brings both unless w is a constant. */
export const PRODUCT_FILE = writeModel({
  graph: {
    inputs: [
      { name: "x", type: "float32", dims: ["rows", 2] },
      { name: "w", type: "float32", dims: [1, 1] },
    ],
    outputs: [{ name: "y" }],
    nodes: [node("Mul", ["x", "w"], ["y"])],
  },
});

/** sum = x + before, which is before in the next frame. */
export const STREAM_FILE = writeModel({
  graph: {
    inputs: [
      { name: "x", type: "float32", dims: [1, 2] },
      { name: "before", type: "float32", dims: [1, 2] },
    ],
    outputs: [{ name: "sum" }, { name: "after" }],
    nodes: [
      node("Add", ["x", "before"], ["sum"]),
      node("Identity", ["sum"], ["after"]),
    ],
  },
});

/** Rows of words of any number of them, and their mean. */
export const TEXT_FILE = writeModel({
  graph: {
    inputs: [{ name: "input_ids", type: "int64", dims: ["batch", "sequence"] }],
    outputs: [{ name: "last_hidden_state" }],
    initializers: {
      words: plainOf("float32", [4, 2], [0, 0, 1, 2, 3, 4, 5, 6]),
    },
    nodes: [node("Gather", ["words", "input_ids"], ["last_hidden_state"])],
  },
});

export const TOKENIZER = {
  pre_tokenizer: { type: "Whitespace" },
  model: {
    type: "WordLevel",
    unk_token: "?",
    vocab: { "?": 0, fish: 1, swim: 2, birds: 3 },
  },
};

/** A tensor of a file: floats, or what stands for them where they are of 16 bits. */
export interface Stored {
  readonly dtype?: "F32" | "F16" | "BF16";
  readonly shape: readonly number[];
  readonly data: Float32Array | Uint16Array;
}

/** Floats as a .safetensors file. */
export function safetensors(
  tensors: Readonly<Record<string, Stored>>,
): Uint8Array<ArrayBuffer> {
  let at = 0;
  const entries = Object.entries(tensors).map(([name, stored]) => {
    const { dtype = "F32", shape, data } = stored;
    const start = at;
    at += data.byteLength;
    return [name, { dtype, shape, data_offsets: [start, at] }];
  });
  const header = new TextEncoder().encode(
    JSON.stringify(Object.fromEntries(entries)),
  );
  const file = new Uint8Array(8 + header.length + at);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  let to = 8 + header.length;
  for (const { data } of Object.values(tensors)) {
    file.set(new Uint8Array(data.slice().buffer), to);
    to += data.byteLength;
  }
  return file;
}

/** A folder that is there for a test. */
export class TestFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "shoal-serve-"));

  /** Writes a file: bytes, or a value as JSON. */
  write(name: string, content: Uint8Array | object): void {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(
      path,
      content instanceof Uint8Array ? content : JSON.stringify(content),
    );
  }

  remove(name: string): void {
    rmSync(join(this.path, name), { recursive: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
