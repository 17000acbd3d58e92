/**
 * README as a stranger follows it: files are saved under the names that it gives them, its commands run in
 * order in one folder, and what they print is what it says. Every block belongs to one of the cases below:
 *
 * - the commands of a checkout, which are this test's caller and minutes of work: that the tasks are there;
 * - files and commands of the sections on installing, browsers, weights and one's own cell: as they stand, but
 *   for Deno, which is the one that runs this test, and Bun, which is left out where it is not to be had;
 * - `npx @shoal/core bench`: with a smaller model and fewer requests.
 *
 * And every command of docs/commands.md has its help.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { BROWSER_NAMES, type Page, visit } from "../browsers.ts";
import { RUNTIMES } from "../runtimes/runtimes.ts";
import { type Block, blocksOf, commandsOf } from "./readme.ts";
import { ROOT, Stranger, TARBALL } from "./stranger.ts";

const QUICK = ["--requests", "20", "--hidden", "16"];

/** Reports what the page says, once it says something. */
const REPORTER = `<script type="module">
const result = document.getElementById("result");
addEventListener("unhandledrejection", ({ reason }) => result.textContent = reason.stack);
while (result.textContent === "") await new Promise((resolve) => setTimeout(resolve, 50));
const next = await fetch("/report", { method: "POST", body: result.textContent });
const url = await next.text();
if (url) location.href = url;
</script>
`;

/** Words of a command line of README, which quotes nothing. */
function wordsOf(command: string, stranger: Stranger): string[] {
  return command.split(/\s+/).flatMap((word) => {
    const [, folder, ending] = /^(.*)\/\*(\.\w+)$/.exec(word) ?? [];
    if (folder === undefined) return [word];
    const names = stranger.run("ls", folder).stdout.trim().split("\n");
    return names.filter((name) => name.endsWith(ending)).map((name) =>
      `${folder}/${name}`
    );
  });
}

/** Runs a command of README. @returns its output, or undefined where it is left out */
function follow(command: string, stranger: Stranger): string | undefined {
  const words = wordsOf(command, stranger);
  if (command.startsWith("npx -y deno ")) {
    return stranger.run(process.execPath, ...words.slice(3)).stdout;
  }
  if (command.startsWith("npx -y bun")) {
    const [bun, ...args] = RUNTIMES["bun"];
    const output = stranger.tryRun(bun, ...args, ...words.slice(3));
    if (output === undefined) console.log(`skipped: ${command}: no bun here`);
    return output?.stdout;
  }
  if (command.includes("@shoal/core bench")) words.push(...QUICK);
  if (words[1] === "install") words.push("--prefer-offline", "--no-audit");
  return stranger.run(words[0], ...words.slice(1)).stdout;
}

/** The commands of a checkout. */
function isOfCheckout({ language, text }: Block): boolean {
  return language === "sh" && text.includes("deno task test");
}

Deno.test("README can be followed", async (t) => {
  const blocks = blocksOf("README.md");
  const outputs = blocks.filter(({ language }) => language === "text");
  using stranger = new Stranger();
  copyFileSync(TARBALL, stranger.path(basename(TARBALL)));
  let printed: string[] = [];
  for (const block of blocks) {
    const { language, title, text } = block;
    if (isOfCheckout(block)) {
      const { tasks } = JSON.parse(
        readFileSync(join(ROOT, "deno.json"), "utf8"),
      );
      for (const command of commandsOf(block)) {
        assert(command.replace("npx -y deno task ", "") in tasks, command);
      }
    } else if (title !== "" && language !== "text") {
      stranger.write({ [title]: text });
      if (language !== "ts") continue;
      await t.step(title, () => {
        stranger.run(
          "node",
          `${ROOT}node_modules/esbuild/bin/esbuild`,
          title,
          "--outfile=own.mjs",
        );
        stranger.run("node", "own.mjs");
        stranger.run(
          "node",
          `${ROOT}node_modules/typescript/bin/tsc`,
          ...["--strict", "--noEmit", "--module", "nodenext"],
          ...["--target", "es2022", "--types", "", title],
        );
      });
    } else if (language === "sh") {
      printed = [];
      for (const command of commandsOf(block)) {
        await t.step(command, () => {
          const output = follow(command, stranger);
          if (output !== undefined) printed.push(output);
        });
      }
    } else if (language === "text" && title === "") {
      assert(printed.length > 0);
      for (const output of printed) assert.equal(output, text);
    } else assert(language === "text", `nobody runs the block ${text}`);
  }
  assert(existsSync(stranger.path("results/report.html")));

  for (const folder of ["dist", "site"]) {
    const page = readFileSync(
      folder === "dist"
        ? stranger.path("dist/index.html")
        : stranger.path("index.html"),
      "utf8",
    );
    writeFileSync(stranger.path(`${folder}/index.html`), page + REPORTER);
  }
  const pages: Page[] = ["dist", "site"].flatMap((folder) =>
    [true, false].map((isolated) => ({ root: stranger.path(folder), isolated }))
  );
  const said = (title: string) =>
    outputs.find((block) => block.title === title)!.text.trim();
  for (const browser of BROWSER_NAMES) {
    await t.step(`the page in ${browser}`, async () => {
      const reports = await visit(browser, pages);
      if (reports === undefined) {
        return console.log(`skipped: README's page in ${browser}: not here`);
      }
      assert.deepEqual(
        reports,
        pages.map(({ isolated }) =>
          said(isolated ? "page" : "page without isolation")
        ),
      );
    });
  }
});

/** The programs that a task of deno.json runs, itself or by other tasks; building comes before tests. */
function programsOf(
  task: string,
  tasks: Readonly<Record<string, string>>,
): string[][] {
  return tasks[task].split(" && ").flatMap((part) => {
    const [, other] = /^deno task (\S+)$/.exec(part) ?? [];
    if (other === "build") return [];
    return other === undefined ? [part.split(" ")] : programsOf(other, tasks);
  });
}

Deno.test("every command of docs/commands.md has its help", async (t) => {
  const text = readFileSync(join(ROOT, "docs/commands.md"), "utf8");
  const { tasks } = JSON.parse(readFileSync(join(ROOT, "deno.json"), "utf8"));
  const commands = [...text.matchAll(/^\| (`.*?) +\|/gm)]
    .flatMap(([, cell]) => [...cell.matchAll(/`([^`]+)`/g)])
    .map(([, command]) => command.replace("npx -y deno task ", ""))
    .filter((command) => /^(shoal|bench)/.test(command));
  assert(commands.length > 10);
  for (const command of commands) {
    await t.step(command, () => {
      const [task, subcommand] = command.split(" ");
      for (const [, ...args] of programsOf(task, tasks)) {
        if (task === "shoal") args.push(subcommand);
        const { status, stdout, stderr } = spawnSync(
          process.execPath,
          [...args, "--help"],
          { cwd: ROOT, encoding: "utf8" },
        );
        assert.equal(status, 0, stderr);
        assert.match(stdout, /--help/);
      }
    });
  }
});
