/** HAProxy in front of three servers, with examples/deploy/haproxy.cfg: one has more waiting, one drains, one is killed. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { wallNs } from "../../src/engine/wall/clock.ts";
import { Prng } from "../../src/base/prng.ts";
import { timerClock } from "../../src/load/clock.ts";
import { httpWire } from "../../src/load/http_wire.ts";
import { loadPlan } from "../../src/load/plan.ts";
import { runLoad } from "../../src/load/run.ts";
import { summarizeLoad } from "../../src/load/summarize.ts";
import type { Wire, WireRequest } from "../../src/load/wire.ts";
import { poisson } from "../../src/workload/arrivals.ts";

const hasHaproxy = await promisify(execFile)("haproxy", ["-v"]).then(
  () => true,
  ({ code }) => code !== "ENOENT",
);
if (!hasHaproxy) {
  console.log("skipped: haproxy (Debian's package) is not installed");
}

const REPLICA = fileURLToPath(new URL("./replica.ts", import.meta.url));
const CONFIG = new URL("../../examples/deploy/haproxy.cfg", import.meta.url);
const NAMES = ["a", "b", "c"] as const;

/** Ports that nobody has. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  for (const server of servers) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) {
    await new Promise((resolve) => server.close(resolve));
  }
  return ports;
}

/** Starts a program and waits until it has said that it listens. */
async function started(
  command: string,
  args: readonly string[],
  says?: string,
): Promise<ChildProcess> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    if (says === undefined) return resolve();
    child.stdout!.on("data", (text) => {
      if (`${text}`.includes(says)) resolve();
    });
    child.on("exit", (code) => reject(new Error(`${command}: ${code}`)));
  });
  return child;
}

interface Cluster extends AsyncDisposable {
  /** Of the balancer. */
  readonly origin: string;
  readonly servers: readonly { origin: string; process: ChildProcess }[];
  /** Figures of each server, by their names in `show stat`. */
  stats(): Promise<Record<string, string>[]>;
}

async function cluster(): Promise<Cluster> {
  const [front, ...ports] = await freePorts(1 + 2 * NAMES.length);
  const folder = mkdtempSync(join(tmpdir(), "shoal-haproxy-"));
  const socket = join(folder, "stats");
  let config = readFileSync(CONFIG, "utf8")
    .replace("127.0.0.1:8080", `127.0.0.1:${front}`)
    .replace("global\n", `global\n    stats socket ${socket}\n`);
  NAMES.forEach((_, i) => {
    config = config
      .replace(`127.0.0.1:${8001 + i} `, `127.0.0.1:${ports[2 * i]} `)
      .replace(`agent-port ${9001 + i}`, `agent-port ${ports[2 * i + 1]}`);
  });
  writeFileSync(join(folder, "haproxy.cfg"), config);
  const servers = await Promise.all(NAMES.map(async (_, i) => ({
    origin: `http://127.0.0.1:${ports[2 * i]}`,
    process: await started(
      process.execPath,
      ["run", "-A", REPLICA, `${ports[2 * i]}`, `${ports[2 * i + 1]}`],
      "listening",
    ),
  })));
  const balancer = await started("haproxy", [
    "-db",
    "-f",
    join(folder, "haproxy.cfg"),
  ]);
  const stats = async () => {
    const [, head, ...rows] = /^# (.*)\n([\s\S]*)$/.exec(await asked(socket))!
      .flatMap((text, i) => i === 2 ? text.trim().split("\n") : [text]);
    const names = head.split(",");
    return rows.map((row) =>
      Object.fromEntries(row.split(",").map((cell, i) => [names[i], cell]))
    ).filter(({ svname }) => NAMES.includes(svname as typeof NAMES[number]));
  };
  // Until all of them are known to be up.
  for (let tries = 0;; tries++) {
    await sleep(100);
    const up = await stats().catch(() => []);
    const isUp = up.length === NAMES.length &&
      up.every(({ status, agent_status }) =>
        status === "UP" && agent_status === "L7OK"
      );
    if (isUp) break;
    assert(tries < 100, JSON.stringify(up));
  }
  return {
    ...{ origin: `http://127.0.0.1:${front}`, servers, stats },
    async [Symbol.asyncDispose]() {
      const all = [balancer, ...servers.map(({ process }) => process)];
      for (const child of all) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const ended = once(child, "exit");
        child.kill("SIGKILL");
        await ended;
      }
      rmSync(folder, { recursive: true });
    },
  };
}

