/** What one body, and all of them together, may become in memory. */
import assert from "node:assert/strict";
import { lstm } from "../../../src/models/lstm.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { bytesOf } from "../../../src/server/oip/infer.ts";
import { requestOf } from "./client.ts";
import { echo, withServer } from "./served.ts";
import { binaryBody } from "./binary_body.ts";

const MODELS = [
  servedTokens(lstm({ hidden: 4, vocabulary: 10 }), { name: "intents" }),
  echo([{ name: "text", datatype: "BYTES", shape: [-1] }]),
];

const INFER = "/v2/models/intents/infer";
const ECHO = "/v2/models/echo/infer";

/** The answer that comes first, while the others wait; undefined: all of them do. */
async function firstOf(
  all: Promise<Response>[],
): Promise<Response | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), 1000);
  });
  const first = await Promise.race([...all, late]);
  clearTimeout(timer);
  return first;
}

async function statusesOf(all: Promise<Response>[]): Promise<number[]> {
  return (await Promise.all(all)).map(({ status }) => status).sort();
}

Deno.test("strings are counted before there is an object for each of them", async () => {
  const count = 2 ** 20 + 1;
  const text = { name: "text", datatype: "BYTES", shape: [count] };
  const [bytes, headers] = binaryBody({
    inputs: [{ ...text, parameters: { binary_data_size: 4 * count } }],
  }, 4 * count);
  const json =
    `{"inputs":[{"name":"text","datatype":"BYTES","shape":[${count}],"data":[${
      '"",'.repeat(count - 1)
    }""]}]}`;
  // Fewer than there are bytes for: what is said of them is not believed.
  const [more, ofMore] = binaryBody({
    inputs: [{
      ...text,
      shape: [2],
      parameters: { binary_data_size: 4 * count },
    }],
  }, 4 * count);
  await withServer(MODELS, async (ask) => {
    for (
      const [body, why, rest] of [
        [bytes, /up to 1048576 strings/, headers],
        [json, /up to 1048576 strings/, {}],
        [more, /there are more than 2/, ofMore],
      ] as const
    ) {
      const init = { method: "POST", body: body as BodyInit, headers: rest };
      const response = await ask(ECHO, init);
      assert.equal(response.status, 400);
      assert.match((await response.json()).error, why);
    }
  });
});

Deno.test("bodies of all requests are counted as what was made of them, while they wait", async () => {
  // "1," becomes eight bytes.
  const ones = new Array(10_000).fill(1);
  const asked = (data: readonly number[]) =>
    requestOf([[{
      name: "tokens",
      datatype: "INT64",
      shape: [data.length],
      values: data,
    }, "flat"]]);
  let letIn = () => {};
  const open = new Promise<void>((resolve) => letIn = resolve);
  const admission: Admission = {
    admit: async () => {
      await open;
      return () => {};
    },
  };
  const limits = { bytesTogetherMax: 185_000 };
  await withServer(MODELS, async (ask) => {
    // The bodies themselves have 20 KB each.
    const all = [1, 2, 3].map(() => ask(INFER, asked(ones)));
    const refused = await firstOf(all);
    letIn();
    assert.equal(refused?.status, 503);
    assert.match((await refused.json()).error, /leave no room/);
    assert.deepEqual(await statusesOf(all), [200, 200, 503]);
    // Nothing is held by now.
    assert.equal((await ask(INFER, asked(ones))).status, 200);
  }, { limits, host: { admission } });
});

Deno.test("what has a name, and each string, counts as an object", () => {
  const tensor = { name: "text", datatype: "BYTES", shape: [1000] } as const;
  const data = new Array(1000).fill(new Uint8Array(3));
  const inputs = new Map([["text", { ...tensor, data }]]);
  const strings = bytesOf({ inputs, parameters: {} });
  assert(strings > 100_000 && strings < 500_000, `${strings}`);
  const parameters = Object.fromEntries(data.map((_, i) => [`p${i}`, i]));
  const outputs = data.map((_, i) => ({ name: `o${i}` }));
  const named = bytesOf({ inputs, parameters, outputs });
  assert(named > strings + 200_000, `${named}`);
});

Deno.test("strings of several tensors are counted together", async () => {
  const count = 2 ** 19;
  const inputs = ["a", "b", "c"].map((name) => ({
    ...{ name, datatype: "BYTES", shape: [count] },
    parameters: { binary_data_size: 4 * count },
  }));
  const [body, headers] = binaryBody({ inputs }, 3 * 4 * count);
  await withServer(MODELS, async (ask) => {
    const init = { method: "POST", body: body as BodyInit, headers };
    const response = await ask(ECHO, init);
    assert.equal(response.status, 400);
    assert.match((await response.json()).error, /up to 1048576 strings/);
  });
});

Deno.test("what a request keeps besides its tensors is counted while it waits", async () => {
  let letIn = () => {};
  const open = new Promise<void>((resolve) => letIn = resolve);
  let came = 0;
  let bothCame = () => {};
  const both = new Promise<void>((resolve) => bothCame = resolve);
  const admission: Admission = {
    admit: async () => {
      if (++came === 2) bothCame();
      await open;
      return () => {};
    },
  };
  const tokens = { name: "tokens", datatype: "INT64", shape: [1], data: [1] };
  const asked = {
    method: "POST",
    body: JSON.stringify({
      inputs: [tokens],
      parameters: { note: "x".repeat(60_000) },
    }),
  };
  await withServer(MODELS, async (ask) => {
    const all = [ask(INFER, asked), ask(INFER, asked)];
    // Their bodies were read.
    await both;
    all.push(ask(INFER, asked));
    const refused = await firstOf(all);
    letIn();
    assert.equal(refused?.status, 503);
    assert.deepEqual(await statusesOf(all), [200, 200, 503]);
    assert.equal((await ask(INFER, asked)).status, 200);
  }, { limits: { bytesTogetherMax: 150_000 }, host: { admission } });
});

Deno.test("what becomes more than all bodies may is refused for good, though nobody else is there", async () => {
  const ones = new Array(10_000).fill(1);
  const asked = requestOf([[{
    name: "tokens",
    datatype: "INT64",
    shape: [ones.length],
    values: ones,
  }, "flat"]]);
  await withServer(MODELS, async (ask) => {
    const response = await ask(INFER, asked);
    assert.equal(response.status, 413);
    assert.match(
      (await response.json()).error,
      /takes 80\d\d\d bytes .*at most 70000/,
    );
  }, { limits: { bytesTogetherMax: 70_000 } });
});
