/** In front of the engine: hands on what the microphone hears, 1,024 samples at a time, and plays nothing. */
const SAMPLES = 1024;

registerProcessor(
  "microphone",
  class extends AudioWorkletProcessor {
    #samples = new Float32Array(SAMPLES);
    #count = 0;

    process([[channel]]) {
      if (channel === undefined) return true;
      for (const sample of channel) {
        this.#samples[this.#count++] = sample;
        if (this.#count < SAMPLES) continue;
        this.port.postMessage(this.#samples, [this.#samples.buffer]);
        this.#samples = new Float32Array(SAMPLES);
        this.#count = 0;
      }
      return true;
    }
  },
);
