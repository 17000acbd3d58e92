/**
 * Bodies that are nearly right: whatever comes, a server answers with a status that blames the sender, in words that
 * name nothing of its machine, and goes on to answer others with the same bits.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { propertyRuns } from "../property_runs.ts";
import { inferBody, withServer } from "./serving_host.ts";

const numRuns = propertyRuns(400);

/** Values where others are expected. */
const ODD = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, true, "", "x", [], {}, [[]], -1, 0, 1e308, 0.5, 2 ** 53],
    ...["FP32", "BYTES", "INT64", "__proto__", "../../etc/passwd"],
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Where something of a value may be put in another's place. */
function places(
  value: unknown,
  path: (string | number)[] = [],
): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([key, field]) =>
      places(field, [...path, Array.isArray(value) ? Number(key) : key])
    ),
  ];
}

function put(
  value: unknown,
  path: readonly (string | number)[],
  odd: unknown,
): unknown {
  if (path.length === 0) return odd;
  const copy =
    (Array.isArray(value) ? [...value] : { ...value as object }) as Record<
      string | number,
      unknown
    >;
  copy[path[0]] = put(copy[path[0]], path.slice(1), odd);
  return copy;
}

const VALID = JSON.parse(inferBody());
const PLACES = places(VALID);

/**
 * A line of a stack trace or a path of this machine, which no client is to
 * see. A source is told by the line behind it: an input may be called
 * "token.ts", and its error names it.
 */
const TRACE = /\bat .*:\d+:\d+|\.[jt]s:\d+|file:\/\/|\/work|\/home/;

const jsonBody = fc.tuple(fc.constantFrom(...PLACES), ODD)
  .map(([path, odd]) => JSON.stringify(put(VALID, path, odd)));

/** Bytes of a valid body, some of them changed, left out or said twice. */
const bytesBody = fc.tuple(
  fc.nat(),
  fc.nat(20),
  fc.string({ unit: fc.constantFrom(...'{}[]",:0-e.\\ntu \0'), maxLength: 12 }),
).map(([at, left, put]) => {
  const text = inferBody();
  const start = at % text.length;
  return text.slice(0, start) + put + text.slice(start + left);
});

/** JSON with a binary tensor behind, and sizes that need not fit. */
const binaryBody = fc.record({
  shape: fc.array(
    fc.oneof(fc.nat(8), fc.constantFrom(-1, 2 ** 31, 2 ** 53 - 1, 1e300)),
    { maxLength: 4 },
  ),
  datatype: fc.constantFrom("INT32", "INT64", "BYTES", "BOOL", "FP16", "x"),
  size: fc.oneof(fc.nat(40), fc.constantFrom(-4, 2 ** 40, 0.5)),
  bytes: fc.uint8Array({ maxLength: 40 }),
  header: fc.option(fc.oneof(fc.nat(300), fc.constantFrom(-1, 1e9)), {
    nil: undefined,
  }),
}).map(({ shape, datatype, size, bytes, header }) => {
  const json = new TextEncoder().encode(JSON.stringify({
    inputs: [{
      name: "tokens",
      shape,
      datatype,
      parameters: { binary_data_size: size },
    }],
  }));
  const body = new Uint8Array(json.length + bytes.length);
  body.set(json);
  body.set(bytes, json.length);
  return { body, header: header ?? json.length };
});

Deno.test(`${numRuns} bodies that are nearly right cost nobody but their sender anything`, async () => {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  await withServer({ onError }, async (ask) => {
    const infer = (body: BodyInit, headers: HeadersInit = {}) =>
      ask("/v2/models/intents/infer", { method: "POST", body, headers });
    const right = await (await infer(inferBody())).json();
    const check = async (response: Response) => {
      const { status } = response;
      const text = await response.text();
      assert(
        status === 200 || (status >= 400 && status < 500),
        `${status} ${text}`,
      );
      if (status === 200) return;
      const { error, ...rest } = JSON.parse(text);
      assert.deepEqual(rest, {});
      assert(typeof error === "string" && error.length < 1000, text);
      assert.doesNotMatch(error, TRACE);
    };
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(jsonBody, bytesBody),
        async (body) => await check(await infer(body)),
      ),
      { numRuns, examples: [[inferBody().replace("tokens", "token.ts")]] },
    );
    await fc.assert(
      fc.asyncProperty(binaryBody, async ({ body, header }) =>
        await check(
          await infer(body, { "inference-header-content-length": `${header}` }),
        )),
      { numRuns },
    );
    const again = await (await infer(inferBody())).json();
    assert.deepEqual(again.outputs, right.outputs);
  });
  assert.deepEqual(errors, []);
});
