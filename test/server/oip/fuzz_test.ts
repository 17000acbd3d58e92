/**
 * Changed requests are answered or refused, whatever was changed: never an error of the server's, never a word about its
 * machine, and nobody else's answer changes. What is changed are valid requests of every form: values, names and places
 * in their JSON, bytes of tensors, the length in front, single bytes.
 *
 * Runs for 60 s with the same changes every time, or for SHOAL_FUZZ_SECONDS with new ones. What it finds becomes a fixed
 * case of bad_input_test.ts.
 */
import assert from "node:assert/strict";
import process from "node:process";
import fc from "fast-check";
import { lstm } from "../../../src/models/lstm.ts";
import { lstmStream } from "../../../src/models/rnn_stream.ts";
import { loadOnnx } from "../../../src/onnx/load.ts";
import { servedOnnx } from "../../../src/server/models/served_onnx.ts";
import { servedStream } from "../../../src/server/models/served_stream.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { scaleFile } from "../repository/folders.ts";
import { answerOf, binaryOf, type ClientTensor, requestOf } from "./client.ts";
import { type Ask, echo, withServer } from "./served.ts";

const given = process.env["SHOAL_FUZZ_SECONDS"];
const SECONDS = Number(given || 60);
/** A commit is not to blame for what others left; whoever searches wants something new. */
const SEED = given ? undefined : 1;

const TOKENS: ClientTensor = {
  ...{ name: "tokens", datatype: "INT32", shape: [3] },
  values: [3, 1, 4],
};
const X: ClientTensor = {
  ...{ name: "x", datatype: "FP32", shape: [2, 2] },
  values: [1, 2, -0.5, 3],
};
const FRAME: ClientTensor = { ...X, shape: [2], values: [0.5, 1] };
const ANY: readonly ClientTensor[] = [
  { name: "a", datatype: "BYTES", shape: [2], values: ["fish", ""] },
  { name: "b", datatype: "UINT64", shape: [1], values: [2n ** 63n] },
  { name: "c", datatype: "BOOL", shape: [2], values: [true, false] },
  { name: "d", datatype: "FP64", shape: [1, 1], values: [0.1] },
];

/** A valid request: JSON as a value, and the bytes behind it. */
interface Seed {
  readonly path: string;
  readonly json: Record<string, unknown>;
  readonly binary: Uint8Array;
}

function seed(
  model: string,
  tensors: readonly ClientTensor[],
  isBinary: boolean,
  rest: Record<string, unknown> = {},
): Seed {
  const binary = isBinary ? tensors.map(binaryOf) : [];
  return {
    path: `/v2/models/${model}/infer`,
    json: {
      ...rest,
      inputs: tensors.map(({ values, ...head }, i) => ({
        ...head,
        ...(isBinary
          ? { parameters: { binary_data_size: binary[i].length } }
          : { data: values.map(plain) }),
      })),
    },
    binary: new Uint8Array(binary.flatMap((bytes) => [...bytes])),
  };
}

/** Of integers that JSON.stringify cannot write the nearest. */
function plain(value: unknown): unknown {
  return typeof value === "bigint" ? Number(value) : value;
}

const OUTPUTS = [{ name: "h", parameters: { binary_data: true } }];

const SEEDS: readonly Seed[] = [false, true].flatMap((isBinary) => [
  seed("intents", [TOKENS], isBinary, { id: "a", outputs: OUTPUTS }),
  seed("intents", [TOKENS], isBinary, {
    parameters: { priority: 1, timeout: 10_000_000, binary_data_output: true },
  }),
  seed("scale", [X], isBinary),
  seed("echo", ANY, isBinary),
  seed("gestures", [FRAME], isBinary, {
    parameters: { sequence_id: 5, sequence_start: true },
  }),
  seed("gestures", [FRAME], isBinary, {
    parameters: { sequence_id: "s", sequence_start: true, sequence_end: true },
  }),
]);

/** Values that something may stumble over. */
const HOSTILE: readonly unknown[] = [
  ...[null, true, "", "NaN", "x".repeat(3000), "\u0000", "__proto__", [], {}],
  ...[
    0,
    -0,
    -1,
    0.5,
    1e308,
    2 ** 31,
    2 ** 32,
    2 ** 53 - 1,
    2 ** 53,
    -(2 ** 63),
  ],
  ...[[[[[]]]], [null], { name: "tokens" }, "INT64", "BYTES", "FP16", "tokens"],
  ...[[2 ** 32, 2 ** 32], [-1], [1, 1, 1], [0], [2 ** 50]],
];

type Change =
  | { readonly kind: "value"; readonly at: number; readonly value: unknown }
  | { readonly kind: "remove" | "double"; readonly at: number }
  | { readonly kind: "rename"; readonly at: number; readonly name: string };

