import { deepEqual, equal, ok } from "node:assert/strict";
import {
  benchTable,
  overviewTable,
  peaksTable,
} from "../../src/report/bench_table.ts";
import {
  formatMs,
  formatNumber,
  formatPercentile,
  formatShare,
} from "../../src/report/format.ts";
import { renderTable, type Table, wantsColor } from "../../src/report/table.ts";
import { syntheticResult } from "./synthetic_result.ts";

const TABLE: Table = {
  columns: [{ title: "policy", align: "left" }, { title: "p90 ms" }],
  rows: [
    [{ text: "cellular" }, { text: "1.25", tone: "better" }],
    null,
    [{ text: "graph" }, { text: "17.5", tone: "worse" }],
  ],
};

Deno.test("renderTable() aligns columns and rules off groups", () => {
  equal(
    renderTable(TABLE, { color: false }),
    [
      "policy    p90 ms",
      "────────────────",
      "cellular    1.25",
      "────────────────",
      "graph       17.5",
      "",
    ].join("\n"),
  );
});

Deno.test("renderTable() in colour says the same", () => {
  const colored = renderTable(TABLE, { color: true });
  ok(colored.includes("\x1b[32m") && colored.includes("\x1b[31m"));
  const codes = new RegExp(String.raw`\u001b\[\d+m`, "g");
  equal(colored.replace(codes, ""), renderTable(TABLE, { color: false }));
});

Deno.test("renderTable() puts columns for which there is no room below, behind the keys", () => {
  const columns = [
    { title: "key", align: "left" as const },
    ...["a", "b", "c", "d", "e"].map((title) => ({
      title: title.repeat(30),
      joined: title === "d",
    })),
  ];
  const text = renderTable({
    columns,
    rows: [columns.map((_, i) => ({ text: `${i}` }))],
  }, { color: false });
  deepEqual(text.match(/\S+/g)!.filter((word) => !word.startsWith("─")), [
    ...["key", "a".repeat(30), "b".repeat(30), "0", "1", "2"],
    ...["key", "c".repeat(30), "d".repeat(30), "e".repeat(30)],
    ...["0", "3", "4", "5"],
  ]);
});

Deno.test("wantsColor() honours NO_COLOR when it is not empty", () => {
  equal(wantsColor({}, true), true);
  equal(wantsColor({ NO_COLOR: "" }, true), true);
  equal(wantsColor({ NO_COLOR: "1" }, true), false);
  equal(wantsColor({}, false), false);
});

Deno.test("numbers have three significant digits and no exponent", () => {
  deepEqual(
    [0, 0.01234, 1.2345, 12.345, 123.45, 12345.6, 4e-9, NaN, Infinity, null]
      .map(formatNumber),
    ["0", "0.0123", "1.23", "12.3", "123", "12346", "0.000000", "–", "–", "–"],
  );
  equal(formatMs(1_234_567), "1.23");
  deepEqual([formatShare(0.4567), formatShare(NaN)], ["45.7", "–"]);
});

Deno.test("a percentile is named as it was asked for", () => {
  for (let hundredths = 1; hundredths < 10_000; hundredths++) {
    const asked = hundredths / 100;
    equal(formatPercentile(asked / 100), `${asked}`);
  }
});

Deno.test("benchTable() gives ratios to the baselines at the same load", () => {
  const [model] = syntheticResult().models;
  const table = benchTable(model, { baselines: ["graph", "absent"] });
  const titles = table.columns.map(({ title }) => title);
  deepEqual(titles.slice(-2), ["p90/graph", "req/graph"]);
  const medium = model.points.filter(({ loadName }) => loadName === "medium");
  const at = (policy: string) =>
    medium.find((point) => point.policy === policy)!.metrics;
  const row = table.rows.find((cells) =>
    cells?.[0].text === "medium" && cells[1].text === "cellular"
  )!;
  const ratio = at("cellular").latency.p90Ns / at("graph").latency.p90Ns;
  deepEqual(row.at(-2), { text: `${ratio.toFixed(2)}x`, tone: "better" });
  const itself = table.rows.find((cells) => cells?.[1].text === "graph")!;
  deepEqual(itself.slice(-2), [{ text: "" }, { text: "" }]);
  for (const cells of table.rows) if (cells) equal(cells.length, titles.length);
});

Deno.test("benchTable() colours no ratio near 1, and has none of a figure that there is not", () => {
  const [model] = syntheticResult().models;
  const [first] = model.points;
  const point = (policy: string, p90Ns: number, throughputPerS: number) => ({
    ...first,
    policy,
    metrics: {
      ...first.metrics,
      throughputPerS,
      latency: { ...first.metrics.latency, p90Ns },
    },
  });
  const points = [
    point("graph", 1e6, 100),
    point("near", 1.01e6, 101),
    point("slow", 1.1e6, 90),
    // As a figure that is not there comes out of JSON.
    point("none", null as unknown as number, 100),
  ];
  const { rows } = benchTable({ ...model, points }, { baselines: ["graph"] });
  deepEqual(rows.slice(1).map((cells) => cells!.slice(-2)), [
    [{ text: "1.01x" }, { text: "1.01x" }],
    [{ text: "1.10x", tone: "worse" }, { text: "0.90x", tone: "worse" }],
    [{ text: "–" }, { text: "1.00x" }],
  ]);
});

Deno.test("benchTable() compares with graph and bucketed, or merged where they cannot batch", () => {
  const ratioTitles = (index: number) =>
    benchTable(syntheticResult(10).models[index]).columns.map(({ title }) =>
      title
    ).filter((title) => title.includes("/"))
      .filter((title) => title.startsWith("p90/"));
  deepEqual(ratioTitles(0), ["p90/graph", "p90/bucketed"]);
  deepEqual(ratioTitles(1), ["p90/merged"]);
});

Deno.test("peaksTable() relates peaks to the serial capacity", () => {
  const [model] = syntheticResult(10).models;
  const [row] = peaksTable(model, { setUp: true }).rows;
  deepEqual(row!.map(({ text }) => text), ["cellular", "900", "4.00x", ""]);
});

Deno.test("overviewTable() has a line per policy and two columns per model, empty where it was not run", () => {
  const { models } = syntheticResult();
  const { columns, rows } = overviewTable(models);
  deepEqual(
    columns.map(({ title }) => title),
    ["policy", ...models.flatMap(({ name }) => [name, "peak"])],
  );
  for (const row of rows) {
    ok(row !== null);
    equal(row.length, columns.length);
    models.forEach(({ points, peaksPerS }, i) => {
      const policy = row[0].text;
      const own = points.filter((point) => point.policy === policy);
      const latencies = own.map(({ metrics }) =>
        formatMs(metrics.latency.p90Ns)
      );
      equal(row[1 + 2 * i].text, latencies.join(" / "));
      equal(
        row[2 + 2 * i].text,
        own.length === 0 ? "" : formatNumber(peaksPerS[policy]),
      );
    });
  }
});
