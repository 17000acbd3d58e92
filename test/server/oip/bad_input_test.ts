/**
 * What is wrong with a request is its sender's to hear, in a line, and nobody else's. Among it the kinds
 * of requests that have ended other servers: triton-inference-server/server #1649, #2643, #3563, #5664, #5840, #8770,
 * #8796 (the last two: chunks without an end).
 */
import assert from "node:assert/strict";
import { lstm } from "../../../src/models/lstm.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { servedOnnx } from "../../../src/server/models/served_onnx.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { scaleFile } from "../repository/folders.ts";
import { answerOf, requestOf } from "./client.ts";
import { type Ask, echo, withServer } from "./served.ts";
import { binaryBody } from "./binary_body.ts";

const MODELS = [
  servedTokens(lstm({ hidden: 4, vocabulary: 10 }), { name: "intents" }),
  servedOnnx(await loadOnnx(scaleFile(2), { name: "scale" }), {
    name: "scale",
  }),
  echo([{ name: "text", datatype: "BYTES", shape: [-1] }]),
];

const INFER = "/v2/models/intents/infer";
const SCALE = "/v2/models/scale/infer";
const ECHO = "/v2/models/echo/infer";

const TOKENS = { name: "tokens", datatype: "INT32", shape: [2] };

/** What it is, a path, a body, headers if there are any, and what is told. */
type Sent = readonly [
  what: string,
  path: string,
  body: string | object | Uint8Array,
  ...rest: (RegExp | Record<string, string>)[],
];

const input = (fields: object) => ({ inputs: [{ ...TOKENS, ...fields }] });

const header = (length: number | string) => ({
  "inference-header-content-length": `${length}`,
});

const sized = (binary_data_size: unknown, shape: unknown = [2]) =>
  input({ shape, parameters: { binary_data_size } });

