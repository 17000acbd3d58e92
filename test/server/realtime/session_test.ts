/** What a realtime session makes of events and of a detector's probabilities. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  RealtimeSession,
  type SpeechStream,
} from "../../../src/server/realtime/session.ts";
import {
  type Turn,
  TURN_SETTINGS,
  TurnDetector,
} from "../../../src/server/realtime/turn_detector.ts";

const RATE = 16_000;
const FRAME = 512;
const FRAME_MS = 32;

/** Takes a frame's first sample for its probability of speech. */
class FirstSample implements SpeechStream {
  readonly samplesPerSecond = RATE;
  readonly frameSamples = FRAME;
  readonly framesAhead = 4;
  readonly frames: Float32Array[] = [];
  ahead = 0;
  aheadMost = 0;

  async push(frame: Float32Array): Promise<number> {
    this.frames.push(frame.slice());
    this.aheadMost = Math.max(this.aheadMost, ++this.ahead);
    await undefined;
    this.ahead--;
    if (frame[0] < -0.5) throw new Error("a cell failed");
    return frame[0];
  }
}

interface Sent {
  readonly type: string;
  readonly [name: string]: unknown;
}

function session() {
  const sent: Sent[] = [];
  const stream = new FirstSample();
  const session = new RealtimeSession({
    id: "1",
    model: "voices",
    stream,
    send: (event) => sent.push(event as Sent),
    describe: () => "An error of the server's",
  });
  const send = async (event: unknown) => {
    sent.length = 0;
    await session.receive(JSON.stringify(event));
    return sent.map(({ event_id: _, ...event }) => event);
  };
  return { session, sent, stream, send };
}

/** Frames of one probability each, as 16-bit PCM at the detector's rate. */
function frames(...probabilities: number[]): unknown {
  const samples = Int16Array.from(
    { length: FRAME * probabilities.length },
    (_, i) => 32767 * probabilities[Math.floor(i / FRAME)],
  );
  const audio = Buffer.from(samples.buffer).toString("base64");
  return { type: "input_audio_buffer.append", audio };
}

function asFormat(rate: number, turn_detection: unknown): unknown {
  return {
    type: "session.update",
    session: {
      type: "realtime",
      audio: {
        input: { format: { type: "audio/pcm", rate }, turn_detection },
      },
    },
  };
}

const VAD = {
  type: "server_vad",
  prefix_padding_ms: 40,
  silence_duration_ms: 96,
};

Deno.test("a turn starts above the threshold and stops when it has been silent for long enough", () => {
  const detector = new TurnDetector({
    threshold: 0.5,
    prefixPaddingMs: 40,
    silenceDurationMs: 96,
  });
  const turns: [number, Turn][] = [];
  // Below the threshold is no silence before 0.35; silence counts from its first frame on.
  const speech = [
    0.1,
    0.4,
    0.5,
    0.9,
    0.3,
    0.6,
    0.3,
    0.4,
    0.4,
    0.9,
    0.2,
    0.4,
    0.1,
  ];
  speech.forEach((probability, i) => {
    const turn = detector.frame(probability, i * FRAME_MS, (i + 1) * FRAME_MS);
    if (turn) turns.push([i, turn]);
  });
  assert.deepEqual(turns, [
    [2, { kind: "started", startMs: 24 }],
    [8, { kind: "stopped", endMs: 288 }],
    [9, { kind: "started", startMs: 248 }],
    [12, { kind: "stopped", endMs: 416 }],
  ]);
});

Deno.test("a session tells its settings, then what is set of them", async () => {
  const { sent, send } = session();
  assert.equal(sent[0].type, "session.created");
  const input = (event: unknown) =>
    (event as { session: { audio: { input: Record<string, unknown> } } })
      .session.audio.input;
  assert.deepEqual(input(sent[0]), {
    format: { type: "audio/pcm", rate: 24_000 },
    transcription: null,
    noise_reduction: null,
    turn_detection: {
      type: "server_vad",
      threshold: TURN_SETTINGS.threshold,
      prefix_padding_ms: TURN_SETTINGS.prefixPaddingMs,
      silence_duration_ms: TURN_SETTINGS.silenceDurationMs,
      create_response: false,
      interrupt_response: false,
    },
  });
  const [updated] = await send(asFormat(16_000, null));
  assert.equal(updated.type, "session.updated");
  assert.equal(input(updated).turn_detection, null);
  // The names in use before; what is not named stays.
  const [telephone] = await send({
    type: "session.update",
    session: { input_audio_format: "g711_ulaw", instructions: "be kind" },
  });
  assert.deepEqual(input(telephone).format, { type: "audio/pcmu" });
  assert.equal(input(telephone).turn_detection, null);
});

