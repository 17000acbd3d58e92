/** The live page in the browsers that this machine has, refused at first, then told of more than one can look at. */
import assert from "node:assert/strict";
import { PAGE_HTML } from "../../../src/server/page/page_html.ts";
import { BROWSER_NAMES, visit } from "../../browsers.ts";

const FRAMES = 28;
/** Requests that a frame tells of, ten times as many as those of a server, and all that ended. */
const TOLD = 5000;
const DONE = 7000;
const REFUSED = 30;
/** Of a cell: no browser breaks it by itself. */
const LONG_NAME = "x".repeat(300);

/** A minute of a busy server, at once, then the end; a page asks again after some seconds. */
function feed(): string {
  const nowMs = Date.now();
  const ended = Array.from(
    { length: TOLD },
    (_, i) => [`${i}`, "m", 10 + i % 20, 3, "done"],
  );
  const frames = Array.from({ length: FRAMES }, (_, i) => ({
    ...{ at_ms: nowMs - 200 * (FRAMES - i), running: 3, waiting: 1 },
    ...{ tasks: [], ended, done: DONE, refused: REFUSED, left_out: DONE },
  }));
  return [
    { policy: "auto", slo_ms: 20, curves: { [LONG_NAME]: [[1, 2]] } },
    ...frames,
  ]
    .map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join("");
}

/** Reports what the page shows when it has drawn all that it was told, and what went wrong meanwhile. */
const DRIVER = `<script>
const errors = [];
addEventListener("error", ({ message }) => errors.push(message));
(async () => {
  const turn = () => new Promise((resolve) => setTimeout(resolve, 50));
  while (queue.length < ${FRAMES}) await turn();
  const shown = (id) => document.getElementById(id).textContent;
  for (let i = 0; i < 100 && errors.length === 0 && drawnLast() < ${FRAMES}; i++) await turn();
  function drawnLast() {
    return Number(/^\\d+/.exec(shown("latency-note"))?.[0] ?? 0) / ${TOLD};
  }
  const report = { errors, served: shown("served"), refused: shown("refused"), note: shown("latency-note") };
  report.cell = shown("curve-cells").length;
  const isWide = ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth;
  report.isWide = isWide(document.documentElement);
  document.documentElement.style.width = "340px";
  report.isWideOnPhone = isWide(document.querySelector("main"));
  await fetch("/report", { method: "POST", body: JSON.stringify(report) });
})();
</script>`;

for (const name of BROWSER_NAMES) {
  Deno.test(`the live page in ${name} draws a busy minute, and counts those it was not told of`, async () => {
    const html = PAGE_HTML.replace("</body>", () => `${DRIVER}</body>`);
    let asked = 0;
    const server = Deno.serve({ port: 0, onListen() {} }, ({ url }) => {
      const isFeed = new URL(url).pathname === "/live";
      if (isFeed && asked++ === 0) return new Response("", { status: 503 });
      return new Response(isFeed ? feed() : html, {
        headers: { "content-type": isFeed ? "text/event-stream" : "text/html" },
      });
    });
    const [report] =
      await visit(name, [{ root: `http://127.0.0.1:${server.addr.port}` }]) ??
        [];
    await server.shutdown();
    if (report === undefined) {
      return console.log(`skipped: the live page in ${name}: not on the PATH`);
    }
    const all = FRAMES * DONE;
    const late = FRAMES * TOLD * 9 / 20;
    assert.deepEqual(JSON.parse(report), {
      errors: [],
      served: `${(25 * DONE / 5).toFixed(1)}`,
      refused: `${(25 * REFUSED / 5).toFixed(1)}`,
      note: `${FRAMES * TOLD} of ${all} requests that ended in the last ` +
        `minute, ${late} of them later than the target.`,
      cell: LONG_NAME.length,
      isWide: false,
      isWideOnPhone: false,
    });
  });
}
