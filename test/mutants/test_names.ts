/**
 * Prints the names of the tests of files, as JSON by file, without running them:
 * `deno run -A test_names.ts FILE...`, paths from the project's root.
 */
import process from "node:process";

const names: Record<string, string[]> = {};
let current: string[] = [];

/** Stands in for Deno.test, whose first arguments are a name, a definition or a named function. */
function record(first: string | { name: string }, second?: unknown): void {
  current.push(
    typeof first === "string"
      ? first
      : first.name || (second as { name: string }).name,
  );
}

Object.assign(Deno, {
  test: Object.assign(record, { ignore: record, only: record }),
});
for (const file of process.argv.slice(2)) {
  current = names[file] = [];
  await import(new URL(`../../${file}`, import.meta.url).href);
}
console.log(JSON.stringify(names));
// Whatever a file has left running.
process.exit(0);
