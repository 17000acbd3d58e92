/** One small thing of each kind that the project is made to be extended by. */
import type { Addition } from "../project_copy.ts";

/** A policy without an option. */
export const POLICY: Addition = {
  files: {
    "src/policy/baselines/newest.ts":
      `/** Newest first: one request at a time, the last to arrive before the others. */
import { growingCells } from "../../graph/growing_cells.ts";
import { knownOptions } from "../options.ts";
import { IDLE, type Policy } from "../policy.ts";
import type { Request } from "../request.ts";

export function newest(
  options: Readonly<Record<string, unknown>> = {},
): Policy {
  knownOptions("newest", options, []);
  const waiting = new Set<Request>();
  return {
    name: "newest",
    supports: () => undefined,
    enqueue: (request) => void waiting.add(request),
    schedule({ workers }) {
      const worker = workers.find(({ queued }) => queued === 0);
      const request = [...waiting].at(-1);
      if (worker === undefined || request === undefined) return IDLE;
      waiting.delete(request);
      const { graph, model } = request;
      const cells = graph.closed ? [] : growingCells(model.cells);
      return {
        kind: "launch",
        launch: {
          worker: worker.id,
          steps: graph.nodes.map((node) => ({ cell: node.cell, nodes: [node] })),
          ...(cells.length > 0 && { tail: { cells, requests: [request] } }),
          release: "end",
          why: "it is the newest",
        },
      };
    },
    ended: (request) => void waiting.delete(request),
  };
}
`,
  },
  edits: [{
    file: "src/policy/registry.ts",
    after: `from "./baselines/merged.ts";`,
    lines: [`import { newest } from "./baselines/newest.ts";`],
  }, {
    file: "src/policy/registry.ts",
    after: "export const POLICIES",
    lines: [`  newest: { build: newest, options: {} },`],
  }],
};

/** An Elman network. */
export const MODEL: Addition = {
  files: {
    "src/models/elman.ts":
      `/** Elman network over a sentence: h' = tanh(W [x, h] + b), the last state. */
import { defineCell, f32, i32 } from "../graph/cell_builder.ts";
import type { CellNode } from "../graph/cell_graph.ts";
import type { Model } from "../graph/model.ts";
import { nodesMaxFor } from "../graph/nodes_max.ts";
import {
  checkedWeights,
  seededWeights,
  type WeightSource,
} from "../tensor/weights.ts";
import {
  checkKeys,
  checkObject,
  checkOptions,
  checkSize,
  LENGTH_MAX,
  readTokens,
} from "./checks.ts";

export interface ElmanOptions {
  /** Default 128. */
  hidden?: number;
  /** Default 1000. */
  vocabulary?: number;
  weights?: WeightSource;
}

export const ELMAN_OPTIONS = ["hidden", "vocabulary"] as const;

export interface ElmanInput {
  readonly tokens: ArrayLike<number>;
}

/** Results: \`h\` [hidden]. */
export function elman(options: ElmanOptions = {}): Model<ElmanInput> {
  const name = "elman";
  checkOptions(name, options, ELMAN_OPTIONS);
  const hidden = checkSize(name, "hidden", options.hidden ?? 128);
  const vocabulary = checkSize(name, "vocabulary", options.vocabulary ?? 1000);
  const weights = checkedWeights(name, options.weights ?? seededWeights(1));
  const table = weights("embedding", [vocabulary, hidden], hidden);
  const step = defineCell({
    name: "elman_step",
    phase: "encoder",
    recurrent: true,
    inputs: { token: i32(), h: f32(hidden) },
    body: (op, { token, h }) => ({
      h: op.Tanh(op.Gemm(
        op.Concat(op.Gather(table, token), h),
        weights("W", [hidden, 2 * hidden], 2 * hidden),
        weights("b", [hidden], hidden),
      )),
    }),
  });
  return {
    name,
    cells: [step],
    shape: "chain",
    nodesMax: nodesMaxFor(LENGTH_MAX),
    check(input): asserts input is ElmanInput {
      checkObject(name, input);
      checkKeys(name, input, ["tokens"]);
      readTokens(name, input["tokens"], vocabulary, LENGTH_MAX);
    },
    unfold(input, graph) {
      const tokens = readTokens(name, input.tokens, vocabulary, LENGTH_MAX);
      const ids = graph.ids(tokens);
      let last: CellNode | undefined;
      for (let t = 0; t < tokens.length; t++) {
        const h = last ? graph.output(last, "h") : graph.zeros(hidden);
        last = graph.node(step, { token: graph.id(ids, t), h });
      }
      graph.result("h", graph.output(last!, "h"));
    },
  };
}
`,
  },
  edits: [{
    file: "src/models/registry.ts",
    after: `from "./bert.ts";`,
    lines: [`import { elman, ELMAN_OPTIONS } from "./elman.ts";`],
  }, {
    file: "src/models/registry.ts",
    after: "export const MODELS",
    lines: [
      "  elman: {",
      "    options: ELMAN_OPTIONS,",
      `    input: "tokens",`,
      "    build: elman,",
      "    sizes: {",
      "      small: { hidden: 128, vocabulary: 2000 },",
      "      medium: { hidden: 256, vocabulary: 2000 },",
      "      large: { hidden: 512, vocabulary: 2000 },",
      "      full: { hidden: 1024, vocabulary: 30_000 },",
      "    },",
      "    tries: [{ hidden: HIDDEN, vocabulary: VOCABULARY }],",
      "  },",
    ],
  }],
};

