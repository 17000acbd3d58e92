/**
 * Everything that real runs keep in linear memory, and who owns it:
 *
 *     | kernels' constants | weights | zeros | per worker: sinks, scratch, tables, ring, tasks | slots |
 *
 * The host plans all of it once. A request's slot is written at its arrival and read at its departure.
 */
import { shorten } from "../../base/describe.ts";
import type { Cell } from "../../graph/cell.ts";
import type { RunPlain } from "../../graph/operator.ts";
import type { CellNode, NodeOutput } from "../../graph/cell_graph.ts";
import type { ResultRows } from "../../graph/result_rows.ts";
import { SlotPlan } from "../../graph/slot_plan.ts";
import type { Result } from "../../graph/result.ts";
import { createMemory } from "../../kernels/module/memory.ts";
import {
  instantiateKernels,
  type KernelExports,
} from "../../kernels/module/module.ts";
import { CellError } from "../core/errors.ts";
import type { Settlement } from "../core/executor.ts";
import type { CellProgram, PlainCall } from "../lowering/cell_program.ts";
import type { RunnerMemory } from "./cell_runner.ts";
import { LinearMemory } from "./linear_memory.ts";
import {
  type MemoryOptions,
  type MemoryPlan,
  planMemory,
} from "./memory_plan.ts";
import { resultOf } from "./result_of.ts";
import { SessionSlots } from "./session_slots.ts";
import type { SlotRequest } from "./slot.ts";
import {
  abandonSlot,
  type Failure,
  failureOf,
  isVoid,
  openHeader,
  reasonOf,
  stepOutcome,
} from "./slot_header.ts";
import { SlotPool } from "./slot_pool.ts";
import { TaskTables } from "./task_tables.ts";

export class TensorStore {
  readonly memory: WebAssembly.Memory;
  /** An instance of the kernels for the engine's own thread. */
  readonly kernels: KernelExports;
  readonly programs: readonly CellProgram[];
  readonly words: Int32Array;
  readonly doubles: Float64Array;
  /** Writes the tables of tasks. */
  readonly tables: TaskTables;
  readonly #memory: LinearMemory;
  /** Of graphs that are used again, and of those that found no room. */
  readonly #plans = new WeakMap<object, SlotPlan>();
  readonly #programIds: ReadonlyMap<Cell, number>;
  readonly #workers: MemoryPlan["workers"];
  readonly #pool: SlotPool;
  /** Slots that stay from frame to frame. */
  readonly sessions: SessionSlots;
  /** Runs the cells' operators in plain TypeScript, if they have any. */
  readonly plain: RunPlain | undefined;

  /** @throws RangeError when weights and slots do not fit the 4 GiB that WebAssembly addresses, less a page */
  constructor(options: MemoryOptions) {
    const plan = planMemory(options);
    const { cells, programs, constants, workers, slots, bytes } = plan;
    this.programs = programs;
    this.plain = runPlainOf(cells);
    this.#programIds = new Map(cells.map((cell, id) => [cell, id]));
    this.#workers = workers;
    this.memory = createMemory({ bytes, shared: options.shared });
    this.kernels = instantiateKernels(options.kernels, { memory: this.memory });
    this.#memory = new LinearMemory(this.memory.buffer);
    this.words = this.#memory.words;
    this.doubles = new Float64Array(this.memory.buffer);
    this.tables = new TaskTables(plan, new Uint32Array(this.memory.buffer));
    for (const { data, address } of constants) {
      this.#memory.write(data, address);
    }
    this.#pool = new SlotPool(slots, slots + plan.slotBytes);
    this.sessions = new SessionSlots(this.#pool, this.#memory);
  }

  runnerMemory(worker: number): RunnerMemory {
    return this.#workers[worker].runner;
  }

  /** Address of the `workerBytes` that belong to a worker's rings and tasks. */
  workerMemory(worker: number): number {
    return this.#workers[worker].extra;
  }

  programId(cell: Cell): number {
    return this.#programIds.get(cell) as number;
  }

  /** Plans the request's slot and writes its inputs; a frame has its session's. */
  admit(request: SlotRequest): void {
    if (request.session) return this.sessions.begin(request);
    const plan = this.#planOf(request);
    const { address, bytes } = this.#allocate(request, plan);
    request.slot = { address, bytes, plan };
    const { brought, graph: { closed, inputs } } = request;
    openHeader(this.words, address, closed ? 0 : request.stepsLimit);
    for (let i = 0; i < inputs.length; i++) {
      const { data, offset } = inputs[i];
      this.#memory.write(brought?.[i] ?? data, address + offset);
    }
  }

  #allocate({ graph }: SlotRequest, plan: SlotPlan) {
    try {
      return this.#pool.allocate(plan.bytes);
    } catch (error) {
      // It may be admitted again, and a graph is planned once.
      this.#plans.set(graph, plan);
      throw error;
    }
  }

