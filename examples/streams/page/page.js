/** What one sees and hears; the engine is in a worker (engine.js), the microphone in a worklet (microphone.js). */
const RATE_HZ = 16_000;
const HOP = 128;
/** What comes out is so many samples late. */
const DELAY = 384;
/** Samples of a recording that go to the engine at once. */
const PART = 64 * HOP;
/** Messages of the microphone that may be in the engine at once, half a second; what is heard beyond is left out. */
const LIVE_AHEAD = 8;
const BEHIND = "Live, but the engine is behind: not all is heard.";

const element = (id) => document.getElementById(id);

/**
 * Says what is going on.
 * @param figure changes many times a second: beside what screen readers read out, which is every change of the text
 */
function status(text, figure = "") {
  if (element("status").textContent !== text) {
    element("status").textContent = text;
  }
  element("figure").textContent = figure;
}

const engine = new Worker("engine.js", { type: "module" });
const waiting = new Map();
let calls = 0;

/** Frames through the engine; rejects with what it could not do. */
function processed(samples) {
  const id = calls++;
  engine.postMessage({ kind: "frames", id, samples });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

/** A picture that moves to the left by a column a frame. */
class Strip {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { willReadFrequently: true });
  }

  clear() {
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** @param columns bytes of gray from the lowest line to the highest */
  add(columns) {
    const { context, canvas: { width, height } } = this;
    const count = Math.min(columns.length, width);
    if (count === 0) return;
    context.drawImage(this.canvas, -count, 0);
    const image = context.createImageData(count, height);
    columns.slice(-count).forEach((column, x) => {
      for (let y = 0; y < height; y++) {
        const value =
          column[Math.floor((height - 1 - y) * column.length / height)];
        image.data.set(
          [value, 0.8 * value, 255 * (value / 255) ** 3, 255],
          4 * (y * count + x),
        );
      }
    });
    context.putImageData(image, width - count, 0);
  }
}

/** Magnitudes of a frame as gray: 80 dB. */
function shades(magnitudes) {
  return Array.from(magnitudes, (value) => {
    const decibels = 20 * Math.log10(value / HOP + 1e-6);
    return Math.max(0, Math.min(255, 255 * (1 + (decibels + 6) / 80)));
  });
}

const strips = Object.fromEntries(
  ["before", "after", "speech"].map((id) => [id, new Strip(element(id))]),
);

function draw({ before, after, speech }) {
  strips.before.add(before.map(shades));
  strips.after.add(after.map(shades));
  // A detector's frame is four of the denoiser's.
  const bars = speech.flatMap((probability) => {
    const bar = Array.from(
      { length: 40 },
      (_, y) => y < 40 * probability ? 220 : 0,
    );
    return [bar, bar, bar, bar];
  });
  strips.speech.add(bars);
}

function reset() {
  engine.postMessage({ kind: "reset" });
  Object.values(strips).forEach((strip) => strip.clear());
}

/** A recording without its noise, as long as it was. */
async function denoised(sound) {
  await reset();
  const padded = new Float32Array(
    Math.ceil((sound.length + DELAY) / HOP) * HOP,
  );
  padded.set(sound);
  const out = new Float32Array(padded.length);
  const speech = [];
  for (let at = 0; at < padded.length; at += PART) {
    const result = await processed(padded.slice(at, at + PART));
    out.set(result.samples, at);
    speech.push(...result.speech);
    draw(result);
    const share = Math.min(1, (at + PART) / padded.length);
    status("Denoising", `${Math.round(100 * share)} %`);
  }
  return { sound: out.slice(DELAY, DELAY + sound.length), speech };
}

/** Counts of channels that browsers mix to one (Web Audio API, "Channel Down-mixing"); of others they keep the first. */
const MIXED = [1, 2, 4, 6];

/** What is connected for all channels of a source to be heard in one. */
function mean(source, count) {
  if (MIXED.includes(count)) return source;
  const { context } = source;
  const split = context.createChannelSplitter(count);
  const sum = context.createGain();
  sum.gain.value = 1 / count;
  source.connect(split);
  for (let channel = 0; channel < count; channel++) split.connect(sum, channel);
  return sum;
}

