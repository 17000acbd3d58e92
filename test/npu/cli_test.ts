import assert from "node:assert/strict";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { runNpu } from "../../src/cli/npu.ts";
import { loadProfile } from "../../src/npu/profile.ts";

interface Ran {
  code: number;
  out: string;
  err: string;
}

/** Runs the command in a folder of its own, with the standard streams caught. */
async function shoalNpu(
  files: Record<string, string>,
  args: (path: (name: string) => string) => string[],
  inspect?: (path: (name: string) => string) => void,
): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), "shoal-npu-"));
  const path = (name: string) => join(folder, name);
  const [out, err]: string[][] = [[], []];
  const streams = [[process.stdout, out], [process.stderr, err]] as const;
  const writes = streams.map(([stream]) => stream.write);
  for (const [stream, texts] of streams) {
    stream.write = ((text: string) =>
      texts.push(text) > 0) as typeof stream.write;
  }
  try {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(path(name), text);
    }
    const code = await runNpu(args(path));
    inspect?.(path);
    return { code, out: out.join(""), err: err.join("") };
  } finally {
    streams.forEach(([stream], i) => stream.write = writes[i]);
    rmSync(folder, { recursive: true });
  }
}

const GEMMS = "Layer,M,N,K,\nqkv,128,2304,768,\n";
const CFG = `[architecture_presets]
ArrayHeight: 32
ArrayWidth: 32
IfmapSramSzkB: 4096
FilterSramSzkB: 4096
OfmapSramSzkB: 4096
Dataflow: ws
`;

Deno.test("shoal npu --mode scalesim prints SCALE-Sim's columns as CSV", async () => {
  const { code, out } = await shoalNpu(
    { "g.csv": GEMMS, "a.cfg": CFG },
    (
      path,
    ) => [
      "--topology",
      path("g.csv"),
      "--config",
      path("a.cfg"),
      "--mode",
      "scalesim",
      "--csv",
    ],
  );
  assert.equal(code, 0);
  const [header, row] = out.trim().split("\n").map((line) => line.split(","));
  const value = (column: string) => row[header.indexOf(column)];
  // A row of the reference table.
  assert.equal(value("total_cycles"), "383615");
  assert.equal(value("dram_ofmap_writes"), "7077919");
  assert.equal(value("sram_ifmap_first"), "33");
  assert.equal(Number(value("total_cycles_incl_prefetch")) > 383615, true);
});

Deno.test("shoal npu --mode scalesim lists a depthwise layer channel by channel, as the tool does", async () => {
  const topology =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n" +
    "DP_1, 16, 16, 3, 3, 3, 1, 1,\n";
  const { out } = await shoalNpu(
    {
      "d.csv": topology,
      "a.cfg": `${CFG}Bandwidth: 10\n[run_presets]\nInterfaceBandwidth: USER\n`,
    },
    (path) => [
      ...["--topology", path("d.csv"), "--config", path("a.cfg")],
      ...["--mode", "scalesim", "--json"],
    ],
  );
  const { layers } = JSON.parse(out);
  assert.deepEqual(layers.map(({ layer }: { layer: string }) => layer), [
    "DP_1Channel_0",
    "DP_1Channel_1",
    "DP_1Channel_2",
  ]);
  assert.equal(layers[0].dram_ofmap_last > layers[0].total_cycles, true);
  assert.equal(typeof layers[0].overall_util_pct, "number");
});

Deno.test("shoal npu --json gives layers and totals, and writes report and profile", async () => {
  const { code, out, err } = await shoalNpu(
    { "g.csv": GEMMS },
    (path) => [
      ...["--topology", path("g.csv"), "--batch", "2", "--json"],
      ...["--report", path("r.html"), "--profile", path("p.json")],
    ],
    (path) => {
      assert.match(
        readFileSync(path("r.html"), "utf8"),
        /MAC per DRAM byte[\s\S]*cycles per layer/,
      );
      assert.equal(
        JSON.parse(readFileSync(path("p.json"), "utf8")).batchSizes.length,
        64,
      );
    },
  );
  assert.equal(code, 0);
  const { layers, totals } = JSON.parse(out);
  assert.equal(layers[0].gemm, "256x2304x768");
  assert.equal(totals.cycles, layers[0].cycles);
  // Figures that the table rounds are numbers, too: of 128 x 128 at 700 MHz, two images.
  const utilization = 100 * totals.macs / (totals.cycles * 128 ** 2);
  assert.equal(totals.utilization_pct, Number(utilization.toPrecision(4)));
  assert.equal(layers[0].utilization_pct, totals.utilization_pct);
  const ms = Math.ceil(totals.cycles / 0.7) / 1e6;
  assert.equal(totals.latency_ms, Number(ms.toPrecision(6)));
  assert.equal(totals.batch_per_s, Number((2000 / ms).toPrecision(6)));
  assert.equal(typeof layers[0].needed_gb_per_s, "number");
  assert.equal(layers[0].sram_filter_reads >= 2304 * 768, true);
  assert.match(err, /wrote .*r\.html\nwrote .*p\.json\n/);
});

