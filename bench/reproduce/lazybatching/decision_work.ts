/**
 * A thread that counts what a decision of LazyBatching executes: V8's block counters, which say how often every
 * block of code ran. Blocks are counted in functions that are compiled after counting has begun, so nothing of the
 * policy may have run in the thread before.
 */
import { Session } from "node:inspector";
import { defineCell, f32 } from "../../../src/graph/cell_builder.ts";
import { CellGraph, NODE } from "../../../src/graph/cell_graph.ts";
import type { Model } from "../../../src/graph/model.ts";
import type { Launch } from "../../../src/policy/launch.ts";
import { lazy } from "../../../src/policy/lazybatching/lazy.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import type { Request } from "../../../src/policy/request.ts";

/** How the requests that run lie in the table when another arrives. */
export type Shape = "one sub-batch" | "a sub-batch each";

export interface Order {
  readonly shape: Shape;
  readonly running: number;
  /** Layers of the network: what is expected of each is part of a request. */
  readonly layers: number;
}

/** Blocks of code that the decision executed; or why they are not known. */
export type Report = { readonly blocks: number } | { readonly error: string };

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly {
      readonly isBlockCoverage: boolean;
      readonly ranges: readonly { readonly count: number }[];
    }[];
  }[];
}

/** The policy's code, and the queue it uses. */
const COUNTED = /\/src\/(policy\/lazybatching|base\/fifo)/;

class Counter {
  readonly #session = new Session();

  static async start(): Promise<Counter> {
    const counter = new Counter();
    counter.#session.connect();
    await counter.#post("Profiler.enable");
    await counter.#post("Profiler.startPreciseCoverage", {
      callCount: true,
      detailed: true,
    });
    return counter;
  }

  /** Blocks executed since the last call. */
  async take(): Promise<number> {
    const { result } = await this.#post(
      "Profiler.takePreciseCoverage",
    ) as Coverage;
    return result.filter(({ url }) => COUNTED.test(url))
      .flatMap(({ functions }) => functions)
      .flatMap(({ ranges }) => ranges)
      .reduce((sum, { count }) => sum + count, 0);
  }

  #post(method: string, parameters = {}): Promise<unknown> {
    return new Promise((resolve, reject) =>
      this.#session.post(
        method,
        parameters,
        (error: Error | null, result?: unknown) =>
          error ? reject(error) : resolve(result),
      )
    );
  }
}

function chainOf(layers: number): Model<unknown> {
  const cells = Array.from({ length: layers }, (_, i) =>
    defineCell({
      name: `layer${i}`,
      inputs: { x: f32(1) },
      body: (op, { x }) => ({ y: op.Tanh(x) }),
    }));
  return {
    name: "chain",
    cells,
    shape: "chain",
    check: (_input): asserts _input is unknown => {},
    unfold(_input, graph) {
      let x = graph.row(graph.rows([0]), 0, 1);
      for (const cell of cells) x = graph.output(graph.node(cell, { x }), "y");
    },
  };
}

/** A policy with a device that executes one launch at a time, whose end is told by hand. */
class Table {
  readonly view = { nowNs: 0, workers: [{ id: 0, queued: 0 }] };
  readonly #policy: Policy;
  readonly #model: Model<unknown>;
  #ids = 0;

  constructor(layers: number) {
    this.#model = chainOf(layers);
    this.#policy = lazy({
      profile: () => 1,
      slaNs: Number.MAX_SAFE_INTEGER,
      batchSizeMax: 65_536,
    });
  }

  arrive(): void {
    const graph = new CellGraph<Request>(this.#model);
    this.#model.unfold({}, graph);
    const request: Request = {
      id: this.#ids++,
      model: this.#model,
      graph,
      arrivalNs: 0,
      deadlineNs: Infinity,
      finishNs: Infinity,
      tag: undefined,
    };
    graph.owner = request;
    this.#policy.enqueue(request);
  }

  decide(): Launch {
    const decision = this.#policy.schedule(this.view);
    if (decision.kind !== "launch") throw new Error("Nothing is launched");
    return decision.launch;
  }

  complete({ steps }: Launch): void {
    for (const { cell, nodes } of steps) {
      for (const node of nodes) node.state = NODE.done;
      this.#policy.completed?.({
        id: 0,
        launchId: 0,
        worker: 0,
        cell,
        nodes,
        padding: 0,
        padsDone: false,
        paddedLength: 0,
      }, 1);
    }
  }
}

/** A table with `running` requests that stand at a node. */
function prepare({ shape, running, layers }: Order): Table {
  const table = new Table(layers);
  if (shape === "one sub-batch") {
    for (let i = 0; i < running; i++) table.arrive();
    table.complete(table.decide());
    return table;
  }
  // Whoever comes later gets less far, so that nobody catches up with the one below.
  for (let i = 0; i < running; i++) {
    table.arrive();
    for (let node = 0; node < running - i; node++) {
      table.complete(table.decide());
    }
  }
  return table;
}

async function count(order: Order): Promise<number> {
  const counter = await Counter.start();
  const table = prepare(order);
  table.arrive();
  await counter.take();
  const { steps: [{ nodes }] } = table.decide();
  // A batch's rows are listed in its launch, which is no decision: here it is the newcomer alone.
  if (nodes.length !== 1) throw new Error("The newcomer was to be launched");
  return counter.take();
}

const scope = globalThis as unknown as
  & Pick<Worker, "postMessage">
  & { onmessage: ((event: MessageEvent<Order>) => void) | null };

scope.onmessage = ({ data }) => {
  count(data).then(
    (blocks): Report => ({ blocks }),
    (error): Report => ({ error: `${error}` }),
  ).then((report) => scope.postMessage(report));
};