  #planOf({ graph, model }: SlotRequest): SlotPlan {
    const known = this.#plans.get(graph);
    if (known) return known;
    const plan = new SlotPlan(graph);
    if (model.brings) this.#plans.set(graph, plan);
    return plan;
  }

  /** Whether rows of the request that start now are void. */
  isVoid(request: SlotRequest): boolean {
    return isVoid(this.words, request.slot.address);
  }

  /** See Executor.settle. A slot's header only ever moves on, so tasks may settle long after they ran. */
  settle(node: CellNode, request: SlotRequest): Settlement {
    const { address } = request.slot;
    const failure = failureOf(this.words, address);
    if (failure !== undefined) return this.#failed(request, failure);
    if (!node.cell.stop || request.graph.stepsMax === 0) return "done";
    return stepOutcome(this.words, address, node.step + 1);
  }

  /** The failure may be of another task's row: one ends the request, whichever is settled first. */
  #failed(request: SlotRequest, { node, call }: Failure): CellError {
    const { cell } = request.graph.nodes[node];
    const program = this.programs[this.programId(cell)];
    const failed = program.calls[call];
    const what = failed?.call === "kernel"
      ? `${failed.kernel} met an id outside its table`
      : failed?.call === "plain"
      ? refusal(failed, reasonOf(this.words, request.slot.address, node))
      : "a kernel trapped";
    return new CellError(
      `Cell "${cell.name}" failed on node ${node} of request ${request.id}: ${what}`,
    );
  }

  abandon(request: SlotRequest): void {
    abandonSlot(this.words, request.slot.address);
  }

  result(
    request: SlotRequest,
    rows: ReadonlyMap<string, ResultRows<NodeOutput>> = request.graph.results,
  ): Result {
    if (request.session) return this.sessions.result(request);
    return resultOf(rows, request.slot.address, this.#memory);
  }

  release(request: SlotRequest): void {
    const slot = request.takeSlot();
    if (!request.session) this.#pool.release(slot);
  }
}

/**
 * What runs all of their operators in plain TypeScript.
 * @throws TypeError when they are to be run by different functions
 */
function runPlainOf(cells: readonly Cell[]): RunPlain | undefined {
  const runs = new Set(
    cells.flatMap(({ operators }) =>
      operators.flatMap((one) => one.op === "Plain" ? [one.run] : [])
    ),
  );
  if (runs.size <= 1) return [...runs][0];
  throw new TypeError(
    "Operators in plain TypeScript have one registry, got several functions to run them",
  );
}

/** What an operator in plain TypeScript has said. */
function refusal(
  { name, node }: PlainCall,
  reason: string | undefined,
): string {
  const where = node === undefined ? "" : ` (node "${shorten(node)}")`;
  const refused = `operator ${name}${where} refused its inputs`;
  if (reason === undefined) return refused;
  const itself = `${name}: `;
  return `${refused}: ${
    reason.startsWith(itself) ? reason.slice(itself.length) : reason
  }`;
}
