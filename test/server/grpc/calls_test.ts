/** What hangs on calls: models that come and go, keys, deadlines, clients that leave, sizes, an end. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { lstm } from "../../../src/models/lstm.ts";
import type { Admission } from "../../../src/server/host/admission.ts";
import {
  InputError,
  NotFoundError,
  OverloadedError,
} from "../../../src/server/host/errors.ts";
import type { ModelRepository } from "../../../src/server/host/model_repository.ts";
import { KeyRing, keySha256 } from "../../../src/server/keys/key_ring.ts";
import type { ServedModel } from "../../../src/server/host/served_model.ts";
import { servedTokens } from "../../../src/server/models/served_tokens.ts";
import { listenGrpc } from "../../../src/grpc.ts";
import { grpc, grpcClient } from "./client.ts";
import { asked, refused, withGrpc } from "./serving.ts";

const { status } = grpc;

const INTENTS = servedTokens(
  lstm({ hidden: 8, vocabulary: 10, head: "classifier" }),
  { name: "intents" },
);

/** Remembers what it was told. */
class TestRepository implements ModelRepository {
  readonly told: unknown[] = [];

  index() {
    return Promise.resolve([
      { name: "intents", version: "1", state: "READY" as const },
      { name: "other", state: "UNAVAILABLE" as const, reason: "unloaded" },
    ]);
  }

  load(name: string, config?: unknown): Promise<void> {
    if (name === "bad") return Promise.reject(new InputError("It is none"));
    this.told.push(["load", name, config]);
    return Promise.resolve();
  }

  unload(name: string): Promise<void> {
    if (name === "none") return Promise.reject(new NotFoundError("None"));
    this.told.push(["unload", name]);
    return Promise.resolve();
  }
}

const HEADERS = {
  infer: { authorization: "Bearer a key for requests" },
  admin: { authorization: "Bearer a key for administrators" },
  other: { authorization: "Bearer another key" },
};

async function keyRing(): Promise<KeyRing> {
  return new KeyRing([
    { name: "app", sha256: await keySha256("a key for requests") },
    {
      name: "boss",
      sha256: await keySha256("a key for administrators"),
      scope: "admin",
    },
  ]);
}

Deno.test("models are loaded and unloaded by administrators", async () => {
  const repository = new TestRepository();
  const keys = await keyRing();
  await withGrpc([INTENTS], async ({ client }) => {
    const headers = HEADERS.admin;
    assert.deepEqual(await client.call("RepositoryIndex", {}, { headers }), {
      models: [
        { name: "intents", version: "1", state: "READY", reason: "" },
        {
          name: "other",
          version: "",
          state: "UNAVAILABLE",
          reason: "unloaded",
        },
      ],
    });
    const { models } = await client.call("RepositoryIndex", { ready: true }, {
      headers,
    }) as { models: unknown[] };
    assert.equal(models.length, 1);
    await client.call("RepositoryModelLoad", {
      model_name: "other",
      parameters: { config: { string_param: `{"kind": "decoder"}` } },
    }, { headers });
    await client.call("RepositoryModelUnload", { model_name: "other" }, {
      headers,
    });
    assert.deepEqual(repository.told, [
      ["load", "other", { kind: "decoder" }],
      ["unload", "other"],
    ]);
    const code = async (
      method: string,
      message: object,
      headers: Readonly<Record<string, string>> = HEADERS.admin,
    ) => (await refused(client, method, message, { headers })).code;
    const load = (model_name: string, parameters = {}) =>
      ["RepositoryModelLoad", { model_name, parameters }] as const;
    assert.equal(await code(...load("bad")), status["INVALID_ARGUMENT"]);
    assert.equal(
      await code(...load("other", { config: { bool_param: true } })),
      status["INVALID_ARGUMENT"],
    );
    assert.equal(
      await code(
        ...load("other", { "file:a": { bytes_param: Buffer.alloc(1) } }),
      ),
      status["INVALID_ARGUMENT"],
    );
    assert.equal(
      await code("RepositoryModelUnload", { model_name: "none" }),
      status["NOT_FOUND"],
    );
    for (
      const [method, message] of [
        load("other"),
        ["RepositoryIndex", {}] as const,
      ]
    ) {
      assert.equal(
        await code(method, message, HEADERS.infer),
        status["PERMISSION_DENIED"],
      );
      assert.equal(await code(method, message, {}), status["UNAUTHENTICATED"]);
    }
    assert.equal(repository.told.length, 2);
  }, { repository, keys });
});

