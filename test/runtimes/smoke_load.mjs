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
  return hash(results.flatMap((result) => Object.values(result)));
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
