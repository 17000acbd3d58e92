/**
 * An independent witness: a small array in Verilog (verilog/systolic_array.v), simulated with
 * iverilog, against the register level, in cycles and values.
 */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Prng } from "../../src/base/prng.ts";
import type { Gemm } from "../../src/npu/dataflow.ts";
import {
  loadRegisterArray,
  type Operands,
} from "../../src/npu/register/register_array.ts";
import { propertyRuns } from "../property_runs.ts";
import { randomOperands } from "./gemm_oracle.ts";

const SOURCE = fileURLToPath(
  new URL("./verilog/systolic_array.v", import.meta.url),
);
const SHAPES = [[1, 1], [2, 3], [4, 4], [5, 2], [3, 7]] as const;
/** A simulated case takes some milliseconds. */
const CASES_MAX = 1_000;
const DATAFLOWS = ["os", "ws", "is"] as const;

interface Case {
  gemm: Gemm;
  operands: Operands;
  overlap: boolean;
}

/** `is` is the transposed problem with the resident PE: C^T = B^T A^T. */
function caseText({ gemm, operands, overlap }: Case, dataflow: string): string {
  const { m, n, k } = gemm;
  const a = [...operands.ifmap];
  const b = [...operands.filter];
  const [left, top, shape] = dataflow === "is"
    ? [transposed(b, k, n), transposed(a, m, k), [n, m, k]]
    : [a, b, [m, n, k]];
  return `${shape.join(" ")} ${overlap ? 1 : 0}\n${left.join(" ")}\n${
    top.join(" ")
  }\n`;
}

function transposed(
  words: readonly number[],
  rows: number,
  cols: number,
): number[] {
  return Array.from(
    { length: words.length },
    (_, i) => words[(i % rows) * cols + Math.floor(i / rows)],
  );
}

Deno.test("the register level equals an array in Verilog in cycles and values", () => {
  if (spawnSync("iverilog", ["-V"]).error !== undefined) {
    console.log(
      "skipped: iverilog is not installed (Debian: apt-get install iverilog)",
    );
    return;
  }
  const array = loadRegisterArray(
    readFileSync(new URL("../../build/shoal.wasm", import.meta.url)),
  );
  const seed = 20_210_227;
  const prng = new Prng(seed);
  const perSetup = Math.ceil(
    Math.min(propertyRuns(300), CASES_MAX) / (SHAPES.length * DATAFLOWS.length),
  );
  const folder = mkdtempSync(join(tmpdir(), "shoal-witness-"));
  try {
    for (const [rows, cols] of SHAPES) {
      for (const dataflow of DATAFLOWS) {
        const cases = Array.from({ length: perSetup }, (): Case => {
          const gemm = {
            m: 1 + prng.int(12),
            n: 1 + prng.int(12),
            k: 1 + prng.int(12),
          };
          const operands = randomOperands(gemm, "int8", prng.int(1 << 30));
          return { gemm, operands, overlap: prng.int(2) === 1 };
        });
        const text = cases.map((one) => caseText(one, dataflow)).join("");
        writeFileSync(join(folder, "cases.txt"), `${cases.length}\n${text}`);
        const resident = dataflow === "os" ? 0 : 1;
        const parameters = { ROWS: rows, COLS: cols, RESIDENT: resident };
        execFileSync("iverilog", [
          "-g2012",
          "-o",
          join(folder, "array"),
          "-s",
          "bench",
          ...Object.entries(parameters).map(([name, value]) =>
            `-Pbench.${name}=${value}`
          ),
          SOURCE,
        ], { stdio: "pipe" });
        const lines = execFileSync("vvp", ["-n", "array"], {
          cwd: folder,
          encoding: "utf8",
        }).trim()
          .split("\n");
        cases.forEach(({ gemm, operands, overlap }, i) => {
          const [cycles, ...values] = lines[i].split(" ").map(Number);
          const run = array.run(gemm, operands, { rows, cols }, {
            dataflow,
            mode: overlap ? "overlapped" : "causal",
            dtype: "int8",
          });
          const what = `seed ${seed}, ${rows}x${cols} ${dataflow} case ${i}: ` +
            `${JSON.stringify(gemm)} overlap ${overlap}`;
          assert.equal(run.cycles, cycles, what);
          const wanted = dataflow === "is"
            ? transposed(values, gemm.n, gemm.m)
            : values;
          assert.deepEqual([...run.values], wanted, what);
        });
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
