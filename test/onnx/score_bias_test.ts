/**
 * Decoders with biases by distance, windows and caps of scores, beside ONNX Runtime 1.30 over the same files (scores differed by
 * 1.5e-6 of the largest at most).
 */
import assert from "node:assert/strict";
import { loadOnnx } from "../../src/onnx/load.ts";
import { OnnxError } from "../../src/onnx/place.ts";
import { runRequests } from "../run_requests.ts";
import { type Style, WINDOW } from "./decoder_attention.ts";
import { tinyDecoder } from "./decoder_files.ts";

const SIZES = { layers: 2, heads: 4, size: 16, vocabulary: 19, seed: 5 };

const PROMPTS = [[1, 2, 3], [8], [18, 0, 4, 4, 1, 9, 11]];

/** Ways of writing them, and the ids that follow each prompt. */
const CASES: readonly { style: Style; ids: readonly (readonly number[])[] }[] =
  [{
    style: {
      shared: "no",
      mask: "input",
      scale: "scores",
      positions: "none",
      bias: "linear",
    },
    ids: [[8, 6, 18, 1, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9], [
      17,
      7,
      10,
      10,
      0,
      1,
      9,
      17,
      17,
      13,
      13,
      13,
      13,
      13,
    ], [17, 12, 17, 0, 8, 17, 0, 5, 17, 13, 13, 13, 13, 13]],
  }, {
    style: {
      shared: "no",
      mask: "triangle",
      scale: "both",
      positions: "rotary",
      bias: "window",
      cap: 2,
    },
    ids: [[15, 6, 8, 15, 6, 18, 4, 17, 0, 5, 0, 0, 10, 16], [
      17,
      1,
      1,
      1,
      1,
      1,
      1,
      1,
      8,
      1,
      1,
      1,
      1,
      8,
    ], [17, 8, 8, 8, 9, 17, 9, 17, 17, 13, 13, 13, 13, 13]],
  }, {
    style: {
      shared: "broadcast",
      mask: "none",
      scale: "both",
      positions: "none",
      bias: "ranges",
    },
    ids: [[14, 14, 14, 14, 15, 5, 8, 14, 14, 14, 14, 14, 14, 14], [
      14,
      8,
      13,
      0,
      7,
      14,
      13,
      13,
      3,
      3,
      3,
      3,
      3,
      12,
    ], [1, 14, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 7]],
  }, {
    style: {
      shared: "broadcast",
      mask: "operator",
      scale: "both",
      positions: "rotary",
      bias: "window",
    },
    ids: [[14, 14, 14, 14, 15, 8, 8, 8, 0, 3, 3, 3, 14, 14], [
      14,
      8,
      0,
      0,
      8,
      3,
      3,
      3,
      3,
      2,
      14,
      15,
      14,
      15,
    ], [12, 12, 12, 8, 3, 2, 2, 2, 2, 2, 2, 16, 4, 16]],
  }, {
    style: {
      shared: "no",
      mask: "operator",
      scale: "both",
      positions: "none",
      bias: "linear",
      cap: 3,
    },
    ids: [[8, 6, 18, 9, 8, 9, 8, 9, 8, 9, 8, 9, 8, 9], [
      17,
      7,
      10,
      10,
      0,
      1,
      9,
      17,
      17,
      13,
      13,
      13,
      13,
      13,
    ], [17, 12, 17, 0, 12, 17, 0, 5, 17, 13, 13, 13, 13, 13]],
  }, {
    style: {
      shared: "broadcast",
      mask: "joined",
      scale: "both",
      positions: "rotary",
      bias: "ranges",
      cap: 2,
    },
    ids: [[14, 14, 14, 15, 2, 2, 2, 14, 14, 14, 14, 15, 14, 15], [
      14,
      8,
      0,
      13,
      3,
      3,
      12,
      3,
      3,
      2,
      8,
      0,
      8,
      0,
    ], [12, 18, 18, 12, 12, 12, 12, 8, 12, 12, 12, 3, 3, 3]],
  }, {
    style: {
      shared: "broadcast",
      mask: "grouped",
      scale: "both",
      positions: "rotary",
      bias: "window",
      cap: 2,
    },
    ids: [[14, 14, 14, 14, 15, 8, 8, 8, 0, 3, 3, 3, 14, 14], [
      14,
      8,
      0,
      0,
      8,
      3,
      3,
      3,
      3,
      14,
      14,
      15,
      15,
      5,
    ], [12, 12, 8, 8, 3, 2, 2, 2, 2, 2, 16, 4, 4, 4]],
  }, {
    style: {
      shared: "broadcast",
      mask: "grouped",
      scale: "both",
      positions: "rotary",
      bias: "linear",
    },
    ids: [[14, 14, 14, 14, 14, 14, 14, 14, 14, 15, 5, 10, 9, 8], [
      14,
      8,
      0,
      0,
      8,
      3,
      3,
      12,
      12,
      9,
      8,
      15,
      5,
      13,
    ], [12, 12, 12, 8, 11, 12, 3, 2, 8, 11, 9, 8, 14, 5]],
  }, {
    style: {
      shared: "no",
      mask: "multi-head",
      scale: "both",
      positions: "rotary",
      bias: "ranges",
    },
    ids: [[6, 1, 8, 1, 9, 3, 3, 3, 6, 3, 8, 9, 3, 8], [
      17,
      7,
      10,
      0,
      7,
      0,
      1,
      9,
      13,
      13,
      13,
      13,
      13,
      0,
    ], [17, 4, 1, 5, 17, 13, 0, 12, 8, 15, 4, 4, 4, 4]],
  }];