Deno.test("speech is told with its times, and committed when it stops", async () => {
  const { send, stream } = session();
  await send(asFormat(16_000, VAD));
  assert.deepEqual(await send(frames(0, 0, 0.9)), [
    {
      type: "input_audio_buffer.speech_started",
      audio_start_ms: 24,
      item_id: "item_1_1",
    },
  ]);
  assert.deepEqual(await send(frames(0.9, 0, 0)), []);
  assert.deepEqual(await send(frames(0, 0)), [
    {
      type: "input_audio_buffer.speech_stopped",
      audio_end_ms: 7 * FRAME_MS,
      item_id: "item_1_1",
    },
    {
      type: "input_audio_buffer.committed",
      previous_item_id: null,
      item_id: "item_1_1",
    },
  ]);
  assert.deepEqual((await send(frames(1)))[0], {
    type: "input_audio_buffer.speech_started",
    audio_start_ms: 216,
    item_id: "item_1_2",
  });
  assert.equal(stream.frames.length, 9);
});

Deno.test("frames are whole whatever audio comes in, and several are under way at once", async () => {
  const { send, stream } = session();
  await send(asFormat(16_000, VAD));
  const samples = Int16Array.from({ length: 11 * FRAME }, (_, i) => i);
  const bytes = Buffer.from(samples.buffer);
  for (
    const [from, to] of [[0, 100], [100, 20 * FRAME], [20 * FRAME, 22 * FRAME]]
  ) {
    const audio = bytes.subarray(from, to).toString("base64");
    await send({ type: "input_audio_buffer.append", audio });
  }
  const seen = stream.frames.flatMap((frame) => [...frame]);
  assert.deepEqual(seen, [...samples].map((sample) => sample / 32768));
  assert(stream.frames.every(({ length }) => length === FRAME));
  assert.equal(stream.aheadMost, stream.framesAhead);
});

Deno.test("a client commits and clears by itself where no turns are looked for", async () => {
  const { send } = session();
  await send(asFormat(16_000, null));
  assert.deepEqual(await send(frames(1, 1, 0, 0, 0, 0, 0)), []);
  const commit = { type: "input_audio_buffer.commit" };
  assert.deepEqual(await send(commit), [
    {
      type: "input_audio_buffer.committed",
      previous_item_id: null,
      item_id: "item_1_1",
    },
  ]);
  await send(frames(1));
  assert.deepEqual(await send({ type: "input_audio_buffer.clear" }), [
    { type: "input_audio_buffer.cleared" },
  ]);
  const [empty] = await send(commit);
  assert.equal(
    (empty.error as { code: string }).code,
    "input_audio_buffer_commit_empty",
  );
});

Deno.test("a frame that fails is told of, and the next ones go on", async () => {
  const { send } = session();
  await send(asFormat(16_000, VAD));
  assert.deepEqual(await send(frames(0, -1, 0.9)), [
    {
      type: "error",
      error: {
        type: "server_error",
        code: null,
        message: "An error of the server's",
        param: null,
        event_id: null,
      },
    },
    {
      type: "input_audio_buffer.speech_started",
      audio_start_ms: 24,
      item_id: "item_1_1",
    },
  ]);
});

Deno.test("what cannot be done is refused by name, with the event's id", async () => {
  const { session: own, sent, send } = session();
  const update = (session: unknown) => ({ type: "session.update", session });
  const vad = (turn_detection: unknown) => update({ turn_detection });
  const refused: [unknown, string | null, RegExp][] = [
    [{}, "type", /"type" is required/],
    [{ type: "response.create" }, "type", /got "response.create"/],
    [[], null, /the body is an object/],
    [update({ volume: 1 }), "session.volume", /is no field of a session/],
    [
      vad({ type: "semantic_vad" }),
      "session.turn_detection.type",
      /server_vad/,
    ],
    [
      vad({ type: "server_vad", create_response: true }),
      "session.turn_detection.create_response",
      /not supported/,
    ],
    [
      vad({ type: "server_vad", threshold: 2 }),
      "session.turn_detection.threshold",
      /from 0 to 1/,
    ],
    [asFormat(44_100, null), "session.audio.input.format.rate", /one of 8000/],
    [
      update({ input_audio_transcription: {} }),
      "session.input_audio_transcription",
      /not supported/,
    ],
    [{ type: "input_audio_buffer.append" }, "audio", /is required/],
    [{ type: "input_audio_buffer.append", audio: "%" }, "audio", /is base64/],
    [{ type: "input_audio_buffer.append", audio: "AA==" }, "audio", /2 bytes/],
  ];
  for (const [event, param, message] of refused) {
    const withId = Array.isArray(event)
      ? event
      : { ...event as object, event_id: "e" };
    const [{ type, error }] = await send(withId);
    const told = error as Record<string, string | null>;
    assert.equal(type, "error");
    assert.equal(told.param, param, told.message!);
    assert.match(told.message!, message);
    assert.equal(told.type, "invalid_request_error");
    assert.equal(told.event_id, param === null ? null : "e");
  }
  sent.length = 0;
  await own.receive("{");
  assert.match((sent[0].error as { message: string }).message, /not JSON/);
});
