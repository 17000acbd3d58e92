/**
 * ONNX operators as calls of our kernels, for the conformance cases: those that models of files leave to plain
 * operators, or of which their cells take fewer cases (images of a batch above 1). An adapter returns
 * undefined where a case asks for what the kernels do not claim to do (3-D images, cubic
 * resizing, masks other than causal, ...).
 */
import { packQ8 } from "../../src/kernels/pack/pack_q8.ts";
import { type Adapter, input, type OnnxTensor } from "./onnx_case.ts";
import type { OnnxHost } from "./onnx_host.ts";
import { convolve, pool, resize } from "./onnx_images.ts";

const size = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

function norm(kind: "layer" | "rms"): Adapter {
  return (host, given) => {
    const { attributes } = given;
    const [x, w, b] = [input(given, 0)!, input(given, 1)!, input(given, 2)];
    const axis = (attributes.axis as number | undefined) ?? -1;
    const n = size(x.shape.slice(axis < 0 ? axis + x.shape.length : axis));
    const m = x.data.length / n;
    const epsilon = (attributes.epsilon as number | undefined) ?? 1e-5;
    const [rows, out] = [host.rows(m, n, x.data), host.rows(m, n)];
    const gamma = host.put(w.data);
    if (kind === "rms") {
      host.kernels.rms_norm_f32(m, n, rows.table, gamma, epsilon, out.table);
    } else {
      const beta = b ? host.put(b.data) : 0;
      host.kernels.layer_norm_f32(
        ...[m, n, rows.table, gamma, beta, epsilon, out.table] as const,
      );
    }
    return [out.read()];
  };
}

const topk: Adapter = (host, given) => {
  const [x, k] = [input(given, 0)!, input(given, 1)!.data[0]];
  const axis = (given.attributes.axis as number | undefined) ?? -1;
  if (axis !== -1 && axis !== x.shape.length - 1) return undefined;
  const n = x.shape.at(-1)!;
  const m = x.data.length / n;
  const largest = (given.attributes.largest as number | undefined) ?? 1;
  const rows = host.rows(m, n, x.data);
  const [values, ids] = [host.rows(m, k), host.rows(m, k)];
  host.kernels.topk_rows_f32(
    ...[m, n, k, largest, rows.table, values.table, ids.table] as const,
  );
  return [values.read(), ids.words()];
};

/** Quantised rows as a host writes them. */
function quantized(
  host: OnnxHost,
  m: number,
  bytes: ArrayLike<number>,
  scale: number,
  zero: number,
) {
  const k = bytes.length / m;
  const width = 4 + Math.ceil(k / 4);
  const words = new Int32Array(m * width);
  for (let i = 0; i < m; ++i) {
    const row = words.subarray(i * width, (i + 1) * width);
    const values = Array.from({ length: k }, (_, j) => bytes[i * k + j]);
    new Float32Array(row.buffer, row.byteOffset)[0] = scale;
    row[1] = zero;
    row[2] = values.reduce((a, b) => a + b, 0);
    new Uint8Array(row.buffer, row.byteOffset + 16, k).set(values);
  }
  const at = host.put(words);
  return host.put(
    Int32Array.from({ length: m }, (_, i) => at + 4 * width * i),
  );
}

/** [k][n] bytes to [n][k] signed ones; unsigned ones move by 128, and their zero point with them. */
function weights(b: OnnxTensor, zero: number, scale: number) {
  const [k, n] = b.shape as [number, number];
  const shift = b.dtype === "uint8" ? 128 : 0;
  const values = Int8Array.from(
    { length: n * k },
    (_, i) => b.data[i % k * n + Math.floor(i / k)] - shift,
  );
  return {
    n,
    k,
    packed: packQ8({
      n,
      k,
      values,
      scale: new Float32Array(n).fill(scale),
      zero: new Int32Array(n).fill(zero - shift),
    }),
  };
}

const matmulInteger: Adapter = (host, given) => {
  const [a, b] = [input(given, 0)!, input(given, 1)!];
  const zeroA = input(given, 2)?.data[0] ?? 0;
  const { n, k, packed } = weights(b, input(given, 3)?.data[0] ?? 0, 1);
  const m = a.shape[0];
  const rows = quantized(host, m, a.data, 1, zeroA);
  const out = host.rows(m, n);
  host.kernels.gemm_q8_i32(m, n, k, 0, rows, host.put(packed), out.table);
  return [out.words()];
};

const qlinearMatmul: Adapter = (host, given) => {
  const [a, b] = [input(given, 0)!, input(given, 3)!];
  if (a.dtype !== "uint8" || a.shape.length !== 2) return undefined;
  const value = (i: number) => input(given, i)!.data[0];
  const { n, k, packed } = weights(b, value(5), value(4));
  const m = a.shape[0];
  const rows = quantized(host, m, a.data, value(1), value(2));
  const width = 4 + Math.ceil(n / 4);
  const out = host.rows(m, width);
  const w = host.put(packed);
  host.kernels.gemm_q8_u8(
    ...[m, n, k, 0, rows, w, out.table, 0, value(6), value(7)] as const,
  );
  const bytes = new Uint8Array(out.words().buffer);
  return [
    Array.from(
      { length: m },
      (_, i) =>
        Array.from(bytes.subarray(4 * width * i + 16, 4 * width * i + 16 + n)),
    )
      .flat(),
  ];
};

