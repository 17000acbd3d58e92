/** The TypeScript of docs/ runs as it stands there, as README.md's does (`deno task test`, `--doc`). */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const DOCS = new URL("../../docs/", import.meta.url);

/** First lines of a page's blocks of TypeScript. */
function blocks(file: string): string[] {
  const text = readFileSync(new URL(file, DOCS), "utf8");
  return [...text.matchAll(/^```(?:ts|typescript|js|javascript)\b.*$/gm)].map((
    [line],
  ) => line);
}

const pages = readdirSync(DOCS).filter((file) => file.endsWith(".md"))
  .map((file) => ({ file, blocks: blocks(file) }))
  .filter(({ blocks }) => blocks.length > 0);

for (const { file, blocks } of pages) {
  Deno.test(`the examples of docs/${file} run`, async () => {
    // Nothing is marked as not to be run.
    assert.deepEqual(
      blocks.filter((line) => line !== "```ts" && line !== "```js"),
      [],
    );
    const { success, stdout, stderr } = await new Deno.Command(
      Deno.execPath(),
      {
        args: ["test", "-A", "--doc", fileURLToPath(new URL(file, DOCS))],
        cwd: fileURLToPath(new URL("..", DOCS)),
        env: { NO_COLOR: "1" },
      },
    ).output();
    const [out, error] = [stdout, stderr].map((bytes) =>
      new TextDecoder().decode(bytes)
    );
    assert(success, out + error);
    assert.match(out, new RegExp(`\\b${blocks.length} passed`));
  });
}

Deno.test("a page of docs/ has examples", () => {
  assert(pages.length > 0);
});
