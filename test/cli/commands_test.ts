/** Every command and benchmark: help, version, and one line for a caller's mistake. */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { COMMANDS } from "../../src/cli/commands.ts";
import { NESTING_MAX, TEXT_BYTES_MAX } from "../../src/cli/limits.ts";
import { main } from "../../src/cli/main.ts";
import { reportError, UsageError } from "../../src/cli/terminal.ts";
import { captured } from "./captured.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const { version, tasks } = JSON.parse(
  readFileSync(join(ROOT, "deno.json"), "utf8"),
) as { version: string; tasks: Record<string, string> };

const CONFIG = {
  model: { name: "lstm", options: { hidden: 4 } },
  policies: [{ name: "cellular" }],
  workload: { requests: 3, arrivals: { kind: "at-once" } },
  cost: { constantNs: 1000 },
};
const WORKLOAD = CONFIG.workload;
const MODEL = CONFIG.model;

/** Files that the invocations name, by name in a folder of their own. */
const FILES: Readonly<Record<string, string>> = {
  "good.json": JSON.stringify(CONFIG),
  "empty.json": "",
  "text.json": "{ not JSON",
  "list.json": "[]",
  "null.json": "null",
  "string.json": '"text"',
  "large.json": JSON.stringify(CONFIG).replace("1000", "1e999"),
  "deep.json": "[".repeat(NESTING_MAX + 2) + "]".repeat(NESTING_MAX + 2),
  "huge.json": " ".repeat(TEXT_BYTES_MAX + 1),
  "gemm.csv": "Layer,M,N,K,\nqkv,128,2304,768,\n",
  "walk.csv": "Layer,M,N,K,\nqkv,12800,2304,7680,\n",
  "words.csv": "Layer,M,N,K,\nqkv,1000000,1000000,8,\n",
  "array.cfg": cfg(8),
  "wide.cfg": cfg(1e9),
};

function cfg(size: number): string {
  return `[architecture_presets]
ArrayHeight: ${size}
ArrayWidth: ${size}
IfmapSramSzkB: 64
FilterSramSzkB: 64
OfmapSramSzkB: 64
Dataflow: ws
`;
}

const PLANNED = ["FILE:none.json", "--trace", "FILE:none.csv"];

