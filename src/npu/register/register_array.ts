/**
 * Register level: every register of every processing element advanced cycle by cycle with real
 * values. Cycles and port words are counted by the array, not computed.
 *
 * Microarchitecture (all that "cycle-accurate" is claimed for): words enter on the left edge skewed
 * by one cycle per row and move one PE right per cycle; sums (ws, is) or the second operand (os)
 * move one PE down per cycle. ws and is hold one operand per PE and have a second, shadow, register
 * that the next fold's operand is shifted into from the top; a control bit that travels with the
 * first word of a fold makes each PE take it over. os keeps its sum and copies it, when its last
 * word has passed, into a chain that shifts out of the bottom edge. See timing.ts for the modes.
 *
 * f32: one rounding after each product and each addition, k ascending within a row fold, row folds
 * added in order. int8: exact products, 32-bit sums that wrap.
 */
import {
  type ArrayShape,
  type Dataflow,
  foldGrid,
  type Gemm,
} from "../dataflow.ts";
import { oneOf } from "../checks.ts";
import type { NpuExports } from "./exports.ts";
import { JOB, STATE } from "./layout.ts";

export const DTYPES = ["f32", "int8"] as const;
export type ArrayDtype = typeof DTYPES[number];

export interface RegisterRun {
  /** m x n, row-major. */
  values: Float32Array | Int32Array;
  cycles: number;
  ifmapReads: number;
  filterReads: number;
  /** Words that left at the bottom ports: results, or partial sums of every row fold. */
  outputWords: number;
  /** Partial sums read back to be added to. */
  partialSumReads: number;
  /** Multiplications of mapped words, counted PE by PE; only with `log`. */
  activeTotal: number;
  /** Per cycle: active PEs, words on the left, top and bottom ports; only with `log`. */
  log?: Uint32Array;
}

export interface RegisterOptions {
  dataflow: Dataflow;
  mode: "causal" | "overlapped";
  dtype: ArrayDtype;
  /** Keeps the per-cycle log of up to this many cycles. */
  logCycles?: number;
}

/** Operands of ofmap[m,n] = ifmap[m,k] * filter[k,n], both row-major. */
export interface Operands {
  ifmap: Float32Array | Int8Array;
  filter: Float32Array | Int8Array;
}

/** A processing element takes up to 19 bytes, and the module's memory is 4 GiB. */
const PES_MAX = 2 ** 27;

/** Cycles per call into the module; short enough that the engine swaps in optimised code early. */
const CYCLES_PER_CALL = 4096;

/** The register-level array over one instance of the hot core and its memory. */
export class RegisterArray {
  readonly #exports: NpuExports;
  readonly #memory: WebAssembly.Memory;
  readonly #base: number;

  /** `base`: first byte of `memory` this array may use; it uses, and grows, all above it. */
  constructor(
    exports: NpuExports & { shoal_static_end?(): number },
    memory: WebAssembly.Memory,
    base?: number,
  ) {
    this.#exports = exports;
    this.#memory = memory;
    this.#base = base ?? align16(exports.shoal_static_end?.() ?? 1024);
  }

  /** Runs a GEMM. Throws RangeError for operands that do not fit its sizes. */
  run(
    gemm: Gemm,
    operands: Operands,
    shape: ArrayShape,
    options: RegisterOptions,
  ): RegisterRun {
    const job = this.begin(gemm, operands, shape, options);
    while (!job.advance(CYCLES_PER_CALL));
    return job.result();
  }

  /** Places a GEMM and its array in memory and returns it before the first cycle. */
  begin(
    gemm: Gemm,
    operands: Operands,
    shape: ArrayShape,
    options: RegisterOptions,
  ): RegisterJob {
    const grid = foldGrid(gemm, shape, options.dataflow);
    const dtype = oneOf(options.dtype, DTYPES, "dtype");
    checkOperand(operands.ifmap, {
      length: gemm.m * gemm.k,
      dtype,
      name: "ifmap",
    });
    checkOperand(operands.filter, {
      length: gemm.k * gemm.n,
      dtype,
      name: "filter",
    });
    if (shape.rows * shape.cols > PES_MAX) {
      throw new RangeError(
        `an array of ${shape.rows}x${shape.cols} does not fit the module's memory; ` +
          `at most ${PES_MAX} processing elements do`,
      );
    }
    const exports = this.#exports;
    const { mapping } = grid;
    const resident = mapping.topResident ? 1 : 0;
    const typeCode = dtype === "f32" ? 0 : 1;
    const state = this.#base;
    const stateBytes = exports.npu_state_bytes(
      shape.rows,
      shape.cols,
      typeCode,
      resident,
    );
    const scratchBytes = 8 * grid.folds + 8 * shape.cols;
    const logCycles = options.logCycles ?? 0;

    let top = state;
    const take = (bytes: number) => {
      const at = top;
      top = align16(top + bytes);
      return at;
    };
    take(stateBytes);
    const job = take(exports.npu_job_bytes());
    const scratch = take(scratchBytes);
    const ifmap = take(operands.ifmap.byteLength);
    const filter = take(operands.filter.byteLength);
    const out = take(4 * gemm.m * gemm.n);
    const log = logCycles > 0 ? take(16 * logCycles) : 0;
    this.#reserve(top);

    exports.npu_init(state, shape.rows, shape.cols, typeCode, resident);
    const view = new DataView(this.#memory.buffer);
    bytesOf(this.#memory, ifmap, operands.ifmap.byteLength).set(
      asBytes(operands.ifmap),
    );
    bytesOf(this.#memory, filter, operands.filter.byteLength).set(
      asBytes(operands.filter),
    );

    const word = dtype === "f32" ? 4 : 1;
    // Byte strides of each operand along the GEMM's axes; the mapping says which are asked for.
    const strides = {
      ifmap: { m: gemm.k * word, k: word, n: 0 },
      filter: { m: 0, k: gemm.n * word, n: word },
      ofmap: { m: gemm.n * 4, k: 0, n: 4 },
    };
    const address = { ifmap, filter };
    const down = mapping.topResident ? mapping.rows : mapping.time;
    const outFirst = mapping.topResident ? mapping.time : mapping.rows;
    const fields: [keyof typeof JOB, number][] = [
      ["sr", grid.sr],
      ["sc", grid.sc],
      ["t", grid.t],
      ["overlap", options.mode === "overlapped" ? 1 : 0],
      ["left", address[mapping.left]],
      ["leftByRow", strides[mapping.left][mapping.rows]],
      ["leftByTime", strides[mapping.left][mapping.time]],
      ["top", address[mapping.top]],
      ["topByFirst", strides[mapping.top][down]],
      ["topByCol", strides[mapping.top][mapping.cols]],
      ["out", out],
      ["outByFirst", strides.ofmap[outFirst]],
      ["outByCol", strides.ofmap[mapping.cols]],
      ["scratch", scratch],
      ["log", log],
      ["logCycles", logCycles],
    ];
    for (const [field, value] of fields) {
      view.setInt32(job + JOB[field], value, true);
    }
    view.setInt32(state + STATE.countActive, logCycles > 0 ? 1 : 0, true);
    exports.npu_run_begin(state, job);
    return new RegisterJob(exports, this.#memory, {
      gemm,
      dtype,
      left: mapping.left,
      state,
      job,
      out,
      log,
      logCycles,
    });
  }

