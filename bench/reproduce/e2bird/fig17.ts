import { mean } from "../../../src/base/statistics.ts";
import { CellGraph } from "../../../src/graph/cell_graph.ts";
import { SlotPlan } from "../../../src/graph/slot_plan.ts";
import {
  totalBatchSize,
  type WorkerCounts,
  workerCounts,
} from "../../../src/policy/e2bird/idle_workers.ts";
import {
  engineConfiguration,
  RES152_CONFIGURATIONS,
} from "../../../src/policy/e2bird/offline.ts";
import { BYTES_PER_ELEMENT, elementCount } from "../../../src/tensor/tensor.ts";
import { shapesOnly } from "../../../src/tensor/weights.ts";
import type { Context, Experiment, Outcome, TableData } from "../experiment.ts";
import { NETWORK_NAMES, type NetworkName, NETWORKS } from "./networks.ts";
import { BATCH_MAX, N_EBIRD } from "./setup.ts";

/** What a network needs, bytes. */
type Needs = {
  readonly weights: number;
  readonly input: number;
  /** Outputs of all layers of one inference, each in a place of its own. */
  readonly kept: number;
  /** The same in the slot plan of one inference, which places over what all have read. */
  readonly reused: number;
};

function needsOf(network: NetworkName): Needs {
  const shapes = shapesOnly();
  let weights = 0;
  const model = NETWORKS[network].build({
    weights(name, shape, fanIn) {
      weights += elementCount(shape);
      return shapes(name, shape, fanIn);
    },
  });
  const { height, width, channels } = model.image!;
  const floats = height * width * channels;
  const graph = new CellGraph(model);
  model.unfold({ image: new Float32Array(floats) }, graph);
  const outputs = graph.nodes.flatMap(({ cell }) =>
    cell.outputs.map(({ width }) => width)
  );
  const input = floats * BYTES_PER_ELEMENT;
  return {
    weights: weights * BYTES_PER_ELEMENT,
    input,
    kept: outputs.reduce((sum, width) => sum + width, 0) * BYTES_PER_ELEMENT,
    reused: new SlotPlan(graph).bytes - input,
  };
}

/** Assumption: four times MaxInf (section 5.1: "several times"). */
const POOL_SLOTS = 4 * BATCH_MAX;

/** TensorFlow Serving's one instance of the model, for a batch of 32, by what becomes of its layers' outputs. */
function servingBytes(
  { weights, input, ...layers }: Needs,
  outputs: "kept" | "reused",
): number {
  return weights + BATCH_MAX * (input + layers[outputs]);
}

/** E2bird's engine and pool, without the static optimizations of section 6.2 (NM-Ebird), or with some. */
function ebirdBytes(
  { weights, input, ...layers }: Needs,
  engine: WorkerCounts,
  { outputs, shared }: { outputs: "kept" | "reused"; shared: boolean },
): number {
  const workers = engine.reduce((sum, count) => sum + count, 0);
  return POOL_SLOTS * input + (shared ? 1 : workers) * weights +
    totalBatchSize(engine) * layers[outputs];
}

/** Engines: E-Ebird's of Table 4's mixes and N-Ebird's. */
const ENGINES = {
  "E-Ebird": engineConfiguration(RES152_CONFIGURATIONS),
  "N-Ebird": workerCounts("", N_EBIRD.workers),
} as const;

const VARIANTS = "Memory against TensorFlow Serving's, mean of the networks, %";

const STEPS = [
  ["none (NM-Ebird)", { outputs: "kept", shared: false }],
  ["shared weights", { outputs: "kept", shared: true }],
  ["reuse", { outputs: "reused", shared: false }],
  ["both (E2bird)", { outputs: "reused", shared: true }],
] as const;

function variants(needs: readonly Needs[]): TableData {
  const rows = (["kept", "reused"] as const).flatMap((outputs) =>
    Object.entries(ENGINES).flatMap(([engine, counts]) =>
      STEPS.map(([step, how]) => [
        `TensorFlow Serving's outputs ${outputs}`,
        `${engine} [${counts}]`,
        step,
        (100 * mean(
          needs.map((each) =>
            ebirdBytes(each, counts, how) / servingBytes(each, outputs)
          ),
        )).toFixed(1),
      ])
    )
  );
  return {
    title: VARIANTS,
    columns: ["against", "engine", "optimizations", "%"],
    rows,
  };
}

async function run(context: Context): Promise<Outcome> {
  const needs: Needs[] = [];
  for (const network of NETWORK_NAMES) {
    needs.push(
      await context.point({ what: "memory", network }, () => needsOf(network)),
    );
  }
  const engine = ENGINES["E-Ebird"];
  const gb = (bytes: number) => bytes / 1e9;
  const systems = needs.map((each) => ({
    serving: gb(servingBytes(each, "kept")),
    nm: gb(ebirdBytes(each, engine, { outputs: "kept", shared: false })),
    e2bird: gb(ebirdBytes(each, engine, { outputs: "reused", shared: true })),
  }));
  const ratio = (
    a: "nm" | "e2bird",
    b: "serving" | "nm",
  ) => mean(systems.map((system) => system[a] / system[b]));
  return {
    findings: [{
      claim: "EB-19",
      compared: [
        {
          name: "NM-Ebird against TensorFlow Serving",
          as: "gain",
          published: 1.152,
          ours: ratio("nm", "serving"),
        },
        {
          name: "E2bird against NM-Ebird",
          as: "reduction",
          published: 64.8,
          ours: 100 * (1 - ratio("e2bird", "nm")),
          unit: "%",
        },
        {
          name: "E2bird against TensorFlow Serving",
          as: "reduction",
          published: 59.4,
          ours: 100 * (1 - ratio("e2bird", "serving")),
          unit: "%",
        },
      ],
      note:
        "The slot plan's reuse is of one inference, layer by layer; what cuDNN needs beside it, and what is never given " +
        "back by a framework's allocator, is not in it.",
      cause: {
        text:
          "what NM-Ebird and E2bird need is decided by the engine's workers and by what TensorFlow Serving keeps, neither " +
          "of which the paper gives",
        shownBy: VARIANTS,
      },
    }],
    charts: [{
      kind: "bars",
      title: "Memory",
      x: "network",
      y: "GB",
      categories: NETWORK_NAMES,
      series: ([
        ["TensorFlow Serving", "serving"],
        ["NM-Ebird", "nm"],
        ["E2bird", "e2bird"],
      ] as const).map(([name, system]) => ({
        name,
        points: systems.map((each, x) => ({ x, y: each[system] })),
      })),
    }],
    tables: [
      {
        title: "What a network needs, MB",
        columns: ["network", "weights", "input", "outputs", "outputs, reused"],
        rows: needs.map(({ weights, input, kept, reused }, i) => [
          NETWORK_NAMES[i],
          ...[weights, input, kept, reused].map((bytes) =>
            (bytes / 1e6).toFixed(1)
          ),
        ]),
      },
      variants(needs),
    ],
  };
}

/** Fig. 17: memory. */
export const FIG_17: Experiment = {
  id: "e2bird.fig17",
  title: "Memory with and without reuse and shared weights",
  claims: ["EB-19"],
  conditions:
    "Counted: f32 weights, inputs and layers' outputs of images of 224 x 224 (Inception-v4: 299 x 299); E-Ebird's engine " +
    "of Table 4's mixes; a pool of 128 inputs. Assumption: TensorFlow Serving has one instance for a batch of 32 and " +
    "keeps every layer's output, as NM-Ebird's workers do.",
  run,
};
