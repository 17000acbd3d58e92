/** Rotary positions as PyTorch writes them, angles a column times a row, with requests of any length. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { POLICIES } from "../../src/policy/registry.ts";
import { plainOf } from "../../src/tensor/plain_tensor.ts";
import { runRequests } from "../run_requests.ts";
import { given, near, type Request } from "./sequence_checks.ts";
import { Writer } from "./sequence_models.ts";
import { BATCHING } from "./step_cases.ts";

const SEED = 37;
const [WIDTH, HEADS, SIZE, WINDOW] = [8, 2, 4, 5];

/** A causal layer; with a window a position looks at the last `WINDOW` alone. */
function rotaryFile(isWindow: boolean) {
  const file = new Writer(new Prng(SEED));
  const x = file.add("Gather", [file.weight(11, WIDTH), "ids"]);
  const places = file.add("Range", [
    file.int(0),
    file.size("ids", 1),
    file.int(1),
  ]);
  const row = file.add("Cast", [
    file.add("Unsqueeze", [places, file.ints(0, 1)]),
  ], { to: 1 });
  const frequencies = file.constant(plainOf("float32", [1, 2, 1], [1, 0.1]));
  const angles = file.add("Transpose", [
    file.add("MatMul", [frequencies, row]),
  ], { perm: [0, 2, 1] });
  const twice = file.add("Concat", [angles, angles], { axis: -1 });
  const [cos, sin] = ["Cos", "Sin"].map((op) =>
    file.add("Unsqueeze", [file.add(op, [twice]), file.ints(1)])
  );
  const heads = () =>
    file.add("Transpose", [
      file.add("Reshape", [
        file.linear(x, WIDTH, WIDTH),
        file.ints(0, -1, HEADS, SIZE),
      ]),
    ], { perm: [0, 2, 1, 3] });
  const part = (of: string, from: number, to: number) =>
    file.add("Slice", [of, file.ints(from), file.ints(to), file.ints(3)]);
  const turned = (of: string) =>
    file.add("Add", [
      file.add("Mul", [of, cos]),
      file.add("Mul", [
        file.add("Concat", [
          file.add("Neg", [part(of, 2, 4)]),
          part(of, 0, 2),
        ], { axis: -1 }),
        sin,
      ]),
    ]);
  const [q, k] = [turned(heads()), turned(heads())];
  const [at, to] = [[0, 1, 2], [0, 1, 3]].map((axes) =>
    file.add("Unsqueeze", [places, file.ints(...axes)])
  );
  let isSeen = file.add("LessOrEqual", [at, to]);
  if (isWindow) {
    const near = file.add("Greater", [
      at,
      file.add("Sub", [to, file.int(WINDOW)]),
    ]);
    isSeen = file.add("And", [isSeen, near]);
  }
  const mask = file.add("Where", [
    isSeen,
    file.float(0),
    file.float(-3.4028234663852886e38),
  ]);
  const scores = file.add("Mul", [
    file.add("MatMul", [q, file.add("Transpose", [k], { perm: [0, 1, 3, 2] })]),
    file.float(0.5),
  ]);
  const shares = file.add("Softmax", [file.add("Add", [scores, mask])], {
    axis: -1,
  });
  const mixed = file.add("Transpose", [
    file.add("MatMul", [shares, heads()]),
  ], { perm: [0, 2, 1, 3] });
  file.add(
    "Reshape",
    [mixed, file.ints(0, -1, WIDTH)],
    undefined,
    "hidden",
  );
  return file.read(
    [{ name: "ids", type: "int64", dims: ["batch", "sequence"] }],
    ["hidden"],
    17,
  );
}

const request = (length: number): Request => {
  const ids = Array.from({ length }, (_, i) => (i * 7 + length) % 11);
  return new Map([["ids", plainOf("int64", [1, length], ids)]]);
};

Deno.test(`rotary positions of any length, alone and in batches (seed ${SEED})`, () => {
  const file = rotaryFile(false);
  const model = onnxModel(file, { sizesMax: { sequence: 12 } });
  const requests = [3, 9, 1, 12, 4].map(request);
  for (const each of requests) near(model, file, each, "rotary");
  const asked = requests.map(given);
  const alone = asked.map((each) => runRequests(model, [each])[0]);
  for (const [policy, options] of Object.entries(BATCHING)) {
    const together = runRequests(model, asked, {
      policy: POLICIES[policy].build(options),
      workers: 2,
      gapNs: 900,
    });
    assert.deepEqual(together, alone, policy);
  }
});

Deno.test("a window of attention takes requests that lie in it, and says so of others", () => {
  const file = rotaryFile(true);
  const model = onnxModel(file, { sizesMax: { sequence: 12 } });
  near(model, file, request(WINDOW), "window");
  assert.throws(
    () => runRequests(model, [given(request(WINDOW + 1))]),
    /of 6 "sequence" .* looks at some only, as a window does/,
  );
});