function asked(socket: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const client = connect(socket, () => client.write("show stat\n"));
    client.on("data", (piece) => text += piece);
    client.on("end", () => resolve(text));
    client.on("error", reject);
  });
}

/** A sentence. */
function requestOf(tokens: readonly number[], parameters = {}): WireRequest {
  return {
    ...{ method: "POST", path: "/v2/models/sentences/infer" },
    headers: { "content-type": "application/json" },
    body: new TextEncoder().encode(JSON.stringify({
      inputs: [{
        ...{ name: "tokens", datatype: "INT32", shape: [tokens.length] },
        data: tokens,
      }],
      parameters,
    })),
  };
}

/** Long sentences: at a server there is nearly always one under way. */
const REQUESTS: readonly WireRequest[] = Array.from(
  { length: 16 },
  (_, i) => requestOf(Array.from({ length: 400 }, (_, k) => (i + k) % 100)),
);

function wireTo(origin: string): Wire {
  return httpWire({
    ...{ origin: new URL(origin), connections: 256, keepAlive: true },
    clock: { nowNs: wallNs },
  });
}

/** Load through the balancer while something happens. */
async function under(
  { origin }: Cluster,
  happens: () => Promise<void>,
) {
  const prng = new Prng(1);
  const plan = loadPlan({
    ...{ arrivals: poisson({ ratePerS: 60 }), ratePerS: 60, warmUpS: 0 },
    ...{ seconds: 4, prng, bodies: REQUESTS, leaves: 0, leavesWithinNs: 0 },
  });
  const wire = wireTo(origin);
  const happening = sleep(1500).then(happens);
  const ledger = await runLoad(plan, {
    ...{ wire, clock: timerClock(wallNs), connections: 256 },
    timeoutNs: 60e9,
  });
  await happening;
  wire.close();
  return summarizeLoad(plan, ledger, {
    ...{ connections: 256, isLocal: true, wasStopped: false },
  });
}

const total = (rows: readonly Record<string, string>[], name: string) =>
  rows.reduce((sum, row) => sum + Number(row[name]), 0);

/** A test that has HAProxy and three servers. */
function clusterTest(name: string, fn: (of: Cluster) => Promise<void>) {
  Deno.test({
    name,
    ignore: !hasHaproxy,
    sanitizeResources: false,
    sanitizeOps: false,
    async fn() {
      await using of = await cluster();
      await fn(of);
    },
  });
}

clusterTest("a server that drains under load loses no request", async (of) => {
  const [{ process: drained }] = of.servers;
  const exit = once(drained, "exit");
  const result = await under(of, async () => {
    // ChildProcess.kill() of Deno reports the signal as the end, whatever becomes of it.
    process.kill(drained.pid!, "SIGTERM");
    const [code] = await exit;
    assert.equal(code, 0);
  });
  assert.deepEqual(result.ends, {
    ...{ completed: result.requests, refused: 0, failed: 0, left: 0 },
  }, JSON.stringify(result.reasons));
  // All three had some, and the one that is gone no longer.
  const rows = await of.stats();
  for (const { stot } of rows) assert(Number(stot) > 10);
  assert.notEqual(rows[0].status, "UP");
});

