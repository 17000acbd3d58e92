/**
 * SRAM demand traces as the tool writes them: a line per cycle, the word addresses on the
 * operand's ports in port order, comma-separated, -1 for an idle port.
 */
import {
  type ArrayShape,
  type Dataflow,
  foldGrid,
  type Operand,
} from "../../src/npu/dataflow.ts";
import { foldTiming, type Mode } from "../../src/npu/timing.ts";
import {
  addressMatrix,
  NO_ADDRESS,
  OFFSETS,
} from "../../src/npu/scalesim/addresses.ts";
import { Demand } from "../../src/npu/scalesim/demand.ts";
import type { ScaleSimLayer } from "../../src/npu/scalesim/layer.ts";

export interface TraceOptions {
  dataflow: Dataflow;
  operand: Operand;
  /** Folds follow each other without overlap in both. */
  mode?: Exclude<Mode, "overlapped">;
}

/** UTF-8 text of one operand's trace of a layer. */
export function traceText(
  layer: ScaleSimLayer,
  array: ArrayShape,
  { dataflow, operand, mode = "scalesim" }: TraceOptions,
): Uint8Array<ArrayBuffer> {
  const grid = foldGrid(layer.gemm, array, dataflow);
  const timing = foldTiming(grid, mode);
  const addresses = addressMatrix(layer, operand);
  const demand = new Demand(operand, { grid, timing, addresses });
  const wordBytesMax =
    Math.max(IDLE_BYTES, String(addresses.span + OFFSETS[operand]).length) + 1;
  const text = new TextSink(
    grid.folds * timing.foldCycles * demand.ports * wordBytesMax,
  );
  for (let colFold = 0; colFold < grid.colFolds; colFold++) {
    for (let rowFold = 0; rowFold < grid.rowFolds; rowFold++) {
      for (let cycle = 0; cycle < timing.foldCycles; cycle++) {
        demand.line(cycle, rowFold, colFold);
        for (let port = 0; port < demand.ports; port++) {
          const at = port - demand.firstPort;
          const word = at >= 0 && at < demand.count
            ? demand.words[at]
            : NO_ADDRESS;
          text.number(
            word === NO_ADDRESS ? NO_ADDRESS : word + OFFSETS[operand],
          );
          text.byte(port === demand.ports - 1 ? NEWLINE : COMMA);
        }
      }
    }
  }
  return text.bytes();
}

/** Length of "-1". */
const IDLE_BYTES = 2;
const COMMA = 44;
const NEWLINE = 10;
const MINUS = 45;
const ZERO = 48;

/** Decimal numbers into a byte buffer: several times faster than joining strings. */
class TextSink {
  readonly #buffer: Uint8Array<ArrayBuffer>;
  #length = 0;

  constructor(capacityBytes: number) {
    this.#buffer = new Uint8Array(capacityBytes);
  }

  byte(code: number): void {
    this.#buffer[this.#length++] = code;
  }

  number(value: number): void {
    let rest = value;
    if (rest < 0) {
      this.byte(MINUS);
      rest = -rest;
    }
    let digits = 1;
    for (let bound = 10; rest >= bound; bound *= 10) digits++;
    for (let i = digits - 1; i >= 0; i--) {
      const next = Math.floor(rest / 10);
      this.#buffer[this.#length + i] = ZERO + rest - next * 10;
      rest = next;
    }
    this.#length += digits;
  }

  bytes(): Uint8Array<ArrayBuffer> {
    return this.#buffer.subarray(0, this.#length);
  }
}
