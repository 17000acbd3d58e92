import assert from "node:assert/strict";
import { parseConfig } from "../../src/npu/scalesim/config_cfg.ts";
import { parseTopology } from "../../src/npu/scalesim/topology_csv.ts";
import { significant } from "../../src/npu/scalesim/format.ts";

const CONV_HEADER =
  "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n";

Deno.test("parseTopology() reads the convolution form", () => {
  const [layer] = parseTopology(
    CONV_HEADER + "Conv1, 229, 229, 7, 7, 3, 64, 2,\n",
    "net.csv",
  );
  assert.equal(layer.name, "Conv1");
  assert.deepEqual(layer.gemm, { m: 12544, n: 64, k: 147 });
  assert.equal(layer.copies, 1);
});

Deno.test("parseTopology() reads the GEMM form, with and without the last comma", () => {
  const layers = parseTopology(
    "Layer,M,N,K,\nqkv,128,2304,768,\nout, 128, 768, 768\n",
    "g.csv",
  );
  assert.deepEqual(layers.map(({ gemm }) => gemm), [
    { m: 128, n: 2304, k: 768 },
    { m: 128, n: 768, k: 768 },
  ]);
});

Deno.test("parseTopology() takes separate strides and depthwise layers", () => {
  const [layer] = parseTopology(
    CONV_HEADER + "DP_1, 16, 16, 3, 3, 32, 1, 1, 2,\n",
    "net.csv",
  );
  assert.equal(layer.copies, 32);
  assert.deepEqual(layer.gemm, { m: 14 * 8, n: 1, k: 9 });
});

Deno.test("parseTopology() takes byte-order marks, CRLF, blank and comma-only lines, and dense columns", () => {
  const [layer, ...others] = parseTopology(
    "\uFEFFLayer,M,N,K,Sparsity,\r\n\r\n,,,,\r\nqkv, 128,2304,768,1:1,,,\r\n",
    "g.csv",
  );
  assert.deepEqual(others, []);
  assert.deepEqual(layer.gemm, { m: 128, n: 2304, k: 768 });
  const [embedding] = parseTopology(
    CONV_HEADER.trim() + " Batch Size,\nE, 512, 512, 1, 1, 3, 4096, 2, 1,\n",
    "llama.csv",
  );
  assert.deepEqual(embedding.gemm, { m: 257 * 257, n: 4096, k: 3 });
});

Deno.test("parseTopology() takes a comment behind the last comma, as the tool's mobilnet_paper.csv has", () => {
  const [layer] = parseTopology(
    CONV_HEADER + "Conv2_dw, 112, 112, 3, 3, 1, 1, 1,#dw\n",
    "mobilnet_paper.csv",
  );
  assert.deepEqual(layer.gemm, { m: 110 * 110, n: 1, k: 9 });
  assert.throws(
    () => parseTopology(CONV_HEADER + "a, 8, 8, #3, 3, 1, 1, 1,\n", "net.csv"),
    /net\.csv:2: column 4 \(filterH\) is missing/,
  );
});

const BAD_TOPOLOGIES: [string, string, RegExp][] = [
  [
    "a missing column",
    CONV_HEADER + "a, 8, 8, 3, 3, 1,\n",
    /net\.csv:2: column 7 \(channelsOut\) is missing/,
  ],
  [
    "a zero",
    CONV_HEADER + "a, 8, 8, 3, 3, 0, 4, 1,\n",
    /net\.csv:2: column 6 \(channelsIn\).*"0"/,
  ],
  [
    "a negative size",
    "Layer,M,N,K,\nok,1,2,3\nbad,4,-5,6\n",
    /net\.csv:3: column 3 \(n\).*"-5"/,
  ],
  [
    "a word for a number",
    CONV_HEADER + "a, 8, x, 3, 3, 1, 4, 1,\n",
    /net\.csv:2: column 3 \(ifmapW\).*"x"/,
  ],
  [
    "a filter too high",
    CONV_HEADER + "a, 2, 8, 3, 3, 1, 4, 1,\n",
    /net\.csv:2: column 4 \(filterH\).*larger/,
  ],
  [
    "a filter too wide",
    CONV_HEADER + "a, 8, 2, 3, 3, 1, 4, 1,\n",
    /net\.csv:2: column 5 \(filterW\).*larger/,
  ],
  [
    "a column too many",
    "Layer,M,N,K,\nbad,4,5,6,7\n",
    /net\.csv:2: column 5 is one too many/,
  ],
  ["no layers", "Layer,M,N,K,\n", /net\.csv: no layers/],
  ["an empty file", "", /net\.csv:1: the first line must be a header/],
  ["no header", "a,1,2,3\n", /net\.csv:1: .*header.*got "a, 1, 2, 3"/],
  [
    "GEMM columns in another order",
    "Layer,M,K,N,\na,1,2,3\n",
    /net\.csv:1: .*header.*got "Layer, M, K, N"/,
  ],
  [
    "sparsity",
    "Layer,M,N,K,Sparsity,\na,1,2,3,2:4,\n",
    /net\.csv:2: column 5 \(sparsity\) 2:4 is not modelled/,
  ],
  [
    "a batch",
    CONV_HEADER.trim() + " Batch Size,\na, 8, 8, 3, 3, 1, 4, 1, 4,\n",
    /net\.csv:2: column 9 \(batch size\) must be 1, got "4"; batch with --batch/,
  ],
  [
    "too many multiplications",
    "Layer,M,N,K,\na,9007199254740991,2,3\n",
    /net\.csv:2: .* more than 2\^53 multiplications/,
  ],
];