const changes: fc.Arbitrary<readonly Change[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("value" as const),
      at: fc.nat(200),
      value: fc.oneof(fc.constantFrom(...HOSTILE), fc.jsonValue()),
    }),
    fc.record({
      kind: fc.constantFrom("remove" as const, "double" as const),
      at: fc.nat(200),
    }),
    fc.record({
      kind: fc.constant("rename" as const),
      at: fc.nat(200),
      name: fc.constantFrom(
        "data",
        "shape",
        "parameters",
        "binary_data_size",
        "outputs",
        "sequence_id",
      ),
    }),
  ),
  { maxLength: 4 },
);

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

/** Every field and element, in order. */
function placesIn(value: unknown): Place[] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [
    { holder, key },
    ...placesIn(holder[key]),
  ]);
}

function changed(json: object, all: readonly Change[]): unknown {
  const copy = structuredClone(json);
  for (const change of all) {
    const places = placesIn(copy);
    if (places.length === 0) break;
    const { holder, key } = places[change.at % places.length];
    if (change.kind === "value") holder[key] = structuredClone(change.value);
    else if (change.kind === "rename") {
      if (!Array.isArray(holder)) holder[change.name] = holder[key];
    } else if (Array.isArray(holder)) {
      const same = change.kind === "double" ? [holder[Number(key)]] : [];
      holder.splice(Number(key), 1, ...same, ...same);
    } else if (change.kind === "remove") delete holder[key];
  }
  return copy;
}

/** Bytes over others, an end that is missing or too long, and how far off the length in front is. */
const bytesChanged = fc.record({
  over: fc.array(fc.tuple(fc.nat(5000), fc.nat(255)), { maxLength: 3 }),
  cut: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(40)),
  more: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, fc.nat(40)),
  off: fc.oneof(
    { weight: 5, arbitrary: fc.constant(0) },
    fc.integer({ min: -40, max: 40 }),
  ),
});

const ALLOWED = [200, 400, 413, 422, 503, 504];
const SECRETS = /(\/(src|work|home|tmp|build)\/|file:|\.ts\b|\n\s+at )/;

async function models() {
  const scale = await loadOnnx(scaleFile(2), { name: "scale" });
  return [
    servedTokens(lstm({ hidden: 4, vocabulary: 10 }), { name: "intents" }),
    servedOnnx(scale, { name: "scale" }),
    servedStream(lstmStream({ hidden: 4, features: 2 }), { name: "gestures" }),
    echo(ANY.map(({ name, datatype, shape }) => ({
      ...{ name, datatype: datatype as "FP32", shape },
    }))),
  ];
}

function send(
  ask: Ask,
  path: string,
  json: Uint8Array,
  binary: Uint8Array,
  off = 0,
) {
  const body = new Uint8Array(json.length + binary.length);
  body.set(json);
  body.set(binary, json.length);
  return ask(path, {
    method: "POST",
    body,
    headers: binary.length === 0 && off === 0
      ? {}
      : { "inference-header-content-length": `${json.length + off}` },
  });
}

const utf8 = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value));

Deno.test("requests to change are answered as they are", async () => {
  await withServer(await models(), async (ask) => {
    for (const { path, json, binary } of SEEDS) {
      const response = await send(ask, path, utf8(json), binary);
      const isExact = path.includes("echo") && binary.length === 0;
      // 2^63 has no exact form that JSON.stringify writes; 2^63 itself is one.
      assert.equal(response.status, 200, isExact ? "" : await response.text());
    }
  });
});

Deno.test("changed requests are answered or refused", async () => {
  const counts = { answered: 0, refused: 0 };
  await withServer(await models(), async (ask) => {
    const ok = async () =>
      (await answerOf(
        await ask("/v2/models/intents/infer", requestOf([[TOKENS, "binary"]])),
      )).outputs;
    const expected = await ok();
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...SEEDS),
        changes,
        bytesChanged,
        async ({ path, json, binary }, all, { over, cut, more, off }) => {
          const head = utf8(changed(json, all));
          const tail = new Uint8Array(Math.max(0, binary.length - cut) + more);
          tail.set(binary.subarray(0, tail.length));
          for (const [at, byte] of over) {
            const whole = at % (head.length + tail.length);
            if (whole < head.length) head[whole] = byte;
            else tail[whole - head.length] = byte;
          }
          const response = await send(ask, path, head, tail, off);
          const bytes = await response.arrayBuffer();
          assert(ALLOWED.includes(response.status), `${response.status}`);
          if (response.status === 200) {
            counts.answered++;
          } else {
            counts.refused++;
            const text = new TextDecoder().decode(bytes);
            const { error } = JSON.parse(text);
            assert.equal(typeof error, "string");
            assert(text.length < 2000, `${text.length} characters`);
            assert.doesNotMatch(error, SECRETS);
          }
          assert.deepEqual(await ok(), expected);
        },
      ),
      {
        ...(SEED !== undefined && { seed: SEED }),
        numRuns: 1e9,
        interruptAfterTimeLimit: SECONDS * 1000,
      },
    );
  });
  console.log(counts);
  assert(counts.answered > 0 && counts.refused > 0);
});