const BAD: readonly Sent[] = [
  // Nested JSON overflows the parser's stack: limited to 100 levels there since.
  ["nested arrays", INFER, "[".repeat(200_000), /nested/],
  ["nested objects", INFER, `{"a":`.repeat(150_000), /nested/],
  [
    "nested data",
    INFER,
    `{"inputs":[{"name":"tokens","shape":[1],"datatype":"INT32","data":${
      "[".repeat(101)
    }1${"]".repeat(101)}}]}`,
    /nested/,
  ],
  ["no JSON", INFER, "{", /not JSON/],
  ["cut off behind a string", INFER, `{"inputs": "`, /not JSON/],
  ["no UTF-8", INFER, Uint8Array.of(0x22, 0xff, 0x22), /UTF-8/],
  ["nothing", INFER, "", /not JSON/],
  ["a number", INFER, "7", /an object/],
  ["an array", INFER, "[]", /an object/],
  ["null", INFER, "null", /an object/],
  ["no inputs", INFER, {}, /"inputs" is an array/],
  ["no input", INFER, { inputs: [] }, /"tokens".*missing/],
  ["an input that is none", INFER, { inputs: [null] }, /An input is an object/],
  ["an input without a name", INFER, { inputs: [{}] }, /has a "name"/],
  [
    "another input",
    INFER,
    { inputs: [{ ...TOKENS, name: "x", data: [1, 2] }] },
    /no input "x"/,
  ],
  ["an input twice", INFER, {
    inputs: [{ ...TOKENS, data: [1, 2] }, { ...TOKENS, data: [1, 2] }],
  }, /twice/],
  // Found by fuzzing: whoever sent it was told all of it.
  ["an input of a long name twice", INFER, {
    inputs: ["", ""].map(() => ({
      ...{ ...TOKENS, name: "x".repeat(3000) },
      data: [1, 2],
    })),
  }, /"x+…" is there twice/],
  [
    "another type",
    INFER,
    input({ datatype: "INT33", data: [1, 2] }),
    /"datatype".*one of/,
  ],
  [
    "a type that does not fit",
    INFER,
    input({ datatype: "FP32", data: [1, 2] }),
    /INT32, got FP32/,
  ],
  // Shapes whose product overflows, or that are negative.
  [
    "a negative size",
    INFER,
    input({ shape: [-2], data: [1, 2] }),
    /whole numbers/,
  ],
  [
    "an open size",
    INFER,
    input({ shape: [-1], data: [1, 2] }),
    /whole numbers/,
  ],
  ["half a size", INFER, input({ shape: [1.5], data: [1] }), /whole numbers/],
  [
    "a size that is none",
    INFER,
    input({ shape: ["2"], data: [1, 2] }),
    /whole numbers/,
  ],
  ["no shape", INFER, input({ shape: 2, data: [1, 2] }), /"shape".*array/],
  [
    "a product beyond all numbers",
    INFER,
    input({ shape: [2 ** 40, 2 ** 40], data: [1, 2] }),
    /more elements/,
  ],
  [
    "a product of 2^64",
    INFER,
    input({ shape: [2 ** 32, 2 ** 32], data: [] }),
    /more elements/,
  ],
  [
    "a huge shape of no elements",
    INFER,
    input({ shape: [2 ** 32, 0, 2 ** 53 - 1], data: [] }),
    /shape/,
  ],
  ["a huge shape", INFER, input({ shape: [2 ** 50], data: [1, 2] }), /got 2$/],
  [
    "a hundred axes",
    INFER,
    input({ shape: new Array(100).fill(1), data: [1] }),
    /up to 64 axes/,
  ],
  [
    "more data than the shape has",
    INFER,
    input({ data: [1, 2, 3] }),
    /2 elements, got 3/,
  ],
  [
    "less data than the shape has",
    INFER,
    input({ data: [1] }),
    /2 elements, got 1/,
  ],
  ["lists that are not the shape's", SCALE, {
    inputs: [{
      name: "x",
      datatype: "FP32",
      shape: [2, 2],
      data: [[1, 2], [3]],
    }],
  }, /lists in lists/],
  ["numbers beside lists", SCALE, {
    inputs: [{ name: "x", datatype: "FP32", shape: [2, 2], data: [[1, 2], 3] }],
  }, /lists in lists/],
  [
    "data that are none",
    INFER,
    input({ data: { length: 2, 0: 1, 1: 1 } }),
    /"data".*array/,
  ],
  ["neither data nor bytes", INFER, input({}), /neither/],
  [
    "strings for numbers",
    INFER,
    input({ data: ["1", "2"] }),
    /INT32, got "1" at 0/,
  ],
  [
    "null for a number",
    INFER,
    input({ data: [1, null] }),
    /INT32, got null at 1/,
  ],
  [
    "halves for integers",
    INFER,
    input({ data: [1, 0.5] }),
    /INT32, got 0.5 at 1/,
  ],
  [
    "a number beyond the type",
    INFER,
    input({ data: [1, 2 ** 31] }),
    /got 2147483648 at 1/,
  ],
  [
    "an id that the table does not have",
    INFER,
    input({ data: [1, 10] }),
    /tokens/,
  ],
  ["a negative id", INFER, input({ data: [1, -1] }), /tokens/],
  ["no tokens", INFER, input({ shape: [0], data: [] }), /empty/],
  ["numbers for strings", ECHO, {
    inputs: [{ name: "text", datatype: "BYTES", shape: [1], data: [7] }],
  }, /BYTES, strings/],
  ["half precision as JSON", SCALE, {
    inputs: [{ name: "x", datatype: "FP16", shape: [1, 2], data: [1, 2] }],
  }, /binary data only/],
  // Binary sizes that do not add up.
  [
    "no bytes where there should be",
    INFER,
    ...binaryBody(sized(8), 0),
    /of which 0 came/,
  ],
  ["fewer bytes", INFER, ...binaryBody(sized(8), 7), /of which 7 came/],
  ["more bytes", INFER, ...binaryBody(sized(8), 9), /9 bytes follow.*have 8/],
  [
    "bytes that are not the shape's",
    INFER,
    ...binaryBody(sized(4), 4),
    /8 bytes, got 4/,
  ],
  [
    "a negative number of bytes",
    INFER,
    ...binaryBody(sized(-8), 8),
    /binary_data_size/,
  ],
  [
    "a huge number of bytes",
    INFER,
    ...binaryBody(sized(2 ** 53 - 1), 8),
    /of which 8 came/,
  ],
  ["half a byte", INFER, ...binaryBody(sized(7.5), 8), /binary_data_size/],
  [
    "bytes of a huge shape",
    INFER,
    ...binaryBody(sized(8, [2 ** 50]), 8),
    /got 8$/,
  ],
  [
    "a number of bytes that is none",
    INFER,
    ...binaryBody(sized("8"), 8),
    /binary_data_size/,
  ],
  [
    "data and bytes",
    INFER,
    ...binaryBody(
      input({ data: [1, 2], parameters: { binary_data_size: 8 } }),
      8,
    ),
    /one or the other/,
  ],
  [
    "bytes and no header",
    INFER,
    JSON.stringify(sized(8)) + "12345678",
    /not JSON/,
  ],
  ["a header beyond the body", INFER, {}, /bytes of the body/, header(1000)],
  ["a negative header", INFER, {}, /bytes of the body/, header(-1)],
  ["a header that is none", INFER, {}, /bytes of the body/, header("two")],
  ["an empty header", INFER, {}, /bytes of the body/, header("")],
  [
    "a string's length beyond the bytes",
    ECHO,
    ...strings([255, 255, 255, 255, 1]),
    /element 0 is cut off/,
  ],
  ["half a string's length", ECHO, ...strings([1, 0]), /length is cut off/],
  [
    "more strings than the shape has",
    ECHO,
    ...strings([0, 0, 0, 0, 0, 0, 0, 0]),
    /there are more than 1/,
  ],
  // Parameters.
  ["parameters that are none", INFER, {
    ...input({ data: [1, 2] }),
    parameters: [],
  }, /"parameters".*object/],
  ["a parameter that is none", INFER, {
    ...input({ data: [1, 2] }),
    parameters: { a: {} },
  }, /Parameter "a"/],
  ["a negative timeout", INFER, {
    ...input({ data: [1, 2] }),
    parameters: { timeout: -1 },
  }, /"timeout"/],
  ["a timeout as text", INFER, {
    ...input({ data: [1, 2] }),
    parameters: { timeout: "1" },
  }, /"timeout"/],
  ["half a priority", INFER, {
    ...input({ data: [1, 2] }),
    parameters: { priority: 0.5 },
  }, /"priority"/],
  [
    "an id that is none",
    INFER,
    { ...input({ data: [1, 2] }), id: 7 },
    /"id" is a string/,
  ],
  // Outputs.
  ["an output that there is not", INFER, {
    ...input({ data: [1, 2] }),
    outputs: [{ name: "y" }],
  }, /no output "y"/],
  ["an output twice", INFER, {
    ...input({ data: [1, 2] }),
    outputs: [{ name: "h" }, { name: "h" }],
  }, /twice/],
  [
    "outputs that are none",
    INFER,
    { ...input({ data: [1, 2] }), outputs: {} },
    /"outputs" is an array/,
  ],
  ["binary perhaps", INFER, {
    ...input({ data: [1, 2] }),
    outputs: [{ name: "h", parameters: { binary_data: "yes" } }],
  }, /"binary_data"/],
  ["all binary perhaps", INFER, {
    ...input({ data: [1, 2] }),
    parameters: { binary_data_output: 1 },
  }, /"binary_data_output"/],
];