for (const [what, text, message] of BAD_TOPOLOGIES) {
  Deno.test(`parseTopology() names file, line and column of ${what}`, () => {
    assert.throws(() => parseTopology(text, "net.csv"), (error) => {
      assert.ok(error instanceof RangeError);
      assert.match(error.message, message);
      return true;
    });
  });
}

const CONFIG = `[general]
run_name = scale_example

[architecture_presets]
ArrayHeight:    32
ArrayWidth:     16
IfmapSramSzkB:   64
FilterSramSzkB:  32
OfmapSramSzkB:   8
IfmapOffset:    0
FilterOffset:   10000000
OfmapOffset:    20000000
Bandwidth : 10
Dataflow : os
MemoryBanks:   1

[run_presets]
InterfaceBandwidth: USER
`;

Deno.test("parseConfig() reads a SCALE-Sim configuration", () => {
  assert.deepEqual(parseConfig(CONFIG, "a.cfg"), {
    runName: "scale_example",
    array: { rows: 32, cols: 16 },
    buffers: { ifmapKb: 64, filterKb: 32, ofmapKb: 8 },
    dataflow: "os",
    bandwidthWords: 10,
  });
  assert.equal(
    parseConfig(CONFIG.replace("USER", "CALC"), "a.cfg").bandwidthWords,
    undefined,
  );
});

Deno.test("parseConfig() takes a byte-order mark, CRLF, and the first of a list of bandwidths", () => {
  const text = "\uFEFF" +
    CONFIG.replace("Bandwidth : 10", "Bandwidth : 20, 10,10")
      .replaceAll("\n", "\r\n");
  assert.equal(parseConfig(text, "a.cfg").bandwidthWords, 20);
});

const BAD_CONFIGS: [string, string, RegExp][] = [
  [
    "an array of 0 rows",
    CONFIG.replace("32", "0"),
    /a\.cfg:5: arrayheight.*"0"/,
  ],
  [
    "an unknown key",
    CONFIG.replace("MemoryBanks", "Banks"),
    /a\.cfg:15: unknown key "Banks"/,
  ],
  [
    "a key given twice",
    CONFIG.replace("MemoryBanks:   1", "arraywidth: 3"),
    /a\.cfg:15: key "arraywidth" was given before, at a\.cfg:6/,
  ],
  [
    "an unknown section",
    CONFIG.replace("[general]", "[misc]"),
    /a\.cfg:1: unknown section \[misc\]/,
  ],
  [
    "an unknown dataflow",
    CONFIG.replace(": os", ": rs"),
    /a\.cfg:14: dataflow.*"rs"/,
  ],
  [
    "a missing key",
    CONFIG.replace(/ArrayWidth.*\n/, ""),
    /a\.cfg: key "arraywidth" is missing/,
  ],
  [
    "a line without value",
    CONFIG.replace("run_name = scale_example", "run_name"),
    /a\.cfg:2: expected/,
  ],
  [
    "an unmodelled feature",
    CONFIG + "UseRamulatorTrace: True\n",
    /a\.cfg:19: UseRamulatorTrace.*not modelled/,
  ],
];

for (const [what, text, message] of BAD_CONFIGS) {
  Deno.test(`parseConfig() names file and line of ${what}`, () => {
    assert.throws(() => parseConfig(text, "a.cfg"), (error) => {
      assert.ok(error instanceof RangeError);
      assert.match(error.message, message);
      return true;
    });
  });
}

Deno.test("significant() rounds exact ties to even and drops trailing zeros", () => {
  assert.equal(significant(27.392578125, 10), "27.39257812");
  assert.equal(significant(0.00002402958907, 10), "2.402958907e-05");
  assert.equal(significant(0.1116071428571, 10), "0.1116071429");
  assert.equal(significant(100, 10), "100");
  assert.equal(significant(2.5, 1), "2");
  assert.equal(significant(3.5, 1), "4");
});
