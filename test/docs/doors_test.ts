/**
 * What a user reads of each door: everything that it exports is documented, every value has an example, and
 * a thing has one name. `deno task test` runs the examples as well (`--doc`).
 */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { MODELS } from "../../src/models/registry.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const DOORS = [
  "mod",
  "kernels",
  "simulate",
  "npu",
  "onnx",
  "server",
  "text",
  "grpc",
] as const;

const fileOf = (door: string): string => `src/${door}.ts`;

/** Values of the serving door besides the models, one for each of the registry: as many as can be seen at a glance. */
const SERVING_VALUES_MAX = 28;

interface Declaration {
  /** "reference": another name of what the door exports already. */
  readonly kind: string;
  readonly location: { readonly filename: string; readonly byteIndex: number };
  readonly jsDoc?: {
    readonly tags?: readonly { readonly kind: string; readonly doc?: string }[];
  };
}

interface Documentation {
  readonly nodes: Readonly<
    Record<string, {
      readonly symbols: readonly {
        readonly name: string;
        readonly declarations: readonly Declaration[];
      }[];
    }>
  >;
}

async function denoDoc(...args: readonly string[]) {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { success, stdout: text(stdout), stderr: text(stderr) };
}

/** What a door exports, by name. */
async function exportsOf(
  door: string,
): Promise<ReadonlyMap<string, readonly Declaration[]>> {
  const { stdout } = await denoDoc("--json", fileOf(door));
  const { nodes } = JSON.parse(stdout) as Documentation;
  return new Map(
    Object.values(nodes).flatMap(({ symbols }) =>
      symbols.map(({ name, declarations }) => [name, declarations] as const)
    ),
  );
}

/** Names of a door that are there at run time. */
async function valuesOf(door: string): Promise<string[]> {
  return Object.keys(await import(`../../${fileOf(door)}`));
}

function hasExample({ jsDoc }: Declaration): boolean {
  return (jsDoc?.tags ?? []).some(({ kind, doc = "" }) =>
    kind === "example" && /^```ts\n/m.test(doc)
  );
}

for (const door of DOORS) {
  Deno.test(`all that ${door} exports is documented, and of exported types`, async () => {
    const { success, stderr } = await denoDoc("--lint", fileOf(door));
    assert(success, stderr);
  });
}

for (const door of DOORS) {
  Deno.test(`every value of ${door} has an example`, async () => {
    const exported = await exportsOf(door);
    const without = (await valuesOf(door)).filter((name) =>
      !exported.get(name)?.some(hasExample)
    );
    assert.deepEqual(without, []);
  });
}

/** Errors that a documentation says are thrown, wherever in it. */
function thrown(documentation: unknown): string[] {
  if (typeof documentation !== "object" || documentation === null) return [];
  const { kind, doc } = documentation as { kind?: unknown; doc?: unknown };
  const named = kind === "throws" && typeof doc === "string"
    ? doc.match(/\b[A-Z]\w*Error\b/g) ?? []
    : [];
  return [...named, ...Object.values(documentation).flatMap(thrown)];
}

Deno.test("errors that are documented can be told apart: some door exports each", async () => {
  const known = new Set(["Error", "RangeError", "SyntaxError", "TypeError"]);
  const named = new Set<string>();
  for (const door of DOORS) {
    for (const name of await valuesOf(door)) known.add(name);
    const { stdout } = await denoDoc("--json", fileOf(door));
    for (const name of thrown(JSON.parse(stdout))) named.add(name);
  }
  assert(named.has("QueueFullError"));
  assert.deepEqual([...named].filter((name) => !known.has(name)), []);
});

Deno.test("a thing has one name, whichever door it comes through", async () => {
  const names = new Map<string, string>();
  for (const door of DOORS) {
    for (const [name, declarations] of await exportsOf(door)) {
      for (const { kind, location } of declarations) {
        assert.notEqual(kind, "reference", `${name} of ${door} has two names`);
        const { filename, byteIndex } = location;
        const where = `${filename}:${byteIndex}`;
        const other = names.get(where) ?? name;
        assert.equal(name, other, `${where} is exported as both`);
        names.set(where, name);
      }
    }
  }
});

Deno.test("the serving door stays narrow", async () => {
  const models = new Set(Object.values(MODELS).map(({ build }) => build.name));
  const all = await valuesOf("mod");
  const values = all.filter((name) => !models.has(name));
  assert.equal(all.length - values.length, models.size);
  assert(
    values.length <= SERVING_VALUES_MAX,
    `${values.length} values: ${values.join(", ")}`,
  );
});