/** One string, of these bytes. */
function strings(
  bytes: readonly number[],
): [Uint8Array, Record<string, string>] {
  const [body, headers] = binaryBody({
    inputs: [{
      ...{ name: "text", datatype: "BYTES", shape: [1] },
      parameters: { binary_data_size: bytes.length },
    }],
  }, bytes.length);
  body.set(bytes, body.length - bytes.length);
  return [body, headers];
}

/** What errors may never tell. */
const SECRETS = /(\/(src|work|home|tmp|build)\/|file:|\.ts\b|\n\s+at )/;

async function refused(ask: Ask, [what, path, ...rest]: Sent): Promise<void> {
  const told = rest.find((part) => part instanceof RegExp) as RegExp;
  const [body, ...others] = rest.filter((part) => part !== told);
  const response = await ask(path, {
    method: "POST",
    headers: (others[0] ?? {}) as Record<string, string>,
    body: body instanceof Uint8Array
      ? body as Uint8Array<ArrayBuffer>
      : typeof body === "string"
      ? body
      : JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 400, `${what}: ${text}`);
  const { error } = JSON.parse(text);
  assert.match(error, told, what);
  assert.doesNotMatch(error, SECRETS, what);
  assert(text.length < 1000, `${what}: ${text.length} characters`);
}

Deno.test("what is wrong is told in a line, and the next request is served", async () => {
  await withServer(MODELS, async (ask) => {
    const tokens = { ...TOKENS, values: [3, 1] };
    const ok = async () =>
      (await answerOf(await ask(INFER, requestOf([[tokens, "flat"]])))).outputs;
    const expected = await ok();
    for (const sent of BAD) {
      await refused(ask, sent);
      assert.deepEqual(await ok(), expected, sent[0]);
    }
  });
});

Deno.test("names of models lead nowhere else", async () => {
  await withServer(MODELS, async (ask) => {
    for (
      const name of [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "intents%2f..%2fscale",
        "intents%00",
        "__proto__",
        "constructor",
        "%ff",
        "",
        "a".repeat(4000),
      ]
    ) {
      const path = `/v2/models/${name}/infer`;
      const response = await ask(path, { method: "POST", body: "{}" });
      const text = await response.text();
      assert([400, 404, 405].includes(response.status), `${path}: ${text}`);
      assert.doesNotMatch(text, SECRETS, path);
    }
  });
});

Deno.test("a body without an end is refused while it comes", async () => {
  await withServer(MODELS, async (ask) => {
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 1024;
        controller.enqueue(new Uint8Array(1024));
      },
    });
    const response = await ask(
      INFER,
      { method: "POST", body, duplex: "half" } as RequestInit,
    );
    assert.equal(response.status, 413);
    assert(sent < 2 ** 18, `${sent} bytes were taken`);
  }, { limits: { bytesMax: 2 ** 16 } });
});
