/** `ModelStreamInfer`: answers as they are done, steps of what grows, frames of sequences, errors that end nothing. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { EventEmitter } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { lstmStream } from "../../../src/models/rnn_stream.ts";
import { servedStream } from "../../../src/server/models/served_stream.ts";
import { listenGrpc } from "../../../src/server/grpc/listen_grpc.ts";
import type { GrpcModule } from "../../../src/server/grpc/grpc_module.ts";
import { TEXT_MODELS } from "../text_models.ts";
import { grpc } from "./client.ts";
import { withGrpc } from "./serving.ts";

const WRITER = TEXT_MODELS.find(({ name }) => name === "writer")!;
const CLASSIFIER = TEXT_MODELS.find(({ name }) => name === "classifier")!;
const GESTURES = servedStream(lstmStream({ hidden: 4, features: 2 }), {
  name: "gestures",
});

interface Answer {
  readonly error_message: string;
  readonly infer_response: {
    readonly id: string;
    readonly model_name: string;
    readonly parameters: Readonly<Record<string, { bool_param: boolean }>>;
    readonly outputs: readonly {
      readonly name: string;
      readonly shape: readonly string[];
      readonly contents: Readonly<Record<string, readonly number[]>>;
    }[];
  } | null;
}

function asked(
  model: string,
  tokens: readonly number[],
  { steps, ...rest }: { steps?: number; id?: string; parameters?: object } = {},
) {
  const ints = (name: string, values: readonly number[]) => ({
    name,
    datatype: "INT32",
    shape: [values.length],
    contents: { int_contents: values },
  });
  return {
    model_name: model,
    inputs: [
      ints("tokens", tokens),
      ...steps === undefined ? [] : [ints("max_steps", [steps])],
    ],
    ...rest,
  };
}

async function all(stream: AsyncIterable<unknown>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for await (const answer of stream) answers.push(answer as Answer);
  return answers;
}

Deno.test("a model that grows answers step by step, with the tokens of a whole answer", async () => {
  await withGrpc([WRITER], async ({ client }) => {
    const whole = await client.call(
      "ModelInfer",
      asked("writer", [5, 6, 7], { steps: 9 }),
    ) as unknown as NonNullable<Answer["infer_response"]>;
    const expected = whole.outputs.find(({ name }) => name === "tokens")!
      .contents["int_contents"];
    assert.equal(expected.length, 9);
    for (const withFinal of [false, true]) {
      const stream = client.stream("ModelStreamInfer");
      stream.write(asked("writer", [5, 6, 7], {
        steps: 9,
        id: "a",
        parameters: {
          triton_enable_empty_final_response: { bool_param: withFinal },
        },
      }));
      stream.end();
      const answers = await all(stream);
      const tokens = answers.flatMap(({ infer_response }) =>
        infer_response!.outputs.filter(({ name }) => name === "tokens")
          .flatMap(({ contents }) => contents["int_contents"])
      );
      assert.deepEqual(tokens, expected);
      assert.equal(answers.length, withFinal ? 10 : 9);
      answers.forEach(({ error_message, infer_response }, i) => {
        assert.equal(error_message, "");
        const { id, model_name, parameters, outputs } = infer_response!;
        assert.deepEqual([id, model_name], ["a", "writer"]);
        const { bool_param: isFinal } = parameters["triton_final_response"];
        assert.equal(isFinal, i === 9);
        assert.equal(outputs.length > 0, !isFinal);
      });
    }
  });
});

Deno.test("requests of one call are answered when each is done; what is wrong with one ends none", async () => {
  await withGrpc([WRITER, CLASSIFIER], async ({ client }) => {
    const stream = client.stream("ModelStreamInfer");
    const requests = [
      asked("writer", [5, 6], { steps: 50, id: "long" }),
      asked("classifier", [5, 6], { id: "short" }),
      asked("none", [5], { id: "nobody" }),
      asked("classifier", [99], { id: "wrong" }),
      asked("classifier", [7], {
        id: "odd",
        parameters: {
          triton_enable_empty_final_response: { string_param: "yes" },
        },
      }),
    ];
    for (const request of requests) stream.write(request);
    stream.end();
    const answers = await all(stream);
    const of = (id: string) =>
      answers.filter(({ infer_response }) => infer_response?.id === id);
    assert.equal(of("long").length, 50);
    assert.equal(of("short").length, 1);
    const [short] = of("short");
    assert.equal(
      short.infer_response!.parameters["triton_final_response"].bool_param,
      true,
    );
    assert.match(of("nobody")[0].error_message, /no model "none"/);
    assert.match(of("wrong")[0].error_message, /tokens\[0\]/);
    assert.match(of("odd")[0].error_message, /true or false/);
    // It did not wait for the one that came before it.
    assert(answers.indexOf(short) < answers.indexOf(of("long")[49]));
  });
});

Deno.test("frames of sequences are computed in the order in which they come", async () => {
  const frames = 40;
  const request = (id: number, t: number) => ({
    model_name: "gestures",
    id: `${id}/${t}`,
    parameters: {
      sequence_id: { int64_param: id },
      sequence_start: { bool_param: t === 0 },
      sequence_end: { bool_param: t === frames - 1 },
    },
    inputs: [{
      name: "x",
      datatype: "FP32",
      shape: [2],
      contents: { fp32_contents: [t, id] },
    }],
  });
  await withGrpc([GESTURES], async ({ client, server }) => {
    const expected = new Map<string, number[]>();
    for (const id of [1, 2, 3]) {
      const session = server.host.open(server.host.find("gestures"));
      for (let t = 0; t < frames; t++) {
        const { outputs } = await session.push({ x: [t, id] });
        expected.set(`${id}/${t}`, [...outputs["h"].data as Float32Array]);
      }
      await session.close();
    }
    const stream = client.stream("ModelStreamInfer");
    for (let t = 0; t < frames; t++) {
      for (const id of [1, 2, 3]) stream.write(request(id, t));
    }
    stream.end();
    const answers = await all(stream);
    assert.equal(answers.length, 3 * frames);
    for (const { error_message, infer_response } of answers) {
      assert.equal(error_message, "");
      const { id, outputs } = infer_response!;
      assert.deepEqual(outputs[0].contents["fp32_contents"], expected.get(id));
    }
  });
});

Deno.test("a sequence goes on whose version its requests say and is gone", async () => {
  const request = (t: number) => ({
    model_name: "gestures",
    model_version: "1",
    parameters: {
      sequence_id: { int64_param: 1 },
      sequence_start: { bool_param: t === 0 },
    },
    inputs: [{
      name: "x",
      datatype: "FP32",
      shape: [2],
      contents: { fp32_contents: [t, 1] },
    }],
  });
  await withGrpc([GESTURES], async ({ client, server }) => {
    await client.call("ModelInfer", request(0));
    await server.host.change(() => []);
    await client.call("ModelInfer", request(1));
    const stream = client.stream("ModelStreamInfer");
    stream.write(request(2));
    stream.end();
    const [{ error_message }] = await all(stream);
    assert.equal(error_message, "");
  });
});

Deno.test("a client that leaves ends all of its call's requests", async () => {
  await withGrpc([WRITER], async ({ client, server }) => {
    const stream = client.stream("ModelStreamInfer");
    for (let i = 0; i < 3; i++) {
      stream.write(asked("writer", [5, 6], { steps: 500, id: `${i}` }));
    }
    await assert.rejects(
      async () => {
        for await (const _ of stream) {
          assert.equal(server.host.active, 3);
          stream.cancel();
        }
      },
      { code: grpc.status["CANCELLED"] },
    );
    while (server.host.active > 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const { fail, success } = server.host.statistics.of(WRITER);
    assert.deepEqual([fail.count, success.count], [3, 0]);
  });
});

Deno.test("more requests than may be under way at once are taken as there is room", async () => {
  let underWay = 0;
  let most = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => open = resolve);
  const admission = {
    async admit() {
      most = Math.max(most, ++underWay);
      // Nobody goes on before there are as many as there may be, and more have had time to come.
      if (underWay === 64) setTimeout(open, 50);
      await opened;
      return () => void underWay--;
    },
  };
  await withGrpc([CLASSIFIER], async ({ client }) => {
    const stream = client.stream("ModelStreamInfer");
    const count = 300;
    for (let i = 0; i < count; i++) {
      stream.write(asked("classifier", [5, 6, i % 20], { id: `${i}` }));
    }
    stream.end();
    const ids = (await all(stream)).map(({ infer_response }) =>
      Number(infer_response!.id)
    );
    assert.deepEqual(
      ids.sort((a, b) => a - b),
      Array.from({ length: count }, (_, i) => i),
    );
    assert.equal(most, 64);
  }, { host: { admission } });
});

Deno.test("requests that take long hold nothing of those that are answered meanwhile", async () => {
  const script = fileURLToPath(new URL("./held_messages.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["run", "-A", "--no-check", "--v8-flags=--expose-gc", script],
  ]);
  assert(Number(stdout) < 1000, `${stdout} bytes a message`);
});

Deno.test("a call without requests ends", async () => {
  await withGrpc([CLASSIFIER], async ({ client }) => {
    const stream = client.stream("ModelStreamInfer");
    stream.end();
    assert.deepEqual(await all(stream), []);
  });
});

Deno.test("a call that goes on ends when the port closes, once its requests are done", async () => {
  await withGrpc([WRITER], async ({ client, server, listener }) => {
    const stream = client.stream("ModelStreamInfer");
    stream.write(asked("writer", [5, 6], { steps: 50 }));
    let closed: Promise<void> | undefined;
    await assert.rejects(
      async () => {
        for await (const _ of stream) {
          // Much more than all of it takes.
          closed ??= listener.close(20_000);
        }
      },
      { code: grpc.status["UNAVAILABLE"], details: /about to end/ },
    );
    await closed;
    const { fail, success } = server.host.statistics.of(WRITER);
    assert.deepEqual([fail.count, success.count], [0, 1]);
  });
});

Deno.test("messages that come behind the end of their call are dropped", async () => {
  await withGrpc([WRITER], async ({ server }) => {
    const streamed: ((call: EventEmitter) => void)[] = [];
    const { close } = await listenGrpc(server, {
      grpc: {
        ServerCredentials: grpc.ServerCredentials,
        Metadata: grpc.Metadata,
        Server: class {
          addService(_service: object, calls: object) {
            if ("ModelStreamInfer" in calls) {
              streamed.push(calls.ModelStreamInfer as typeof streamed[0]);
            }
          }
          bindAsync(
            _address: string,
            _credentials: object,
            bound: (error: null, port: number) => void,
          ) {
            bound(null, 1);
          }
          tryShutdown(done: () => void) {
            done();
          }
          forceShutdown() {}
        },
      } as GrpcModule,
    });
    const call = Object.assign(new EventEmitter(), {
      metadata: new grpc.Metadata(),
      getDeadline: () => Infinity,
      getPeer: () => "127.0.0.1:1",
      ...{ pause() {}, resume() {}, end() {}, sendMetadata() {} },
    });
    const ended = new Promise((resolve) => call.once("error", resolve));
    streamed[0](call);
    for (const event of ["cancelled", "data", "end"]) {
      call.emit(event, new Uint8Array(1));
    }
    await ended;
    call.emit("data", new Uint8Array(1));
    await close();
  });
});
