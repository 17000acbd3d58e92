/** npm's `openai`, unmodified, on `/v1/realtime` over wss: run by Node, whose `ws` it uses. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import process from "node:process";

const [, , folder, url, caFile] = process.argv;
const require = createRequire(`${folder}package.json`);
const { OpenAI } = require("openai");
const { OpenAIRealtimeWS } = require("openai/realtime/ws");

const client = new OpenAI({ apiKey: "unused", baseURL: `${url}v1` });
const realtime = new OpenAIRealtimeWS({
  model: "voices",
  options: { ca: readFileSync(caFile, "utf8") },
}, client);
assert.equal(realtime.url.protocol, "wss:");

const events = [];
let wake = () => {};
realtime.on("event", (event) => {
  events.push(event);
  wake();
});
let failed;
realtime.on("error", (error) => {
  failed = error;
  wake();
});

/** The next event. */
async function next(type) {
  while (events.length === 0) {
    if (failed) throw failed;
    await new Promise((resolve) => wake = resolve);
  }
  const event = events.shift();
  assert.equal(event.type, type);
  return event;
}

/** PCM of 24 kHz, the default, of one loudness. */
function append(ms, loudness) {
  const samples = new Int16Array(24 * ms).fill(32767 * loudness);
  realtime.send({
    type: "input_audio_buffer.append",
    audio: Buffer.from(samples.buffer).toString("base64"),
  });
}

await next("session.created");
realtime.send({
  type: "session.update",
  session: {
    type: "realtime",
    audio: {
      input: {
        turn_detection: {
          type: "server_vad",
          threshold: 0.5,
          prefix_padding_ms: 0,
          silence_duration_ms: 100,
        },
      },
    },
  },
});
await next("session.updated");
append(320, 0);
append(320, 0.9);
append(640, 0);
const started = await next("input_audio_buffer.speech_started");
const stopped = await next("input_audio_buffer.speech_stopped");
await next("input_audio_buffer.committed");
const near = (ms, expected) =>
  assert(Math.abs(ms - expected) <= 40, `${ms} is not near ${expected}`);
near(started.audio_start_ms, 320);
// The silence that ends it is counted in: four frames of 32 ms.
near(stopped.audio_end_ms, 640 + 128);

// What a session of this server cannot be is told, and ends nothing.
realtime.send({ type: "response.create" });
while (failed === undefined) await new Promise((resolve) => wake = resolve);
assert.match(failed.message, /response\.create/);

const closed = new Promise((resolve) => realtime.socket.on("close", resolve));
realtime.close();
await closed;
console.log("ok");
