/** Names as long as files' may be, on the bench's page in the browsers that this machine has. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { htmlReport } from "../../src/report/html_report.ts";
import { BROWSER_NAMES, visit } from "../browsers.ts";
import { syntheticResult } from "./synthetic_result.ts";

/** Nowhere to be broken but between letters. */
const LONG = "x".repeat(250);

const DRIVER = `<script type="module">
const { scrollWidth, clientWidth } = document.documentElement;
const headings = [...document.querySelectorAll("h2")].map((heading) => heading.textContent);
const report = { isWide: scrollWidth > clientWidth, headings };
await fetch("/report", { method: "POST", body: JSON.stringify(report) });
</script>`;

const result = syntheticResult(20);
const models = result.models.map((model) => ({
  ...model,
  ...{ name: LONG, notes: [LONG], workload: LONG, sizes: { [LONG]: LONG } },
  batchCurves: model.batchCurves?.map((curve) => ({ ...curve, cell: LONG })),
}));
const html = await htmlReport({ ...result, command: LONG, models });

for (const name of BROWSER_NAMES) {
  Deno.test(`no name makes a report wider than its window, in ${name}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "shoal-report-"));
    try {
      const page = html.replace("</body>", () => `${DRIVER}</body>`);
      writeFileSync(join(folder, "index.html"), page);
      const [report] = await visit(name, [{ root: folder }]) ?? [];
      if (report === undefined) {
        return console.log(`skipped: a report in ${name}: not on the PATH`);
      }
      const { isWide, headings } = JSON.parse(report);
      assert(headings.includes(LONG));
      assert.equal(isWide, false);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
