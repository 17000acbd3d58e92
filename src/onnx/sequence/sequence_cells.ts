/** Groups of a sequence's graph and its recurrent layers as cells, in the order in which requests pass through them. */
import type { Cell } from "../../graph/cell.ts";
import {
  type CellPart,
  cutCell,
  type PartSource,
} from "../../graph/cut_cell.ts";
import { type CellSize, cutsOf } from "../cuts.ts";
import { type LoweredGraph, lowerGraph } from "../lower/lower_graph.ts";
import type { Place } from "../place.ts";
import { partNames } from "../part_names.ts";
import { recurrentSteps } from "../step_cells.ts";
import type { Group, Groups, LayerSources } from "./group.ts";
import type { SequenceLayer } from "./roles.ts";

/** What a request passes through: parts of a group, or steps of a layer. */
export type SequenceStop =
  | {
    readonly kind: "group";
    readonly group: Group;
    /** All tokens of a request are one node's; a group behind recurrent layers has a node for each. */
    readonly isRagged: boolean;
    readonly lowered: LoweredGraph;
    readonly parts: readonly CellPart[];
    /** Where its results come from, by name. */
    readonly results: ReadonlyMap<string, PartSource>;
  }
  | {
    readonly kind: "layer";
    readonly at: number;
    readonly layer: SequenceLayer;
    readonly sources: LayerSources;
    readonly cells: readonly Cell[];
  };

/** Positions that a request brings at least, as it is taken for how large ragged cells are. */
const POSITIONS = 16;

/** How cells are made. */
export interface CellOptions {
  readonly name: string;
  readonly size: CellSize | undefined;
  readonly tokensMax: number;
}

/** @throws OnnxError naming the node that operators of cells do not compute */
export function sequenceStops(
  { groups, layers }: Groups,
  all: readonly SequenceLayer[],
  { name, size, tokensMax }: CellOptions,
  place: Place,
): SequenceStop[] {
  const nameOf = partNames(name);
  const stops: { stage: number; order: number; stop: SequenceStop }[] = [];
  for (const group of groups) {
    const { graph, known, kind, stage } = group;
    const isRagged = kind === "token" && stage === 0;
    const lowered = lowerGraph(
      graph,
      known,
      name,
      place,
      isRagged ? { tokensMax } : {},
    );
    const { cell, nodes } = lowered;
    const cut = cutCell(
      cell,
      cutsOf(cell, size, isRagged ? POSITIONS : 1),
      (from, to) => nameOf(nodes, from, to),
    );
    stops.push({
      ...{ stage, order: kind === "token" ? 0 : 1 },
      stop: {
        kind: "group",
        ...{ group, isRagged, lowered },
        parts: cut.parts.map((part) => ({
          ...part,
          cell: { ...part.cell, phase: phaseOf(group, isRagged) },
        })),
        results: new Map(
          graph.outputs.map(({ name }, i) => [name, cut.results[i]]),
        ),
      },
    });
  }
  for (const [at, sources] of layers) {
    const layer = all[at];
    const { x } = sources;
    const parts = x.kind === "states"
      ? all[x.layer].recurrence.directions.length
      : 1;
    stops.push({
      ...{ stage: layer.stage, order: 2 + at },
      stop: {
        kind: "layer",
        ...{ at, layer, sources },
        cells: recurrentSteps(layer.node, layer.recurrence, parts).cells(name),
      },
    });
  }
  stops.sort((a, b) => a.stage - b.stage || a.order - b.order);
  let priority = 0;
  const own = (cell: Cell): Cell => ({ ...cell, priority: priority++ });
  return stops.map(({ stop }): SequenceStop =>
    stop.kind === "layer" ? { ...stop, cells: stop.cells.map(own) } : {
      ...stop,
      parts: stop.parts.map((part) => ({ ...part, cell: own(part.cell) })),
    }
  );
}

/** Nodes of a position are as many as a request has positions. */
function phaseOf({ kind }: Group, isRagged: boolean): Cell["phase"] {
  return kind === "token" && !isRagged ? "encoder" : "static";
}
