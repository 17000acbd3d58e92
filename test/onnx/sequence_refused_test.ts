/** What keeps an axis from staying free, and requests that do not fit: told by node, by input, by number. */
import assert from "node:assert/strict";
import type { Model } from "../../src/graph/model.ts";
import { Prng } from "../../src/base/prng.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { type ModelOptions, onnxModel } from "../../src/onnx/model.ts";
import { runRequests } from "../run_requests.ts";
import { BERT_INPUTS, bertFile, Writer } from "./sequence_models.ts";
import { node } from "./write_model.ts";

const BERT = bertFile(new Prng(7), {
  ...{ layers: 1, hidden: 8, heads: 2, vocabulary: 23, positions: 20 },
  ...{ mask: "added", norm: "parts", head: "pooled" },
}).read(BERT_INPUTS, ["last_hidden_state", "head"], 17);

/** A file of frames. */
function framesFile(
  write: (file: Writer) => string,
  dims: (string | number)[] = ["time", 1, 4],
) {
  const file = new Writer(new Prng(7));
  const last = write(file);
  file.add("Identity", [last], undefined, "y");
  return file.read([{ name: "x", dims }], ["y"], 17);
}

function refuses(
  file: ReturnType<typeof framesFile>,
  options: ModelOptions,
  message: RegExp,
): void {
  assert.throws(() => onnxModel(file, options), (error) => {
    assert(error instanceof OnnxError, `${error}`);
    assert.match(error.message, message);
    return true;
  });
}

Deno.test("what computes positions together is named, with the way out", () => {
  const free = { sizesMax: { time: 16 } };
  const wayOut = /; give its size instead, sizes: { "time": \.\.\. }$/;
  const over = (write: (file: Writer) => string, why: RegExp) => {
    refuses(framesFile(write), free, why);
    refuses(framesFile(write), free, wayOut);
    onnxModel(framesFile(write), { sizes: { time: 5 } });
  };
  over(
    (file) => {
      const turned = file.add("Transpose", ["x"], { perm: [1, 2, 0] });
      const made = file.add("Conv", [turned, file.weight(4, 4, 3)], {
        pads: [1, 1],
      });
      return file.add("Relu", [made]);
    },
    /node "Conv:conv_\d+" \(Conv\): "time" cannot stay free: it computes positions together: a convolution/,
  );
  over(
    (file) => file.add("Softmax", [file.linear("x", 4, 4)], { axis: 0 }),
    /\(Softmax\): "time" cannot stay free: it computes positions together: it goes along/,
  );
  over((file) => {
    const rows = file.linear("x", 4, 4);
    const turned = file.add("Transpose", [rows], { perm: [1, 2, 0] });
    const back = file.add("Transpose", [rows], { perm: [1, 0, 2] });
    return file.add("MatMul", [turned, back]);
  }, /\(MatMul\): "time" cannot stay free: it computes positions together/);
  over((file) =>
    file.add("Slice", [
      file.linear("x", 4, 4),
      file.ints(-1),
      file.ints(-(2 ** 40)),
      file.ints(0),
      file.ints(-1),
    ]), /\(Slice\): "time" cannot stay free: it computes positions together/);
  over((file) => {
    const gates = [file.weight(1, 12, 4), file.weight(1, 12, 3)];
    file.nodes.push(
      node("LSTM", [file.linear("x", 4, 4), ...gates], ["h"], {
        hidden_size: 3,
        clip: { float: 1 },
      }),
    );
    return "h";
  }, /\(LSTM\): .*clipping/);
  // What graphs of a node read from around is read by the node, too.
  over((file) => {
    const branch = (op: string) => ({
      graph: {
        outputs: [{ name: op }],
        nodes: [node(op, ["x"], [op], { axes: [0] })],
      },
    });
    const first = file.ints(...Array(3).fill(0));
    const number = file.add("GatherND", [
      file.add("ReduceMax", ["x"], { axes: [0] }),
      first,
    ]);
    return file.add("If", [file.add("Less", [number, file.float(0)])], {
      then_branch: branch("ReduceMean"),
      else_branch: branch("ReduceMax"),
    });
  }, /\(If\): "time" cannot stay free: it computes positions together/);
});