/** A sound file of any kind and rate, as one channel at the models' rate. */
async function decoded(bytes) {
  const context = new OfflineAudioContext(1, 1, RATE_HZ);
  const audio = await context.decodeAudioData(bytes);
  const mixed = new OfflineAudioContext(1, audio.length, RATE_HZ);
  const source = mixed.createBufferSource();
  source.buffer = audio;
  mean(source, audio.numberOfChannels).connect(mixed.destination);
  source.start();
  return (await mixed.startRendering()).getChannelData(0);
}

/** 16 bits, one channel. */
function wavOf(sound) {
  const view = new DataView(new ArrayBuffer(44 + 2 * sound.length));
  const text = (at, name) =>
    [...name].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  text(0, "RIFF");
  view.setUint32(4, 36 + 2 * sound.length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, RATE_HZ, true);
  view.setUint32(28, 2 * RATE_HZ, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * sound.length, true);
  sound.forEach((value, i) =>
    view.setInt16(
      44 + 2 * i,
      Math.max(-32768, Math.min(32767, Math.round(32768 * value))),
      true,
    )
  );
  return new Blob([view], { type: "audio/wav" });
}

/** Does what nothing else may be done beside: there is one stream, of a recording or of the microphone. */
async function alone(body) {
  const controls = ["file", "microphone"].map(element);
  const focused = document.activeElement;
  controls.forEach((control) => control.disabled = true);
  try {
    return await body();
  } finally {
    controls.forEach((control) => control.disabled = false);
    // What is disabled loses it, and who has no mouse would begin at the top.
    if (document.activeElement === document.body) focused?.focus();
  }
}

async function openFile(bytes) {
  await stopLive?.();
  const sound = await decoded(bytes);
  const startMs = performance.now();
  const result = await denoised(sound);
  const seconds = (performance.now() - startMs) / 1000;
  // The one before would be kept as long as the page is there.
  URL.revokeObjectURL(element("player").src);
  const url = URL.createObjectURL(wavOf(result.sound));
  element("player").src = element("download").href = url;
  element("result").hidden = false;
  status(
    `${(sound.length / RATE_HZ).toFixed(2)} s of sound in ${
      seconds.toFixed(2)
    } s`,
  );
  return result;
}

/** Ends what is live; undefined where nothing is. */
let stopLive;

/** Live, until it is called again. */
async function toggleMicrophone() {
  if (stopLive) return stopLive();
  // A second click meanwhile would open a second microphone, and nothing would close the first.
  await alone(async () => {
    const context = new AudioContext({ sampleRate: RATE_HZ });
    let media;
    try {
      media = await navigator.mediaDevices.getUserMedia({
        audio: { noiseSuppression: false, echoCancellation: false },
      });
      await listen(media, context);
    } catch (error) {
      if (media) release(media);
      await context.close();
      throw error;
    }
  });
}

function release(media) {
  media.getTracks().forEach((track) => track.stop());
}

async function listen(media, context) {
  await context.audioWorklet.addModule("microphone.js");
  const microphone = new AudioWorkletNode(context, "microphone", {
    numberOfOutputs: 0,
  });
  context.createMediaStreamSource(media).connect(microphone);
  await reset();
  let playAtS = 0;
  let ahead = 0;
  let isBehind = false;
  const hear = async (data) => {
    if (ahead === LIVE_AHEAD) {
      isBehind = true;
      status(BEHIND);
      return;
    }
    ahead++;
    const sentMs = performance.now();
    const result = await processed(data).finally(() => ahead--);
    // Stopped meanwhile.
    if (microphone.port.onmessage === null) return;
    draw(result);
    if (ahead === 0) isBehind = false;
    const soundMs = data.length / RATE_HZ * 1000;
    const tookMs = performance.now() - sentMs;
    status(
      isBehind ? BEHIND : "Live.",
      `${soundMs} ms of sound took ${tookMs.toFixed(1)} ms`,
    );
    if (!element("listen").checked) return;
    const buffer = context.createBuffer(1, result.samples.length, RATE_HZ);
    buffer.copyToChannel(result.samples, 0);
    const source = context.createBufferSource();
    source.buffer = buffer;
    source.connect(context.destination);
    playAtS = Math.max(playAtS, context.currentTime + 0.02);
    source.start(playAtS);
    playAtS += buffer.duration;
  };
  microphone.port.onmessage = ({ data }) => hear(data).catch(failed);
  element("microphone").textContent = "Stop";
  stopLive = (why = "Stopped.") => {
    stopLive = undefined;
    microphone.port.onmessage = null;
    release(media);
    element("microphone").textContent = "Microphone";
    status(why);
    return context.close();
  };
  // Unplugged, or no longer allowed: the worklet would go on with zeros. Our own stop is no such event.
  for (const track of media.getTracks()) {
    track.onended = () => stopLive?.("The microphone is gone.");
  }
}

