/** `/v1/realtime` over WebSockets, in the listeners of Deno and of Node (as Deno has it). */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { get, type IncomingMessage } from "node:http";
import { defineCell, f32 } from "../../../src/graph/cell_builder.ts";
import { defineStream } from "../../../src/graph/stream_model.ts";
import { cellular } from "../../../src/policy/cellular_batching/cellular.ts";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import { EngineHost } from "../../../src/server/host/engine_host.ts";
import type { EngineSettings } from "../../../src/server/host/host_options.ts";
import type { SocketHandlers } from "../../../src/server/http/socket.ts";
import { KeyRing, keySha256 } from "../../../src/server/keys/key_ring.ts";
import { KeyedAdmission } from "../../../src/server/keys/keyed_admission.ts";
import { servedStream } from "../../../src/server/models/served_stream.ts";
import { listen } from "../../../src/server/runtime/listen.ts";
import type { Listener } from "../../../src/server/runtime/listener.ts";
import { listenInNode } from "../../../src/server/runtime/node.ts";
import { createServer, type Server } from "../../../src/server/server.ts";
import { tensor } from "../../../src/tensor/tensor.ts";

const FRAME = 512;

/** A detector that takes the mean of a frame, and of the one before, for the probability of speech. */
const cell = defineCell({
  name: "loudness",
  inputs: { samples: f32(FRAME), before: f32(1) },
  body: (op, { samples, before }) => {
    const mean = op.Gemm(
      samples,
      tensor([1, FRAME], new Float32Array(FRAME).fill(1 / FRAME)),
    );
    const half = tensor([1, 1], Float32Array.of(0.5));
    return { speech: op.Add(op.Gemm(before, half), mean), mean };
  },
});
const detector = defineStream({
  name: "loudness",
  cells: [cell],
  inputs: { samples: f32(FRAME) },
  states: { before: { ...f32(1), from: "mean" } },
  outputs: { speech: "f32" },
  frame(graph, { samples, before }) {
    const node = graph.node(cell, {
      samples: graph.row(samples, 0, FRAME),
      before: graph.row(before, 0, 1),
    });
    graph.result("speech", graph.output(node, "speech"));
    graph.result("mean", graph.output(node, "mean"));
  },
});

const LISTENERS: Readonly<
  Record<string, (server: Server) => Promise<Listener>>
> = {
  "Deno's listener": (server) => listen(server, { port: 0 }),
  "Node's listener": (server) =>
    listenInNode(server, { hostname: "127.0.0.1", port: 0 }),
};

async function withServer(
  start: (server: Server) => Promise<Listener>,
  run: (url: string, host: EngineHost) => Promise<void>,
  engine: EngineSettings = {},
  keys?: KeyRing,
): Promise<void> {
  const host = await EngineHost.create({
    models: [servedStream(detector, { name: "voices" })],
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false, ...engine },
  });
  const server = createServer(host, { ...(keys && { keys }) });
  const listener = await start(server);
  try {
    await run(`ws://127.0.0.1:${listener.port}/v1/realtime`, host);
  } finally {
    await listener.close();
    await server.close();
  }
}

type Event = Readonly<Record<string, unknown>>;

/** A client that waits for events in order. */
class Client {
  readonly #socket: WebSocket;
  readonly #events: Event[] = [];
  #wake = () => {};
  readonly closed: Promise<CloseEvent>;

