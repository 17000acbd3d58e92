/** What a policy answers when it is asked what to do: an answer that is none ends the engine, with words for its author. */
import { describe, shorten } from "../../base/describe.ts";
import type { Cell } from "../../graph/cell.ts";
import { CellNode, NODE } from "../../graph/cell_graph.ts";
import type { Launch, Tail } from "../../policy/launch.ts";
import type { Decision, Policy } from "../../policy/policy.ts";
import type { NodeOf } from "../../policy/request.ts";
import type { ActiveList } from "./active_list.ts";
import { ActiveRequest } from "./active_request.ts";

/** Rows or tokens that a launch is padded to, at most: beyond it padding would be all that a worker ever does. */
const PADDED_MAX = 2 ** 20;

/** What ends an engine whose policy answers something else than a decision. */
export function noDecision({ name }: Policy, answered: unknown): TypeError {
  if (answered instanceof Promise) answered.catch(() => {});
  return new TypeError(
    `"schedule" of policy "${name}" returns a launch, a wait or idle, got ${
      describe(answered)
    }`,
  );
}

/** @throws TypeError when there is no such launch on so many workers */
export function checkLaunch(
  launch: Launch,
  workers: number,
  { name }: Policy,
): void {
  const { worker, steps, release, tail, tokens = [], notes = [] } = launch ??
    {};
  if (!isCount(worker, workers - 1)) {
    throw mistake(name, `"worker" of 0 to ${workers - 1}`, worker);
  }
  if (!Array.isArray(steps) || steps.length === 0) {
    throw mistake(name, 'one or more "steps"', steps);
  }
  let rows = 0;
  for (const step of steps) {
    const length = step?.cell?.operators && step.nodes?.length;
    if (!(length > 0 || length === 0 && launch.paddedRows)) {
      throw mistake(name, 'steps of a "cell" and "nodes"', step);
    }
    rows += length;
    // Before an observer looks at them.
    for (let i = 0; i < length; i++) {
      if (step.nodes[i] instanceof CellNode) continue;
      throw mistake(
        name,
        "nodes of requests' graphs in its steps",
        step.nodes[i],
      );
    }
  }
  // Of padding alone there is no end.
  if (rows === 0) throw mistake(name, "a node in one of its steps", rows);
  if (release !== "step" && release !== "end") {
    throw mistake(name, '"release" "step" or "end"', release);
  }
  if (tail === null) {
    throw mistake(name, 'a "tail" of "cells" and "requests", or none', tail);
  }
  const { cells, requests } = tail ?? { cells: [], requests: [] };
  const lists = { tokens, notes, cells, requests };
  for (const [key, list] of Object.entries(lists)) {
    if (!Array.isArray(list)) throw mistake(name, `a list of "${key}"`, list);
  }
  for (const token of tokens) {
    const isToken = typeof token?.id === "string" &&
      (token.access === "read" || token.access === "write");
    if (isToken) continue;
    throw mistake(name, 'tokens of "id" and "access", read or write', token);
  }
  for (const note of notes) {
    if (Array.isArray(note?.requests)) continue;
    throw mistake(name, 'notes of "op", "requests" and "why"', note);
  }
  for (const key of ["paddedRows", "paddedLength"] as const) {
    if (!isCount(launch[key] ?? 0, PADDED_MAX)) {
      throw mistake(name, `"${key}" of 0 to ${PADDED_MAX}`, launch[key]);
    }
  }
}

/** @throws TypeError unless a launch's tail is of requests in the system, all of one model, and cells of that */
export function checkTail(
  { cells, requests }: Tail,
  active: ActiveList,
  { name }: Policy,
): void {
  for (const request of requests) {
    if (!(request instanceof ActiveRequest)) {
      throw mistake(name, 'requests in its "tail"', request);
    }
    const model = requests[0].model;
    const why = !active.has(request)
      ? "it is over, or another engine's"
      : request.model !== model
      ? `it is to model "${shorten(request.model.name)}", and the first to "${
        shorten(model.name)
      }"`
      : undefined;
    if (why === undefined) continue;
    throw new TypeError(
      `A launch of policy "${name}" has request ${request.id} in its "tail": ${why}`,
    );
  }
  if (requests.length === 0) return;
  const { model } = requests[0];
  const isOfModel = cells.every((cell) => model.cells.includes(cell));
  if (isOfModel && cells.length > 0) return;
  const needed = `one or more "cells" of model "${shorten(model.name)}"`;
  throw mistake(name, `${needed} in its "tail"`, cells);
}

/** @throws TypeError when a policy may not submit the node as a row of the cell */
export function checkRow(
  node: NodeOf<ActiveRequest>,
  cell: Cell,
  worker: number,
  active: ActiveList,
  { name }: Policy,
): void {
  const request = node.graph.owner;
  const isThere = request !== undefined && active.has(request);
  if (isThere && node.cell === cell && node.readyFor(worker)) return;
  const why = !isThere
    ? "it is over, or another engine's"
    : node.cell !== cell
    ? `the step is of cell "${shorten(`${cell.name}`)}"`
    : node.state !== NODE.waiting
    ? "it was launched before"
    : `its inputs are neither done nor queued on worker ${worker} before it`;
  const of = request ? ` and request ${request.id}` : "";
  throw new TypeError(
    `A launch of policy "${name}" has node ${node.index}, of cell "${
      shorten(node.cell.name)
    }"${of}: ${why}`,
  );
}

/** @throws TypeError unless the wait ends later than now */
export function checkWait(
  { untilNs }: Decision & { kind: "wait" },
  nowNs: number,
  { name }: Policy,
): void {
  if (typeof untilNs === "number" && untilNs > nowNs) return;
  throw new TypeError(
    `A wait of policy "${name}" has "untilNs" later than now, ${nowNs}, got ${
      describe(untilNs)
    }`,
  );
}

function isCount(value: unknown, most: number): boolean {
  return Number.isInteger(value) && value as number >= 0 &&
    value as number <= most;
}

function mistake(policy: string, needed: string, value: unknown): TypeError {
  return new TypeError(
    `A launch of policy "${policy}" has ${needed}, got ${describe(value)}`,
  );
}