/** Configurations of simulate that ask for too much or are no configuration, with what is said of them. */
const CONFIGS: readonly [config: unknown, message: RegExp][] = [
  [{ ...CONFIG, workers: 1e12 }, /"workers".*1024.*1000000000000/],
  [{ ...CONFIG, workers: "2" }, /"workers".*got "2"/],
  [{ ...CONFIG, seed: 0.5 }, /"seed".*got 0\.5/],
  [{ ...CONFIG, policies: [] }, /"policies"/],
  [
    { ...CONFIG, workload: { ...WORKLOAD, requests: 1e9 } },
    /"?1000000000"? requests|up to 1000000, got 1000000000/,
  ],
  [
    { ...CONFIG, workload: { ...WORKLOAD, lengths: { fixed: 1e9 } } },
    /tokens up to 65536, got 1000000000/,
  ],
  [
    {
      ...CONFIG,
      workload: { ...WORKLOAD, requests: 1e6, lengths: { fixed: 1000 } },
    },
    /1000000 requests are about 1000000000 tokens.*lower "requests"/,
  ],
  [
    {
      ...CONFIG,
      model: { name: "treelstm" },
      workload: { ...WORKLOAD, trees: { complete: 2 ** 40 } },
    },
    /leaves up to 65536, got 1099511627776/,
  ],
  [
    {
      ...CONFIG,
      workload: {
        ...WORKLOAD,
        arrivals: { kind: "poisson", ratePerS: 1e-300 },
      },
    },
    /longer than 2\^53 ns.*raise the rate/,
  ],
  [{ ...CONFIG, cost: { constantNs: 1e300 } }, /"cost/],
  [{ ...CONFIG, cost: { constantNs: 1e15 } }, /104 days/],
  [{ ...CONFIG, cost: { tablesNs: { other: [[1, 1]] } } }, /No cost for cell/],
  [{ ...CONFIG, cost: { profile: "nowhere.json" } }, /nowhere\.json/],
  [
    { ...CONFIG, model: { ...MODEL, options: { hidden: 1e9 } } },
    /"hidden" of model "lstm" is at most \d+ here, got 1000000000/,
  ],
  [
    { ...CONFIG, model: { ...MODEL, options: { hidden: "4" } } },
    /"hidden" of model "lstm" is a positive integer, got "4"/,
  ],
  [
    { ...CONFIG, model: { ...MODEL, options: { width: 4 } } },
    /"lstm" has no option "width"; it takes hidden/,
  ],
  [
    { ...CONFIG, model: { name: "resnet50", options: { blocks: [1e9] } } },
    /"blocks" of model "resnet50" is at most 1000 here/,
  ],
  [
    {
      ...CONFIG,
      model: { ...MODEL, options: { hidden: 8192, vocabulary: 1e6 } },
    },
    /tensor "embedding" \[1000000, 8192\]/,
  ],
  ...([
    ["graph", { windowNs: "5" }, /"windowNs" of policy "graph".*got "5"/],
    ["graph", { windowNs: 1e300 }, /at most 1000000000000000, got 1e\+300/],
    ["graph", { dummyRows: "yes" }, /"dummyRows".*true or false, got "yes"/],
    ["graph", { batchSizeMax: 1e12 }, /"batchSizeMax".*up to 1048576/],
    ["lazy", { slaNs: true }, /"slaNs".*got true/],
    ["lazy", { nestedPreemption: 1 }, /"nestedPreemption".*got 1/],
    ["lazy", { profile: [[1, 2]] }, /The table of cell "0"/],
    ["lazy", { profile: { "*": [5] } }, /pairs of size and value, got 5/],
    ["lazy", { profile: { other: [[1, 1]] } }, /has no cell "lstm_step"/],
    ["dvabatch", { schedule: 5 }, /"schedule".*a function, got 5/],
    ["dvabatch", { lengthRatio: "3" }, /"lengthRatio".*got "3"/],
    ["n-ebird", { workers: 5 }, /"workers".*lists sizes, got 5/],
    ["n-ebird", { slots: 1e15 }, /"slots".*up to 1048576/],
    ["e-ebird", { configurations: 5 }, /"configurations".*got 5/],
  ] as const).map(([name, options, message]): [unknown, RegExp] => [
    { ...CONFIG, policies: [{ name, options }] },
    message,
  ]),
];

/** Bad arguments by command, with what is said of them; FILE:name stands for a file above. */
const BAD: Readonly<
  Record<string, readonly [args: readonly string[], message: RegExp][]>
> = {
  bench: [
    [["--requests", "1e9"], /--requests is an integer from 1 to 100000/],
    [["--requests", "NaN"], /--requests.*got "NaN"/],
    [["--workers", "1000000"], /--workers is an integer from 1 to \d+/],
    [["--batch", "0"], /--batch is an integer from 1 to 4096, got "0"/],
    [["--hidden", "1e12"], /--hidden is an integer from 1 to 8192/],
    [["--hidden", ""], /--hidden.*got ""/],
    [["--hidden", "8", "--model", "unet"], /--hidden is of no use: unet has/],
    [["--size", "huge"], /--size "huge" does not exist; there are small/],
    [["--full", "--size", "small"], /--full is --size full, got --size small/],
    [["--seed", "1.5"], /--seed/],
    [["--seed=Infinity"], /--seed/],
    [["--model", "vgg"], /--model "vgg" does not exist; there are lstm/],
    [["--model", ""], /--model "" does not exist/],
    [["--policy", "x".repeat(9999)], /--policy "x{70,200}… does not exist/],
    [["--out", "FILE:good.json/folder"], /Cannot make the folder .*is a file/],
    [["--out", "FILE:good.json"], /Cannot make the folder .*is a file/],
    [["--quick=yes"], /--quick/],
    [["--out"], /--out/],
    [["extra"], /"extra" is no file called \*\.onnx; see shoal bench --help/],
    [["a.onnx", "--hidden", "8"], /--hidden is for models of the registry/],
    [["--cells", "layer"], /--cells goes with a file; see shoal bench --help/],
    [["--rate", "0"], /each of --rate is an integer from 1/],
  ],
  ebird: [
    [[], /One of --network and --profile/],
    [["--network", "toString"], /"toString" does not exist/],
    [["--network", "resnet50", "--totals", "1e9"], /from 1 to 128, got "1e9"/],
    [["--network", "resnet50", "--totals", ""], /--totals/],
    [["--network", "resnet50", "--objective", ""], /--objective ""/],
    [["--network", "resnet50", "--out", "FILE:"], /Cannot write .*directory/],
    [["--profile", "FILE:"], /Cannot read .*: it is a directory/],
    [["--profile", "FILE:null.json"], /null\.json: .* got null/],
    [["--profile", "FILE:list.json"], /list\.json: .* got \[/],
    [["--profile", "FILE:huge.json"], /more than 64 MiB/],
  ],
  explain: [
    [[], /--config FILE and either/],
    [["--config", "FILE:good.json", "--request", "x"], /--request.*got "x"/],
    [["--config", "FILE:good.json", "--request", "99"], /No request 99/],
    [["--config", "FILE:good.json", "--batch", "99"], /No launch 99/],
    [["--config", "FILE:none.json", "--batch", "0"], /Cannot read .*none/],
    [
      ["--config", "FILE:good.json", "--batch", "0", "--policy", "late"],
      /--policy is cellular, got "late"/,
    ],
  ],
  inspect: [
    [[], /MODEL\.onnx is missing/],
    [["FILE:none.onnx"], /none\.onnx.*no such file/],
    [["FILE:good.json"], /good\.json: it is cut off or no ONNX file/],
    [["FILE:"], /it is a directory/],
    [["FILE:empty.json", "--cells", "big"], /--cells.*got "big"/],
    [["FILE:empty.json", "--size", "N"], /--size is NAME=VALUE, got "N"/],
    [["FILE:empty.json", "--shape", "x=1,-2"], /--shape x.*got "-2"/],
  ],
  load: [
    [[], /a URL is missing; see shoal load --help/],
    [["ftp://x", "--rate", "1"], /http:\/\/.*got "ftp:\/\/x"/],
    [["http://x"], /--rate is missing/],
    [["http://x", "--rate=-1"], /--rate is a positive number.*got "-1"/],
    [
      ["http://x", "--rate", "1e6", "--seconds", "1e6"],
      /--rate times --seconds/,
    ],
    [["http://x", "--rate", "1e9"], /--rate.*up to 10000000/],
    [["http://x", "--search"], /--search takes a target: --slo-ms/],
    [["http://x", "--protocol", "grpc"], /"grpc" does not exist/],
    [["http://x", "--rate", "1", "--arrivals", "burst"], /--arrivals "burst"/],
    [["http://x", "--arrivals", "FILE:gemm.csv"], /gemm\.csv:1: expected/],
    [["http://x", "--rate", "1", "--header", "x"], /--header is "name: value"/],
    [["http://x", "--rate", "1", "--tokens", "9-3"], /--tokens is LEAST-MOST/],
    [["http://x", "--rate", "1", "--lengths", "none"], /No corpus "none"/],
    [["http://x", "--rate", "1", "--leave", "2"], /--leave.*up to 1/],
    [["http://x", "--rate", "1", "--body", "FILE:none"], /Cannot read .*none/],
    [["http://x", "--rate", "1", "--html", "FILE:"], /Cannot write/],
    [["http://x", "http://y", "--rate", "1"], /unexpected argument/],
  ],
  npu: [
    [[], /give one of --topology/],
    [["--topology", "FILE:none.csv"], /Cannot read .*none\.csv/],
    [["--topology", "FILE:"], /it is a directory/],
    [
      ["--network", "resnet50", "--batch", "1e12"],
      /--batch.*from 1 to 1000000/,
    ],
    [["--model", "bert", "--tokens", "1e12"], /--tokens.*from 1 to 1000000/],
    [["--model", "constructor"], /--model must be one of/],
    [["--topology", "FILE:gemm.csv", "--preset", "none"], /none/],
    [["--topology", "FILE:gemm.csv", "--config", "FILE:list.json"], /object/],
    [
      ["--topology", "FILE:gemm.csv", "--config", "FILE:wide.cfg"],
      /up to 65536 rows and columns, got 1000000000x1000000000/,
    ],
    [
      [
        ...["--topology", "FILE:words.csv", "--mode", "scalesim"],
        ...["--config", "FILE:array.cfg"],
      ],
      /qkv: an operand of more than/,
    ],
    [
      [
        ...["--topology", "FILE:walk.csv", "--mode", "scalesim"],
        ...["--config", "FILE:array.cfg"],
      ],
      /accesses, which would be followed one by one/,
    ],
    [["--wavefront", "x.html", "--gemm", "1e9x1x1"], /--gemm/],
    [["--wavefront", "x.html", "--gemm", "8x8"], /--gemm must be 3 sizes/],
    [["--wavefront", "x.html", "--array", "99999x8"], /--array.*1 to 1024/],
    [
      ["--network", "resnet50", "--report", "FILE:good.json/x.html"],
      /Cannot write .*part of the path is a file/,
    ],
  ],
  plan: [
    [[], /PROFILE is missing; see shoal plan --help/],
    [["FILE:none.json"], /--trace is missing/],
    [["FILE:none.json", "--trace", "FILE:none.csv"], /--slo-ms is missing/],
    [[...PLANNED, "--slo-ms", "1"], /Cannot read .*none\.json/],
    [["FILE:text.json", ...PLANNED.slice(1), "--slo-ms", "1"], /text\.json/],
    [["FILE:good.json", ...PLANNED.slice(1), "--slo-ms", "1"], /good\.json/],
  ],
  profile: [
    [[], /MODEL is missing: lstm/],
    [["__proto__"], /No model "__proto__"/],
    [["lstm", "gnmt"], /"gnmt"/],
    [["lstm", "--hidden", "1e9"], /--hidden is an integer from 1 to 8192/],
    [["unet", "--hidden", "8"], /--hidden is of no use: unet has no hidden/],
    [["lstm", "--size", "tiny"], /--size "tiny" does not exist/],
    [["lstm", "--sizes", "1,1e9"], /--sizes.*from 1 to 4096, got "1e9"/],
    [["lstm", "--sizes", "1,,2"], /--sizes.*got ""/],
    [["lstm", "--option", "hidden=1e12"], /"hidden".*at most 8192/],
    [["lstm", "--hidden", "8192"], /The weights up to tensor "lstm\.R"/],
    [["lstm", "--option", "head=tail"], /"head".*"tail"/],
    [["bert", "--option", "layers=900"], /more than 10000 tensors/],
    [["lstm", "--option", "="], /--option "="/],
    [["unet", "--option", "depth=60"], /"depth" of model "unet" is at most 16/],
    [["lstm", "--out", "FILE:"], /Cannot write .*directory/],
  ],
  quantize: [
    [[], /MODEL\.onnx is missing; see shoal quantize --help/],
    [["FILE:none.onnx"], /Cannot read .*none\.onnx.*no such file/],
    [["a.onnx", "--bits", "4"], /--bits is an integer from 7 to 8, got "4"/],
    [["a.onnx", "--requests", "-1"], /--requests/],
    [
      ["a.onnx", "--requests", "4", "--input", "x=x.npy"],
      /--requests are drawn, --input gives them: not both/,
    ],
  ],
  run: [
    [[], /MODEL\.onnx is missing/],
    [["FILE:empty.json"], /empty\.json.*no ONNX file/],
    [["FILE:good.json", "--input"], /--input/],
  ],
  serve: [
    [[], /DIR is missing/],
    [["FILE:none"], /There is no folder .*none/],
    [["FILE:", "--port", "x"], /"port": .*got "x"/],
    [["FILE:", "--slo-ms", "0"], /"slo_ms": .*got 0/],
    [["FILE:", "--workers", "1e9"], /"workers": .*got 1000000000/],
    [["FILE:", "--policy", "none"], /"policy\.name": /],
    [["FILE:", "--tls-cert", "FILE:cert.pem"], /--tls-cert needs --tls-key/],
    [
      ["FILE:", "--tls-cert", "FILE:none.pem", "--tls-key", "FILE:none.pem"],
      /Cannot read .*none\.pem/,
    ],
  ],
  simulate: [
    [[], /--config FILE is missing/],
    [["--config", ""], /Cannot read "": there is no such file/],
    [["--config", "FILE:"], /Cannot read .*: it is a directory/],
    [["--config", "/dev/zero"], /more than 64 MiB/],
    ...[
      ...["empty.json", "text.json", "list.json", "null.json", "string.json"],
      ...["large.json", "deep.json", "huge.json", "none.json", "good.json/x"],
    ].map((name): [string[], RegExp] => [
      ["--config", `FILE:${name}`],
      new RegExp(name),
    ]),
  ],
  tune: [
    [[], /--out DIR is missing/],
    [["FILE:none.json"], /--out DIR is missing; see shoal tune --help/],
    [[...PLANNED, "--out", "FILE:"], /--slo-ms is missing/],
    [
      [...PLANNED, "--slo-ms", "1", "--out", "FILE:"],
      /Cannot read .*none\.json/,
    ],
  ],
};

const folder = mkdtempSync(join(tmpdir(), "shoal-commands-"));
for (const [name, text] of Object.entries(FILES)) {
  writeFileSync(join(folder, name), text);
}
globalThis.addEventListener(
  "unload",
  () => rmSync(folder, { recursive: true }),
);

async function refused(args: readonly string[], message: RegExp) {
  const given = args.map((arg) =>
    arg.startsWith("FILE:") ? join(folder, arg.slice(5)) : arg
  );
  const { code, out, err } = await captured(() => main(given));
  const what = `shoal ${args.join(" ").slice(0, 100)}: ${err}`;
  assert.equal(code, 2, what);
  assert.equal(out, "", what);
  assert.match(err, /^shoal: [^\n]{1,2100}\n$/, what);
  assert.match(err, message, what);
}

for (const name of Object.keys(COMMANDS)) {
  Deno.test(`shoal ${name} has help and version, and refuses what is wrong in one line`, async () => {
    for (const flag of ["-h", "--help"]) {
      const { code, out, err } = await captured(() => main([name, flag]));
      assert.equal(code, 0);
      assert.match(out, new RegExp(`^shoal ${name}`));
      assert.match(out, /-h, --help .*\n {2}--version /);
      assert.equal(err, "");
    }
    const { code, out } = await captured(() => main([name, "--version"]));
    assert.deepEqual([code, out], [0, `shoal ${version}\n`]);
    await refused([name, "--no-such"], /'--no-such'; see shoal \w+ --help/);
    assert(
      name in BAD,
      `test/cli/commands_test.ts has no bad arguments of ${name}`,
    );
    for (const [args, message] of BAD[name]) {
      await refused([name, ...args], message);
    }
  });
}

Deno.test("shoal itself has help and version, and refuses what is no command", async () => {
  for (const args of [["-h"], ["--help"], ["help"]]) {
    const { code, out } = await captured(() => main(args));
    assert.equal(code, 0);
    for (const name of Object.keys(COMMANDS)) {
      assert(out.includes(`  ${name} `));
    }
  }
  const { out: ofRun } = await captured(() => main(["help", "run"]));
  assert.match(ofRun, /^shoal run MODEL\.onnx/);
  const { code, out } = await captured(() => main(["--version"]));
  assert.deepEqual([code, out], [0, `shoal ${version}\n`]);
  await refused([], /a command is missing: bench/);
  await refused(["toString"], /no command "toString"/);
  await refused([""], /no command ""/);
  await refused(["--no-such"], /'--no-such'; see shoal --help/);
  await refused(["\u001b[2J\n"], /no command/);
});

Deno.test("simulate and explain name what is wrong with a configuration", async () => {
  for (const [config, message] of CONFIGS) {
    const file = join(folder, "bad.json");
    writeFileSync(file, JSON.stringify(config));
    await refused(["simulate", "--config", file], message);
  }
});

Deno.test("a failure that is nobody's mistake is one line, and a stack with SHOAL_DEBUG", async () => {
  const failure = new TypeError("of ours");
  const report = () => captured(() => reportError("shoal", failure));
  const before = process.env["SHOAL_DEBUG"];
  try {
    delete process.env["SHOAL_DEBUG"];
    assert.deepEqual(await report(), {
      ...{ code: 1, out: "" },
      err: "shoal: of ours (SHOAL_DEBUG=1 shows where)\n",
    });
    process.env["SHOAL_DEBUG"] = "1";
    assert.match((await report()).err, /^shoal: TypeError: of ours\n {4}at /);
    const usage = await captured(() =>
      reportError("shoal", new UsageError("theirs"))
    );
    assert.deepEqual([usage.code, usage.err], [2, "shoal: theirs\n"]);
  } finally {
    if (before === undefined) delete process.env["SHOAL_DEBUG"];
    else process.env["SHOAL_DEBUG"] = before;
  }
});

/** Scripts that a task runs, by task. */
const SCRIPTS = Object.entries(tasks).flatMap(([name, text]) => {
  const script = /deno run -A (\S+\.ts)$/.exec(text)?.[1];
  return script === undefined || script === "src/cli.ts"
    ? []
    : [{ name, script }];
});

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Quietly: Deno tells on stderr what it fetches, where it has not fetched it yet. */
function ran(script: string, ...args: string[]): Promise<Ran> {
  const all = ["run", "-A", "-q", "--no-check", join(ROOT, script), ...args];
  return new Promise((resolve) =>
    execFile(
      process.execPath,
      all,
      (error, out, err) =>
        resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  );
}

Deno.test("every benchmark has the help of all, and with it their version and refusals", async () => {
  assert(SCRIPTS.length >= 11, `${SCRIPTS.length} scripts`);
  await Promise.all(SCRIPTS.map(async ({ name, script }) => {
    const { code, out, err } = await ran(script, "-h");
    assert.equal(code, 0, `${script}: ${err}`);
    assert(out.startsWith(name), `${script}: ${out}`);
    // What readOptions prints, which answers the rest as well: starting each script thrice takes long.
    assert.match(out, /-h, --help .*\n {2}--version /, script);
  }));
});

Deno.test("a benchmark prints its version, and refuses an option that it has not in one line", async () => {
  const [asked, refusal] = await Promise.all([
    ran("bench/scheduler.ts", "--version"),
    ran("bench/scheduler.ts", "--no-such"),
  ]);
  assert.deepEqual(asked, { code: 0, out: `shoal ${version}\n`, err: "" });
  assert.deepEqual(refusal, {
    ...{ code: 2, out: "" },
    err:
      "bench:scheduler: Unknown option '--no-such'; see bench:scheduler --help\n",
  });
});

Deno.test("a reader who has had enough of the output is no failure", async () => {
  const cli = ["run", "-A", "-q", "--no-check", join(ROOT, "src/cli.ts")];
  const child = spawn(process.execPath, [
    ...cli,
    ...["npu", "--network", "resnet50"],
  ], { stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.destroy();
  let err = "";
  child.stderr.on("data", (data) => err += data);
  const code = await new Promise((resolve) => child.on("close", resolve));
  assert.deepEqual([code, err], [0, ""]);
});
