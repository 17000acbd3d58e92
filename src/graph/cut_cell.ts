/**
 * Cuts a cell into cells that run one after the other: each has the operators between two cuts, reads what earlier
 * ones made, and is a unit of batching by itself. Nothing that is computed changes, but for what kernels fuse.
 */
import type { Cell, Port } from "./cell.ts";
import type { Operator, Value } from "./operator.ts";

/** Where a value comes from: input `port` of the whole cell (part -1), or output `port` of a part. */
export interface PartSource {
  readonly part: number;
  readonly port: number;
}

/** A cell with where each of its inputs comes from. */
export interface CellPart {
  readonly cell: Cell;
  readonly inputs: readonly PartSource[];
}

/** The parts in the order in which they run, and where each output of the whole cell comes from. */
export interface CutCell {
  readonly parts: readonly CellPart[];
  readonly results: readonly PartSource[];
}

/** Operators that cost nothing: every part that reads them has its own. */
function isFree({ op }: Operator): boolean {
  return op === "Constant" || op === "Reshape";
}

/**
 * @param cell static: no caches but its own tokens', which are filled right before the one who looks there; no stop rule
 * @param starts operators, by place, that a part begins with, ascending; the first one begins with what comes first
 * @param nameOf name of the part that has the operators [from, to) of the cell's
 */
export function cutCell(
  cell: Cell,
  starts: readonly number[],
  nameOf: (from: number, to: number) => string,
): CutCell {
  const producers = new Map<number, { operator: Operator; at: number }>();
  cell.operators.forEach((operator, at) => {
    for (const { id } of operator.outputs) producers.set(id, { operator, at });
  });
  const bounds = [0, ...starts.filter((at) => at > 0), cell.operators.length];
  const partOf = (at: number) => bounds.findLastIndex((from) => from <= at);
  /** The part that a value is made in; -1: it is an input, or made of nothing. */
  const homeOf = (value: Value): number => {
    const producer = producers.get(value.id);
    if (!producer) return -1;
    const { operator, at } = producer;
    if (!isFree(operator)) return partOf(at);
    return operator.inputs.length === 0 ? -1 : homeOf(operator.inputs[0]);
  };

  const plans = bounds.slice(0, -1).map(() => new PartPlan());
  const homes = cell.results.map((value) => {
    const home = homeOf(value);
    const part = home < 0 ? plans.length - 1 : home;
    plans[part].handsOut(value);
    return part;
  });
  // Readers stand behind what they read: from the last operator on, what is wanted is known.
  for (let at = cell.operators.length - 1; at >= 0; at--) {
    const operator = cell.operators[at];
    const free = isFree(operator);
    for (const plan of free ? plans : [plans[partOf(at)]]) {
      if (!plan.wants(operator)) continue;
      plan.operators.add(at);
      if ("cache" in operator) plan.caches.add(operator.cache.index);
      for (const input of operator.inputs) {
        plan.wanted.add(input.id);
        const producer = producers.get(input.id);
        const home = homeOf(input);
        const isElsewhere = producer === undefined ||
          !isFree(producer.operator) && plans[home] !== plan;
        if (!isElsewhere) continue;
        plan.inputs.set(input.id, input);
        if (home >= 0) plans[home].handsOut(input);
      }
    }
  }

  // A result may be an input as it is.
  for (const { outputs, inputs } of plans) {
    for (const value of outputs) {
      if (!producers.has(value.id)) inputs.set(value.id, value);
    }
  }
  const kept = plans.map((plan, i) => ({ plan, i })).filter(({ plan }) =>
    plan.outputs.length > 0
  );
  const places = new Map(kept.map(({ i }, place) => [i, place]));
  const sourceOf = (value: Value): PartSource => {
    const home = homeOf(value);
    return home < 0
      ? { part: -1, port: value.id }
      : { part: places.get(home)!, port: plans[home].portOf(value) };
  };
  return {
    parts: kept.map(({ plan, i }, place) => ({
      cell: plan.cell(cell, nameOf(bounds[i], bounds[i + 1]), place),
      inputs: plan.sortedInputs.map(sourceOf),
    })),
    results: cell.results.map((value, i) => ({
      part: places.get(homes[i])!,
      port: plans[homes[i]].portOf(value),
    })),
  };
}

class PartPlan {
  /** Ids of the values that it makes or reads, as far as they are needed. */
  readonly wanted = new Set<number>();
  readonly inputs = new Map<number, Value>();
  readonly outputs: Value[] = [];
  /** Places of its operators among those of the whole. */
  readonly operators = new Set<number>();
  /** Local caches that it looks at. */
  readonly caches = new Set<number>();

  get sortedInputs(): Value[] {
    return [...this.inputs.values()].sort((a, b) => a.id - b.id);
  }

  wants(operator: Operator): boolean {
    return operator.op === "CacheAppend"
      ? this.caches.has(operator.cache.index)
      : operator.outputs.some(({ id }) => this.wanted.has(id));
  }

  handsOut(value: Value): void {
    this.wanted.add(value.id);
    if (this.portOf(value) < 0) this.outputs.push(value);
  }

  portOf({ id }: Value): number {
    return this.outputs.findIndex((output) => output.id === id);
  }

  cell(whole: Cell, name: string, priority: number): Cell {
    const values = new Map<number, Value>();
    const declare = (value: Value): Value => {
      const own = { ...value, id: values.size };
      values.set(value.id, own);
      return own;
    };
    const own = ({ id }: Value) => values.get(id)!;
    const port = (name: string, { id: _, ...rest }: Value): Port => ({
      name,
      ...rest,
    });
    const inputs = this.sortedInputs.map((value, i) =>
      port(`x${i}`, declare(value))
    );
    const caches = [...this.caches].sort((a, b) => a - b);
    const operators = [...this.operators].sort((a, b) => a - b).map((at) => {
      const operator = whole.operators[at];
      return {
        ...operator,
        ...("cache" in operator && {
          cache: {
            ...operator.cache,
            index: caches.indexOf(operator.cache.index),
          },
        }),
        inputs: operator.inputs.map(own),
        outputs: operator.outputs.map(declare),
      } as Operator;
    });
    return {
      name,
      phase: "static",
      recurrent: false,
      priority,
      inputs,
      outputs: this.outputs.map((value, i) => port(`y${i}`, value)),
      caches: [],
      localCaches: caches.map((index) => whole.localCaches[index]),
      ...(whole.tokensMax !== undefined && { tokensMax: whole.tokensMax }),
      operators,
      results: this.outputs.map(own),
    };
  }
}
