/**
 * What runs a batch of requests outside of the engine: one ONNX graph for the whole network, or, where it grows,
 * one for what comes before the first step and one for a step, which takes states and caches from the step before.
 */
import type { NodeOutput, Source } from "../../src/graph/cell_graph.ts";
import type { Model } from "../../src/graph/model.ts";
import type { PlainTensor } from "../../test/kernels/equivalent.ts";
import {
  type ExportedGraph,
  exportNodes,
  type GraphValue,
  type InputRole,
  type OutputRole,
} from "./export/export_nodes.ts";
import type { AttentionForm } from "./export/operators.ts";
import { type Unrolled, unrolled } from "./unrolled.ts";

/** The second step is what all others are like; what it hands on shows in the third. */
const STEPS_MIN = 3;

/** A batch of requests of the same shape. */
export interface Batch {
  model: Model;
  inputs: readonly unknown[];
  /** Growing steps of each. */
  steps: number;
  attention: AttentionForm;
}

/** Values by the names that a graph gives them. */
export type Values<Tensor> = Readonly<Record<string, Tensor>>;

/** How tensors are made and graphs are run. */
export interface Runtime<Tensor> {
  tensor(value: PlainTensor): Tensor;
  /** A graph ready to run, as often as wanted unless `once`. */
  prepare(
    graph: ExportedGraph,
    options: { once: boolean },
  ): Promise<PreparedGraph<Tensor>>;
}

/** A graph that a runtime has loaded. */
export interface PreparedGraph<Tensor> {
  run(inputs: Values<Tensor>): Promise<Values<Tensor>>;
  release(): Promise<void>;
}

/** A network that a runtime has loaded, with a batch. */
export interface PreparedNetwork<Tensor> {
  /** Runs all that is timed: the whole network, or the steps. */
  run(): Promise<void>;
  /** Results of the last run by name: [batch, ...], one for each step where the network grows. */
  results(): Readonly<Record<string, readonly Tensor[]>>;
  release(): Promise<void>;
}

/** Loads what a batch of requests takes; what comes before the first step is run here. */
export async function prepareNetwork<Tensor>(
  runtime: Runtime<Tensor>,
  batch: Batch,
): Promise<PreparedNetwork<Tensor>> {
  const requests = batch.inputs.map((input) =>
    unrolled(batch.model, input, Math.max(STEPS_MIN, batch.steps))
  );
  const [{ steps }] = requests;
  return steps.length === 0
    ? await whole(runtime, batch, requests)
    : await stepwise(runtime, batch, requests);
}

async function whole<Tensor>(
  runtime: Runtime<Tensor>,
  { attention }: Batch,
  requests: readonly Unrolled[],
): Promise<PreparedNetwork<Tensor>> {
  const [{ graph, before }] = requests;
  const names = [...graph.results.keys()];
  const exported = exportNodes(before, {
    ...{ batch: requests.length, caches: false, attention },
    wanted: names.flatMap((name) => graph.results.get(name)!.sources),
  });
  const prepared = await runtime.prepare(exported, { once: false });
  const inputs = Object.fromEntries(
    exported.inputs.map(({ name, ...value }) => {
      const sources = sourcesOf(requests, ({ before }) => before, value.role);
      return [
        name,
        runtime.tensor(brought({ name, ...value }, sources, requests)),
      ];
    }),
  );
  let last: Values<Tensor> = {};
  return {
    async run() {
      last = await prepared.run(inputs);
    },
    results() {
      let at = 0;
      return Object.fromEntries(names.map((name) => {
        const { sources } = graph.results.get(name)!;
        const outputs = exported.outputs.slice(at, at += sources.length);
        return [name, outputs.map((output) => last[output.name])];
      }));
    },
    release: () => prepared.release(),
  };
}