const POSITIONS = 24;

Deno.test("decoders with a bias or a cap give the ids of ONNX Runtime", async () => {
  for (const { style, ids } of CASES) {
    const model = await loadOnnx(tinyDecoder({ ...style, ...SIZES }), {
      decoder: { positionsMax: POSITIONS },
    });
    assert.deepEqual(model.notes, []);
    const requests = PROMPTS.map((tokens) => ({ tokens, maxSteps: 14 }));
    const made = runRequests(model, requests);
    const label = `${style.mask} ${style.bias} ${style.cap}`;
    assert.deepEqual(made.map(({ tokens }) => [...tokens.data]), ids, label);
  }
});

/** Attentions of a decoder's step. */
async function attentionsOf(style: Style) {
  const { cells } = await loadOnnx(tinyDecoder({ ...style, ...SIZES }), {
    decoder: { positionsMax: POSITIONS },
  });
  return cells.map(({ operators }) =>
    operators.flatMap((operator) =>
      operator.op === "Attention" ? [operator] : []
    )
  );
}

Deno.test("a bias is by distance, and what all positions get alike is taken away", async () => {
  const [plain, linear, window] = [
    CASES[0].style,
    ...CASES.map((one) => one.style),
  ].map((style, i) => i === 0 ? { ...style, bias: undefined } : style);
  for (const [attention] of await attentionsOf(plain)) {
    assert.equal(attention.bias, undefined);
    assert.equal(attention.cap, 0);
  }
  for (const [attention] of await attentionsOf(linear)) {
    assert.deepEqual(attention.bias!.shape, [4, POSITIONS]);
    const slope = -(2 ** -1.5);
    [...attention.bias!.data].slice(POSITIONS, 2 * POSITIONS).forEach((x, i) =>
      assert(Math.abs(Number(x) - slope * i) < 1e-5, `${x} at ${i}`)
    );
  }
  for (const [attention] of await attentionsOf(window)) {
    assert.deepEqual(
      [...attention.bias!.data],
      Array.from(
        { length: 4 * POSITIONS },
        (_, i) => i % POSITIONS < WINDOW ? 0 : Math.fround(-1e30),
      ),
    );
    assert.equal(attention.cap, 2);
  }
});

Deno.test("what scores get otherwise than by distance is refused, with the position and the node", async () => {
  const file = tinyDecoder({
    ...{ shared: "no", mask: "none", scale: "scores", positions: "none" },
    ...{ ...SIZES, bias: "even" },
  });
  const why = /what scores get of "?Where.* from 1 on/;
  const { positionsMax, notes } = await loadOnnx(file, { decoder: {} });
  assert.equal(positionsMax, 1);
  assert.match(notes[0], why);
  await assert.rejects(
    () => loadOnnx(file, { decoder: { positionsMax: 8 } }),
    (error: Error) => error instanceof OnnxError && why.test(error.message),
  );
});
