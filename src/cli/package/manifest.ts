/** The package.json of the package, from that of the checkout. */

/** What the checkout's package.json says about the package. */
export interface Checkout {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
}

/** Node's first version with `process.getBuiltinModule`, by which its modules are found. */
const NODE = ">=20.16";

/** @param doors entries of the library: export paths and the modules that they are, without an extension */
export function manifest(
  { name, version, description, license }: Checkout,
  doors: Readonly<Record<string, string>>,
): object {
  return {
    name,
    version,
    description,
    license,
    type: "module",
    keywords: [
      ...["inference", "batching", "wasm", "simd", "lstm", "transformer"],
      ...["serving", "scheduler", "deep-learning"],
    ],
    exports: {
      ...Object.fromEntries(
        Object.entries(doors).map(([path, module]) => [path, {
          types: `./types/${module}.d.ts`,
          default: `./dist/${module}.js`,
        }]),
      ),
      "./*.wasm": "./dist/*.wasm",
      "./worker.js": "./dist/worker.js",
      "./package.json": "./package.json",
    },
    bin: { shoal: "dist/cli.js" },
    files: ["dist", "types", "docs", "*.md", "THIRD-PARTY.txt"],
    sideEffects: ["./dist/worker.js", "./dist/cli.js"],
    engines: { node: NODE },
  };
}