async function stepwise<Tensor>(
  runtime: Runtime<Tensor>,
  { attention, steps: count }: Batch,
  requests: readonly Unrolled[],
): Promise<PreparedNetwork<Tensor>> {
  const [{ graph, before, steps }] = requests;
  const options = { batch: requests.length, caches: true, attention };
  const handedOn = outputsRead(steps[0], new Set(before));
  const start = exportNodes(before, { ...options, wanted: handedOn });
  // The second step: its states and caches come from a step, as those of all others do.
  const [, second, third] = steps;
  const results = [...graph.results].map(([name, { sources }]) => ({
    name,
    source: sources.find(({ node }) => second.includes(node)),
  }));
  const wanted = [
    ...outputsRead(third, new Set(second)),
    ...results.flatMap(({ source }) => source ?? []),
  ];
  const step = exportNodes(second, { ...options, wanted });

  const starting = await runtime.prepare(start, { once: true });
  const brings = (
    { inputs }: ExportedGraph,
    nodesOf: (request: Unrolled) => Unrolled["before"],
  ): Values<Tensor> =>
    Object.fromEntries(
      inputs.flatMap((input) => {
        const sources = sourcesOf(requests, nodesOf, input.role);
        return sources.length === 0 || sources[0].kind === "node"
          ? []
          : [[input.name, runtime.tensor(brought(input, sources, requests))]];
      }),
    );
  const started = await starting.run(brings(start, ({ before }) => before));
  await starting.release();

  const prepared = await runtime.prepare(step, { once: false });
  const data = Array.from(
    { length: count },
    (_, s) => brings(step, ({ steps }) => steps[s]),
  );
  const empty = (input: GraphValue<InputRole>) =>
    runtime.tensor({
      name: input.name,
      shape: input.shape.map((size) => typeof size === "string" ? 0 : size),
      data: new Float32Array(0),
    });
  const emptied = Object.fromEntries(
    step.inputs.filter(({ role }) => role.kind === "cache").map((input) => [
      input.name,
      empty(input),
    ]),
  );

  /** Where the inputs of a step come from that neither the request brings nor the step before makes anew. */
  const wires = Array.from(
    { length: count },
    (_, s) =>
      step.inputs.map(({ name, role }): Wire => {
        const wire = wireOf(role, s);
        return { name, ...wire };
      }),
  );

  let made: Values<Tensor>[] = [];
  return {
    async run() {
      made = [];
      for (let s = 0; s < count; s++) {
        const inputs: Record<string, Tensor> = { ...data[s] };
        for (const { name, from, output } of wires[s]) {
          if (from === "request") continue;
          inputs[name] = from === "start"
            ? started[output]
            : from === "empty"
            ? emptied[name]
            : made[s - 1][output];
        }
        made.push(await prepared.run(inputs));
      }
    },
    results: () =>
      Object.fromEntries(results.flatMap(({ name, source }) => {
        if (source === undefined) return [];
        const output = nameOf(step.outputs, { kind: "output", source })!;
        return [[name, made.map((values) => values[output])]];
      })),
    release: () => prepared.release(),
  };

  function wireOf(
    role: InputRole,
    s: number,
  ): Pick<Wire, "from" | "output"> {
    if (role.kind === "cache") {
      const { cache, part } = role;
      const own = nameOf(step.outputs, { kind: "cache", cache, part });
      if (s > 0 && own !== undefined) return { from: "before", output: own };
      const held = nameOf(start.outputs, { kind: "cache", cache, part });
      return held === undefined
        ? { from: "empty", output: "" }
        : { from: "start", output: held };
    }
    const source = steps[s][role.node].inputs[role.input];
    if (source.kind !== "node") return { from: "request", output: "" };
    const { node, port } = source;
    if (s > 0 && steps[s - 1].includes(node)) {
      // Names are those of the second step.
      const as = { ...source, node: second[steps[s - 1].indexOf(node)] };
      const output = nameOf(step.outputs, { kind: "output", source: as })!;
      return { from: "before", output };
    }
    const output = nameOf(start.outputs, { kind: "output", source });
    if (output === undefined) {
      throw new RangeError(
        `A step reads output ${port} of "${node.cell.name}" of long ago`,
      );
    }
    return { from: "start", output };
  }
}

/** Where an input of a step comes from. */
interface Wire {
  name: string;
  from: "request" | "start" | "empty" | "before";
  /** Name among the outputs of where it comes from. */
  output: string;
}

/** Outputs of some nodes that others read. */
function outputsRead(
  readers: Unrolled["before"],
  of: ReadonlySet<unknown>,
): NodeOutput[] {
  const found: NodeOutput[] = [];
  for (const { inputs } of readers) {
    for (const source of inputs) {
      if (source.kind !== "node" || !of.has(source.node)) continue;
      if (!found.some((known) => isSame(known, source))) found.push(source);
    }
  }
  return found;
}

function isSame(a: NodeOutput, b: NodeOutput): boolean {
  return a.node === b.node && a.port === b.port && a.token === b.token;
}

function nameOf(
  outputs: ExportedGraph["outputs"],
  wanted: OutputRole,
): string | undefined {
  return outputs.find(({ role }) =>
    role.kind === "cache" && wanted.kind === "cache"
      ? role.cache === wanted.cache && role.part === wanted.part
      : role.kind === "output" && wanted.kind === "output" &&
        isSame(role.source, wanted.source)
  )?.name;
}

/** The sources of one input in all requests; none of a cache. */
function sourcesOf(
  requests: readonly Unrolled[],
  nodesOf: (request: Unrolled) => Unrolled["before"],
  role: InputRole,
): Source[] {
  if (role.kind === "cache") return [];
  return requests.map((request) =>
    nodesOf(request)[role.node].inputs[role.input]
  );
}

/** What requests bring for an input, as one tensor. */
function brought(
  { name, shape, type, role }: GraphValue<InputRole>,
  sources: readonly Source[],
  requests: readonly Unrolled[],
): PlainTensor {
  const sizes = shape.map(Number);
  const elements = sizes.reduce((a, b) => a * b, 1);
  const data = type === "i32"
    ? new Int32Array(elements)
    : new Float32Array(elements);
  const each = elements / requests.length;
  sources.forEach((source, i) => {
    if (source.kind !== "input") return;
    const { data: values, index, width } = source;
    // Typed as the port, which is of one of these.
    const numbers = values.data as Float32Array | Int32Array;
    const from = numbers.subarray(index * width, index * width + each);
    data.set(
      role.kind === "port" && role.port.image
        ? channelsFirst(from, role.port.image.channels)
        : from,
      i * each,
    );
  });
  return { name, shape: sizes, type, data };
}

/** [height][width][channels] to [channels][height][width]. */
function channelsFirst(
  image: ArrayLike<number>,
  channels: number,
): Float32Array {
  const pixels = image.length / channels;
  return Float32Array.from(
    { length: image.length },
    (_, i) => image[i % pixels * channels + Math.floor(i / pixels)],
  );
}
