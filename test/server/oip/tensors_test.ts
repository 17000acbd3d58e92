/** Tensors over the wire and back: every type, as JSON, nested JSON and bytes, in any mixture. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { propertyRuns } from "../../property_runs.ts";
import { answerOf, type ClientTensor, type Form, requestOf } from "./client.ts";
import { echo, withServer } from "./served.ts";

const integer = (min: number, max: number) => fc.integer({ min, max });

/** Values of each type; of FP16 and BF16 their bits. */
const VALUES: Record<string, fc.Arbitrary<number | bigint | string | boolean>> =
  {
    BOOL: fc.boolean(),
    UINT8: integer(0, 255),
    UINT16: integer(0, 65_535),
    UINT32: integer(0, 2 ** 32 - 1),
    UINT64: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    INT8: integer(-128, 127),
    INT16: integer(-(2 ** 15), 2 ** 15 - 1),
    INT32: integer(-(2 ** 31), 2 ** 31 - 1),
    INT64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    FP16: integer(0, 65_535),
    BF16: integer(0, 65_535),
    FP32: fc.float(),
    FP64: fc.double(),
    BYTES: fc.string({ unit: "grapheme" }),
  };

const FORMS: readonly Form[] = ["flat", "nested", "binary"];

interface Case {
  readonly tensor: ClientTensor;
  readonly form: Form;
  readonly isBinaryOut: boolean | undefined;
}

function caseOf(name: string): fc.Arbitrary<Case> {
  return fc.tuple(
    fc.constantFrom(...Object.keys(VALUES)),
    fc.array(integer(0, 3), { maxLength: 3 }),
    fc.constantFrom(...FORMS),
    fc.constantFrom(true, false, undefined),
  ).chain(([datatype, shape, form, isBinaryOut]) => {
    const count = shape.reduce((product, size) => product * size, 1);
    const isHalf = datatype === "FP16" || datatype === "BF16";
    return fc.array(VALUES[datatype], { minLength: count, maxLength: count })
      .map((values) => ({
        tensor: { name, datatype, shape, values },
        form: isHalf ? "binary" as const : form,
        isBinaryOut: isHalf ? true : isBinaryOut,
      }));
  });
}

/** A NaN may come back as another NaN. */
function plain(value: unknown): unknown {
  return Number.isNaN(value) ? "NaN" : value;
}

Deno.test("every tensor comes back as it went, in every form", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }).chain((count) =>
        fc.tuple(...Array.from({ length: count }, (_, i) => caseOf(`t${i}`)))
      ),
      fc.boolean(),
      async (cases, isBinaryAll) => {
        const specs = cases.map(({ tensor: { name, datatype, shape } }) => ({
          name,
          datatype: datatype as "FP32",
          shape,
        }));
        await withServer([echo(specs)], async (ask) => {
          const response = await ask(
            "/v2/models/echo/infer",
            requestOf(cases.map(({ tensor, form }) => [tensor, form]), {
              parameters: { binary_data_output: isBinaryAll },
              outputs: cases.map(({ tensor: { name }, isBinaryOut }) => ({
                name,
                ...(isBinaryOut !== undefined && {
                  parameters: { binary_data: isBinaryOut },
                }),
              })),
            }),
          );
          const { outputs, binary } = await answerOf(response);
          assert.deepEqual(
            outputs.map((tensor) => ({
              ...tensor,
              values: tensor.values.map(plain),
            })),
            cases.map(({ tensor }) => ({
              ...tensor,
              values: tensor.values.map(plain),
            })),
          );
          assert.deepEqual(
            binary,
            cases.filter(({ isBinaryOut = isBinaryAll }) => isBinaryOut)
              .map(({ tensor: { name } }) => name),
          );
        });
      },
    ),
    { numRuns: propertyRuns(150) },
  );
});

Deno.test("what Python writes for numbers that are none is read", async () => {
  const spec = { name: "x", datatype: "FP32", shape: [5] } as const;
  await withServer([echo([spec])], async (ask) => {
    const response = await ask("/v2/models/echo/infer", {
      method: "POST",
      body: `{"inputs": [{"name": "x", "datatype": "FP32", "shape": [5],
        "data": [NaN, Infinity, -Infinity, 1e400, -0]}]}`,
    });
    const { outputs: [{ values }], json } = await answerOf(response);
    assert.deepEqual(values, [NaN, Infinity, -Infinity, Infinity, -0]);
    assert.deepEqual(
      (json as { outputs: { data: unknown }[] }).outputs[0].data,
      ["NaN", "Infinity", "-Infinity", "Infinity", -0],
    );
  });
});

Deno.test("a string of megabytes is read beside integers beyond 2^53", async () => {
  const specs = [
    { name: "text", datatype: "BYTES", shape: [1] },
    { name: "id", datatype: "INT64", shape: [1] },
  ] as const;
  // Ends in what looks like the end of an escape, and is none.
  const text = `${"a".repeat(9 << 20)}\\`;
  await withServer([echo(specs)], async (ask) => {
    const { outputs } = await answerOf(
      await ask(
        "/v2/models/echo/infer",
        requestOf([
          [{ ...specs[0], values: [text] }, "flat"],
          [{ ...specs[1], values: [2n ** 60n] }, "flat"],
        ]),
      ),
    );
    assert(outputs[0].values[0] === text, "another string");
    assert.deepEqual(outputs[1].values, [2n ** 60n]);
  });
});

Deno.test("elements are converted where the model's type has room for them", async () => {
  const spec = (
    name: string,
    datatype: "FP32" | "INT64" | "INT8" | "BOOL",
  ) => ({
    ...{ name, datatype, shape: [1] },
  });
  const specs = [spec("f", "FP32"), spec("i", "INT64"), spec("b", "INT8")];
  const ask1 = (
    f: [string, number],
    i: [string, number | bigint],
    b: [string, number],
  ) =>
    requestOf(
      Object.entries({ f, i, b }).map(([name, [datatype, value]]) => [
        { name, datatype, shape: [1], values: [value] },
        "binary",
      ]),
    );
  await withServer([echo(specs)], async (ask) => {
    const response = await ask(
      "/v2/models/echo/infer",
      // 1.5 as half precision.
      ask1(["FP16", 0x3e00], ["UINT32", 2 ** 32 - 1], ["INT32", -7]),
    );
    const { outputs } = await answerOf(response);
    assert.deepEqual(outputs.map(({ values }) => values[0]), [
      1.5,
      2n ** 32n - 1n,
      -7,
    ]);
    for (
      const [init, told] of [
        [
          ask1(["FP64", 0.1], ["INT64", 1n], ["INT32", 128]),
          /"b" is INT8.*128/,
        ],
        [
          ask1(["INT32", 1], ["INT64", 1n], ["INT8", 1]),
          /"f" is FP32, got INT32/,
        ],
        [
          ask1(["FP32", 1], ["UINT64", 2n ** 63n], ["INT8", 1]),
          /"i" is INT64.*9223372036854775808/,
        ],
      ] as const
    ) {
      const response = await ask("/v2/models/echo/infer", init);
      assert.equal(response.status, 400);
      assert.match((await response.json()).error, told);
    }
  });
});