  constructor(url: string, protocols: string[] = []) {
    this.#socket = new WebSocket(url, protocols);
    this.#socket.onmessage = ({ data }) => {
      this.#events.push(JSON.parse(data));
      this.#wake();
    };
    this.closed = new Promise((resolve) =>
      this.#socket.onclose = (event) => {
        this.#wake();
        resolve(event);
      }
    );
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  send(event: Event): void {
    this.#socket.send(JSON.stringify(event));
  }

  /** The next event. */
  async event(): Promise<Event> {
    while (this.#events.length === 0) {
      assert.notEqual(this.#socket.readyState, WebSocket.CLOSED);
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#events.shift()!;
  }

  close(): void {
    this.#socket.close();
  }

  /** Something that is no text. */
  sendBytes(): void {
    this.#socket.send(Uint8Array.of(1));
  }
}

/** Frames of one loudness each, 32 ms of PCM at 16 kHz. */
function audio(...loudness: number[]): Event {
  const samples = Int16Array.from(
    { length: FRAME * loudness.length },
    (_, i) => 32767 * loudness[Math.floor(i / FRAME)],
  );
  return {
    type: "input_audio_buffer.append",
    audio: Buffer.from(samples.buffer).toString("base64"),
  };
}

const UPDATE: Event = {
  type: "session.update",
  session: {
    type: "realtime",
    audio: {
      input: {
        format: { type: "audio/pcm", rate: 16_000 },
        turn_detection: {
          type: "server_vad",
          prefix_padding_ms: 0,
          silence_duration_ms: 64,
        },
      },
    },
  },
};

Deno.test("a key that may not use the detector opens nothing", async () => {
  const keys = new KeyRing([
    { name: "app", sha256: await keySha256("app"), models: ["others"] },
  ]);
  const host = await EngineHost.create({
    models: [servedStream(detector, { name: "voices" })],
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
    admission: new KeyedAdmission(keys, new CostAdmission()),
  });
  const server = createServer(host, { keys });
  const headers = { authorization: "Bearer app", upgrade: "websocket" };
  const asked = new Request("http://localhost/v1/realtime?model=voices", {
    headers,
  });
  const { status } = await server.fetch(asked, {
    openSocket: () => assert.fail("it is open"),
  });
  assert.equal(status, 403);
  await server.close();
});

Deno.test("messages that wait for others are bounded, also where there is nothing in them", async () => {
  const host = await EngineHost.create({
    models: [servedStream(detector, { name: "voices" })],
    policy: () => cellular(),
    engine: { workers: 0, warmUp: false },
  });
  const server = createServer(host);
  const asked = new Request("http://localhost/v1/realtime?model=voices", {
    headers: { upgrade: "websocket" },
  });
  let client: SocketHandlers | undefined;
  await server.fetch(asked, {
    openSocket(handlers) {
      client = handlers;
      return new Response();
    },
  });
  const codes: number[] = [];
  client!.opened({ send() {}, close: (code) => void codes.push(code) });
  client!.message(JSON.stringify(audio(0, 0, 0)));
  const most = 200_000;
  let sent = 0;
  while (sent < most && codes.length === 0) {
    client!.message("");
    sent++;
  }
  client!.closed();
  await server.close();
  assert.deepEqual(codes, [1009], `${sent} were taken`);
});

for (const [what, start] of Object.entries(LISTENERS)) {
  Deno.test(`speech is told over a WebSocket of ${what}, each client's by itself`, async () => {
    await withServer(start, async (url, host) => {
      const clients = [0, 1].map(() =>
        new Client(`${url}?model=voices`, [
          "realtime",
          "openai-insecure-api-key.x",
        ])
      );
      for (const client of clients) {
        assert.equal((await client.event()).type, "session.created");
        assert.equal(client.protocol, "realtime");
        client.send(UPDATE);
        assert.equal((await client.event()).type, "session.updated");
      }
      // What a frame adds to the next one is its own stream's: 0.4 and half of 0.4, or of nothing.
      clients[0].send(audio(0, 0.4, 0.4, 0, 0, 0));
      clients[1].send(audio(0.4, 0, 0, 0.6, 0, 0, 0));
      const types = async (client: Client) => {
        const events = [];
        for (let i = 0; i < 3; i++) events.push(await client.event());
        return events.map(({ type, audio_start_ms, audio_end_ms }) => [
          (type as string).split(".")[1],
          audio_start_ms ?? audio_end_ms ?? null,
        ]);
      };
      assert.deepEqual(await types(clients[0]), [
        ["speech_started", 64],
        ["speech_stopped", 160],
        ["committed", null],
      ]);
      assert.deepEqual(await types(clients[1]), [
        ["speech_started", 96],
        ["speech_stopped", 192],
        ["committed", null],
      ]);
      for (const client of clients) {
        client.close();
        await client.closed;
      }
      while (host.active > 0) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    });
  });

  Deno.test(`a client whose WebSockets have no headers brings its key all the same: ${what}`, async () => {
    const keys = new KeyRing([
      { name: "app", sha256: await keySha256("app-secret") },
    ]);
    await withServer(
      start,
      async (url) => {
        const client = new Client(`${url}?model=voices/1`, [
          "realtime",
          "openai-insecure-api-key.app-secret",
        ]);
        assert.equal((await client.event()).type, "session.created");
        assert.equal(client.protocol, "realtime");
        client.close();
        await client.closed;
        const asked = await fetch(
          `${url.replace("ws:", "http:")}?model=voices`,
        );
        assert.equal(asked.status, 401);
        await asked.body?.cancel();
      },
      {},
      keys,
    );
  });

  Deno.test(`what is no session has a status, what is no text closes it: ${what}`, async () => {
    await withServer(start, async (url) => {
      const http = url.replace("ws:", "http:");
      const plain = await fetch(`${http}?model=voices`);
      assert.equal(plain.status, 426);
      await plain.body?.cancel();
      for (const query of ["", "?model=nobody"]) {
        const client = new Client(url + query);
        const { code } = await client.closed;
        // It was never open; runtimes say so in two ways.
        assert(code === 1006 || code === 0, `${code}`);
      }
      // No handshake: it has no key.
      const { statusCode } = await new Promise<IncomingMessage>((resolve) =>
        get(`${http}?model=voices`, {
          headers: { connection: "Upgrade", upgrade: "websocket" },
        }, resolve)
      );
      assert.equal(statusCode, 400);
      const client = new Client(`${url}?model=voices`);
      await client.event();
      client.sendBytes();
      assert.equal((await client.closed).code, 1003);
    });
  });

  Deno.test(`a session that ends gives its slot away: ${what}`, async () => {
    await withServer(start, async (url) => {
      for (let i = 0; i < 5; i++) {
        const client = new Client(`${url}?model=voices`);
        assert.equal((await client.event()).type, "session.created");
        client.close();
        await client.closed;
      }
      // Room for two such slots.
    }, { slotBytes: 8192 });
  });

  Deno.test(`a server that ends closes its sessions: ${what}`, async () => {
    let closed: Promise<CloseEvent> | undefined;
    await withServer(start, async (url) => {
      const client = new Client(`${url}?model=voices`);
      await client.event();
      ({ closed } = client);
    });
    assert.equal((await closed!).code, 1001);
  });
}
