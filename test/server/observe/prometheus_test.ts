/** Debian's Prometheus reads what a server tells of itself: its linter, and a real scrape. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CostAdmission } from "../../../src/server/admission/cost_admission.ts";
import { Monitor } from "../../../src/server/monitor.ts";
import type { Server } from "../../../src/server/server.ts";
import { freePort } from "../../browsers.ts";
import { inferBody, withServer } from "../serving_host.ts";
import { TEXT_MODELS, withTextServer } from "../text_models.ts";

const SCRAPED_WITHIN_MS = 60_000;

/** Whether it is installed; Debian's package is "prometheus". */
function has(program: string): boolean {
  if (!spawnSync(program, ["--version"]).error) return true;
  console.log(`skipped: ${program} is not installed`);
  return false;
}

/** A server that has answered, refused and failed, with all names that there are. */
async function withUsed(
  run: (
    ask: (path: string, init?: RequestInit) => Promise<Response>,
    server: Server,
  ) => Promise<void>,
): Promise<void> {
  const monitor = new Monitor({ compatible: ["triton", "tei"] });
  const admission = new CostAdmission();
  const host = { observers: monitor.observers, admission };
  await withTextServer(
    async (ask) => {
      await ask("/embed", { inputs: ["fish", "birds fly"] });
      await ask("/embed", { inputs: [] });
    },
    TEXT_MODELS,
    { monitor, host },
  );
  await withServer({ monitor, host }, async (ask, server) => {
    for (const model of ["intents", "others"]) {
      for (const tokens of [[1, 2, 3], [4], []]) {
        await ask(`/v2/models/${model}/infer`, {
          method: "POST",
          body: inferBody(tokens),
        });
      }
    }
    await run(ask, server);
  });
}

Deno.test("promtool has nothing to say against our figures, and of others' dislikes the names alone", async () => {
  if (!has("promtool")) return;
  await withUsed(async (ask) => {
    const input = await (await ask("/metrics")).text();
    const { status, stdout, stderr } = spawnSync(
      "promtool",
      ["check", "metrics"],
      { input, encoding: "utf8" },
    );
    // Names are those that others have chosen, and of these it does not like the form; it says nothing else.
    const said = `${stdout}${stderr}`.trim().split("\n");
    const unlike = said.filter((line) =>
      !/^(nv_inference|te)_\w+ (counter metrics should have "_total" suffix|metric names should not contain abbreviated units|non-histogram and non-summary metrics should not have "_count" suffix)$/
        .test(line)
    );
    assert.deepEqual(unlike, []);
    assert.equal(said.length, 17);
    assert.equal(status, 3, "a linter's findings, no error of the format");
    const own = input.split("\n").filter((line) =>
      !/^(# \w+ )?(nv_inference|te)_/.test(line)
    ).join("\n");
    const ours = spawnSync("promtool", ["check", "metrics"], {
      input: `${own}\n`,
      encoding: "utf8",
    });
    assert.equal(`${ours.stdout}${ours.stderr}`, "");
    assert.equal(ours.status, 0);
    // It does say something when there is something to say.
    const { status: wrong } = spawnSync("promtool", ["check", "metrics"], {
      input: own.replaceAll("shoal_requests_served_total", "shoalServed"),
    });
    assert.notEqual(wrong, 0);
  });
});

Deno.test("a Prometheus scrapes a server, and has its figures", async () => {
  if (!has("prometheus")) return;
  await withUsed(async (_ask, server) => {
    const http = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      (request) => server.fetch(request),
    );
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), "shoal-prometheus-"));
    const config = join(folder, "prometheus.yml");
    writeFileSync(
      config,
      `global: {scrape_interval: 1s}
scrape_configs:
  - job_name: shoal
    static_configs: [{targets: ["127.0.0.1:${http.addr.port}"]}]
`,
    );
    const child = spawn("prometheus", [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ], { stdio: "ignore" });
    try {
      const query = 'shoal_request_seconds_count{model="intents"}';
      const found = await asked(port, query, child);
      assert.equal(found.value[1], "2");
      const { job, policy, version } = found.metric;
      assert.deepEqual([job, policy, version], ["shoal", "cellular", "1"]);
      const quantile =
        'histogram_quantile(0.5, shoal_request_seconds_bucket{model="intents"})';
      assert(Number((await asked(port, quantile, child)).value[1]) > 0);
      const others = [
        'nv_inference_request_success{model="intents",version="1"}',
        "te_request_input_length_count",
      ];
      for (const query of others) {
        assert.equal((await asked(port, query, child)).value[1], "2");
      }
      const mean = "te_request_duration_sum / te_request_duration_count";
      assert(Number((await asked(port, mean, child)).value[1]) > 0);
    } finally {
      child.kill("SIGKILL");
      await http.shutdown();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

interface Sample {
  readonly metric: Record<string, string>;
  readonly value: [number, string];
}

/** The first result of a query, when there is one. */
async function asked(
  port: number,
  query: string,
  child: ChildProcess,
): Promise<Sample> {
  const untilMs = performance.now() + SCRAPED_WITHIN_MS;
  const url = `http://127.0.0.1:${port}/api/v1/query?query=${
    encodeURIComponent(query)
  }`;
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    assert.equal(child.exitCode, null, "it runs");
    try {
      const { data } = await (await fetch(url)).json();
      if (data?.result?.length > 0) return data.result[0];
    } catch { /* it does not listen yet */ }
    assert(performance.now() < untilMs, `no result of ${query}`);
  }
}