/** ONNX Sum of two, for which there is a kernel. */
export const OPERATOR: Addition = {
  files: {},
  edits: [
    {
      file: "src/graph/operator.ts",
      of: `readonly op: "Add" |`,
      instead: `readonly op: "Sum" | "Add" |`,
    },
    {
      file: "src/graph/operators/elementwise.ts",
      after: "  Mul(a: Value, b: Value): Value;",
      lines: ["  /** a + b. */", "  Sum(a: Value, b: Value): Value;"],
    },
    {
      file: "src/graph/operators/elementwise.ts",
      after: `    Mul: binary("Mul"),`,
      lines: [`    Sum: binary("Sum"),`],
    },
    {
      file: "src/engine/lowering/elementwise.ts",
      after: `  Mul: binary("mul_f32"),`,
      lines: [`  Sum: binary("add_f32"),`],
    },
    {
      file: "src/npu/operators/elementwise.ts",
      after: "  Mul: onVector(PASSES.mul),",
      lines: ["  Sum: onVector(PASSES.add),"],
    },
    {
      file: "test/engine/naive_cell.ts",
      after: "  switch (operator.op) {",
      lines: [`    case "Sum":`, "      return [both((a, b) => a + b)];"],
    },
    {
      file: "test/engine/random_cells.ts",
      after: "  Mul: true,",
      lines: ["  Sum: true,"],
    },
    {
      file: "test/engine/random_cells.ts",
      after: `      case "Add":`,
      lines: [`      case "Sum":`],
    },
  ],
};

/** x^2, element by element. */
export const KERNEL: Addition = {
  files: {
    "assembly/square.ts": `import { checkRows } from "./checks";
import { row } from "./simd";

/** out = a * a; out may be a. */
export function square_f32(m: i32, n: i32, aRows: usize, outRows: usize): void {
  if (!ASC_NO_ASSERT) {
    checkRows(aRows, m, <usize>n << 2);
    checkRows(outRows, m, <usize>n << 2);
  }
  for (let at: usize = 0, end = <usize>m << 2; at < end; at += 4) {
    let a = row(aRows, at);
    let out = row(outRows, at);
    let j = 0;
    for (; j + 4 <= n; j += 4, a += 16, out += 16) {
      const x = v128.load(a);
      v128.store(out, f32x4.mul(x, x));
    }
    for (; j < n; ++j, a += 4, out += 4) store<f32>(out, load<f32>(a) * load<f32>(a));
  }
}
`,
  },
  edits: [{
    file: "assembly/index.ts",
    after: `from "./softmax";`,
    lines: [`export { square_f32 } from "./square";`],
  }, {
    file: "src/kernels/spec/rows.ts",
    after: "  abs_f32: unary,",
    lines: ["  square_f32: unary,"],
  }, {
    file: "test/kernels/registry.ts",
    after: "export const KERNELS",
    lines: [
      "  kernel(",
      `    "square_f32",`,
      "    UNARY,",
      `    unaryCase("square_f32", (x) => Math.fround(x * x)),`,
      "    ELEMENTWISE,",
      "  ),",
    ],
  }],
};