Deno.test("attention behind recurrent layers is refused by name", () => {
  const file = framesFile((file) => {
    const gates = [file.weight(1, 16, 4), file.weight(1, 16, 4)];
    file.nodes.push(node("LSTM", ["x", ...gates], ["h"], { hidden_size: 4 }));
    const rows = file.add("Squeeze", ["h", file.ints(1)]);
    const row = file.add("Transpose", [rows], { perm: [1, 0, 2] });
    const columns = file.add("Transpose", [rows], { perm: [1, 2, 0] });
    const weights = file.add("Softmax", [file.add("MatMul", [row, columns])], {
      axis: -1,
    });
    return file.add("MatMul", [weights, row]);
  });
  refuses(
    file,
    { sizesMax: { time: 16 } },
    /\(MatMul\): "time" cannot stay free: it is attention behind a recurrent layer/,
  );
});

Deno.test("numbers that are added to scores have to be a mask", () => {
  const file = framesFile((file) => {
    const row = file.add("Transpose", ["x"], { perm: [1, 0, 2] });
    const columns = file.add("Transpose", ["x"], { perm: [1, 2, 0] });
    const positions = file.add("Range", [
      file.int(0),
      file.size("x", 0),
      file.int(1),
    ]);
    const slope = file.add("Cast", [positions], { to: 1 });
    const scores = file.add("Add", [
      file.add("MatMul", [row, columns]),
      slope,
    ]);
    const weights = file.add("Softmax", [scores], { axis: -1 });
    return file.add("MatMul", [weights, row]);
  });
  refuses(
    file,
    { sizesMax: { time: 16 } },
    /\(MatMul\): "time" cannot stay free: "cast_\d+" changes scores/,
  );
});

Deno.test("one axis stays free, of a size that there is", () => {
  const file = framesFile((file) => file.add("Relu", ["x"]), [
    "time",
    "rows",
    "wide",
  ]);
  const sizes = { rows: 1, wide: 4 };
  onnxModel(file, { sizes, sizesMax: { time: 3 } });
  const fails = (options: ModelOptions, message: RegExp) =>
    refuses(file, options, message);
  fails({ sizes, sizesMax: { tone: 3 } }, /size "tone": no input has an axis/);
  fails({ sizes, sizesMax: { time: 0 } }, /size "time": .*positive integer/);
  fails({ sizes, sizesMax: { time: 2 ** 17 } }, /size "time": .*at most/);
  fails(
    { sizes: { wide: 4 }, sizesMax: { time: 3, rows: 2 } },
    /one axis stays free/,
  );
  fails(
    { sizes: { ...sizes, time: 2 }, sizesMax: { time: 3 } },
    /give one, sizes: .* or sizesMax: /,
  );
});

const request = (length: number, ids = 1, mask = 1) => ({
  input_ids: new BigInt64Array(length).fill(BigInt(ids)),
  attention_mask: new BigInt64Array(length).fill(1n).fill(BigInt(mask), -1),
  token_type_ids: new BigInt64Array(length),
});

Deno.test("requests that do not fit are refused, the others are not", () => {
  const model: Model = onnxModel(BERT, {
    name: "bert",
    sizesMax: { sequence: 8 },
  });
  const refused = (input: unknown, message: RegExp) =>
    assert.throws(() => model.check(input), message);
  refused(
    request(9),
    /"input_ids" of "bert" is BigInt64Array \[1, sequence <= 8\], got 9/,
  );
  refused(request(0), /got 0 elements/);
  refused(
    { ...request(4), token_type_ids: new BigInt64Array(3) },
    /got 3 of "sequence", of which "input_ids" has 4/,
  );
  refused(
    {
      ...request(4),
      input_ids: { shape: [2, 2], data: new BigInt64Array(4) },
    },
    /\[2, 2\]/,
  );
  refused(
    request(4, 1, 0),
    /"bert" does not fit: .* masks positions by "attention_mask"/,
  );
  refused(request(4, 23), /does not fit: "input_ids" has 23: .* 0 to 22/);
  model.check(request(4));
  const [wrapped, zero] = runRequests(model, [request(3, -23), request(3, 0)]);
  assert.deepStrictEqual(wrapped, zero);
});

Deno.test("a request that is too short for a position is refused", () => {
  const file = framesFile((file) =>
    file.add("Gather", [file.linear("x", 4, 2), file.int(2)], { axis: 0 })
  );
  const model: Model = onnxModel(file, { sizesMax: { time: 5 } });
  const frames = (length: number) => ({ x: new Float32Array(4 * length) });
  model.check(frames(3));
  assert.throws(() => model.check(frames(2)), /position 2 of "time" is read/);
});

Deno.test("a table of positions bounds the length", () => {
  onnxModel(BERT, { sizesMax: { sequence: 20 } });
  refuses(
    BERT,
    { sizesMax: { sequence: 21 } },
    /size "sequence": 21 are too many/,
  );
});
