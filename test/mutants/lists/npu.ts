/** The systolic array (stepped, closed forms), its tiles through DRAM, and what layers and operators are to it. */
import type { MutantList } from "../mutant.ts";

const LEVELS = "test/npu/levels_test.ts";
const MEMORY = "test/npu/memory_test.ts";
const NPU = "test/npu/npu_test.ts";
const REGISTER = "test/npu/register_test.ts";
const IMAGES = "test/npu/image_costs_test.ts";
const MAP = "test/npu/map_words_test.ts";

export const MUTANTS: MutantList = [
  {
    id: "npu.edge-fold",
    file: "src/npu/dataflow.ts",
    from: "const rowFolds = Math.ceil(sr / array.rows);",
    to: "const rowFolds = Math.max(1, Math.floor(sr / array.rows));",
    tests: [LEVELS],
    why: "a GEMM that does not fill its last fold along the rows needs it",
  },
  {
    id: "npu.skew",
    file: "src/npu/timing.ts",
    from: "preloadCycles + grid.t + rows + cols - 2 + drainCycles",
    to: "preloadCycles + grid.t + rows + cols - 1 + drainCycles",
    tests: [LEVELS, REGISTER],
    why: "the far corner works rows + cols - 2 cycles after the near one",
  },
  {
    id: "npu.drain",
    file: "src/npu/timing.ts",
    from: 'grid.mapping.topResident || mode === "scalesim"',
    to: "grid.mapping.topResident",
    tests: ["test/npu/scalesim_test.ts"],
    why:
      "SCALE-Sim does not count the cycles in which os shifts its last results out",
  },
  {
    id: "npu.overlapped-period",
    file: "src/npu/timing.ts",
    from: "Math.max(grid.t, rows)",
    to: "grid.t",
    tests: [LEVELS],
    why:
      "an overlapped fold cannot follow in fewer cycles than its operand takes down the rows",
  },
  {
    id: "npu.read-backs",
    file: "src/npu/closed_form.ts",
    from: "sc * t * (rowFolds - 1)",
    to: "sc * t * rowFolds",
    tests: [LEVELS],
    why: "partial sums of the first row fold are added to nothing",
  },
  {
    id: "npu.accumulators",
    file: "src/npu/closed_form.ts",
    from: "accumulates ? portWrites - readBacks : portWrites + slip",
    to: "portWrites + slip",
    tests: [LEVELS],
    why:
      "overlapped: partial sums stay in accumulators, the scratchpad gets complete sums only",
  },
  {
    id: "npu.tile-read-backs",
    file: "src/npu/memory/tile_traffic.ts",
    from: "adds ? out : out - sums",
    to: "out - sums",
    tests: [LEVELS],
    why:
      "a tile that is not the first along k adds all its sums to those of the tile before",
  },
  {
    id: "npu.dram-waits",
    file: "src/npu/memory/pipeline.ts",
    from: "dram.ideal ? earliest : Math.max(times[PORT_FREE], earliest)",
    to: "earliest",
    tests: [MEMORY],
    why: "the DRAM port serves one request after the other",
  },
  {
    id: "npu.two-slots",
    file: "src/npu/memory/pipeline.ts",
    from: "this.#transfer(bytes, times[operand + 1])",
    to: "this.#transfer(bytes, times[operand + 2])",
    tests: [MEMORY, NPU],
    why:
      "an operand has two tile slots: a load waits for the tile before the last only",
  },
  {
    id: "npu.double-buffer-room",
    file: "src/npu/memory/tiling.ts",
    from: ": Math.min(whole.filter, 2 * tile.filter);",
    to: ": tile.filter;",
    tests: [MEMORY],
    why: "an operand that is not kept takes two tiles of its scratchpad",
  },
  {
    id: "npu.loads-with-k",
    file: "src/npu/memory/tiling.ts",
    from: "innerFirst || (kCut && !outerKept)",
    to: "innerFirst",
    tests: [MEMORY],
    why:
      "where k is cut, the outer operand's tile is another for every tile, unless it is kept",
  },
  {
    id: "npu.repeated-rounds",
    file: "src/npu/memory/pipeline.ts",
    from: "this.#times[i] += rounds * moved;",
    to: "this.#times[i] += (rounds - 1) * moved;",
    tests: [MEMORY],
    why:
      "rounds of a loop that are skipped take as long as those that were run",
  },
  {
    id: "npu.repeated-sums",
    file: "src/npu/memory/pipeline.ts",
    from: "rounds * (this.#sums[key] - sums[key])",
    to: "this.#sums[key] - sums[key]",
    tests: [MEMORY],
    why:
      "rounds of a loop that are skipped move as many bytes as those that were run",
  },
  {
    id: "npu.bursts",
    file: "src/npu/memory/dram.ts",
    from: "Math.ceil(Math.ceil(bytes / burstBytes) / channels)",
    to: "Math.floor(Math.ceil(bytes / burstBytes) / channels)",
    tests: [MEMORY],
    why:
      "the port is busy until the channel with most bursts is done, also in the last round of channels",
  },
  {
    id: "npu.map-words",
    file: "src/npu/layer_spec.ts",
    from: "(outputs - 1) * stride + filter;",
    to: "outputs * filter;",
    tests: [MAP],
    why:
      "neighbouring windows share pixels: memory moves the map, not the repeated words",
  },
  {
    id: "npu.absorbed",
    file: "src/npu/operators/images.ts",
    from: "absorbed.forEach(absorb);",
    to: "",
    tests: [IMAGES],
    why:
      "what a convolution does on its way (sum, activation) costs nothing a second time",
  },
  {
    id: "npu.transposed-phases",
    file: "src/npu/operators/images.ts",
    from: "k * shape.dilation[side] % stride === phase",
    to: "true",
    tests: [IMAGES],
    why:
      "an output pixel of a transposed convolution sees the taps of its phase",
  },
  {
    id: "npu.array-word-moves",
    file: "assembly/npu/array.ts",
    from: "const top = fromPort ? 0 : 1;",
    to: "const top = 1;",
    tests: [REGISTER, LEVELS],
    why: "row 0 takes the port's word when the resident operand is loaded",
  },
  {
    id: "npu.array-train",
    file: "assembly/npu/array.ts",
    from: "const mask = v128.and(push, i8x16.eq(other, i8x16.splat(0)));",
    to: "const mask = push;",
    tests: [LEVELS],
    why:
      "a train passes over what is parked below it: a PE takes words of the moving fold's parity only",
  },
  {
    id: "npu.array-first-word",
    file: "assembly/npu/lanes.ts",
    from: "if (v128.any_true(first)) clearMasked(sums + x, first);",
    to: "",
    tests: [LEVELS],
    why: "a fold's first word clears the sum of the fold before (os)",
  },
  {
    id: "npu.array-read-back",
    file: "assembly/npu/sequencer.ts",
    from: "store<i32>(to, load<i32>(to) + load<i32>(from))",
    to: "store<i32>(to, load<i32>(from))",
    tests: [LEVELS],
    why: "int8: partial sums of later row folds are added to what is there",
  },
  {
    id: "npu.array-edge-rows",
    file: "assembly/npu/sequencer.ts",
    from: "if (row < usedRows) {",
    to: "if (row <= usedRows) {",
    tests: [LEVELS, REGISTER],
    why:
      "an edge fold uses its own rows only: no word is read from beyond the operand",
  },
];
