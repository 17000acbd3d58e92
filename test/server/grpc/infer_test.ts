/** Inference over gRPC with npm's client: every type, in lists and as bytes; the same bits as over HTTP. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { propertyRuns } from "../../property_runs.ts";
import { lstm } from "../../../src/models/lstm.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { servedOnnx } from "../../../src/server/models/served_onnx.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import {
  answerOf,
  binaryOf,
  type ClientTensor,
  fromBinary,
  requestOf,
} from "../oip/client.ts";
import { echo } from "../oip/served.ts";
import { scaleFile } from "../repository/folders.ts";
import { type CallError, grpc } from "./client.ts";
import { withGrpc } from "./serving.ts";

const { status } = grpc;

const INTENTS = servedTokens(
  lstm({ hidden: 8, vocabulary: 10, head: "classifier" }),
  { name: "intents" },
);
const SCALE = servedOnnx(await loadOnnx(scaleFile(2), { name: "scale" }), {
  name: "scale",
});

const LISTS: Readonly<Record<string, string>> = {
  BOOL: "bool_contents",
  INT8: "int_contents",
  INT16: "int_contents",
  INT32: "int_contents",
  INT64: "int64_contents",
  UINT8: "uint_contents",
  UINT16: "uint_contents",
  UINT32: "uint_contents",
  UINT64: "uint64_contents",
  FP32: "fp32_contents",
  FP64: "fp64_contents",
  BYTES: "bytes_contents",
};

const int = (min: number, max: number) => fc.integer({ min, max });

const VALUES: Readonly<
  Record<string, fc.Arbitrary<number | bigint | string | boolean>>
> = {
  BOOL: fc.boolean(),
  INT8: int(-128, 127),
  INT16: int(-32_768, 32_767),
  INT32: int(-(2 ** 31), 2 ** 31 - 1),
  INT64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  UINT8: int(0, 255),
  UINT16: int(0, 65_535),
  UINT32: int(0, 2 ** 32 - 1),
  UINT64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  FP16: int(0, 0x7bff),
  BF16: int(0, 0x7f7f),
  FP32: fc.float(),
  FP64: fc.double(),
  BYTES: fc.string({ unit: "grapheme" }),
};

/** Elements as the client's messages have them. */
function elementsOf({ datatype, values }: ClientTensor): unknown[] {
  return values.map((value) =>
    typeof value === "bigint"
      ? `${value}`
      : datatype === "BYTES"
      ? Buffer.from(value as string)
      : value
  );
}

interface Answer {
  readonly id: string;
  readonly model_name: string;
  readonly model_version: string;
  readonly outputs: readonly {
    readonly name: string;
    readonly datatype: string;
    readonly shape: readonly string[];
    readonly contents: Readonly<Record<string, readonly unknown[]>> | null;
  }[];
  readonly raw_output_contents: readonly Uint8Array[];
}

/** A request with tensors in lists, or all as bytes. */
function requestWith(
  model: string,
  tensors: readonly ClientTensor[],
  isRaw: boolean,
  rest: object = {},
): object {
  return {
    model_name: model,
    inputs: tensors.map((tensor) => ({
      name: tensor.name,
      datatype: tensor.datatype,
      shape: tensor.shape,
      ...(!isRaw &&
        { contents: { [LISTS[tensor.datatype]]: elementsOf(tensor) } }),
    })),
    ...(isRaw && {
      raw_input_contents: tensors.map((tensor) =>
        Buffer.from(binaryOf(tensor))
      ),
    }),
    ...rest,
  };
}

const TOKENS: ClientTensor = {
  ...{ name: "tokens", datatype: "INT32", shape: [3] },
  values: [3, 1, 4],
};

const plain = (value: unknown) => Number.isNaN(value) ? "NaN" : value;

