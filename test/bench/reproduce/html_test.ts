import { deepEqual, equal, ok } from "node:assert/strict";
import { reproduceHtml } from "../../../bench/reproduce/report/html.ts";
import { reproduceText } from "../../../bench/reproduce/report/text.ts";
import { judge, tallyOf } from "../../../bench/reproduce/run/judge.ts";
import type { ReproduceResult } from "../../../bench/reproduce/run/result.ts";
import type { Ran } from "../../../bench/reproduce/run/run_experiments.ts";
import type { Context, Json } from "../../../bench/reproduce/experiment.ts";
import {
  elements,
  labelsInside,
  linksLead,
  needsNothing,
} from "../../report/page_checks.ts";
import { PAPERS } from "./papers/registry.ts";

const CONTEXT: Context = {
  seed: 1,
  runs: 4,
  quick: true,
  full: false,
  point: async <T extends Json>(
    _key: Readonly<Record<string, Json>>,
    compute: () => T | Promise<T>,
  ) => await compute(),
};

async function madeUp(): Promise<ReproduceResult> {
  const ran: Ran[] = [];
  for (const { id, run } of PAPERS[0].experiments) {
    try {
      ran.push({ id, seconds: 1.25, outcome: await run(CONTEXT) });
    } catch (error) {
      ran.push({ id, seconds: 0, error: (error as Error).message });
    }
  }
  const { papers, problems } = judge(PAPERS, ran);
  return {
    startedAt: "2025-01-02T03:04:05Z",
    command: "deno task reproduce --quick",
    machine: { cpu: "Synthetic <CPU> & co", cores: 2 },
    seed: 1,
    runs: 4,
    quick: true,
    full: false,
    seconds: 2,
    cpuSeconds: 3,
    tally: tallyOf(papers),
    papers,
    problems,
  };
}

const result = await madeUp();
const html = await reproduceHtml(result);

Deno.test("the report is well-formed, with a figure for every chart", () => {
  const names = elements(html);
  const count = (name: string) => names.filter((one) => one === name).length;
  equal(count("figure"), 3);
  // A table of verdicts, one of claims, one of an experiment.
  equal(count("table"), 3);
  ok(!/NaN|Infinity|undefined|null/.test(html));
  ok(labelsInside(html) > 10);
});

Deno.test("the report needs nothing but itself; a cause links to what shows it", () => {
  needsNothing(html);
  linksLead(html);
  const [, id] = /Cause: a &amp; b \(<a href="#([^"]+)">Who is late<\/a>\)/
    .exec(html)!;
  ok(html.includes(`id="${id}"><h4>Who is late</h4>`));
});

Deno.test("the report has every claim with its verdict, where, what it says and the values, escaped", () => {
  for (
    const text of [
      "3 claims: 1 to the digit, 1 same direction and size, 0 same direction, 1 not reproduced",
      `<span class="verdict size">same direction and size</span><b>MU-01</b> Doubles &amp; more`,
      `<span class="verdict digit">to the digit</span><b>MU-02</b>`,
      `<span class="verdict missed">not reproduced</span><b>MU-03</b>`,
      "Fig. 1 &lt;b&gt;; shape",
      `<td class="words">gain</td><td class="words">2x</td><td class="words">2.5x</td><td>1.25</td>`,
      `<td class="words">never late</td><td class="words">no: 2 late</td><td></td>`,
      "<div>counted</div>",
      "none but &lt;these&gt;",
      "When &lt;what&gt; runs",
      "B &amp; C: 2.00 to 5.00 ms",
      `<li>made_up.failing failed</li>`,
      `<p class="worse">on purpose</p>`,
      "<td>1,000,000</td>",
    ]
  ) ok(html.includes(text), text);
});

Deno.test("the report gives every colour that it uses a light and a dark value", () => {
  const used = new Set(html.match(/#000(?:00|10)\d/g));
  ok(used.size >= 6);
  for (const color of used) {
    equal(
      html.split(`--c${color.slice(1)}:`).length - 1,
      2,
      `${color} has a value for each theme`,
    );
  }
});

Deno.test("the report is the same for the same result, also after a way through JSON", async () => {
  equal(
    await reproduceHtml(JSON.parse(JSON.stringify(result)) as ReproduceResult),
    html,
  );
});

Deno.test("the report bears experiments without charts, and that nothing was run", async () => {
  for (const papers of [[], [{ ...result.papers[0], claims: [] }]]) {
    const text = await reproduceHtml({
      ...result,
      papers,
      tally: tallyOf(papers),
    });
    elements(text);
    linksLead(text);
  }
});

Deno.test("the terminal has a line for every claim with its verdict, and one for every value", () => {
  const lines = reproduceText(result, { color: false }).split("\n")
    .map((line) => line.replace(/(\S) {2,}/g, "$1 | "));
  deepEqual(lines.slice(4), [
    "MU-01 same direction and size",
    "  gain | 2x | 2.5x | 1.25",
    "MU-02 to the digit",
    "  how many | 10 | 10 | 1.00",
    "MU-03 not reproduced",
    "  nobody | never late | no: 2 late",
    "",
    "3 claims: 1 to the digit, 1 same direction and size, 0 same direction, 1 not reproduced",
    "",
  ]);
});
