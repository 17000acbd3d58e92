import { renderExponentials } from "./exponentials.ts";
import { exportedFunctions, renderExports } from "./kernel_exports.ts";
import { renderQ8Tiles } from "./q8_tiles.ts";
import { renderTiles } from "./tiles.ts";

/** A file of the checkout that a program writes. */
export interface GeneratedFile {
  /** From the root of the checkout. */
  readonly path: string;
  readonly text: string;
}

/**
 * Every generated file, as it should be. The exports' types come last, from the sources as they are on
 * disk: tiles that have changed change no export.
 * @param root folder of the checkout
 */
export async function generatedFiles(root: URL): Promise<GeneratedFile[]> {
  const functions = await exportedFunctions(root);
  return [
    { path: "assembly/tiles.ts", text: renderTiles() },
    { path: "assembly/q8_tiles.ts", text: renderQ8Tiles() },
    { path: "assembly/exponentials.ts", text: renderExponentials() },
    {
      path: "src/kernels/module/exports.ts",
      text: renderExports("kernels", functions),
    },
    {
      path: "src/npu/register/exports.ts",
      text: renderExports("npu", functions),
    },
  ];
}
