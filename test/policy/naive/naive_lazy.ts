/** LazyBatching, section IV, as lazy.ts reads it: every sum worked out anew from the requests' graphs. */
import assert from "node:assert/strict";
import type { Cell } from "../../../src/graph/cell.ts";
import { NODE } from "../../../src/graph/cell_graph.ts";
import type { Model } from "../../../src/graph/model.ts";
import type { LazyOptions } from "../../../src/policy/lazybatching/lazy_options.ts";
import type { EngineView } from "../../../src/policy/policy.ts";
import type { Request } from "../../../src/policy/request.ts";
import { type Naive, type Node, nodesOf } from "./beside.ts";

export interface NaiveLazyOptions
  extends Required<Omit<LazyOptions, "profile" | "slaNs">> {
  slaNs: number;
  nodeNs: (cell: Cell) => number;
}

interface SubBatch {
  readonly model: Model;
  readonly members: Request[];
  uninterrupted: boolean;
}

export function naiveLazy(options: NaiveLazyOptions): Naive {
  const { batchSizeMax, decTimesteps, elapsedTime, nodeNs } = options;
  let infQ: Request[] = [];
  const tables: SubBatch[][] = [];
  const ran: (SubBatch | undefined)[] = [];
  const growing = new Set<Request>();
  const limits = new Map<Request, number>();

  function nextNode(request: Request): Node {
    return nodesOf(request).find(({ state }) => state === NODE.waiting)!;
  }

  function cellOf({ members: [first] }: SubBatch): Cell {
    return nextNode(first).cell;
  }

  /** Algorithm 1, of the whole graph or of what is not executed yet. */
  function execNs(request: Request, which: "all" | "left"): number {
    const isLeft = ({ state }: Node) =>
      which === "all" || state === NODE.waiting;
    let ns = 0;
    for (const cell of request.model.cells) {
      const nodes = nodesOf(request).filter((node) => node.cell === cell);
      const done = nodes.filter((node) => !isLeft(node)).length;
      ns += nodeNs(cell) *
        (growing.has(request) && cell.phase === "decoder"
          ? Math.max(0, decTimesteps - done)
          : nodes.length - done);
    }
    return ns;
  }

  function slaOf({ arrivalNs, deadlineNs, finishNs }: Request): number {
    const own = deadlineNs === Infinity
      ? options.slaNs
      : deadlineNs - arrivalNs;
    return Math.min(own, finishNs - arrivalNs);
  }

  function limitOf(request: Request, nowNs: number): number {
    const { arrivalNs } = request;
    const waitedNs = nowNs - arrivalNs;
    const aloneNs = slaOf(request) - (waitedNs + execNs(request, "all")); // Eq. 1
    if (aloneNs < 0 && options.negativeSlack === "ignore") return Infinity;
    return elapsedTime === "charge"
      ? arrivalNs + slaOf(request)
      : slaOf(request) - waitedNs;
  }

  /** Eq. 2. */
  function slackNs(requests: readonly Request[], nowNs: number): number {
    const [passedNs, which] = elapsedTime === "charge"
      ? [nowNs, "left"] as const
      : [0, "all"] as const;
    const limitNs = Math.min(...requests.map((each) => limits.get(each)!));
    return limitNs -
      requests.reduce((ns, each) => ns + execNs(each, which), passedNs);
  }

  function mergeTop(table: SubBatch[]): void {
    for (;;) {
      const [below, top] = table.slice(-2);
      if (top === undefined || below.model !== top.model) return;
      if (cellOf(below) !== cellOf(top)) return;
      if (below.members.length + top.members.length > batchSizeMax) return;
      below.members.push(...table.pop()!.members);
      below.uninterrupted ||= top.uninterrupted;
    }
  }

  /** Who goes on at different cells comes apart, those ahead at the bottom. */
  function takeApart(table: SubBatch[], worker: number): void {
    const top = ran[worker];
    ran[worker] = undefined;
    if (top === undefined || top.members.length === 0) return;
    assert.equal(table.pop(), top);
    const { model, members, uninterrupted } = top;
    for (const cell of model.cells.toReversed()) {
      const part = members.filter((each) => nextNode(each).cell === cell);
      if (part.length > 0) table.push({ model, members: part, uninterrupted });
    }
  }

  function considerPending(table: SubBatch[], nowNs: number): void {
    const active = table.at(-1);
    if (active?.uninterrupted) return;
    if (!options.nestedPreemption && table.length > 1) return;
    const rowsOf = (model: Model) =>
      table.filter((entry) => entry.model === model)
        .reduce((rows, { members }) => rows + members.length, 0);
    const first = infQ.find(({ model }) => rowsOf(model) < batchSizeMax);
    if (first === undefined) return;
    const { model } = first;
    const room = batchSizeMax - rowsOf(model);
    const isFree = active === undefined &&
      (options.emptyTable === "issue" ? room : 1);
    const pending: Request[] = [];
    for (const request of infQ.filter((each) => each.model === model)) {
      if (pending.length === room) break;
      if (nextNode(request).cell !== nextNode(first).cell) break;
      limits.set(request, limitOf(request, nowNs));
      const all = [...table.flatMap(({ members }) => members), ...pending];
      const isLate = slackNs([...all, request], nowNs) < 0;
      if (isLate && pending.length >= Number(isFree)) break;
      pending.push(request);
    }
    if (pending.length === 0) active!.uninterrupted = true;
    else table.push({ model, members: pending, uninterrupted: false });
    infQ = infQ.filter((each) => !pending.includes(each));
  }

  return {
    enqueue(request) {
      infQ.push(request);
      if (!request.graph.closed) growing.add(request);
    },
    decide({ nowNs, workers }: EngineView) {
      const idle = workers.filter(({ queued }) => queued === 0);
      const has = ({ id }: { id: number }) => (tables[id] ??= []).length > 0;
      const empty = infQ.length > 0
        ? idle.find((each) => !has(each))
        : undefined;
      const worker = (empty ?? idle.find(has))?.id;
      if (worker === undefined) return undefined;
      const table = tables[worker];
      takeApart(table, worker);
      mergeTop(table);
      considerPending(table, nowNs);
      mergeTop(table);
      const top = ran[worker] = table.at(-1)!;
      return { worker, steps: [top.members.map(nextNode)] };
    },
    ended(request) {
      infQ = infQ.filter((each) => each !== request);
      for (const table of tables) {
        for (const entry of [...table ?? []]) {
          const at = entry.members.indexOf(request);
          if (at >= 0) entry.members.splice(at, 1);
          if (entry.members.length === 0) table.splice(table.indexOf(entry), 1);
        }
      }
    },
  };
}