Deno.test("keys come in metadata", async () => {
  await withGrpc([INTENTS], async ({ client }) => {
    await client.call("ModelInfer", asked(), { headers: HEADERS.infer });
    for (const headers of [{}, HEADERS.other]) {
      assert.equal(
        (await refused(client, "ModelInfer", asked(), { headers })).code,
        status["UNAUTHENTICATED"],
      );
    }
    // What anybody may ask is asked without one.
    await client.call("ServerReady", {});
    const stream = client.stream("ModelStreamInfer");
    stream.write(asked());
    await assert.rejects(
      async () => {
        for await (const answer of stream) assert.fail(`${answer}`);
      },
      { code: status["UNAUTHENTICATED"] },
    );
  }, { keys: await keyRing() });
});

/** Admits nobody; tells of who waits, and of those whose client has left. */
class Closed implements Admission {
  readonly came: Promise<void>;
  readonly left: Promise<unknown>;
  /** Why the last one left; undefined while nobody has. */
  reason: unknown;
  finishNs = 0;
  #came!: () => void;
  #left!: (reason: unknown) => void;
  #end: (reason: Error) => void = () => {};

  constructor() {
    this.came = new Promise((resolve) => this.#came = resolve);
    this.left = new Promise((resolve) => this.#left = resolve);
  }

  /** Nobody waits any longer, or a server would not end. */
  end(): void {
    this.#end(new Error("the test is over"));
  }

  admit(
    { signal, finishNs, arrivalNs }: Parameters<Admission["admit"]>[0],
  ): Promise<never> {
    this.finishNs = finishNs - arrivalNs;
    this.#came();
    return new Promise((_, reject) => {
      this.#end = reject;
      signal!.addEventListener("abort", () => {
        this.reason = signal!.reason;
        this.#left(signal!.reason);
        reject(signal!.reason);
      });
    });
  }
}

Deno.test("a client that leaves ends its request", async () => {
  const admission = new Closed();
  await withGrpc([INTENTS], async ({ client, server }) => {
    const leaving = new AbortController();
    const call = refused(client, "ModelInfer", asked(), {
      signal: leaving.signal,
    });
    await admission.came;
    assert.equal(admission.finishNs, Infinity);
    leaving.abort();
    assert.equal((await call).code, status["CANCELLED"]);
    // Calls of a connection are heard of in order: who has an answer to a later one was heard before.
    for (let i = 0; i < 3; i++) await client.call("ServerLive", {});
    const { reason } = admission;
    admission.end();
    assert.equal((reason as Error | undefined)?.name, "AbortError");
    assert.equal(server.host.active, 0);
  }, { host: { admission } });
});

/** A call of 300 ms that nobody answers. */
async function endsInTime(
  client: Parameters<typeof refused>[0],
  admission: Closed,
): Promise<void> {
  const deadline = new Date(Date.now() + 300);
  const call = refused(client, "ModelInfer", asked(), { deadline });
  await admission.came;
  // Admission knows it, so that it can refuse what will not be done.
  assert(admission.finishNs > 0 && admission.finishNs <= 310e6);
  assert.equal((await call).code, status["DEADLINE_EXCEEDED"]);
  await admission.left;
}

Deno.test("a call's deadline is its request's", async () => {
  const admission = new Closed();
  await withGrpc([INTENTS], async ({ client }) => {
    await endsInTime(client, admission);
  }, { host: { admission } });
});

Deno.test("a call has its time also where the machine's clock was set since the server began", async () => {
  const Before = Date;
  for (const byMs of [-3_600_000, 3_600_000]) {
    const nowMs = () => Before.now() + byMs;
    const admission = new Closed();
    await withGrpc([INTENTS], async ({ client }) => {
      globalThis.Date = class extends Before {
        static override now = nowMs;

        constructor(...given: [] | [number]) {
          super(given[0] ?? nowMs());
        }
      } as DateConstructor;
      await endsInTime(client, admission);
    }, { host: { admission } }).finally(() => globalThis.Date = Before);
  }
});

Deno.test("a timeout that is said ends a request before the call's deadline", async () => {
  const model = lstm({ hidden: 64, vocabulary: 10 });
  const served = servedTokens(model, { name: "intents" });
  await withGrpc([served], async ({ client, server }) => {
    const error = await refused(
      client,
      "ModelInfer",
      asked(new Array(4096).fill(1), {
        parameters: { timeout: { int64_param: 1000 } },
      }),
      { deadline: new Date(Date.now() + 60_000) },
    );
    assert.equal(error.code, status["DEADLINE_EXCEEDED"]);
    assert.equal(server.host.statistics.of(served).fail.count, 1);
  });
});

Deno.test("who is refused for load is told when to come again", async () => {
  const admission: Admission = {
    admit() {
      throw new OverloadedError("Too much", 1234);
    },
  };
  await withGrpc([INTENTS], async ({ client }) => {
    const { code, details, metadata } = await refused(
      client,
      "ModelInfer",
      asked(),
    );
    assert.deepEqual([code, details], [status["UNAVAILABLE"], "Too much"]);
    assert.deepEqual(metadata.get("grpc-retry-pushback-ms"), ["1234"]);
  }, { host: { admission } });
});

Deno.test("messages are no larger than bodies, packed or not", async () => {
  const limits = { bytesMax: 10_000 };
  await withGrpc([INTENTS], async ({ client, port }) => {
    const large = asked(new Array(20_000).fill(1));
    assert.equal(
      (await refused(client, "ModelInfer", large)).code,
      status["RESOURCE_EXHAUSTED"],
    );
    // 20,000 ones are a few hundred bytes as gzip has them.
    const packing = grpcClient(`127.0.0.1:${port}`, {
      options: { "grpc.default_compression_algorithm": 2 },
    });
    try {
      assert.equal(
        (await refused(packing, "ModelInfer", large)).code,
        status["RESOURCE_EXHAUSTED"],
      );
      await packing.call("ModelInfer", asked());
    } finally {
      packing.close();
    }
    await client.call("ModelInfer", asked());
  }, { limits });
});

Deno.test("bodies of all calls together have a bound", async () => {
  const admission = new Closed();
  const limits = { bytesMax: 20_000, bytesTogetherMax: 60_000 };
  await withGrpc([INTENTS], async ({ client }) => {
    const large = asked(new Array(10_000).fill(1));
    const leaving = new AbortController();
    const first = refused(client, "ModelInfer", large, {
      signal: leaving.signal,
    });
    await admission.came;
    const { code, details } = await refused(client, "ModelInfer", large);
    assert.equal(code, status["UNAVAILABLE"], details);
    leaving.abort();
    await first;
  }, { limits, host: { admission } });
});

Deno.test("an end waits for calls under way, as long as it may", async () => {
  const admission = new Closed();
  await withGrpc([INTENTS], async ({ server }) => {
    const listener = await listenGrpc(server, { grpc, port: 0 });
    const client = grpcClient(`127.0.0.1:${listener.port}`);
    const call = refused(client, "ModelInfer", asked());
    await admission.came;
    await listener.close(100);
    await call;
    await admission.left;
    assert.equal(
      (await refused(client, "ServerLive", {}, {
        deadline: new Date(Date.now() + 1000),
      })).code === 0,
      false,
    );
    client.close();
  }, { host: { admission } });
});

Deno.test("what is wrong is told in a line, however long the names of it are", async () => {
  const long = "é".repeat(100_000);
  const [input] = asked().inputs;
  await withGrpc([INTENTS], async ({ client }) => {
    const deadline = () => ({ deadline: new Date(Date.now() + 10_000) });
    const cases: [method: string, message: object, code: number][] = [
      ["ModelInfer", { ...asked(), model_name: long }, status.NOT_FOUND],
      ["ModelInfer", { ...asked(), model_version: long }, status.NOT_FOUND],
      [
        "ModelInfer",
        asked([3], { inputs: [1, 2].map(() => ({ ...input, name: long })) }),
        status.INVALID_ARGUMENT,
      ],
      ["ModelMetadata", { name: long }, status.NOT_FOUND],
      ["ModelMetadata", { name: "intents", version: long }, status.NOT_FOUND],
      ["ModelStatistics", { name: long }, status.NOT_FOUND],
    ];
    for (const [method, message, code] of cases) {
      const error = await refused(client, method, message, deadline());
      assert.equal(error.code, code, error.details);
      assert(error.details.length < 200, error.details);
    }
  });
});

Deno.test("an error of more words than trailers have room for is cut off", async () => {
  const model: ServedModel = {
    ...INTENTS,
    toInput: () => assert.fail(new RangeError("€".repeat(50_000))),
  };
  await withGrpc([model], async ({ client }) => {
    const { code, details } = await refused(client, "ModelInfer", asked(), {
      deadline: new Date(Date.now() + 10_000),
    });
    assert.equal(code, status.INVALID_ARGUMENT);
    assert.match(details, /^€+…$/);
    // As they are sent; clients take no more than 8 KiB unless told otherwise.
    assert(encodeURIComponent(details).length < 7500);
  });
});

Deno.test("an error that is cut off, or has half a character, ends nothing but its call", async () => {
  const model: ServedModel = {
    ...INTENTS,
    toInput: () =>
      assert.fail(new RangeError(`a${"😀"[0]}b${"😀".repeat(1000)}`)),
  };
  await withGrpc([model], async ({ client }) => {
    const deadline = () => ({ deadline: new Date(Date.now() + 10_000) });
    for (const before of ["", "a"]) {
      const name = before + "😀".repeat(100);
      const error = await refused(
        client,
        "ModelMetadata",
        { name },
        deadline(),
      );
      assert.equal(error.code, status.NOT_FOUND);
      assert.match(error.details, /^There is no model "a?😀+…"$/u);
    }
    const error = await refused(client, "ModelInfer", asked(), deadline());
    assert.equal(error.code, status.INVALID_ARGUMENT);
    assert.match(error.details, /^a\ufffdb😀+…$/u);
  });
});

Deno.test("an error of the server's own is told without its words", async () => {
  const told: unknown[] = [];
  const broken = {
    ...INTENTS,
    toInput(): never {
      throw new Error("/etc/secret");
    },
  };
  await withGrpc([broken], async ({ client }) => {
    const { code, details } = await refused(client, "ModelInfer", asked());
    assert.equal(code, status["INTERNAL"]);
    assert.doesNotMatch(details, /secret/);
    assert.equal((told[0] as Error).message, "/etc/secret");
  }, { onError: (error) => told.push(error) });
});

Deno.test("nothing is served in the clear that is to be encrypted", async () => {
  // Node and Bun do it: bundle_test.ts.
  await withGrpc([INTENTS], async ({ server }) => {
    const tls = { cert: "PEM", key: "PEM" };
    await assert.rejects(
      listenGrpc(server, { grpc, port: 0, tls }),
      /do not encrypt.*Node or Bun/,
    );
  });
});

Deno.test("what is no module of gRPC, or no address, is refused", async () => {
  await withGrpc([INTENTS], async ({ server, port }) => {
    await assert.rejects(
      listenGrpc(server, {} as never),
      /"grpc" is the module @grpc\/grpc-js/,
    );
    await assert.rejects(listenGrpc(server, { grpc, port: -1 }), RangeError);
    await assert.rejects(listenGrpc(server, { grpc, port }));
  });
});
