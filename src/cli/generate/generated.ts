import { readFileSync } from "node:fs";
import { schemaFiles } from "../serve/schemas.ts";
import { renderExponentials } from "./exponentials.ts";
import { exportedFunctions, renderExports } from "./kernel_exports.ts";
import { renderOnnxPage } from "./onnx_table.ts";
import { renderQ8Tiles } from "./q8_tiles.ts";
import { renderTiles } from "./tiles.ts";

/** What is around its table is written by hand. */
const ONNX_PAGE = "docs/onnx.md";

/** A file of the checkout that a program writes. */
export interface GeneratedFile {
  /** From the root of the checkout. */
  readonly path: string;
  readonly text: string;
}

/**
 * Every generated file, as it should be.
 * @param root folder of the checkout
 */
export async function generatedFiles(root: URL): Promise<GeneratedFile[]> {
  const microkernels = [
    { path: "assembly/tiles.ts", text: renderTiles() },
    { path: "assembly/q8_tiles.ts", text: renderQ8Tiles() },
    { path: "assembly/exponentials.ts", text: renderExponentials() },
  ];
  const functions = await exportedFunctions(root, microkernels);
  return [
    ...microkernels,
    {
      path: "src/kernels/module/exports.ts",
      text: renderExports("kernels", functions),
    },
    {
      path: "src/npu/register/exports.ts",
      text: renderExports("npu", functions),
    },
    ...schemaFiles(),
    {
      path: ONNX_PAGE,
      text: renderOnnxPage(readFileSync(new URL(ONNX_PAGE, root), "utf8")),
    },
  ];
}
