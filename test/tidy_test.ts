/**
 * Keeps the house in order: imports point one way, nothing goes in circles, clocks and randomness have
 * one place each, files can be read in one sitting.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What each folder of src/ may import besides itself. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  base: [],
  tensor: ["base"],
  graph: ["base", "tensor", "plain"],
  kernels: ["base", "tensor"],
  plain: ["base", "tensor"],
  models: ["base", "tensor", "plain", "graph"],
  onnx: ["base", "tensor", "plain", "graph", "models"],
  policy: ["base", "graph"],
  npu: ["base", "tensor", "graph"],
  cost: ["base", "graph", "npu"],
  engine: ["base", "tensor", "plain", "graph", "kernels", "policy", "cost"],
  workload: ["base", "graph", "policy"],
  metrics: ["base", "graph", "policy"],
  report: ["base", "metrics", "policy"],
  text: ["base", "tensor", "graph", "policy", "engine"],
  server: [
    "base",
    "tensor",
    "graph",
    "models",
    "onnx",
    "policy",
    "metrics",
    "report",
    "engine",
    "text",
  ],
  load: ["base", "workload", "metrics", "report"],
  plan: [
    "base",
    "graph",
    "policy",
    "cost",
    "engine",
    "workload",
    "report",
    "load",
  ],
  cli: [
    "base",
    "tensor",
    "graph",
    "kernels",
    "plain",
    "models",
    "onnx",
    "text",
    "server",
    "policy",
    "npu",
    "cost",
    "engine",
    "workload",
    "metrics",
    "report",
    "load",
    "plan",
  ],
};

/** The rooms of a large folder of src/, and what each may import besides itself and the folder's top. */
const ROOMS: Record<string, Record<string, readonly string[]>> = {
  engine: {
    core: [],
    lowering: [],
    tensors: ["core", "lowering"],
    virtual: ["core", "lowering", "tensors"],
    wall: ["core", "lowering", "tensors"],
  },
  kernels: {
    module: [],
    pack: [],
    spec: ["module", "pack"],
    host: ["module", "pack", "spec"],
    team: ["module", "pack", "spec"],
  },
  onnx: {
    read: [],
    shapes: [],
    contrib: ["shapes"],
    simplify: ["shapes", "contrib"],
    fuse: ["simplify"],
    lower: [],
    quantize: ["read", "shapes", "simplify"],
    sequence: ["shapes", "fuse", "lower"],
    decoder: ["shapes", "simplify", "fuse", "lower"],
    rows: [],
  },
  server: {
    host: [],
    admission: ["host"],
    http: ["host"],
    keys: ["host", "http", "admission"],
    observe: ["host", "http"],
    models: ["host"],
    repository: ["host", "models"],
    oip: ["host", "http", "observe"],
    wire: [],
    texts: ["host", "http"],
    openai: ["host", "http", "observe", "wire", "texts", "realtime"],
    realtime: ["host", "http", "observe", "texts", "wire"],
    tei: ["host", "http", "observe", "wire", "texts"],
    cohere: ["host", "http", "observe", "wire", "texts"],
    page: ["host", "http", "observe", "wire"],
    grpc: ["host", "http", "oip", "runtime"],
    runtime: ["http"],
  },
  policy: {
    common: [],
    baselines: ["common"],
    cellular_batching: ["common"],
    late_batching: ["common"],
    lazybatching: ["common"],
    dvabatch: ["common"],
    e2bird: ["common"],
    rivals: ["common"],
    auto: ["common"],
  },
};

