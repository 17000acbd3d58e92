/** Reads the SCALE-Sim reference tables that may lie beside the checkout. */
import { existsSync, readFileSync } from "node:fs";
import {
  convLayer,
  gemmLayer,
  type ScaleSimLayer,
} from "../../src/npu/scalesim/layer.ts";
import type { ScaleSimMachine } from "../../src/npu/scalesim/report.ts";
import { DATAFLOWS } from "../../src/npu/dataflow.ts";
import { oneOf } from "../../src/npu/checks.ts";

export type Row = Record<string, string>;

const FOLDER = new URL("../../../shared/reference/scalesim/", import.meta.url);

/** The rows of a table, or undefined (after a line saying so) where the folder is missing. */
export function referenceRows(file: string): Row[] | undefined {
  const path = new URL(file, FOLDER);
  if (!existsSync(path)) {
    console.log(
      `skipped: no ${file} beside the checkout (../shared/reference/scalesim)`,
    );
    return undefined;
  }
  return csvRows(readFileSync(path, "utf8"));
}

export function csvRows(text: string): Row[] {
  const [header, ...lines] = text.trim().split("\n").map((line) =>
    line.trim().split(",")
  );
  return lines.map((fields) =>
    Object.fromEntries(header.map((name, i) => [name, fields[i]]))
  );
}

export function layerOf(row: Row): ScaleSimLayer {
  if (row.kind === "gemm") {
    return gemmLayer(row.layer, { m: +row.M, n: +row.N, k: +row.K });
  }
  return convLayer(row.layer, {
    ifmapH: +row.ifmap_h,
    ifmapW: +row.ifmap_w,
    filterH: +row.filt_h,
    filterW: +row.filt_w,
    channelsIn: +row.c_in,
    channelsOut: +row.c_out,
    strideH: +row.stride,
    strideW: +row.stride,
  });
}

export function machineOf(row: Row): ScaleSimMachine {
  return {
    array: { rows: +row.rows, cols: +row.cols },
    dataflow: oneOf(row.dataflow, DATAFLOWS, "dataflow"),
    buffers: {
      ifmapKb: +row.ifmap_kb,
      filterKb: +row.filter_kb,
      ofmapKb: +row.ofmap_kb,
    },
  };
}
