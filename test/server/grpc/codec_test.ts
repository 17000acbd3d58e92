/** Messages of Protocol Buffers: what is written is read, in whatever form, and what is none is refused in a line. */
import assert from "node:assert/strict";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import fc from "fast-check";
import { propertyRuns } from "../../property_runs.ts";
import { decode } from "../../../src/server/grpc/decode.ts";
import { leftMsOf, timeoutText } from "../../../src/server/grpc/deadline.ts";
import { encode } from "../../../src/server/grpc/encode.ts";
import { framed, frames, unframed } from "../../../src/server/grpc/frames.ts";
import { readInferRequest } from "../../../src/server/grpc/infer_request.ts";
import { INFER_REQUEST } from "../../../src/server/grpc/messages.ts";
import { HttpError } from "../../../src/server/http/http_error.ts";

const input = {
  name: "x",
  datatype: "FP32",
  shape: [2],
  contents: { fp32_contents: [1.5, -0] },
};

const REQUEST = {
  model_name: "m",
  id: "7",
  parameters: {
    priority: { int64_param: 2 },
    exact: { uint64_param: 2n ** 64n - 1n },
    half: { double_param: 0.5 },
    none: { bool_param: false },
    empty: { string_param: "" },
  },
  inputs: [input, { ...input, name: "y" }],
  outputs: [{ name: "o" }],
};

Deno.test("a request is read as it was written", () => {
  const { model, request, isTyped, ...rest } = readInferRequest(
    encode(INFER_REQUEST, REQUEST),
  );
  assert.deepEqual([model, isTyped, rest], ["m", true, {}]);
  assert.deepEqual(request.parameters, {
    priority: 2,
    exact: 2n ** 64n - 1n,
    half: 0.5,
    none: false,
    empty: "",
  });
  assert.equal(request.id, "7");
  assert.deepEqual(request.outputs, [{ name: "o" }]);
  assert.deepEqual(
    [...request.inputs.values()],
    ["x", "y"].map((name) => ({
      name,
      datatype: "FP32",
      shape: [2],
      data: Float32Array.of(1.5, -0),
    })),
  );
});

Deno.test("of several values of one field the last one counts", () => {
  const twice = new Uint8Array([
    ...encode(INFER_REQUEST, { ...REQUEST, model_name: "first" }),
    ...encode(INFER_REQUEST, { model_name: "last" }),
  ]);
  assert.equal(readInferRequest(twice).model, "last");
});

Deno.test("numbers one by one are the same as packed ones", () => {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.LengthDelimited).string("m");
  writer.tag(5, WireType.LengthDelimited).fork();
  writer.tag(1, WireType.LengthDelimited).string("x");
  writer.tag(2, WireType.LengthDelimited).string("INT32");
  writer.tag(3, WireType.Varint).int64(3);
  writer.tag(5, WireType.LengthDelimited).fork();
  for (const value of [1, -2]) writer.tag(2, WireType.Varint).int32(value);
  writer.tag(2, WireType.LengthDelimited).fork().int32(3).join();
  const bytes = writer.join().join().finish();
  const { request } = readInferRequest(bytes);
  assert.deepEqual(request.inputs.get("x")!.data, Int32Array.of(1, -2, 3));
});

Deno.test("whatever is changed of a request, it is one or it is refused in a line", () => {
  const good = encode(INFER_REQUEST, {
    ...REQUEST,
    inputs: [input],
    raw_input_contents: [],
  });
  fc.assert(
    fc.property(
      fc.array(
        fc.tuple(fc.nat(good.length - 1), fc.integer({ min: 0, max: 255 })),
        { minLength: 1, maxLength: 4 },
      ),
      fc.nat(good.length),
      (changes, end) => {
        const bytes = good.slice();
        for (const [at, byte] of changes) bytes[at] = byte;
        for (const sent of [bytes, bytes.subarray(0, end)]) {
          try {
            readInferRequest(sent);
          } catch (error) {
            assert(error instanceof HttpError, `${error}`);
            assert.equal(error.status, 400);
            assert(error.message.length < 500, error.message);
          }
        }
      },
    ),
    { numRuns: propertyRuns(2000) },
  );
});

Deno.test("a message of very many parts is not read to its end", () => {
  const parts = 2 ** 20;
  const bytes = new Uint8Array(2 * parts);
  for (let i = 0; i < parts; i++) bytes[2 * i] = (7 << 3) | 2;
  assert.throws(() => decode(INFER_REQUEST, bytes), /more than 1048576 fields/);
  assert.throws(() => readInferRequest(bytes.subarray(0, 8)), /inputs/);
});

Deno.test("strings of several tensors are counted together", () => {
  const count = 2 ** 19;
  const inputs = ["a", "b", "c"].map((name) => ({
    ...{ name, datatype: "BYTES", shape: [BigInt(count)] },
  }));
  const raw_input_contents = inputs.map(() => new Uint8Array(4 * count));
  const sent = encode(INFER_REQUEST, { inputs, raw_input_contents });
  assert.throws(() => readInferRequest(sent), /up to 1048576 strings/);
});

async function allOf(
  pieces: readonly Uint8Array[],
  bytesMax = 1000,
): Promise<number[][]> {
  const all: number[][] = [];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  for await (const message of frames(body, bytesMax)) all.push([...message]);
  return all;
}

Deno.test("messages are the same, in whatever pieces they come", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 5 }),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }),
      async (messages, sizes) => {
        const all = messages.flatMap((message) => [...framed(message)]);
        const pieces: Uint8Array[] = [];
        for (let at = 0, i = 0; at < all.length; i++) {
          const size = sizes[i % sizes.length];
          pieces.push(Uint8Array.from(all.slice(at, at + size)));
          at += size;
        }
        assert.deepEqual(
          await allOf(pieces),
          messages.map((message) => [...message]),
        );
      },
    ),
    { numRuns: propertyRuns(200) },
  );
});

Deno.test("frames that are none are refused", async () => {
  const message = framed(new Uint8Array(10));
  await assert.rejects(allOf([message.subarray(0, 12)]), { status: 400 });
  await assert.rejects(allOf([message.subarray(0, 5)]), { status: 400 });
  await assert.rejects(allOf([message.subarray(0, 3)]), { status: 400 });
  await assert.rejects(allOf([message], 9), { status: 413 });
  await assert.rejects(allOf([message.with(0, 1)]), { status: 400 });
  for (const bytes of [message.subarray(0, 4), message.subarray(0, 14)]) {
    assert.throws(() => unframed(bytes), { status: 400 });
  }
  assert.equal(unframed(message).length, 10);
});

Deno.test("times are read in every unit, and written so that they are", () => {
  const read = (text: string) =>
    leftMsOf(new Headers({ "grpc-timeout": text }));
  assert.deepEqual(
    ["2H", "2M", "2S", "2m", "2000u", "2000000n"].map(read),
    [7_200_000, 120_000, 2000, 2, 2, 2],
  );
  assert.equal(leftMsOf(new Headers()), Infinity);
  for (const text of ["", "2", "2x", "-2S", "123456789S", "2 S"]) {
    assert.throws(() => read(text), { status: 400 }, text);
  }
  assert.deepEqual(
    [-5, 0, 0.5, 99_999, 100_000, 1e15].map((ms) => read(timeoutText(ms))),
    [0, 0, 0.5, 99_999, 100_000, 99_999_999_000],
  );
});