function showLoad({ callers, frames, p50Ms, p99Ms, late }) {
  const ms = (value) => value === undefined ? "-" : `${value.toFixed(1)} ms`;
  const entries = callers === 0 ? [] : [
    ["callers", callers],
    ["frames a second", 2 * frames],
    ["p50", ms(p50Ms)],
    ["p99", ms(p99Ms)],
    ["late", `${(100 * late).toFixed(1)} %`],
  ];
  element("load").replaceChildren(...entries.map(([name, value]) => {
    const group = document.createElement("div");
    const [title, text] = [
      document.createElement("dt"),
      document.createElement("dd"),
    ];
    title.textContent = name;
    text.textContent = value;
    if (name === "late" && late > 0.001) text.className = "late";
    group.append(title, text);
    return group;
  }));
}

const failed = (error) => status(`${error?.message ?? error}`);
const loads = [];
const ready = new Promise((resolve, reject) => {
  engine.onerror = ({ message }) =>
    reject(new Error(message ?? "engine.js was not loaded"));
  engine.onmessage = ({ data: { kind, id, ...rest } }) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (kind === "ready") resolve(rest);
    else if (kind === "frames") call.resolve(rest);
    else if (call) call.reject(new Error(rest.message));
    else if (kind === "load") {
      loads.push(rest);
      showLoad(rest);
    } else {
      reject(new Error(rest.message));
      failed(rest);
    }
  };
});

async function model(name) {
  const answer = await fetch(`models/${name}.onnx`);
  if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
  await answer.body?.cancel();
  return undefined;
}

async function start() {
  const [model1, model2, speech] = await Promise.all(
    ["model1", "model2", "silero"].map(model),
  );
  if (!model1 || !model2) {
    throw new Error("models/model1.onnx and models/model2.onnx are missing");
  }
  const workers = globalThis.crossOriginIsolated ? 1 : 0;
  engine.postMessage({
    kind: "start",
    models: { model1, model2, speech },
    workers,
  });
  const { threads, hasSpeech } = await ready;
  element("speech-figure").hidden = !hasSpeech;
  for (const id of ["file", "microphone", "callers"]) {
    element(id).disabled = false;
  }
  status(
    `Ready, ${
      threads === 0
        ? "in the engine's own thread"
        : `${threads} thread beside the engine's`
    }.`,
  );
  return { threads, hasSpeech };
}

// The same one again would be no change.
element("file").onclick = ({ target }) => target.value = "";
element("file").onchange = ({ target: { files: [file] } }) =>
  file &&
  alone(async () => openFile(await file.arrayBuffer())).catch(failed);
element("microphone").onclick = () => toggleMicrophone().catch(failed);
element("callers").oninput = ({ target: { value } }) => {
  element("callers-shown").value = value;
  engine.postMessage({ kind: "callers", count: Number(value) });
};

/** What the page can do, for whoever drives it from outside. */
globalThis.denoiserPage = {
  ready: start(),
  openFile,
  loads,
  setCallers(count) {
    element("callers").value = count;
    element("callers").oninput({ target: { value: count } });
  },
};
globalThis.denoiserPage.ready.catch(failed);
