/** Cells of one position: of a recurrent layer for each direction one, of a loop one. */
import type { Cell } from "../graph/cell.ts";
import { defineCell, f32 } from "../graph/cell_builder.ts";
import type { OnnxNode } from "./ir.ts";
import type { LoopBody } from "./loop_body.ts";
import { lowerGraph } from "./lower/lower_graph.ts";
import type { Recurrence } from "./lower/recurrence.ts";
import type { Place } from "./place.ts";

/** A state as ports of a step's cell, and its elements. */
export interface StepState {
  readonly reads: string;
  readonly makes: string;
  readonly width: number;
}

/** What is done at every position. */
export interface StepCells {
  readonly positions: number;
  readonly states: readonly StepState[];
  readonly directions: readonly { readonly isReverse: boolean }[];
  /** One for every direction. @param name of the model */
  cells(name: string): Cell[];
}

/** Characters of a node's name that a cell's has. */
const NODE_NAME_MAX = 30;

const called = (name: string, node: OnnxNode, what: string) =>
  `${name}/${node.name.slice(0, NODE_NAME_MAX)}:${what}`;

/** @param parts of a position's input, one after the other: inputs x0, x1, ... */
export function recurrentSteps(
  node: OnnxNode,
  recurrence: Recurrence,
  parts: number,
): StepCells {
  const { positions, width, hidden, states, directions } = recurrence;
  const ports = Array.from(
    { length: parts },
    (_, i) => [`x${i}`, f32(width / parts)] as const,
  );
  return {
    positions,
    states: states.map((name) => ({ reads: name, makes: name, width: hidden })),
    directions,
    cells: (name) =>
      directions.map(({ isReverse, step }) =>
        defineCell<string, string>({
          name: called(name, node, isReverse ? "reverse" : "forward"),
          phase: "encoder",
          recurrent: true,
          inputs: Object.fromEntries([
            ...ports,
            ...states.map((state) => [state, f32(hidden)] as const),
          ]),
          body: (op, values) => {
            const given = ports.map(([port]) => values[port]);
            const made = step(
              op,
              parts === 1 ? given[0] : op.Concat(...given),
              { h: values.h, ...(states.includes("c") && { c: values.c }) },
            );
            return { h: made.h, ...(made.c && { c: made.c }) };
          },
        })
      ),
  };
}

/** Ports are called as those of a graph's cell: inputs x0, x1, ... by place, outputs y0, y1, ... */
export function loopSteps(
  node: OnnxNode,
  { rounds, graph, known, inputs }: LoopBody,
  place: Place,
): StepCells {
  const cell = lowerGraph(graph, known, "", place.node(node)).cell;
  const widths = new Map(cell.inputs.map(({ name, width }) => [name, width]));
  return {
    positions: rounds,
    states: inputs.flatMap((input, i) => {
      const width = widths.get(`x${i}`);
      return input.kind === "state" && width !== undefined
        ? [{ reads: `x${i}`, makes: `y${input.from}`, width }]
        : [];
    }),
    directions: [{ isReverse: false }],
    cells: (name) => [{
      ...cell,
      name: called(name, node, "round"),
      phase: "encoder",
      recurrent: true,
    }],
  };
}
