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
    ...await integers(doors.kernels),
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

/** Whole dot products of int8; see docs/abi.md. */
const WHOLE_DOTS = 2;

/**
 * int8 products, cells and convolutions of the plain build. The build with exact dot products has to give the same in
 * every variant, where this engine can run it.
 * @param {Doors["kernels"]} kernels
 */
async function integers(kernels) {
  const plain = await integerResults(kernels, "shoal", 0);
  if (kernels.chooseBuild().build === "shoal.dot") {
    for (const variant of [0, WHOLE_DOTS]) {
      const dot = await integerResults(kernels, "shoal.dot", variant);
      if (hash(dot) !== hash(plain)) {
        throw new Error(`int8 of shoal.dot differs, variant ${variant}`);
      }
    }
  }
  return plain;
}

/**
 * @param {Doors["kernels"]} doors
 * @param {"shoal" | "shoal.dot"} build
 * @param {number} variant
 */
async function integerResults(doors, build, variant) {
  const memory = doors.createMemory({ bytes: 4 << 20 });
  const source = await doors.readKernels(build);
  const kernels = doors.instantiateKernels(source, { memory });
  const host = new doors.KernelHost(kernels, memory);
  kernels.shoal_use_scratch(
    host.reserve(kernels.shoal_scratch_bytes(variant)),
    variant,
  );
  let seed = 1;
  const next = () => seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  const floats = (/** @type {number} */ length) =>
    Float32Array.from({ length }, () => next() / 2 ** 31 - 1);
  const bytes = (/** @type {number} */ length) =>
    Int8Array.from({ length }, () => next() >>> 24);
  const scales = (/** @type {number} */ length) =>
    new Float32Array(length).fill(1 / 1024);
  const quantized = (
    /** @type {number} */ m,
    /** @type {number} */ k,
    /** @type {127 | 255} */ levels,
  ) => {
    const aRows = host.rows(m, k, floats(m * k));
    const qRows = host.rows(m, k, "q8");
    host.call("quantize_rows_f32", { k, levels, aRows, qRows });
    return qRows;
  };
  const bytesOf = (/** @type {import("../../src/kernels.ts").Rows} */ rows) =>
    Int32Array.from({ length: rows.count }, (_, i) => {
      const [at, length] = [host.addressOf(rows, i), 16 + rows.width];
      return parseInt(hash([new Uint8Array(memory.buffer, at, length)]), 16);
    });
  const gates = (/** @type {number} */ n, /** @type {number} */ k) => ({
    values: bytes(n * k),
    scale: scales(n),
  });
  const results = [];
  for (const levels of /** @type {const} */ (["7 bits", "8 bits"])) {
    const seven = levels === "7 bits" ? "yes" : "no";
    const requantized = { act: "relu", scale: 1 / 32, zero: 3 };
    const [m, n, k] = [9, 37, 203];
    const w = host.block(
      doors.packQ8({ n, k, ...gates(n, k), bias: floats(n) }),
    );
    const qRows = quantized(m, k, levels);
    const sums = host.rows(m, n, "i32");
    host.call("gemm_q8_i32", { n, k, seven, qRows, w, cRows: sums });
    const reals = host.rows(m, n, "f32");
    host.call("gemm_q8_f32", {
      ...{ n, k, seven, qRows, w, cRows: reals, act: "tanh" },
    });
    const again = host.rows(m, n, "q8");
    host.call("gemm_q8_u8", {
      ...{ n, k, seven, qRows, w, cRows: again, ...requantized },
    });
    results.push(host.read(sums), host.read(reals), bytesOf(again));

    const dynamic = host.block("i32", w.length);
    const columns = quantized(n, k, levels);
    host.call("pack_gemm_q8", {
      ...{ n, k, transposed: "yes", qRows: columns, w: dynamic },
    });
    host.call("gemm_q8_i32", { n, k, seven, qRows, w: dynamic, cRows: sums });
    results.push(host.read(sums));

    const [hidden, kx] = [22, 19];
    const state = host.rows(m, hidden, floats(m * hidden));
    const step = {
      ...{ hidden, kx, seven, scratch: host.cellQ8Scratch() },
      xRows: quantized(m, kx, levels),
      hRows: quantized(m, hidden, levels),
      hOutRows: host.rows(m, hidden, "f32"),
    };
    const cell = { hidden, inputSize: kx };
    const cOutRows = host.rows(m, hidden, "f32");
    host.call("lstm_step_q8", {
      ...{ ...step, cRows: state, cOutRows },
      w: host.block(doors.packLstmQ8({
        ...{ ...cell, w: gates(4 * hidden, kx), r: gates(4 * hidden, hidden) },
      })),
    });
    results.push(host.read(step.hOutRows), host.read(cOutRows));
    host.call("gru_step_q8", {
      ...{ ...step, stateRows: state },
      w: host.block(doors.packGruQ8({
        ...{ ...cell, w: gates(3 * hidden, kx), r: gates(3 * hidden, hidden) },
      })),
    });
    results.push(host.read(step.hOutRows));

    for (const groups of [1, 20]) {
      const shape = doors.imageShape({
        ...{ height: 9, width: 7, channels: 20, outChannels: 20, groups },
        ...{ kernel: 3, pads: [1, 1, 1, 1] },
      });
      const outRows = host.rows(2, 9 * 7 * 20, "q8");
      host.call("conv_q8_u8", {
        ...{ shape, seven, outRows, ...requantized },
        inRows: quantized(2, 9 * 7 * 20, levels),
        w: host.block(
          doors.packConvQ8(shape, {
            values: bytes(9 * 20 * 20 / groups),
            scale: scales(20),
          }),
        ),
        scratch: host.convQ8Scratch(shape),
      });
      results.push(bytesOf(outRows));
    }
  }
  return results;
}

/**
 * 32-bit FNV-1a over the bytes of all rows.
 * @param {(Float32Array | Int32Array | Uint8Array)[]} rows
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
