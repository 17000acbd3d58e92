/** Every option object of the server's door is checked where it comes in, and so is what it is given for a server. */
import assert from "node:assert/strict";
import { lstm } from "../../src/models/lstm.ts";
import { auto } from "../../src/policy/auto/auto.ts";
import {
  createServer,
  EngineHost,
  KeyRing,
  listen,
  type ServedModel,
  servedTokens,
} from "../../src/server.ts";
import { BODY_LIMITS } from "../../src/server/http/body_limits.ts";
import { HEAD_LIMITS } from "../../src/server/http/head_limits.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import { assertRefuses, type Refusal } from "../option_refusals.ts";

const model = lstm({ hidden: 4, vocabulary: 5, head: "classifier" });
const settings = { models: [model], workers: 0, warmUp: false };
const models = [servedTokens(model, { name: "sentences" })];

const MODELS: readonly Refusal[] = [
  {
    with: { models: models[0] },
    name: "TypeError",
    message: /^"models" is an array, got /,
  },
  {
    with: { models: [model] },
    name: "TypeError",
    message:
      /^"models\[0\]" is a served model, such as servedTokens\(\) or servedOnnx\(\) returns, which has a method "toInput", got /,
  },
];

Deno.test("createServer refuses options that are not", async () => {
  await using engine = await ServingEngine.create(settings);
  await assertRefuses(
    { models },
    (options) => createServer(engine, options),
    [
      ...MODELS,
      {
        // Without this, everybody would be let in.
        with: { key: new KeyRing([]) },
        name: "TypeError",
        message: /^createServer\(\) has no option "key"; it takes models, /,
      },
      {
        with: { keys: [{ name: "app", sha256: "0".repeat(64) }] },
        name: "TypeError",
        message: /^"keys" is a KeyRing, got \[/,
      },
      {
        with: { limits: { bodyBytesMax: 1000 } },
        name: "TypeError",
        message: /^limits has no option "bodyBytesMax"; it takes bytesMax, /,
      },
      {
        with: { limits: { bytesMax: "64 MiB" } },
        name: "RangeError",
        message: '"bytesMax" is at least 0, got "64 MiB"',
      },
      {
        with: { limits: { headersMax: NaN } },
        name: "RangeError",
        message: '"headersMax" is at least 0, got NaN',
      },
      {
        with: { cors: { origin: "*" } },
        name: "TypeError",
        message: 'cors has no option "origin"; it takes origins',
      },
      {
        with: { monitor: true },
        name: "TypeError",
        message: '"monitor" is a Monitor, got true',
      },
      {
        with: { observers: [() => {}] },
        name: "TypeError",
        message: /^"observers\[0\]" is .* a method "began", got a function$/,
      },
      {
        with: { protocols: ["oip"] },
        name: "TypeError",
        message: /^"protocols\[0\]" is a protocol, .* "errorBody", got "oip"$/,
      },
      {
        with: { repository: "models" },
        name: "TypeError",
        message: /^"repository" is .* a method "index", got "models"$/,
      },
      {
        with: { version: 1 },
        name: "TypeError",
        message: '"version" is a string, got 1',
      },
    ],
  );
});

Deno.test("options that an object has of its class, or inherits, are options, and checked", async () => {
  await using engine = await ServingEngine.create(settings);
  class Settings {
    readonly models = models;
    get keys() {
      return new KeyRing([{ name: "app", sha256: "0".repeat(64) }]);
    }
    get limits() {
      return Object.create({ bytesMax: 10 });
    }
  }
  const server = createServer(engine, new Settings());
  assert.equal(server.limits.bytesMax, 10);
  const { status } = await server.fetch(
    new Request("http://localhost/v2/models/sentences/infer", {
      method: "POST",
      body: "{}",
    }),
  );
  assert.equal(status, 401);
  assert.throws(
    () => createServer(engine, Object.create({ models, version: 1 })),
    { name: "TypeError", message: '"version" is a string, got 1' },
  );
});

Deno.test("a limit of which nothing is said is the default", async () => {
  await using engine = await ServingEngine.create(settings);
  const said = { bytesMax: undefined, headersMax: 7 } as { headersMax: number };
  const { limits } = createServer(engine, { models, limits: said });
  assert.deepEqual(limits, { ...BODY_LIMITS, ...HEAD_LIMITS, headersMax: 7 });
});

Deno.test("a server is made of an engine or a host, not of a promise of one", async () => {
  const promised = ServingEngine.create(settings);
  for (const given of [undefined, promised, await promised.then(() => ({}))]) {
    assert.throws(() => createServer(given as never, { models }), {
      name: "TypeError",
      message: /^A server is made of a ServingEngine or an EngineHost, got /,
    });
  }
  const engine = await promised;
  assert.throws(() => listen(engine as never), {
    name: "TypeError",
    message: /^"server" is what createServer\(\) returns, which has a method/,
  });
  await engine.close();
});

Deno.test("EngineHost refuses options that are not", async () => {
  const good = {
    models,
    policy: () => auto(),
    engine: { workers: 0, warmUp: false },
  };
  await assertRefuses(
    good,
    async (options) => await (await EngineHost.create(options)).close(),
    [
      ...MODELS,
      {
        with: { admision: {} },
        name: "TypeError",
        message: /^EngineHost has no option "admision"; it takes admission, /,
      },
      {
        with: { policy: undefined },
        name: "TypeError",
        message: '"policy" is a function, got undefined',
      },
      {
        with: { policy: auto() },
        name: "TypeError",
        message: /^"policy" is a function, got /,
      },
      {
        with: { admission: {} },
        name: "TypeError",
        message: /^"admission" is an admission, .* "admit", got \{\}$/,
      },
    ],
  );
});

Deno.test("a served model's options are checked", async () => {
  await assertRefuses(
    { name: "sentences" },
    (options): ServedModel => servedTokens(model, options),
    [
      {
        with: { name: undefined },
        name: "TypeError",
        message: '"name" is a string, got undefined',
      },
      {
        with: { versions: "2" },
        name: "TypeError",
        message: /^a served model has no option "versions"; it takes name, /,
      },
      {
        with: { version: 2 },
        name: "TypeError",
        message: '"version" is a string, got 2',
      },
      {
        with: { kind: "texts" },
        name: "RangeError",
        message: /^"kind" is one of tensors, .*, got "texts"$/,
      },
    ],
  );
  assert.throws(() => servedTokens(model, undefined as never), {
    name: "TypeError",
    message: "a served model takes an object with options, got undefined",
  });
});

Deno.test("keys are an array", () => {
  assert.throws(() => new KeyRing(undefined as never), {
    name: "TypeError",
    message: '"entries" is an array, got undefined',
  });
});

Deno.test("what is to be encrypted has a certificate and a key, or is not listened for", async () => {
  await using engine = await ServingEngine.create(settings);
  const server = createServer(engine, { models });
  const tls = (tls: unknown) => ({
    with: { tls },
    name: "TypeError" as const,
    message: /^"(cert|key)" of "tls" is the text of a PEM file, got /,
  });
  await assertRefuses(
    { port: 0 },
    async (options) => (await listen(server, options)).close(0),
    [
      ...[{}, { cert: "PEM" }, { key: "PEM" }].map(tls),
      // Of environment variables that are not there.
      tls({ cert: undefined, key: undefined }),
      tls({ cert: "", key: "" }),
      tls({ cert: new Uint8Array(3), key: "PEM" }),
      {
        with: { tls: { cert: "PEM", key: "PEM", hostname: "0.0.0.0" } },
        name: "TypeError",
        message: '"tls" has no option "hostname"; it takes cert, key',
      },
      { with: { tls: true }, name: "TypeError", message: /^"tls" takes an / },
    ],
  );
  await server.close();
});