const dynamicQuantize: Adapter = (host, { inputs: [x] }) => {
  const k = x.data.length;
  const out = host.rows(1, 4 + Math.ceil(k / 4));
  host.kernels.quantize_rows_f32(
    ...[1, k, 255, host.rows(1, k, x.data).table, out.table] as const,
  );
  const words = out.words();
  return [
    new Uint8Array(words.buffer).slice(16, 16 + k),
    [new Float32Array(words.buffer)[0]],
    [words[1]],
  ];
};

/** Without masks other than the causal one, without past (a past is a longer cache). */
const attention: Adapter = (host, given) => {
  const { attributes } = given;
  const [q, k, v] = [0, 1, 2].map((i) => input(given, i)!) as [
    OnnxTensor,
    OnnxTensor,
    OnnxTensor,
  ];
  if (
    given.inputs.length > 3 || attributes.softcap ||
    attributes.qk_matmul_output_mode
  ) {
    return undefined;
  }
  const four = q.shape.length === 4;
  const heads = four ? q.shape[1] : attributes.q_num_heads as number;
  const kvHeads = four ? k.shape[1] : attributes.kv_num_heads as number;
  const [tokens, positions] = four
    ? [q.shape[2], k.shape[2]]
    : [q.shape[1], k.shape[1]];
  const batch = q.shape[0];
  const headSize = q.data.length / batch / heads / tokens;
  if (v.data.length !== k.data.length) return undefined;
  // [batch][heads][tokens][size] to [batch][tokens][heads][size].
  const joined = ({ data }: OnnxTensor, count: number, length: number) =>
    !four ? data : Array.from(data, (_, i) => {
      const at = Math.floor(i / headSize);
      const head = at % count;
      const token = Math.floor(at / count) % length;
      const image = Math.floor(at / count / length);
      return data[
        ((image * count + head) * length + token) * headSize + i % headSize
      ];
    });
  const capacity = Math.ceil(positions / 8) * 8;
  const width = kvHeads * headSize;
  const caches = [0, 1].map(() =>
    Array.from({ length: batch }, () => host.alloc(4 * capacity * width))
  );
  const each = (
    count: number,
    value: (sequence: number, at: number) => number,
  ) =>
    host.put(
      Int32Array.from(
        { length: batch * count },
        (_, i) => value(Math.floor(i / count), i % count),
      ),
    );
  const cacheTables = (count: number) =>
    caches.map((cache) => each(count, (s) => cache[s])) as [number, number];
  host.kernels.attention_append_f32(
    ...[batch * positions, width, width] as const,
    host.rows(batch * positions, width, joined(k, kvHeads, positions)).table,
    host.rows(batch * positions, width, joined(v, kvHeads, positions)).table,
    each(positions, (_, t) => t),
    ...cacheTables(positions),
  );
  const rows = host.rows(
    batch * tokens,
    heads * headSize,
    joined(q, heads, tokens),
  );
  const out = host.rows(batch * tokens, heads * headSize);
  const scale = (attributes.scale as number | undefined) ??
    1 / Math.sqrt(headSize);
  host.kernels.attention_f32(
    ...[batch * tokens, heads, kvHeads, headSize, capacity, scale, 0] as const,
    rows.table,
    ...cacheTables(tokens),
    each(
      tokens,
      (_, t) =>
        attributes.is_causal === 1 ? Math.min(positions, t + 1) : positions,
    ),
    0,
    out.table,
    host.alloc(host.kernels.attention_scratch_bytes(capacity)),
  );
  const got = out.read();
  if (!four) return [got];
  return [got.map((_, i) => {
    const at = Math.floor(i / headSize);
    const token = at % tokens;
    const head = Math.floor(at / tokens) % heads;
    const image = Math.floor(at / tokens / heads);
    return got[
      ((image * tokens + token) * heads + head) * headSize + i % headSize
    ];
  })];
};

/** Adapters by operator, and the least number of cases that each must take. */
export const OPERATORS: Record<string, { run: Adapter; least: number }> = {
  Conv: { run: convolve(false), least: 12 },
  ConvTranspose: { run: convolve(true), least: 5 },
  MaxPool: { run: pool("max", false), least: 9 },
  AveragePool: { run: pool("average", false), least: 8 },
  GlobalAveragePool: { run: pool("average", true), least: 1 },
  GlobalMaxPool: { run: pool("max", true), least: 1 },
  Resize: { run: resize, least: 8 },
  LayerNormalization: { run: norm("layer"), least: 10 },
  RMSNormalization: { run: norm("rms"), least: 10 },
  TopK: { run: topk, least: 3 },
  MatMulInteger: { run: matmulInteger, least: 1 },
  QLinearMatMul: { run: qlinearMatmul, least: 1 },
  DynamicQuantizeLinear: { run: dynamicQuantize, least: 2 },
  Attention: { run: attention, least: 6 },
};