Deno.test("every tensor comes back as it went, in lists and as bytes", async () => {
  const tensor = (name: string, isRaw: boolean) =>
    fc.constantFrom(
      ...Object.keys(VALUES).filter((type) => isRaw || LISTS[type]),
    ).chain((datatype) =>
      fc.array(int(0, 3), { maxLength: 3 }).chain((shape) => {
        const count = shape.reduce((product, size) => product * size, 1);
        return fc.array(VALUES[datatype], {
          minLength: count,
          maxLength: count,
        }).map((values): ClientTensor => ({ name, datatype, shape, values }));
      })
    );
  const cases = fc.boolean().chain((isRaw) =>
    fc.tuple(
      fc.constant(isRaw),
      int(1, 3).chain((count) =>
        fc.tuple(
          ...Array.from({ length: count }, (_, i) => tensor(`t${i}`, isRaw)),
        )
      ),
      fc.constantFrom(undefined, true, false),
    )
  );
  const run = async (
    isRaw: boolean,
    tensors: readonly ClientTensor[],
    asked: boolean | undefined,
  ) => {
    const specs = tensors.map(({ name, datatype, shape }) => ({
      name,
      datatype: datatype as "FP32",
      shape,
    }));
    await withGrpc([echo(specs)], async ({ client }) => {
      const answer = await client.call(
        "ModelInfer",
        requestWith("echo", tensors, isRaw, {
          id: "mine",
          ...(asked !== undefined && {
            parameters: { binary_data_output: { bool_param: asked } },
          }),
        }),
      ) as unknown as Answer;
      assert.equal(answer.id, "mine");
      // A list of no elements is as if there was none.
      const hasTyped = tensors.some(({ values }) => values.length > 0);
      const isHalf = tensors.some(({ datatype }) => !LISTS[datatype]);
      const isRawBack = isHalf || (asked ?? isRaw);
      assert.equal(answer.raw_output_contents.length > 0, isRawBack);
      assert.equal(
        answer.outputs.some(({ contents }) =>
          Object.values(contents ?? {}).some((list) => list.length > 0)
        ),
        !isRawBack && hasTyped,
      );
      answer.outputs.forEach(({ name, datatype, shape, contents }, i) => {
        const sent = tensors[i];
        assert.deepEqual(
          [name, datatype, shape.map(Number)],
          [sent.name, sent.datatype, sent.shape],
        );
        const raw = answer.raw_output_contents[i];
        const got = isRawBack
          ? fromBinary(datatype, new Uint8Array(raw))
          : contents![LISTS[datatype]].map((value) =>
            value instanceof Uint8Array
              ? new TextDecoder().decode(value)
              : typeof sent.values[0] === "bigint"
              ? BigInt(value as string)
              : value
          );
        assert.deepEqual(got.map(plain), sent.values.map(plain));
      });
    });
  };
  await fc.assert(
    fc.asyncProperty(
      cases,
      ([isRaw, tensors, asked]) => run(isRaw, tensors, asked),
    ),
    { numRuns: propertyRuns(60) },
  );
});

Deno.test("the bits are HTTP's", async () => {
  await withGrpc([INTENTS], async ({ client, ask }) => {
    const overHttp = await answerOf(
      await ask(
        "/v2/models/intents/infer",
        requestOf([[TOKENS, "binary"]], {
          parameters: { binary_data_output: true },
        }),
      ),
    );
    for (const isRaw of [true, false]) {
      const answer = await client.call(
        "ModelInfer",
        requestWith("intents", [TOKENS], isRaw),
      ) as unknown as Answer;
      answer.outputs.forEach(({ name, contents }, i) => {
        const expected = overHttp.outputs[i];
        assert.equal(name, expected.name);
        const got = isRaw
          ? fromBinary("FP32", new Uint8Array(answer.raw_output_contents[i]))
          : contents!["fp32_contents"];
        assert.deepEqual(got, expected.values);
      });
    }
  });
});

Deno.test("outputs are those that are asked for, in that order", async () => {
  await withGrpc([INTENTS], async ({ client }) => {
    const answer = await client.call(
      "ModelInfer",
      requestWith("intents", [TOKENS], true, {
        model_version: "1",
        outputs: [{ name: "logits" }],
      }),
    ) as unknown as Answer;
    assert.deepEqual(answer.outputs.map(({ name }) => name), ["logits"]);
    assert.equal(answer.raw_output_contents.length, 1);
    assert.deepEqual([answer.model_name, answer.model_version], [
      "intents",
      "1",
    ]);
  });
});

