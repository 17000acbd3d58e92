import { CellGraph } from "../../../src/graph/cell_graph.ts";
import { timeEven } from "../../../src/policy/dvabatch/stages.ts";
import { network } from "./networks.ts";
import { SETUP } from "./serving.ts";

const WORD_BYTES = 4;

/**
 * Bytes of the buffers between a network's stages if each held a whole batch, as the paper's do (section 6.1): what
 * stages read of what earlier ones made, for bs_max queries of the usual size, by `pairs`.
 */
export function bufferBytes(name: string, pairs: number): number {
  const { model, whole, typical, stages, profile } = network(name);
  const stageOf = new Map<string, number>();
  timeEven(model, stages, profile, SETUP.batchSizeMax).forEach((cells, i) => {
    for (const cell of cells) stageOf.set(cell.name, i);
  });
  const graph = new CellGraph(whole);
  whole.unfold(typical as never, graph);
  // By output, the last stage that reads it.
  const readBy = new Map<string, { from: number; to: number; words: number }>();
  for (const node of graph.nodes) {
    const stage = stageOf.get(node.cell.name)!;
    for (const input of node.inputs) {
      if (input.kind !== "node") continue;
      const { node: { index, cell, length }, port, token } = input;
      const key = `${index}/${port}`;
      const words = cell.outputs[port].width *
        (token === undefined ? length : 1);
      const known = readBy.get(key);
      readBy.set(key, {
        from: stageOf.get(cell.name)!,
        to: Math.max(stage, known?.to ?? 0),
        words: Math.max(words, known?.words ?? 0),
      });
    }
  }
  let words = 0;
  // Every buffer on the way to the last reader holds it.
  for (const { from, to, words: each } of readBy.values()) {
    words += (to - from) * each;
  }
  return pairs * SETUP.batchSizeMax * words * WORD_BYTES;
}
