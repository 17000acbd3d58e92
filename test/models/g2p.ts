/** The trained spelling-to-phoneme GRU Seq2Seq of ../shared/data, as a Shoal model. */
import { readFileSync } from "node:fs";
import type { CellNode } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import { rnnStep, stepInputs } from "../../src/models/rnn_cell.ts";
import { seq2seq } from "../../src/models/seq2seq.ts";
import type { Seq2SeqInput } from "../../src/models/seq2seq_input.ts";
import { defineCell, i32 } from "../../src/graph/cell_builder.ts";
import { readSafetensors } from "../../src/tensor/safetensors.ts";
import { type Tensor, tensor } from "../../src/tensor/tensor.ts";
import { namedWeights } from "../../src/tensor/weights.ts";

interface Config {
  graphemes: string[];
  encoder_end: string;
  decoder_start_index: number;
  decoder_end_index: number;
  max_decode_steps: number;
  hidden: number;
}

export interface G2p {
  readonly words: readonly Word[];
  readonly model: Model<Seq2SeqInput>;
  /** The encoder alone; its result `h` is the state after the last letter. */
  readonly encoder: Model<{ tokens: readonly number[] }>;
  /** Last encoder states of the first words [32][hidden]. */
  readonly states: Tensor;
}

export interface Word {
  readonly word: string;
  readonly input: {
    readonly tokens: readonly number[];
    readonly maxSteps: number;
  };
  readonly phonemes: readonly number[];
  readonly encoderSteps: number;
  /** Decoder steps, the final end mark included. */
  readonly steps: number;
  readonly ended: boolean;
}

export function readG2p(folder: string): G2p {
  const path = (name: string) => `${folder}/models/g2p-gru-seq2seq/${name}`;
  const config: Config = JSON.parse(readFileSync(path("config.json"), "utf8"));
  const { hidden, graphemes } = config;
  const source = namedWeights(
    renamed(readSafetensors(readFileSync(path("weights.safetensors")), "g2p")),
    "g2p",
  );
  const model = seq2seq({
    rnn: "gru",
    hidden,
    sourceVocabulary: graphemes.length,
    targetVocabulary: 74,
    go: config.decoder_start_index,
    eos: config.decoder_end_index,
    weights: source,
  });
  const [, ...lines] = readFileSync(path("expected.tsv"), "utf8").trimEnd()
    .split("\n");
  const words = lines.map((line): Word => {
    const [word, encoderSteps, steps, ended, ids] = line.split("\t") as [
      string,
      string,
      string,
      string,
      string,
    ];
    const tokens = [...word, config.encoder_end].map((letter) =>
      graphemes.indexOf(letter)
    );
    return {
      word,
      input: { tokens, maxSteps: config.max_decode_steps },
      phonemes: ids.split(" ").map(Number),
      encoderSteps: Number(encoderSteps),
      steps: Number(steps),
      ended: ended === "1",
    };
  });
  const states = readSafetensors(
    readFileSync(path("encoder_states.safetensors")),
    "g2p encoder states",
  ).get("final_hidden")!;
  const encoder = encoderOf(source, graphemes.length, hidden);
  return { words, model, encoder, states };
}

/** From the publisher's names and gate order r, z, n to those of `seq2seq`: ONNX z, r, h. */
function renamed(tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> {
  const at = (name: string) => tensors.get(name)!;
  const result = new Map([
    ["projection.W", at("fc_w")],
    ["projection.b", at("fc_b")],
  ]);
  for (const [theirs, ours] of [["enc", "encoder"], ["dec", "decoder"]]) {
    result.set(`${ours}.embedding`, at(`${theirs}_emb`));
    result.set(`${ours}.W`, updateGateFirst(at(`${theirs}_w_ih`)));
    result.set(`${ours}.R`, updateGateFirst(at(`${theirs}_w_hh`)));
    result.set(`${ours}.Wb`, updateGateFirst(at(`${theirs}_b_ih`)));
    result.set(`${ours}.Rb`, updateGateFirst(at(`${theirs}_b_hh`)));
  }
  return result;
}

/** Swaps the first two of three gates. */
function updateGateFirst({ shape, data }: Tensor): Tensor {
  const gate = data.length / 3;
  const swapped = Float32Array.from(data);
  swapped.set(data.subarray(gate, 2 * gate), 0);
  swapped.set(data.subarray(0, gate), gate);
  return tensor(shape, swapped);
}

function encoderOf(
  weights: ReturnType<typeof namedWeights>,
  vocabulary: number,
  hidden: number,
): G2p["encoder"] {
  const table = weights("encoder.embedding", [vocabulary, hidden], hidden);
  const gru = rnnStep("gru", "encoder", hidden, hidden, weights);
  const cell = defineCell({
    name: "encoder",
    recurrent: true,
    inputs: { token: i32(), h: gru.ports.h },
    body: (op, { token, h }) => ({
      h: gru.apply(op, op.Gather(table, token), { h, c: h }).h,
    }),
  });
  return {
    name: "g2p encoder",
    cells: [cell],
    shape: "chain",
    check() {},
    unfold({ tokens }, graph) {
      const ids = graph.ids(tokens);
      let last: CellNode | undefined;
      for (let t = 0; t < tokens.length; t++) {
        const inputs = stepInputs(gru, graph, graph.id(ids, t), last);
        last = graph.node(cell, inputs);
      }
      graph.result("h", graph.output(last!, "h"));
    },
  };
}