Deno.test("what is wrong with a request has a code and a sentence", async () => {
  const tokens = (fields: object) => ({
    model_name: "intents",
    inputs: [{ name: "tokens", datatype: "INT32", shape: [2], ...fields }],
  });
  const BAD: readonly [request: object, code: string, told: RegExp][] = [
    [{}, "NOT_FOUND", /no model ""/],
    [{ model_name: "none" }, "NOT_FOUND", /no model "none"/],
    [
      requestWith("intents", [TOKENS], true, { model_version: "7" }),
      "NOT_FOUND",
      /no version "7"/,
    ],
    [{ model_name: "intents" }, "INVALID_ARGUMENT", /"tokens".*missing/],
    [tokens({}), "INVALID_ARGUMENT", /2 elements, got 0/],
    [
      tokens({ contents: { int_contents: [1] } }),
      "INVALID_ARGUMENT",
      /2 elements, got 1/,
    ],
    [
      tokens({ contents: { int64_contents: [1, 2] } }),
      "INVALID_ARGUMENT",
      /"int_contents", not "int64_contents"/,
    ],
    [
      tokens({ datatype: "INT8", contents: { int_contents: [1, 128] } }),
      "INVALID_ARGUMENT",
      /INT8, got 128 at 1/,
    ],
    [
      tokens({ datatype: "INT33", contents: { int_contents: [1, 2] } }),
      "INVALID_ARGUMENT",
      /"datatype".*one of/,
    ],
    [
      tokens({ datatype: "FP16", contents: { fp32_contents: [1, 2] } }),
      "INVALID_ARGUMENT",
      /FP16.*raw_input_contents/,
    ],
    [
      tokens({ shape: [-2], contents: { int_contents: [1, 2] } }),
      "INVALID_ARGUMENT",
      /whole numbers/,
    ],
    [
      tokens({ shape: ["4294967296", "4294967296"] }),
      "INVALID_ARGUMENT",
      /more elements/,
    ],
    [
      { ...tokens({}), raw_input_contents: [Buffer.alloc(7)] },
      "INVALID_ARGUMENT",
      /8 bytes, got 7/,
    ],
    [
      {
        ...tokens({}),
        raw_input_contents: [Buffer.alloc(8), Buffer.alloc(8)],
      },
      "INVALID_ARGUMENT",
      /bytes of 2 inputs, of which there are 1/,
    ],
    [
      {
        ...tokens({ contents: { int_contents: [1, 2] } }),
        raw_input_contents: [Buffer.alloc(8)],
      },
      "INVALID_ARGUMENT",
      /one or the other/,
    ],
    [
      {
        model_name: "intents",
        inputs: [...tokens({}).inputs, ...tokens({}).inputs],
        raw_input_contents: [Buffer.alloc(8), Buffer.alloc(8)],
      },
      "INVALID_ARGUMENT",
      /twice/,
    ],
    [
      tokens({ contents: { int_contents: [1, 10] } }),
      "INVALID_ARGUMENT",
      /tokens\[1\]/,
    ],
    [
      requestWith("intents", [TOKENS], true, {
        parameters: { timeout: {} },
      }),
      "INVALID_ARGUMENT",
      /"timeout" has 0 values/,
    ],
    [
      requestWith("intents", [TOKENS], true, {
        parameters: { priority: { string_param: "high" } },
      }),
      "INVALID_ARGUMENT",
      /"priority" is a whole number/,
    ],
    [
      requestWith("intents", [TOKENS], true, {
        parameters: { sequence_id: { int64_param: 7 } },
      }),
      "INVALID_ARGUMENT",
      /not open/,
    ],
    [
      requestWith("intents", [TOKENS], true, { outputs: [{ name: "x" }] }),
      "INVALID_ARGUMENT",
      /no output "x"/,
    ],
  ];
  await withGrpc([INTENTS, SCALE], async ({ client }) => {
    for (const [request, code, told] of BAD) {
      await assert.rejects(client.call("ModelInfer", request), (error) => {
        const { code: got, details } = error as CallError;
        assert.equal(got, status[code], `${told}: ${details}`);
        assert.match(details, told);
        return true;
      });
    }
    // None of them has cost more than itself.
    await client.call("ModelInfer", requestWith("intents", [TOKENS], true));
  });
});
