/** Names as long as files' may be, on the pages of bench and NPU in the browsers that this machine has. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { page as npuPage } from "../../src/npu/chart/svg.ts";
import { htmlReport } from "../../src/report/html_report.ts";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { syntheticResult } from "./synthetic_result.ts";

/** Nowhere to be broken but between letters. */
const LONG = "x".repeat(250);

const DRIVER = `<script type="module">
const { scrollWidth, clientWidth } = document.documentElement;
const headings = [...document.querySelectorAll("h1, h2")].map((heading) => heading.textContent);
const report = { isWide: scrollWidth > clientWidth, headings };
const answer = await fetch("/report", { method: "POST", body: JSON.stringify(report) });
const next = await answer.text();
if (next) location.href = next;
</script>`;

const result = syntheticResult(20);
const models = result.models.map((model) => ({
  ...model,
  ...{ name: LONG, notes: [LONG], workload: LONG, sizes: { [LONG]: LONG } },
  batchCurves: model.batchCurves?.map((curve) => ({ ...curve, cell: LONG })),
}));
const PAGES = {
  "bench.html": await htmlReport({ ...result, command: LONG, models }),
  "npu.html": npuPage(LONG, []),
};

for (const name of BROWSER_NAMES) {
  Deno.test(`no name makes a report wider than its window, in ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "shoal-report-"));
    try {
      const pages = Object.entries(PAGES).map(([file, html]) => {
        const page = html.replace("</body>", () => `${DRIVER}</body>`);
        writeFileSync(join(folder, file), page);
        return { root: folder, path: `/${file}` };
      });
      const reports = await visit(name, pages);
      if (reports === undefined) {
        return console.log(`skipped: a report in ${name}: not on the PATH`);
      }
      reports.forEach((report, i) => {
        const { isWide, headings } = JSON.parse(report);
        assert(headings.includes(LONG));
        assert.equal(isWide, false, pages[i].path);
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
