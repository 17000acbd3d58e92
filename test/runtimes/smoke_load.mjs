/**
 * A small load on real worker threads, the same in every runtime.
 * @param {typeof import("../../src/mod.ts")} shoal the library, bundled or not
 * @returns {Promise<string>} hash of all result bits
 */
export async function smokeLoad(shoal) {
  const { ServingEngine, cellular, lstm, seq2seq, seededWeights } = shoal;
  const weights = seededWeights(11);
  const sentences = lstm({
    hidden: 40,
    vocabulary: 30,
    head: "classifier",
    weights,
  });
  const translation = seq2seq({
    hidden: 24,
    sourceVocabulary: 30,
    rnn: "gru",
    weights,
  });
  const engine = await ServingEngine.create({
    models: [sentences, translation],
    policy: cellular({ batchSizeMax: 8 }),
    workers: 2,
    threadsPerWorker: 2,
    // Nothing here is large: cut whatever can be cut.
    team: { leastNs: 0, wakeNs: 0 },
    slotBytes: 2 ** 22,
  });
  const requests = Array.from({ length: 60 }, (_, i) => {
    const tokens = Array.from(
      { length: 1 + i % 13 },
      (_, t) => (7 * i + t) % 30,
    );
    return i % 2 === 0
      ? engine.run(sentences, { tokens })
      : engine.run(translation, { tokens, maxSteps: 1 + i % 17 });
  });
  const results = await Promise.all(requests);
  // Idle for a moment, then woken again: nobody polls, and nobody has gone away.
  await new Promise((resolve) => setTimeout(resolve, 30));
  results.push(await engine.run(sentences, { tokens: [1, 2, 3] }));
  await engine.close();
  const product = await teamProduct(shoal);
  return hash([...results.flatMap((result) => Object.values(result)), product]);
}

/**
 * A product of a team of three threads.
 * @param {typeof import("../../src/mod.ts")} shoal
 */
async function teamProduct({ KernelTeam, instantiateKernels, readKernels }) {
  const [m, n, k] = [40, 900, 70];
  const panels = Math.ceil(n / 8);
  const memory = new WebAssembly.Memory({
    initial: 64,
    maximum: 64,
    shared: true,
  });
  const kernels = await readKernels("shoal.shared");
  const end = instantiateKernels(kernels, { memory }).shoal_static_end();
  const address = Math.ceil(end / 64) * 64;
  const team = await KernelTeam.start({
    kernels,
    memory,
    address,
    threads: 3,
    leastNs: 0,
    wakeNs: 0,
  });
  let top = address + KernelTeam.bytes({ threads: 3 });
  const floats = (/** @type {number} */ count) => {
    const data = new Float32Array(memory.buffer, top, count);
    top += data.byteLength;
    return data;
  };
  const table = (/** @type {number} */ width) => {
    const data = floats(m * width);
    const rows = new Int32Array(memory.buffer, top, m);
    top += rows.byteLength;
    rows.forEach((_, i) => rows[i] = data.byteOffset + 4 * width * i);
    return { data, rows: rows.byteOffset };
  };
  const weights = floats(panels * 8 * (1 + k));
  weights.forEach((_, i) => weights[i] = i % 17 / 17 - 0.5);
  const [a, c] = [table(k), table(n)];
  a.data.forEach((_, i) => a.data[i] = i % 13 / 13 - 0.5);
  for (let turn = 0; turn < 20; turn++) {
    team.kernels.gemm_f32(
      m,
      n,
      k,
      a.rows,
      0,
      0,
      weights.byteOffset,
      c.rows,
      3,
    );
  }
  await team.close();
  return c.data.slice();
}

/**
 * 32-bit FNV-1a over the bytes of all rows.
 * @param {(Float32Array | Int32Array)[]} rows
 */
function hash(rows) {
  let sum = 0x811c9dc5;
  for (const { buffer, byteOffset, byteLength } of rows) {
    for (const byte of new Uint8Array(buffer, byteOffset, byteLength)) {
      sum = Math.imul(sum ^ byte, 0x01000193);
    }
  }
  return (sum >>> 0).toString(16).padStart(8, "0");
}
