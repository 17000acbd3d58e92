/** Small files that become models of a free size, and decoders; tests change them into bad ones. */
import { Prng } from "../../src/base/prng.ts";
import type { Way } from "./cut_any_way.ts";
import { crossDecoder } from "./cross_files.ts";
import { tinyDecoder } from "./decoder_files.ts";
import { BERT_INPUTS, bertFile, recurrentFile } from "./sequence_models.ts";

/** A file, and what it becomes. */
export interface SeedFile {
  readonly file: Uint8Array;
  readonly ways: readonly Way[];
}

const SEED = 3;

const encoder = bertFile(new Prng(SEED), {
  ...{ layers: 1, hidden: 4, heads: 2, vocabulary: 5, positions: 6 },
  ...{ mask: "added", norm: "parts", head: "pooled" },
});

const tagger = recurrentFile(new Prng(SEED), {
  ...{ op: "GRU", direction: "bidirectional", layers: 1, hidden: 2 },
  ...{ input: { words: 5 }, between: "nothing", head: "tags" },
});

const decoder = tinyDecoder({
  ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
  ...{ layers: 1, heads: 2, size: 2, vocabulary: 5, seed: SEED },
});

const rotaryDecoder = tinyDecoder({
  ...{ shared: "expanded", mask: "triangle", scale: "both" },
  ...{ positions: "rotary", layers: 1, heads: 2, size: 2, vocabulary: 5 },
  seed: SEED,
});

const mergedDecoder = tinyDecoder({
  ...{ shared: "no", mask: "input", scale: "scores", positions: "none" },
  ...{ layers: 1, heads: 2, size: 2, vocabulary: 5, seed: SEED },
  ...{ merged: true, bias: "linear", cap: 2 },
});

const contribDecoder = (mask: "grouped" | "multi-head" | "joined") =>
  tinyDecoder({
    ...{ shared: mask === "multi-head" ? "no" : "broadcast", mask },
    ...{ scale: "both", positions: "rotary", layers: 1, heads: 2, size: 2 },
    ...{ vocabulary: 5, seed: SEED, bytes: true },
  });

const WAYS = {
  states: ["fixed", "seen"],
  keys: ["fixed", "seen"],
} as const;

const crossed = (brings: "states" | "keys"): SeedFile => ({
  file: crossDecoder(brings, new Prng(SEED)),
  ways: WAYS[brings],
});

/** By what they are. */
export const SEED_FILES: Readonly<Record<string, SeedFile>> = {
  encoder: {
    file: encoder.bytes(BERT_INPUTS, ["last_hidden_state", "head"], 17),
    ways: ["fixed", "free"],
  },
  tagger: {
    file: tagger.bytes(
      [{ name: "ids", type: "int64", dims: ["batch", "time"] }],
      ["head"],
      17,
    ),
    ways: ["fixed", "free"],
  },
  decoder: { file: decoder, ways: ["decoder"] },
  "decoder with sines": { file: rotaryDecoder, ways: ["fixed", "decoder"] },
  "decoder merged of two": { file: mergedDecoder, ways: ["decoder"] },
  "decoder of groups": { file: contribDecoder("grouped"), ways: ["decoder"] },
  "decoder of heads": {
    file: contribDecoder("multi-head"),
    ways: ["fixed", "decoder"],
  },
  "decoder that joins": {
    file: contribDecoder("joined"),
    ways: ["fixed", "decoder"],
  },
  "decoder of states": crossed("states"),
  "decoder of keys": crossed("keys"),
};
