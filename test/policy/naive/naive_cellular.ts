/** Cellular Batching, section 4.3, Algorithm 1; line numbers are its. Of several models as cellular.ts reads it. */
import type { Cell } from "../../../src/graph/cell.ts";
import { NODE } from "../../../src/graph/cell_graph.ts";
import type { Model } from "../../../src/graph/model.ts";
import type { EngineView } from "../../../src/policy/policy.ts";
import { type Naive, type NaiveLaunch, type Node, nodesOf } from "./beside.ts";
import { ReadyOrder } from "./ready_order.ts";

export interface NaiveCellularOptions {
  batchSizeMax: number;
  batchSizeMin: number;
  maxTasksToSubmit: number;
}

export function naiveCellular(options: NaiveCellularOptions): Naive {
  const { batchSizeMax, batchSizeMin, maxTasksToSubmit } = options;
  /** Of requests that have not ended, and which subgraph each is of, by one of its nodes. */
  let nodes: Node[] = [];
  const parents = new Map<Node, Node>();
  const segments = new Map<Node, number>();
  const order = new ReadyOrder();
  /** Whose inputs from outside are done, in the order of that. */
  const queue: Node[] = [];
  const doneFor = new Map<Node, Set<Node>>();
  const models = new Map<Cell, Model>();
  const running = new Map<Cell, number>();
  const served: Model[] = [];
  let burst: { cell: Cell; worker: number; tasks: number } | undefined;

  function subgraphOf(node: Node): Node {
    const parent = parents.get(node)!;
    return parent === node ? node : subgraphOf(parent);
  }

  /** A subgraph: connected nodes of one cell, as many changes of cell behind the inputs. */
  function add(added: readonly Node[]): void {
    for (const node of added) {
      nodes.push(node);
      parents.set(node, node);
      const changes = node.predecessors.map((before) =>
        segments.get(before)! + (before.cell === node.cell ? 0 : 1)
      );
      segments.set(node, Math.max(0, ...changes));
      for (const before of node.predecessors) {
        const joins = before.cell === node.cell &&
          segments.get(before) === segments.get(node);
        if (joins) parents.set(subgraphOf(node), subgraphOf(before));
        // Growth came after its end.
        if (before.state === NODE.done) doneFor.get(before)!.add(node);
      }
    }
  }

  function membersOf(subgraph: Node): Node[] {
    return nodes.filter((node) => subgraphOf(node) === subgraph);
  }

  function release(some: readonly Node[]): void {
    for (const node of some) {
      const subgraph = subgraphOf(node);
      const isFree = membersOf(subgraph).every((member) =>
        member.predecessors.every((before) =>
          subgraphOf(before) === subgraph || doneFor.get(before)?.has(member)
        )
      );
      if (isFree && !queue.includes(subgraph)) queue.push(subgraph);
    }
  }

  /** Lines 24-32, of any size. */
  function readyFor(worker: number, cell: Cell): Node[] {
    return queue.flatMap((subgraph) => {
      const members = membersOf(subgraph);
      const under = members.find(({ state }) => state === NODE.submitted);
      return subgraph.cell === cell && (under?.worker ?? worker) === worker
        ? order.of(members)
        : [];
    });
  }

  /** Line 10. */
  function highestPriority(cells: readonly Cell[]): Cell {
    const turn = (cell: Cell) => served.lastIndexOf(models.get(cell)!);
    const first = cells.toSorted((a, b) => turn(a) - turn(b))[0];
    return cells.filter((cell) => models.get(cell) === models.get(first))
      .toSorted((a, b) => b.priority - a.priority)[0];
  }

  function next(): NaiveLaunch | undefined {
    if (burst === undefined || burst.tasks === maxTasksToSubmit) return; // l. 14
    const { worker, cell } = burst;
    const rows = readyFor(worker, cell).slice(0, batchSizeMax); // l. 15
    if (rows.length === 0) return;
    if (burst.tasks > 0 && rows.length < batchSizeMin) return; // l. 16
    burst.tasks++;
    return { worker, steps: [rows] };
  }

  return {
    enqueue(request) {
      for (const cell of request.model.cells) models.set(cell, request.model);
      add(nodesOf(request));
      order.look(nodesOf(request));
      release(nodesOf(request));
    },
    decide({ workers }: EngineView) {
      const more = next();
      if (more) return more;
      burst = undefined;
      for (const { id: worker, queued } of workers) {
        if (queued > 0) continue;
        const count = (cell: Cell) => readyFor(worker, cell).length;
        const ready = [...models.keys()].filter((cell) => count(cell) > 0);
        const full = ready.filter((cell) => count(cell) >= batchSizeMax); // l. 5
        const idle = ready.filter((cell) => !running.get(cell)); // l. 7
        const chosen = [full, idle, ready].find(({ length }) => length > 0);
        if (!chosen) continue;
        const cell = highestPriority(chosen);
        served.push(models.get(cell)!);
        burst = { cell, worker, tasks: 0 };
        return next();
      }
      return undefined;
    },
    submitted({ steps: [step] }) {
      running.set(step.cell, (running.get(step.cell) ?? 0) + 1);
      for (const node of step.nodes as readonly Node[]) {
        add(node.graph.nodes.filter((grown) => !parents.has(grown)));
        order.submitted(node); // l. 18
        release(node.successors);
      }
    },
    completed(task) {
      running.set(task.cell, running.get(task.cell)! - 1);
      for (const node of task.nodes as readonly Node[]) {
        const heard = new Set<Node>();
        doneFor.set(node, heard);
        for (const after of node.successors) {
          heard.add(after);
          release([after]);
        }
      }
    },
    ended(request) {
      nodes = nodes.filter(({ graph }) => graph !== request.graph);
    },
  };
}