  #reserve(endBytes: number): void {
    const missing = endBytes - this.#memory.buffer.byteLength;
    if (missing > 0) this.#memory.grow(Math.ceil(missing / 65536));
  }
}

interface JobPlace {
  gemm: Gemm;
  dtype: ArrayDtype;
  left: "ifmap" | "filter";
  state: number;
  job: number;
  out: number;
  log: number;
  logCycles: number;
}

/** A GEMM on the array, between two cycles. */
export class RegisterJob {
  readonly #exports: NpuExports;
  readonly #memory: WebAssembly.Memory;
  readonly #place: JobPlace;

  constructor(
    exports: NpuExports,
    memory: WebAssembly.Memory,
    place: JobPlace,
  ) {
    this.#exports = exports;
    this.#memory = memory;
    this.#place = place;
  }

  /** Advances by at most `cycles`. True when the last word has left the array. */
  advance(cycles: number): boolean {
    return this.#exports.npu_run(this.#place.state, this.#place.job, cycles) ===
      1;
  }

  get cycles(): number {
    return this.#view().getInt32(this.#place.job + JOB.cycles, true);
  }

  /** Address of the registers, for readers that know assembly/npu/state.ts. */
  get state(): number {
    return this.#place.state;
  }

  get memory(): WebAssembly.Memory {
    return this.#memory;
  }

  /** Copies the results so far out of memory. */
  result(): RegisterRun {
    const { gemm, dtype, left, job, out, log, logCycles } = this.#place;
    const view = this.#view();
    const words = (field: keyof typeof JOB) =>
      Number(view.getBigUint64(job + JOB[field], true));
    const { buffer } = this.#memory;
    const count = gemm.m * gemm.n;
    const values = dtype === "f32"
      ? new Float32Array(buffer, out, count)
      : new Int32Array(buffer, out, count);
    const [leftWords, topWords] = [words("leftWords"), words("topWords")];
    const run: RegisterRun = {
      values: values.slice(),
      cycles: this.cycles,
      ifmapReads: left === "ifmap" ? leftWords : topWords,
      filterReads: left === "filter" ? leftWords : topWords,
      outputWords: words("bottomWords"),
      partialSumReads: words("readBacks"),
      activeTotal: words("activeTotal"),
    };
    if (log === 0) return run;
    const cycles = Math.min(this.cycles, logCycles);
    return {
      ...run,
      log: new Uint32Array(this.#memory.buffer, log, 4 * cycles).slice(),
    };
  }

  #view(): DataView {
    return new DataView(this.#memory.buffer);
  }
}

/** Instantiates a build of the hot core over a memory of its own. Throws if the module lacks the array. */
export function loadRegisterArray(
  source: BufferSource | WebAssembly.Module,
): RegisterArray {
  const module = source instanceof WebAssembly.Module
    ? source
    : new WebAssembly.Module(source);
  const memory = new WebAssembly.Memory({ initial: 16 });
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  if (typeof exports.npu_run !== "function") {
    throw new Error(
      "Cannot use this module: it does not export the systolic array; build it again",
    );
  }
  return new RegisterArray(exports as unknown as NpuExports, memory);
}

function checkOperand(
  operand: Float32Array | Int8Array,
  { length, dtype, name }: { length: number; dtype: ArrayDtype; name: string },
): void {
  const wanted = dtype === "f32" ? Float32Array : Int8Array;
  if (!(operand instanceof wanted)) {
    throw new TypeError(`${name} must be a ${wanted.name} for dtype ${dtype}`);
  }
  if (operand.length !== length) {
    throw new RangeError(
      `${name} must have ${length} words, got ${operand.length}`,
    );
  }
}

function align16(bytes: number): number {
  return Math.ceil(bytes / 16) * 16;
}

function asBytes(words: Float32Array | Int8Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function bytesOf(
  memory: WebAssembly.Memory,
  address: number,
  bytes: number,
): Uint8Array {
  return new Uint8Array(memory.buffer, address, bytes);
}