/** The one place of each thing that would make a run differ from the next. */
const ONLY_IN: readonly { what: RegExp; files: readonly string[] }[] = [
  {
    what: /\b(Date\.now|new Date\(|performance\.(now|timeOrigin))/,
    files: ["src/engine/wall/clock.ts"],
  },
  { what: /\bMath\.random\b/, files: [] },
  // Their last places are each engine's own: base/elementary has them for everything that results, or virtual time,
  // depend on.
  {
    what:
      /\bMath\.(a?(sin|cos|tan)h?|atan2|exp|expm1|log|log1p|pow|cbrt|hypot)\b/,
    files: [],
  },
  {
    // Squares and whole powers of two are exact everywhere; other powers are `Math.pow` by another name.
    what: /(?<!\b2n? )\*\*(?! 2\b(?!\.))|\b2 \*\* \([^)]*\//,
    files: [
      "src/base/elementary/power.ts",
      "src/npu/chart/layer_chart.ts",
      "src/npu/chart/roofline.ts",
      "src/policy/common/exec_time.ts",
      "src/server/page/page_script.ts",
    ],
  },
  { what: /\bMath\.log2\b/, files: ["src/server/page/page_script.ts"] },
  {
    what: /\bMath\.log10\b/,
    files: [
      "src/npu/chart/layer_chart.ts",
      "src/npu/chart/roofline.ts",
      "src/npu/scalesim/format.ts",
      "src/report/format.ts",
      "src/server/page/page_script.ts",
    ],
  },
  { what: /from "pure-rand/, files: ["src/base/prng.ts"] },
  { what: /\bDeno\./, files: [] },
  {
    what: /\b(new Worker\(|node:worker_threads)/,
    files: ["src/engine/wall/runtime.ts", "src/base/node_module.ts"],
  },
];

const LINES_MAX = 500;

function sources(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), "utf8");
}

/** Code without comments: they may speak of what code may not do. */
function code(file: string): string {
  return read(file).replace(/\/\*[\s\S]*?\*\//g, "").replace(
    /(^|[^:"])\/\/.*$/gm,
    "$1",
  );
}

/** Files of the project that a file imports. */
function imports(file: string): string[] {
  const found = code(file).matchAll(
    /(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+\.ts)"/g,
  );
  return [...found].map(([, path]) =>
    relative(ROOT, join(ROOT, dirname(file), path))
  );
}

function folderOf(file: string): string | undefined {
  return /^src\/([a-z]+)\//.exec(file)?.[1];
}

Deno.test("imports point in the direction of the design", () => {
  for (const file of sources("src")) {
    const folder = folderOf(file);
    if (folder === undefined) continue;
    const allowed = MAY_IMPORT[folder];
    assert(
      allowed !== undefined,
      `${file}: src/${folder} is not one of the design's folders`,
    );
    for (const imported of imports(file)) {
      const target = folderOf(imported);
      assert(
        target !== undefined && (target === folder || allowed.includes(target)),
        `${file} imports ${imported}; src/${folder} may import ${
          allowed.join(", ") || "nothing"
        }`,
      );
    }
  }
});

Deno.test("rooms of a folder import each other in one direction", () => {
  const roomOf = (file: string) =>
    /^src\/([a-z]+)\/(?:([a-z0-9_]+)\/)?[^/]+$/.exec(file);
  for (const file of sources("src")) {
    const [, folder, room] = roomOf(file) ?? [];
    if (!folder || !room || !ROOMS[folder]) continue;
    const allowed = ROOMS[folder][room];
    assert(
      allowed,
      `${file}: ${room} is not one of the rooms of src/${folder}`,
    );
    for (const imported of imports(file)) {
      const [, otherFolder, target] = roomOf(imported) ?? [];
      assert(
        otherFolder !== folder || target === undefined || target === room ||
          allowed.includes(target),
        `${file} imports ${imported}; ${room} may import ${
          allowed.join(", ") || "nothing"
        } of src/${folder}`,
      );
    }
  }
});

Deno.test("imports do not go in circles", () => {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    assert(!path.includes(file), `a circle: ${[...path, file].join(" -> ")}`);
    if (done.has(file)) return;
    for (const imported of imports(file)) visit(imported, [...path, file]);
    done.add(file);
  };
  for (const file of sources("src")) visit(file, []);
});

Deno.test("a policy imports no other policy", () => {
  const registry = "src/policy/registry.ts";
  const policies = imports(registry).filter((file) =>
    file !== "src/policy/policy.ts"
  );
  for (const file of sources("src/policy")) {
    if (file === registry) continue;
    for (const imported of imports(file)) {
      assert(
        !policies.includes(imported),
        `${file} imports the policy ${imported}`,
      );
    }
  }
});

Deno.test("clocks, randomness and runtimes have one place each", () => {
  for (const file of sources("src")) {
    for (const { what, files } of ONLY_IN) {
      if (files.includes(file)) continue;
      const match = what.exec(code(file));
      assert(match === null, `${file} uses ${match?.[0]}`);
    }
  }
});

Deno.test("no needless non-null assertion", () => {
  // What an index finds has its element's type here (no noUncheckedIndexedAccess): asserting it says nothing.
  const found = [...sources("src"), ...sources("test"), ...sources("bench")]
    .flatMap((file) => {
      const times = code(file).match(/\x5d!(?!=)/g)?.length ?? 0;
      return times === 0 ? [] : [`${file} (${times})`];
    });
  assert.deepEqual(found, [], `an index followed by "!": ${found.join(", ")}`);
});

Deno.test("files can be read in one sitting", () => {
  for (
    const file of [
      ...sources("src"),
      ...sources("assembly"),
      ...sources("test"),
      ...sources("bench"),
    ]
  ) {
    const text = read(file);
    if (/^\/\/ Generated by /.test(text)) continue;
    const lines = text.split("\n").length;
    assert(lines <= LINES_MAX, `${file} has ${lines} lines`);
  }
});
