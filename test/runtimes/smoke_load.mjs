/**
 * A small load through all four doors, the same in every runtime and however the library was bundled.
 */

/**
 * @typedef {object} Doors
 * @property {typeof import("../../src/mod.ts")} serving
 * @property {typeof import("../../src/kernels.ts")} kernels
 * @property {typeof import("../../src/simulate.ts")} simulate
 * @property {typeof import("../../src/npu.ts")} npu
 */

/**
 * @param {Doors} doors the library, bundled or not
 * @param {"threads" | "this thread" | "page"} where it is computed: in four threads, and a team's; in the calling
 * one; in a page, which may lead no team, and has four threads if it is isolated
 * @returns {Promise<string>} hash of all result bits, which does not depend on where
 */
export async function smokeLoad(doors, where = "threads") {
  const { ServingEngine, cellular, lstm, seq2seq } = doors.serving;
  const weights = doors.simulate.seededWeights(11);
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
    slotBytes: 2 ** 22,
    ...((where === "threads" || (where === "page" && isolated())) && {
      workers: 2,
      threadsPerWorker: 2,
      // Nothing here is large: cut whatever can be cut.
      team: { leastNs: 0, wakeNs: 0 },
    }),
    ...(where === "this thread" && { workers: 0 }),
  });
  const threads = {
    "threads": 4,
    "this thread": 0,
    "page": isolated() ? 4 : 0,
  };
  if (engine.threads !== threads[where]) {
    throw new Error(`${engine.threads} threads, ${where}`);
  }
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
  return hash([
    ...results.flatMap(({ outputs }) =>
      Object.values(outputs).map(({ data }) => data)
    ),
    await product(doors.kernels, where === "threads" ? 3 : 1),
    modelled(doors),
  ]);
}

/** Whether memory can be shared here. */
function isolated() {
  return typeof SharedArrayBuffer !== "undefined";
}

/**
 * How long the modelled machine takes for some requests.
 * @param {Doors} doors
 */
function modelled({ serving, simulate, npu }) {
  const model = serving.lstm({ hidden: 64, vocabulary: 30 });
  const timeline = new simulate.Timeline();
  const engine = new simulate.EngineCore({
    models: [model],
    policy: serving.cellular(),
    executor: new simulate.SimExecutor({
      timeline,
      cost: new simulate.NpuCost(npu.createNpu(npu.preset("lazybatching"))),
      onCompleted: (task, startNs, endNs) =>
        engine.completed(task, startNs, endNs),
    }),
  });
  simulate.driveVirtual(
    engine,
    timeline,
    [3, 1, 4, 1, 5].map((length, i) => ({
      model,
      input: { tokens: Array.from({ length }, (_, t) => t) },
      arrivalNs: 1000 * i,
    })),
  );
  return Int32Array.of(timeline.nowNs);
}

/**
 * A product of a team of threads, or of the calling one.
 * @param {Doors["kernels"]} kernels
 * @param {number} threads
 */
async function product(
  { KernelTeam, instantiateKernels, readKernels },
  threads,
) {
  const [m, n, k] = [40, 900, 70];
  const panels = Math.ceil(n / 8);
  const shared = threads > 1;
  const memory = new WebAssembly.Memory({ initial: 64, maximum: 64, shared });
  const source = await readKernels(shared ? "shoal.shared" : "shoal");
  const alone = instantiateKernels(source, { memory });
  const address = Math.ceil(alone.shoal_static_end() / 64) * 64;
  const team = shared
    ? await KernelTeam.start({
      kernels: source,
      memory,
      address,
      threads,
      leastNs: 0,
      wakeNs: 0,
    })
    : undefined;
  const kernels = team?.kernels ?? alone;
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
    kernels.gemm_f32(
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
  await team?.close();
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
