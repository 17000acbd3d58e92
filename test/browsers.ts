/** Pages in the browsers that this machine has, from Debian's packages chromium and firefox-esr. */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import process from "node:process";

/** For all pages of a visit. */
const TIMEOUT_MS = 120_000;

const MIME: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".wasm": "application/wasm",
};

/** Asked before pages that have threads: whether those can be heard of here without blocking. */
const PROBE = "/hears-of-threads";
const HEARS_NOT = "no Atomics.waitAsync";
const PROBE_PAGE = `<!doctype html><script type="module">
const body = Atomics.waitAsync ? "threads" : "${HEARS_NOT}";
const next = await (await fetch("/report", { method: "POST", body })).text();
if (next) location.href = next;
</script>`;

/** What makes a page cross-origin isolated. */
export const ISOLATION = {
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Embedder-Policy": "require-corp",
};

const BROWSERS: Readonly<
  Record<string, (profile: string, url: string) => string[]>
> = {
  "chromium": (profile, url) => [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    `--user-data-dir=${profile}`,
    url,
  ],
  "firefox-esr": (
    profile,
    url,
  ) => ["--headless", "--no-remote", "--profile", profile, url],
};

export const BROWSER_NAMES = Object.keys(BROWSERS);

/** A page that reports: it POSTs text to /report and goes where the answer says, if it says anything. */
export interface Page {
  /** What is served at the root of an origin of its own: a folder, or what a server at this URL serves. */
  readonly root: string;
  /** Path and query of the page; default "/". */
  readonly path?: string;
  /** Whether the page is cross-origin isolated; "document" when its files are not sent with the headers. */
  readonly isolated?: boolean | "document";
}

class Reports {
  readonly texts: string[] = [];
  readonly all: Promise<void>;
  #done = () => {};

  /** @param urls of the pages, in the order in which they are visited */
  constructor(readonly urls: readonly string[]) {
    this.all = new Promise((resolve) => this.#done = resolve);
  }

  /** @returns where to go next; nowhere after the last page, or where there is no use in it */
  take(text: string): string {
    this.texts.push(text);
    if (this.texts.length === this.urls.length) this.#done();
    if (text === HEARS_NOT) {
      this.#done();
      return "";
    }
    return this.urls[this.texts.length] ?? "";
  }
}

/** Options with which Chromium hears a recording, a WAV file, again and again, and asks nobody whether it may. */
export function hearing(recording: string): string[] {
  return [
    "--use-fake-ui-for-media-stream",
    "--use-fake-device-for-media-stream",
    `--use-file-for-fake-audio-capture=${recording}`,
    "--autoplay-policy=no-user-gesture-required",
  ];
}

/**
 * Visits pages, one after the other in one browser.
 * @param options of the browser's, besides those that it always has
 * @returns what each reported, or undefined if there is no such browser, or it has no threads where pages are isolated
 */
export async function visit(
  browser: string,
  pages: readonly Page[],
  options: readonly string[] = [],
): Promise<string[] | undefined> {
  if (spawnSync(browser, ["--version"]).error) return undefined;
  const urls: string[] = [];
  const reports = new Reports(urls);
  const servers: Server[] = [];
  for (const { root, path = "/", isolated = false } of pages) {
    const server = await serve(root, isolated, (text) => reports.take(text));
    servers.push(server);
    urls.push(`${originOf(server)}${path}`);
  }
  const needsThreads = pages.some(({ isolated }) => isolated);
  if (needsThreads) urls.unshift(`${originOf(servers[0])}${PROBE}`);
  const profile = mkdtempSync(join(tmpdir(), "shoal-browser-"));
  const child = spawn(
    browser,
    [...options, ...BROWSERS[browser](profile, urls[0])],
    { stdio: "ignore", detached: true },
  );
  const ended = new Promise<void>((resolve) =>
    child.on("exit", () => resolve())
  );
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new Error(`${browser}: no report of ${urls[reports.texts.length]}`),
        ),
      TIMEOUT_MS,
    );
  });
  try {
    await Promise.race([reports.all, late]);
    if (reports.texts[0] === HEARS_NOT) {
      console.log(`${browser} is too old for threads: ${HEARS_NOT}`);
      return undefined;
    }
    return reports.texts.slice(needsThreads ? 1 : 0);
  } finally {
    clearTimeout(timer);
    // The whole group that was started above: browsers are many processes.
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch { /* ended by itself */ }
    await ended;
    for (const server of servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    rmSync(profile, {
      recursive: true,
      force: true,
      maxRetries: 5,
      retryDelay: 200,
    });
  }
}

/** A port that nobody listens on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Serves a folder's files, or another server's, and takes reports. */
async function serve(
  root: string,
  isolated: boolean | "document",
  report: (text: string) => string,
): Promise<Server> {
  const server = createServer(async (request, response) => {
    if (request.method === "POST") {
      let text = "";
      for await (const chunk of request) text += chunk;
      response.end(report(text));
      return;
    }
    const found = request.url === PROBE
      ? { type: "text/html", content: PROBE_PAGE }
      : await (/^http:/.test(root) ? fetched : read)(root, request.url!);
    response.writeHead(found ? 200 : 404, {
      ...(found && { "content-type": found.type }),
      ...((isolated === "document" ? found?.type === "text/html" : isolated) &&
        ISOLATION),
    });
    response.end(found?.content);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

interface Found {
  readonly type: string;
  readonly content: Uint8Array;
}

function read(folder: string, url: string): Found | undefined {
  const { pathname } = new URL(url, "http://localhost");
  const file = join(folder, pathname.replace(/\/$/, "/index.html"));
  const type = MIME[extname(file)];
  const known = type !== undefined && file.startsWith(folder) &&
    existsSync(file);
  return known ? { type, content: readFileSync(file) } : undefined;
}

async function fetched(
  origin: string,
  url: string,
): Promise<Found | undefined> {
  const answer = await fetch(`${origin}${url}`);
  if (!answer.ok) return void await answer.body?.cancel();
  return {
    type: answer.headers.get("content-type") ?? "text/plain",
    content: new Uint8Array(await answer.arrayBuffer()),
  };
}
