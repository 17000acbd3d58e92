import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { withGlobals } from "../base/with_globals.ts";
import { type Captured, captured } from "./captured.ts";

const QUICK = ["--quick", "--requests", "10", "--size", "small"];

/** Runs a bench of small models. @param use told what became of it, and where its files are */
async function benched(
  args: readonly string[],
  use: (
    bench: (...more: string[]) => Promise<Captured>,
    out: string,
  ) => Promise<void>,
): Promise<void> {
  const out = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    await use(
      (...more) =>
        captured(() =>
          main(["bench", ...QUICK, ...args, ...more, "--out", out])
        ),
      out,
    );
  } finally {
    rmSync(out, { recursive: true });
  }
}

Deno.test("models that were measured are in the report when a later one fails, or is given up", async () => {
  let started = 0;
  class FailingWorker extends Worker {
    constructor(url: string | URL, options?: WorkerOptions) {
      if (++started === 2) throw new Error("no threads any more");
      super(url, options);
    }
  }
  const args = [
    "--model",
    "lstm,seq2seq",
    "--hidden",
    "4",
    "--policy",
    "serial",
  ];
  await benched(args, async (bench, out) => {
    const { code, err } = await withGlobals(
      { Worker: FailingWorker },
      () => bench(),
    );
    assert.equal(code, 1);
    assert.match(err, /no threads any more/);
    assert.match(err, /^report: .*report\.html$/m);
    const report = readFileSync(join(out, "report.html"), "utf8");
    assert.match(report, /lstm/);
    assert.doesNotMatch(report, /seq2seq: /);
  });
});

Deno.test("shoal bench says before it measures what it cannot: options, policies, a report in the way", async () => {
  await benched([], async (bench, out) => {
    const refused = async (args: readonly string[], message: RegExp) => {
      const { code, err } = await bench(...args);
      assert.equal(code, 2, err);
      assert.match(err, message);
      assert.doesNotMatch(err, /worker\(s\)|warming up/);
    };
    await refused(
      ["--model", "lstm,bert", "--hidden", "7"],
      /"heads" of model "bert" divides "hidden" \(7\)/,
    );
    for (const rate of [[], ["--rate", "100"]]) {
      await refused(
        ["--model", "lstm,treelstm", "--policy", "bucketed", ...rate],
        /No policy of --policy can batch model "treelstm": bucketed: /,
      );
    }
    mkdirSync(join(out, "report.html"));
    await refused(["--model", "lstm"], /Cannot write .*report\.html/);
  });
});
