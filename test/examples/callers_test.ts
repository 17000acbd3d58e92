/** Sound over WebSockets: 200 callers on one engine, and callers who do what they should not. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import {
  Callers,
  type SoundModel,
  writeSound,
} from "../../examples/streams/callers.ts";
import { site } from "../../examples/streams/server.ts";
import { Prng } from "../../src/base/prng.ts";
import {
  cellular,
  defineCell,
  defineStream,
  f32,
  ServingEngine,
} from "../../src/mod.ts";
import { dtln, loadOnnx } from "../../src/onnx.ts";
import { dtlnFolders } from "../onnx/speech.ts";

const HOP = 128;
const CALLERS = 200;
const SIGNALS = 5;
/** Samples of a message: no multiple of a frame. */
const MESSAGE = 1000;
const MESSAGES = 12;

/** The mean of every frame and the one before. */
function smallModel(): SoundModel {
  const cell = defineCell({
    name: "mean",
    inputs: { samples: f32(HOP), before: f32(HOP) },
    body: (op, { samples, before }) => ({
      mean: op.Tanh(op.Add(samples, before)),
      kept: op.Tanh(samples),
    }),
  });
  return defineStream({
    name: "mean",
    cells: [cell],
    inputs: { samples: f32(HOP) },
    states: { before: { ...f32(HOP), from: "before" } },
    outputs: { samples: "f32" },
    frame(graph, given) {
      const node = graph.node(cell, {
        samples: graph.row(given.samples, 0, HOP),
        before: graph.row(given.before, 0, HOP),
      });
      graph.result("samples", graph.output(node, "mean"));
      graph.result("before", graph.output(node, "kept"));
    },
  });
}

function signal(seed: number, samples: number): Int16Array {
  const prng = new Prng(seed);
  return Int16Array.from({ length: samples }, () => prng.int(20_000) - 10_000);
}

/** What a stream gives that is alone in an engine. */
async function alone(
  model: SoundModel,
  sound: Int16Array,
): Promise<Int16Array> {
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular(),
    workers: 0,
  });
  await using stream = engine.open(model);
  const out = new Int16Array(sound.length - sound.length % HOP);
  for (let at = 0; at < out.length; at += HOP) {
    const samples = Float32Array.from(
      sound.subarray(at, at + HOP),
      (value) => value / 2 ** 15,
    );
    writeSound((await stream.push({ samples })).outputs.samples.data, out, at);
  }
  return out;
}

/** What comes back, and how the socket closed. */
interface Call {
  readonly sound: Int16Array;
  readonly code: number;
}

/** Sends messages, closes when so many samples have come back. */
function call(
  url: string,
  messages: readonly (ArrayBuffer | string)[],
  samples: number,
): Promise<Call> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    const sound = new Int16Array(samples);
    let got = 0;
    socket.onopen = () => {
      for (const message of messages) socket.send(message);
    };
    socket.onmessage = ({ data }) => {
      const part = new Int16Array(data as ArrayBuffer);
      sound.set(part, got);
      got += part.length;
      if (got === samples) socket.close(1000);
    };
    socket.onclose = ({ code }) =>
      resolve({ sound: sound.slice(0, got), code });
  });
}

function messagesOf(sound: Int16Array): ArrayBuffer[] {
  return Array.from(
    { length: Math.ceil(sound.length / MESSAGE) },
    (_, i) => sound.slice(i * MESSAGE, (i + 1) * MESSAGE).buffer,
  );
}

async function withServer<T>(
  model: SoundModel,
  options: { callersMax?: number },
  use: (url: string, callers: Callers) => Promise<T>,
): Promise<T> {
  await using engine = await ServingEngine.create({
    models: [model],
    policy: cellular({ batchSizeMax: 64 }),
    workers: 1,
  });
  const callers = new Callers({
    engine,
    model,
    deadlineMs: 60_000,
    callersMax: 1000,
    ...options,
  });
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    site({ callers, models: {} }),
  );
  try {
    return await use(`ws://127.0.0.1:${server.addr.port}/callers`, callers);
  } finally {
    await server.shutdown();
  }
}