clusterTest(
  "what a killed server was running is run again by another, nothing is lost",
  async (of) => {
    const result = await under(of, async () => {
      const [{ origin, process: killed }] = of.servers;
      // So many that some of those that come through the balancer are under way for certain.
      const wire = wireTo(origin);
      const others = REQUESTS.map((request) => wire.send(request));
      await sleep(50);
      killed.kill("SIGKILL");
      await Promise.all(others);
      wire.close();
    });
    assert.deepEqual(result.ends, {
      ...{ completed: result.requests, refused: 0, failed: 0, left: 0 },
    }, JSON.stringify(result.reasons));
    const rows = await of.stats();
    const again = total(rows, "wretr") + total(rows, "wredis");
    assert(again > 0, "nothing was under way at the server that was killed");
    assert.match(rows[0].status, /^DOWN/);
  },
);

/** Requests that a server is given past the balancer, which wait there: see replica.ts. */
const PARKED = 64;

/** Under way through the balancer at any time. */
const CLIENTS = 24;

/** Requests in which a share is counted: in fewer, a process that has no core for a moment has less for that. */
const WINDOW = 2000;

/** Windows until the shares are what they are to be. */
const TRIES = 12;

clusterTest(
  "a server with more waiting requests, which came past the balancer, is given fewer",
  async (of) => {
    const [{ origin }] = of.servers;
    const wire = wireTo(of.origin);
    const past = wireTo(origin);
    let isOver = false;
    const statuses = new Set<number>();
    const clients = Array.from({ length: CLIENTS }, async (_, i) => {
      const request = requestOf([i, 1, 2]);
      while (!isOver) statuses.add((await wire.send(request)).status);
    });
    /** Waits until the first server's share of a window, over that of the mean of the others, is as wanted. */
    const until = async (wanted: (ratio: number) => boolean): Promise<void> => {
      const counts = async () =>
        (await of.stats()).map(({ stot }) => Number(stot));
      const seen: number[] = [];
      for (let tries = 0; tries < TRIES; tries++) {
        const from = await counts();
        let since: number[];
        do {
          await sleep(20);
          since = (await counts()).map((count, i) => count - from[i]);
        } while (since[0] + since[1] + since[2] < WINDOW);
        const ratio = 2 * since[0] / (since[1] + since[2]);
        if (wanted(ratio)) return;
        seen.push(ratio);
      }
      assert.fail(`${seen.map((ratio) => ratio.toFixed(2))}`);
    };
    const leave = new AbortController();
    try {
      await until((ratio) => ratio > 0.75);
      const parked = Array.from(
        { length: PARKED },
        () =>
          past.send(requestOf([1], { priority: 9 }), { abandon: leave.signal }),
      );
      await until((ratio) => ratio < 0.55);
      // They have left: it is as the others again.
      leave.abort();
      await Promise.all(parked);
      await until((ratio) => ratio > 0.75);
    } finally {
      leave.abort();
      isOver = true;
      await Promise.all(clients);
      wire.close();
      past.close();
    }
    assert.deepEqual([...statuses], [200]);
  },
);

clusterTest(
  "servers hear of clients that leave the balancer before they are answered",
  async (of) => {
    const wire = wireTo(of.origin);
    const leave = new AbortController();
    const parked = Array.from(
      { length: PARKED },
      () =>
        wire.send(requestOf([1], { priority: 9 }), { abandon: leave.signal }),
    );
    /** Waits until the servers have said of how many requests they know; see `LoadAgent`. */
    const until = async (isSo: (weights: number[]) => boolean) => {
      for (let tries = 0;; tries++) {
        const weights = (await of.stats()).map(({ weight }) => Number(weight));
        if (isSo(weights)) return;
        assert(tries < 100, `${weights}`);
        await sleep(50);
      }
    };
    try {
      await until((weights) => weights.every((weight) => weight < 100));
    } finally {
      leave.abort();
    }
    await Promise.all(parked);
    await until((weights) => weights.every((weight) => weight === 100));
    wire.close();
  },
);
