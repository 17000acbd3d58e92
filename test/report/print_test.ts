/** The bench's page on paper, in the browsers that this machine has: a window as wide as A4, under the rules of print. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { htmlReport } from "../../src/report/html_report.ts";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { syntheticResult } from "./synthetic_result.ts";

/** Of A4 less margins, in CSS pixels. */
const PAPER_WIDTH = 718;

const DRIVER = `<script type="module">
document.documentElement.style.width = "${PAPER_WIDTH}px";
const hidden = () => [...document.querySelectorAll(".scroll")].filter((box) =>
  box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible").length;
const onScreen = hidden();
for (const { media } of document.styleSheets[0].cssRules) {
  if (media?.mediaText === "print") media.mediaText = "screen";
}
const report = { onScreen, onPaper: hidden() };
await fetch("/report", { method: "POST", body: JSON.stringify(report) });
</script>`;

const html = await htmlReport(syntheticResult());

for (const name of BROWSER_NAMES) {
  Deno.test(`paper shows the whole of tables that scroll on screen, in ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "shoal-print-"));
    try {
      const page = html.replace("</body>", () => `${DRIVER}</body>`);
      writeFileSync(join(folder, "index.html"), page);
      const [report] = await visit(name, [{ root: folder }]) ?? [];
      if (report === undefined) {
        return console.log(`skipped: print in ${name}: not on the PATH`);
      }
      const { onScreen, onPaper } = JSON.parse(report);
      assert(onScreen > 0, "no table is too wide for this test");
      assert.equal(onPaper, 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