async function manyCallers(model: SoundModel, messages: number): Promise<void> {
  const sounds = Array.from(
    { length: SIGNALS },
    (_, seed) => signal(seed, messages * MESSAGE),
  );
  const expected = await Promise.all(
    sounds.map((sound) => alone(model, sound)),
  );
  await withServer(model, {}, async (url, callers) => {
    const calls = await Promise.all(
      Array.from({ length: CALLERS }, (_, i) => {
        const sound = sounds[i % SIGNALS];
        return call(url, messagesOf(sound), expected[i % SIGNALS].length);
      }),
    );
    calls.forEach(({ sound, code }, i) => {
      assert.equal(code, 1000);
      assert.deepEqual(sound, expected[i % SIGNALS], `caller ${i}`);
    });
    assert.equal(callers.passed, 0);
  });
}

Deno.test("200 callers get what each would get alone", async () => {
  await manyCallers(smallModel(), MESSAGES);
});

Deno.test("200 callers are denoised as each would be alone", async () => {
  const folders = dtlnFolders("callers of the denoiser");
  if (folders === undefined) return;
  const [model1, model2] = await Promise.all(
    folders.map((folder) => loadOnnx(new URL("model.onnx", folder))),
  );
  await manyCallers(dtln({ model1, model2 }), 3);
});

Deno.test("a caller who does what it should not is alone in that", async () => {
  const model = smallModel();
  const sound = signal(9, 5 * MESSAGE);
  const expected = await alone(model, sound);
  await withServer(model, { callersMax: 3 }, async (url, callers) => {
    const good = () => call(url, messagesOf(sound), expected.length);
    for (
      const [bad, code] of [
        [new ArrayBuffer(3), 1003],
        ["hello", 1003],
        [new ArrayBuffer(2 ** 16 + 2), 1009],
      ] as const
    ) {
      const [one, other, refused] = await Promise.all([
        good(),
        good(),
        call(url, [sound.slice(0, 300).buffer, bad], 1e6),
      ]);
      assert.deepEqual(one.sound, expected);
      assert.deepEqual(other.sound, expected);
      assert.equal(refused.code, code);
    }
    const flood = Array.from({ length: 20 }, () => new ArrayBuffer(2 ** 16));
    // Closed in the middle of a send: the code may not get through.
    const flooded = await call(url, flood, 1e7);
    assert(flooded.sound.length < 20 * 2 ** 15 && flooded.code !== 1000);
    while (callers.count > 0) await sleep(1);
    const held = Array.from({ length: 3 }, () => {
      const socket = new WebSocket(url);
      return new Promise<WebSocket>((resolve) => {
        socket.onopen = () => resolve(socket);
      });
    });
    const sockets = await Promise.all(held);
    assert.equal((await good()).code, 1013, "one too many");
    await Promise.all(sockets.map((socket) => {
      const closed = new Promise((resolve) => socket.onclose = resolve);
      socket.close();
      return closed;
    }));
  });
});

Deno.test("a caller may begin again", async () => {
  const model = smallModel();
  const sound = signal(4, 4 * HOP);
  const expected = await alone(model, sound);
  await withServer(model, {}, async (url) => {
    const messages = [
      sound.slice(0, 4 * HOP).buffer,
      "reset",
      sound.slice().buffer,
    ];
    const twice = await call(url, messages, 8 * HOP);
    assert.deepEqual(twice.sound.slice(0, 4 * HOP), expected);
    assert.deepEqual(twice.sound.slice(4 * HOP), expected);
  });
});

Deno.test("the site serves its page, and nothing else", async () => {
  const model = await Deno.makeTempFile();
  const get = site({ models: { model1: model } });
  const at = (path: string) => get(new Request(`http://localhost${path}`));
  const page = await at("/");
  assert.equal(page.status, 200);
  assert.equal(
    page.headers.get("cross-origin-embedder-policy"),
    "require-corp",
  );
  for (
    const path of [
      "/server.ts",
      "/shoal/../callers.ts",
      "/models/model1",
      "/models/model2.onnx",
      "/models/",
      "/shoal/",
      "/shoal/%2e%2e/x.js",
      "/shoal/..%2fx",
      "/a/b/c",
      "/callers",
    ]
  ) {
    assert.equal((await at(path)).status, 404, path);
  }
  const found = await at("/models/model1.onnx");
  assert.equal(found.headers.get("content-type"), "application/octet-stream");
  await Deno.remove(model);
});
