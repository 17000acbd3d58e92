import { doesNotMatch, match } from "node:assert/strict";
import { htmlPage, htmlTable } from "../../src/report/html_parts.ts";
import { htmlReport } from "../../src/report/html_report.ts";
import { syntheticResult } from "./synthetic_result.ts";

/** What a model or a file may be called. */
const NAME = `<img src="x">&`;
const ESCAPED = "&lt;img src=&quot;x&quot;&gt;&amp;";

Deno.test("texts of a page, cells and links are escaped", () => {
  const table = htmlTable(
    {
      columns: [{ title: NAME, align: "left" }, { title: "trace" }],
      rows: [[{ text: NAME }, { text: NAME, href: `a b${NAME}.json` }]],
    },
    new Map(),
  );
  doesNotMatch(table, /<img/);
  match(table, new RegExp(`<td class="left">${ESCAPED}</td>`));
  match(
    table,
    new RegExp(
      `<a href="a%20b%3Cimg%20src=%22x%22%3E&amp;.json">${ESCAPED}</a>`,
    ),
  );
  const page = htmlPage({ title: NAME, style: "", body: "" });
  match(page, new RegExp(`<title>${ESCAPED}</title>`));
});

Deno.test("a report escapes what a model, its notes and its policies are called", async () => {
  const result = syntheticResult();
  const [model] = result.models;
  const points = model.points.map((point) => ({
    ...point,
    policy: `${NAME}${point.policy}`,
    loadName: `${NAME}${point.loadName}`,
  }));
  const named = { ...model, name: NAME, workload: NAME, notes: [NAME], points };
  const html = await htmlReport(
    { ...result, models: [named], command: NAME },
    { render: () => "<svg/>" },
  );
  doesNotMatch(html, /<img/);
  match(html, new RegExp(`<h2>${ESCAPED}</h2>`));
});
