import type { LoweredGraph } from "./lower/lower_graph.ts";
import { quoted } from "./place.ts";
import type { Schedule } from "./schedule.ts";

/** Which nodes of cells, and of steps between its parts, run in plain TypeScript, in sentences. */
export function plainNotes(
  graphs: readonly LoweredGraph[],
  { stops }: Pick<Schedule, "stops"> = { stops: [] },
): string[] {
  const plain = new Map<string, string[]>();
  const add = (op: string, node: string) =>
    plain.set(op, [...plain.get(op) ?? [], node]);
  for (const { cell, nodes } of graphs) {
    cell.operators.forEach((operator, at) => {
      const node = nodes[at];
      if (operator.op === "Plain" && node) add(node.op, node.name);
    });
  }
  for (const stop of stops) {
    if (stop.kind === "part") continue;
    for (const operator of stop.cells.flatMap(({ operators }) => operators)) {
      if (operator.op === "Plain") add(operator.name, stop.layer.node.name);
    }
  }
  return [...plain].map(([op, names]) =>
    `${op} runs in plain TypeScript, on the worker: ${names.length} of them, the first ${
      quoted(names[0])
    }`
  );
}
