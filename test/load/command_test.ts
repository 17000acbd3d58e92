/** `shoal load` as a whole, against servers in this process, and beside wrk. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { execFile } from "node:child_process";
import http from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { main } from "../../src/cli/main.ts";
import type { LoadResult } from "../../src/load/result.ts";
import { captured } from "../cli/captured.ts";
import { elements, needsNothing } from "../report/page_checks.ts";
import { pacedServer } from "./paced_server.ts";

type Told = LoadResult & { trials?: { ratePerS: number; holds: boolean }[] };

async function load(
  ...args: string[]
): Promise<Told & { code: number; err: string }> {
  const { code, out, err } = await captured(() =>
    main(["load", ...args, "--json"])
  );
  assert.notEqual(out, "", err);
  return { ...JSON.parse(out) as Told, code, err };
}

/** A server that notes what it is asked. */
async function recorder(
  answer: (body: string, response: http.ServerResponse, url: string) => void,
) {
  const bodies: {
    url: string;
    body: string;
    method: string;
    authorization?: string;
  }[] = [];
  const server = http.createServer((request, response) => {
    request.setEncoding("utf8");
    let body = "";
    request.on("data", (text: string) => body += text);
    request.on("end", () => {
      const { url = "", method = "", headers: { authorization } } = request;
      bodies.push({
        ...{ url, body, method },
        ...(authorization !== undefined && { authorization }),
      });
      answer(body, response, url);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    bodies,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

Deno.test("shoal load counts what the server was asked, and a short run is not valid", async () => {
  await using server = await recorder((_body, response) => response.end("{}"));
  const folder = mkdtempSync(join(tmpdir(), "shoal-load-"));
  try {
    const html = join(folder, "report.html");
    const told = await load(
      ...[`${server.url}/v1/embeddings`, "--rate", "200", "--seconds", "1"],
      ...["--warm-up", "0", "--model", "bert", "--tokens", "8-60"],
      ...["--slo-ms", "1000", "--html", html],
    );
    // And one to see whether it answers.
    assert.equal(server.bodies.length, told.requests + 1);
    assert.equal(told.ends.completed, told.requests);
    const { model, input } = JSON.parse(server.bodies[5].body);
    assert.equal(model, "bert");
    assert.match(input, /^[a-z]+( [a-z]+)+\.$/);
    assert.equal(told.isValid, false);
    assert.equal(told.code, 1);
    const failed = told.checks.filter(({ ok }) => !ok).map(({ name }) => name);
    assert(failed.includes("duration") && failed.includes("requests"));
    const page = readFileSync(html, "utf8");
    // It names the server, and loads nothing from it.
    needsNothing(page.replaceAll(server.url, ""));
    assert.equal(elements(page).filter((name) => name === "figure").length, 3);
    assert.match(page, /NOT VALID \(duration\)/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test({
  name: "a run whose report there is no room for is told",
  ignore: !existsSync("/dev/full"),
  async fn() {
    await using server = await recorder((_, response) => response.end("{}"));
    const told = await load(
      ...[`${server.url}/embed`, "--rate", "100", "--seconds", "0.2"],
      ...["--warm-up", "0", "--html", "/dev/full"],
    );
    assert.equal(told.code, 2);
    assert.match(told.err, /Cannot write \/dev\/full: no space is left$/m);
    assert.equal(told.ends.completed, server.bodies.length - 1);
  },
});

Deno.test("the same seed sends the same bodies", async () => {
  const sent = async () => {
    await using server = await recorder((_body, response) =>
      response.end("{}")
    );
    await load(
      ...[`${server.url}/embed`, "--rate", "100", "--seconds", "0.5"],
      ...["--warm-up", "0", "--seed", "7"],
    );
    return server.bodies.map(({ body }) => body).sort();
  };
  assert.deepEqual(await sent(), await sent());
});

Deno.test("a model's metadata says what is sent to it", async () => {
  const inputs = [{ name: "ids", datatype: "INT64", shape: [-1, -1] }];
  await using server = await recorder((_body, response, url) =>
    response.end(
      url === "/v2/models/bert"
        ? JSON.stringify({ name: "bert", inputs })
        : "{}",
    )
  );
  await load(
    ...[server.url, "--protocol", "oip", "--model", "bert"],
    ...["--rate", "50", "--seconds", "0.2", "--warm-up", "0"],
  );
  const { url, body } = server.bodies[1];
  assert.equal(url, "/v2/models/bert/infer");
  const [{ name, shape, data }] = JSON.parse(body).inputs;
  assert.equal(name, "ids");
  assert.deepEqual(shape, [1, data.length]);
});

Deno.test("refusals are told apart from failures, with how long they took", async () => {
  let nth = 0;
  await using server = await recorder((_body, response) => {
    // The first one only asks whether there is anybody.
    response.statusCode = nth++ % 4 === 3 ? 503 : 200;
    response.end();
  });
  const told = await load(
    ...[server.url, "--rate", "200", "--seconds", "1", "--warm-up", "0"],
  );
  assert.equal(
    told.ends.refused,
    Math.floor((told.requests + 1) / 4),
  );
  assert.equal(told.ends.failed, 0);
  assert(told.refusal.maxNs > 0);
});

Deno.test("a server that is not there, or refuses what it is asked, is the caller's to hear of", async () => {
  const fails = async (...args: string[]) => {
    const { code, err } = await captured(() => main(["load", ...args]));
    assert.equal(code, 2);
    return err;
  };
  const rate = ["--rate", "10"];
  const oip = ["--protocol", "oip"];
  const address = "http://127.0.0.1:1";
  for (
    const [asked, named] of [[[], "/"], [oip, "/v2/models/model"]] as const
  ) {
    const err = await fails(address, ...asked, ...rate);
    assert(err.startsWith(`shoal: GET ${address}${named}: ECONNREFUSED`), err);
    assert.match(err, /; is the server up, and at 127\.0\.0\.1:1\?$/m);
  }
  await using server = await recorder((_body, response) => {
    response.statusCode = 404;
    response.end("no such model");
  });
  assert.match(await fails(server.url, ...rate), /404 no such model/);
  assert.match(
    await fails(server.url, ...oip, ...rate),
    /GET http:\S+\/v2\/models\/model: 404 no such model/,
  );
  await using silent = await recorder(() => {});
  for (const asked of [[], oip]) {
    assert.match(
      await fails(silent.url, ...asked, ...rate, "--timeout-ms", "50"),
      /GET http:\S+: no whole answer within 50 ms; is the server up/,
    );
  }
  assert.match(
    await fails(`${server.url}/x`, "--protocol", "tei", ...rate),
    /"tei"/,
  );
});

Deno.test("an option that would change nothing is refused", async () => {
  const url = "http://127.0.0.1:1/v1/embeddings";
  const target = ["--slo-ms", "50"];
  for (
    const [args, why] of [
      [["--percentile", "90"], /--percentile is of a target: --slo-ms;/],
      [["--precision", "1"], /--precision is of --search;/],
      [[...target, "--precision", "1"], /--precision is of --search;/],
      [["--output", "y"], /--output is of bodies for oip;/],
      // It comes to asking.
      [[...target, "--percentile", "90"], /ECONNREFUSED/],
    ] as const
  ) {
    const { code, err } = await captured(() =>
      main(["load", url, "--rate", "9", ...args])
    );
    assert.equal(code, 2);
    assert.match(err, why);
  }
});

Deno.test("a body's template and headers are sent as given", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-load-"));
  try {
    const file = join(folder, "body.json");
    writeFileSync(file, '{"q": "{{text}}"}');
    await using server = await recorder((_body, response) => response.end());
    await load(
      ...[`${server.url}/ask`, "--body", file, "--rate", "50"],
      ...["--seconds", "0.2", "--warm-up", "0"],
    );
    assert.equal(server.bodies[0].method, "POST");
    assert.match(JSON.parse(server.bodies[0].body).q, /^[a-z. ]+$/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("a URL's user and password are sent, and told to nobody else", async () => {
  await using server = await recorder((_body, response) => response.end("{}"));
  const folder = mkdtempSync(join(tmpdir(), "shoal-load-"));
  try {
    const html = join(folder, "report.html");
    const sent = async (user: string, ...args: string[]) => {
      const told = await load(
        ...[server.url.replace("//", `//${user}@`), "--rate", "50", ...args],
        ...["--seconds", "0.2", "--warm-up", "0", "--html", html],
      );
      const shown = JSON.stringify(told) + readFileSync(html, "utf8");
      assert(!/s3cret|s%33cret/.test(shown), shown);
      return new Set(
        server.bodies.splice(0).map(({ authorization }) => authorization),
      );
    };
    const basic = (text: string) =>
      new Set([`Basic ${Buffer.from(text).toString("base64")}`]);
    assert.deepEqual(await sent("a%20b:s%33cret%C3%A4"), basic("a b:s3cretä"));
    assert.deepEqual(await sent("us@er:s3cret@"), basic("us@er:s3cret@"));
    assert.deepEqual(await sent("user"), basic("user:"));
    // What is said goes before it.
    for (
      const given of [
        ["--header", "Authorization: s3cret"],
        ["--header=authorization:s3cret"],
      ]
    ) {
      assert.deepEqual(
        await sent("user:s3cret", ...given),
        new Set(["s3cret"]),
      );
    }
    for (const user of ["a%3Ab:s3cret", "a%E0:s3cret"]) {
      const url = server.url.replace("//", `//${user}@`);
      const { code, err } = await captured(() =>
        main(["load", url, "--rate", "9"])
      );
      assert.equal(code, 2);
      assert.match(err, /no colon|not percent-encoded UTF-8/);
    }
    assert.equal(server.bodies.length, 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("a search does not take the end of a trace for what a server cannot do", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-load-"));
  try {
    const trace = join(folder, "short.csv");
    const lines = Array.from({ length: 300 }, (_, i) => `${i / 10},1,1`);
    const header = "t_seconds,input_tokens,output_tokens";
    writeFileSync(trace, [header, ...lines].join("\n"));
    await using server = await recorder((_body, response) => response.end());
    const { code, err } = await captured(() =>
      main([
        ...["load", server.url, "--search", "--slo-ms", "50"],
        ...["--arrivals", trace],
      ])
    );
    assert.equal(code, 2);
    assert.match(
      err,
      /short\.csv \S+ has 1\d\d requests behind the warm-up at 32\.0\/s, and a target takes at least 459/,
    );
    // It was only asked whether it is there.
    assert.equal(server.bodies.length, 1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const run = promisify(execFile);
const hasWrk = await run("wrk", ["-v"]).then(
  () => true,
  ({ code }) => code !== "ENOENT",
);
if (!hasWrk) console.log("skipped: wrk (Debian's package) is not installed");

Deno.test({
  name: "wrk and shoal load find the same throughput at saturation",
  ignore: !hasWrk,
  async fn() {
    await using server = await pacedServer(4);
    // wrk is a closed loop: 32 connections, each asks again when it is answered.
    const before = server.answered;
    const { stdout } = await run("wrk", ["-t1", "-c32", "-d3s", server.url]);
    const [, requests] = /(\d+) requests in/.exec(stdout)!;
    const [, perS] = /Requests\/sec:\s+([\d.]+)/.exec(stdout)!;
    const byWrk = server.answered - before;
    assert(Math.abs(byWrk - Number(requests)) <= 32, `${byWrk} ${requests}`);
    // Half as much again as it can answer, on as many connections: there is always one waiting.
    const told = await load(
      ...[server.url, "--rate", "600", "--connections", "32"],
      ...["--seconds", "3", "--warm-up", "0.2"],
    );
    assert.equal(told.isValid, false);
    const ratio = told.throughputPerS / Number(perS);
    assert(
      ratio > 0.8 && ratio < 1.25,
      `${told.throughputPerS} beside ${perS}`,
    );
  },
});
