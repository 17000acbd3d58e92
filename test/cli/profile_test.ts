import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { readProfile } from "../../src/cli/read_profile.ts";
import { saveProfile } from "../../src/npu/profile.ts";
import type { Stretch } from "../../src/plan/stretch.ts";

const CLI = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));
const BUSY = fileURLToPath(new URL("./busy_machine.ts", import.meta.url));

const shoal = (...args: string[]): string =>
  execFileSync(process.execPath, ["run", "-A", CLI, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });

function inFolder(use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "shoal-profile-"));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

Deno.test("shoal profile measures every cell at every size, and simulate takes the file for costs and policies", () => {
  inFolder((folder) => {
    const file = join(folder, "unet.json");
    const options = ["size=8", "depth=1", "base=2"];
    const to = openSync(file, "w");
    const { status, stderr } = spawnSync(process.execPath, [
      ...["run", "-A", "--preload", BUSY, CLI],
      ...["profile", "unet", "--sizes", "4,1,2", "--out", "/dev/stdout"],
      ...options.flatMap((option) => ["--option", option]),
    ], { encoding: "utf8", stdio: ["ignore", to, "pipe"] });
    closeSync(to);
    assert.equal(status, 0, stderr);
    // The file is alone where it goes.
    assert.match(stderr, /^us per batch of +1 +2 +4$/m);
    assert.match(stderr, /^other processes had \d+ % of the machine/m);
    // In turns, so that a slow minute of the machine is not one size's.
    assert.deepEqual(
      [...stderr.matchAll(/batches of (\d+)/g)].map(([, size]) => size),
      Array.from({ length: 7 }, () => ["1", "2", "4"]).flat(),
    );
    const saved = JSON.parse(readFileSync(file, "utf8"));
    assert.equal(saved.model, "unet");
    assert.equal(saved.sizes.base, 2);
    assert.deepEqual(Object.keys(saved.tablesNs), [
      ...["down0.c1", "down0.c2", "down0.pool", "bottom.c1", "bottom.c2"],
      ...["up0.up", "up0.c1", "up0.c2", "out"],
    ]);
    assert.equal(saved.workers, 1);
    const { taskNs, turnNs, requestNs } = saved.host;
    assert(taskNs.length > 0 && requestNs > 0);
    for (const [, ns] of [...taskNs, ...turnNs]) assert(ns >= 0);
    // A piece or more behind every turn, and nothing takes exactly what the table says always.
    assert(saved.stretches.length >= 7);
    for (const { speed, pauses } of saved.stretches) {
      assert.equal(speed.length, 1);
      for (const [startNs, endNs] of pauses) assert(endNs > startNs);
    }
    const speeds = saved.stretches.flatMap((one: Stretch) => one.speed[0]);
    assert(new Set(speeds).size > 1);
    for (const points of Object.values(saved.tablesNs)) {
      const measured = points as [number, number][];
      assert.deepEqual(measured.map(([rows]) => rows), [1, 2, 4]);
      for (const [, ns] of measured) assert(Number.isInteger(ns) && ns > 0);
    }

    const config = join(folder, "config.json");
    writeFileSync(
      config,
      JSON.stringify({
        model: {
          name: "unet",
          options: { size: 8, depth: 1, padding: "same" },
        },
        policies: [
          { name: "lazy", options: { profile: file, batchSizeMax: 4 } },
          { name: "serial" },
        ],
        workload: {
          requests: 20,
          arrivals: { kind: "poisson", ratePerS: 1000 },
        },
        cost: { profile: file },
      }),
    );
    const { runs } = JSON.parse(
      shoal("simulate", "--config", config, "--json"),
    );
    for (const { metrics } of runs) assert.equal(metrics.requests.done, 20);
  });
});

/** Whatever is written to it finds no space on its disk. */
const FULL = "/dev/full";

Deno.test({
  name: "a profile that there is no room for is printed",
  ignore: !existsSync(FULL),
  fn() {
    const { status, stdout, stderr } = spawnSync(process.execPath, [
      ...["run", "-A", "--no-check", CLI, "profile", "lstm", "--sizes", "1"],
      ...["--option", "hidden=4", "--option", "vocabulary=10"],
      ...["--out", FULL, "--json"],
    ], { encoding: "utf8" });
    assert.match(stderr, /Cannot write \/dev\/full: no space is left$/m);
    assert.equal(status, 2);
    assert(JSON.parse(stdout).tablesNs["lstm_step"].length === 1);
  },
});

Deno.test("shoal profile names an option that the model has not", () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    ["run", "-A", CLI, "profile", "unet", "--option", "hidden=3"],
    { encoding: "utf8" },
  );
  assert.equal(status, 2);
  assert.match(
    stderr,
    /--option "hidden=3" is not KEY=VALUE with an option of "unet": size, channels, base/,
  );
});

Deno.test("readProfile() takes an NPU's profile, and names a file that is none", () => {
  inFolder((folder) => {
    const file = join(folder, "npu.json");
    const write = (text: string) => writeFileSync(file, text);
    write(saveProfile({
      ...{ machine: "npu", model: "two", batchSizes: [1, 8] },
      ...{ nodes: ["a", "b"], latencyNs: [[10, 20], [30, 40]] },
    }));
    assert.deepEqual(readProfile(file), {
      a: [[1, 10], [8, 20]],
      b: [[1, 30], [8, 40]],
    });
    for (const text of ["{", "{}", `{"tablesNs":{"a":[]}}`, "null"]) {
      write(text);
      assert.throws(() => readProfile(file), {
        name: "UsageError",
        message: /^Profile .*npu\.json: /,
      });
    }
    assert.throws(() => readProfile(join(folder, "none")), /no such file/i);
  });
});