Deno.test("shoal npu writes report and profile into one file under no name", async () => {
  const { code, out, err } = await shoalNpu(
    { "g.csv": GEMMS },
    (path) => [
      ...["--topology", path("g.csv"), "--report", path("one")],
      ...["--profile", path("./one")],
    ],
    (path) => assert(!existsSync(path("one"))),
  );
  assert.equal(code, 2);
  assert.equal(out, "");
  assert.match(err, /Cannot write .*one twice.*; name another file\n$/);
});

Deno.test("shoal npu --wavefront draws every cycle of a small GEMM", async () => {
  const { code } = await shoalNpu(
    {},
    (path) => [
      ...["--wavefront", path("w.html"), "--gemm", "4x3x4", "--array", "4x3"],
      ...["--mode", "causal"],
    ],
    (path) => {
      const page = readFileSync(path("w.html"), "utf8");
      // 2R + C + T - 2 cycles.
      assert.match(page, /4x3x4 on 4x3, ws, causal: 13 cycles/);
      assert.match(page, /cycle 6: 6 of 12 PEs at work/);
    },
  );
  assert.equal(code, 0);
});

Deno.test("shoal npu --model prices a registered model's operators and profiles its cells", async () => {
  const { code, out } = await shoalNpu(
    {},
    (path) => [
      ...["--model", "transformer", "--tokens", "20", "--batch", "4"],
      ...["--profile", path("p.json"), "--csv"],
    ],
    (path) => {
      const { machine, model, nodes } = loadProfile(
        readFileSync(path("p.json"), "utf8"),
      );
      assert.deepEqual([machine, model], ["LazyBatching NPU", "transformer"]);
      assert.ok(nodes.length > 10);
    },
  );
  assert.equal(code, 0);
  assert.match(out, /^layer,gemm,cycles/);
});

const BAD: [string, string[], RegExp][] = [
  [
    "a topology that is not there",
    ["--topology", "none.csv"],
    /Cannot read none\.csv: there is no such file/,
  ],
  [
    "a folder as topology",
    ["--topology", "."],
    /Cannot read \.: it is a directory/,
  ],
  [
    "a report that cannot be written",
    ["--network", "resnet50", "--report", "no/such/folder.html"],
    /Cannot write no\/such\/folder\.html: there is no such file/,
  ],
  [
    "an array beyond memory",
    ["--wavefront", "w", "--array", "100000x100000"],
    /--array is an integer from 1 to 1024, got "100000"/,
  ],
  [
    "an unknown model",
    ["--model", "vgg"],
    /--model must be one of lstm, .*; got "vgg"/,
  ],
  [
    "tokens without a model",
    ["--network", "resnet50", "--tokens", "3"],
    /--tokens goes/,
  ],
  [
    "an array that is none of the machine",
    ["--network", "resnet50", "--array", "4x4"],
    /--array goes with --wavefront only; .* the array in --config or --preset/,
  ],
  [
    "a product beside a network",
    ["--network", "resnet50", "--gemm", "3x3x3"],
    /--gemm goes with --wavefront only/,
  ],
  [
    "a drawing of a model",
    ["--wavefront", "w", "--model", "lstm"],
    /--model does not go with --wavefront/,
  ],
  [
    "a drawing of a file",
    ["--wavefront", "w", "model.onnx"],
    /model\.onnx does not go with --wavefront/,
  ],
  [
    "a drawing on a machine",
    ["--wavefront", "w", "--config", "a.json"],
    /--config does not go with --wavefront/,
  ],
  [
    "no network",
    [],
    /give one of --topology FILE\.csv, --network NAME, --model NAME and MODEL\.onnx/,
  ],
  [
    "an unknown preset",
    ["--network", "resnet50", "--preset", "x"],
    /unknown preset "x"; known: /,
  ],
  [
    "an unknown dataflow",
    ["--network", "resnet50", "--dataflow", "rs"],
    /--dataflow must be one of/,
  ],
  [
    "a batch of 0",
    ["--network", "resnet50", "--batch", "0"],
    /--batch is an integer from 1/,
  ],
  ["an unknown flag", ["--topologie", "x"], /--topologie/],
  [
    "an array of 0 rows",
    ["--wavefront", "w", "--array", "0x4"],
    /--array is an integer from 1/,
  ],
];

for (
  const option of [
    ["--model", "lstm"],
    ["--tokens", "3"],
    ["--network", "resnet50"],
    ["--size", "n=1"],
    ["--format", "int8"],
    ["model.onnx"],
  ]
) {
  Deno.test(`shoal npu --mode scalesim refuses ${option[0]}, which would change nothing`, async () => {
    const { code, out, err } = await shoalNpu(
      { "g.csv": GEMMS, "a.cfg": CFG },
      (path) => [
        ...["--topology", path("g.csv"), "--config", path("a.cfg")],
        ...["--mode", "scalesim", ...option],
      ],
    );
    assert.equal(code, 2);
    assert.equal(out, "");
    assert.match(err, /(--\w+|model\.onnx) does not go with --mode scalesim/);
    assert.ok(err.includes(option[0]));
  });
}

for (const [what, args, message] of BAD) {
  Deno.test(`shoal npu refuses ${what} and prints no result`, async () => {
    const { code, out, err } = await shoalNpu({}, () => args);
    assert.equal(code, 2);
    assert.equal(out, "");
    assert.match(err, message);
  });
}
