/** A paper's claims in the report: what was published, what came out, the verdict. */
import { cssColor, MUTED } from "../../../src/report/palette.ts";
import { escapeHtml } from "../../../src/report/svg_chart.ts";
import type { Verdict } from "../claim.ts";
import type { Judged, JudgedPaper } from "../run/judge.ts";
import { oursText, publishedText, ratioText } from "./values.ts";

const CLASSES: Readonly<Record<Verdict, string>> = {
  "to the digit": "digit",
  "same direction and size": "size",
  "same direction": "direction",
  "not reproduced": "missed",
};

export const VERDICT_STYLE = `:root{--middle:#8a5a00}
@media (prefers-color-scheme:dark){:root{--middle:#f0c04a}}
.verdict{display:inline-block;border:1.5px solid currentColor;border-radius:10px;padding:0 8px;font-weight:600;font-size:12px;white-space:nowrap}
.digit{color:var(--better);border-width:2px}
.size{color:var(--better)}
.direction{color:var(--middle)}
.missed{color:var(--worse)}
.claims{width:100%;max-width:1000px}
.claims td{vertical-align:top}
.claims .words{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:7em}
.claims .says{text-align:left;white-space:normal}
.claims .says .verdict{float:right;margin-left:10px}
.claims small{display:block;font-size:12px;color:${cssColor(MUTED)}}`;

/** The id of a part of the page, in an experiment's the chart or table of the title. */
export function anchor(name: string, title?: string): string {
  const plain = (text: string) => text.replace(/[^A-Za-z0-9_-]+/g, "-");
  // Titles that differ in other characters alone are told apart by their codes.
  return title === undefined
    ? `part-${plain(name)}`
    : `part-${plain(name)}--${
      title.replace(/[^A-Za-z0-9]/g, (one) => `_${one.codePointAt(0)}`)
    }`;
}

const COLUMNS = 4;

export function claimsTable(
  { claims, experiments }: JudgedPaper,
): string {
  const conditionsOf = new Map(
    experiments.map(({ id, conditions }) => [id, conditions]),
  );
  return `<div class="scroll"><table class="claims"><thead><tr><th scope="col" class="left">value</th><th scope="col" class="left">published</th><th scope="col" class="left">ours</th><th scope="col">ratio</th></tr></thead>
${
    claims.map((judged) =>
      claimRows(judged, conditionsOf.get(judged.experiment) ?? "")
    ).join("\n")
  }</table></div>`;
}

function claimRows(
  { claim, finding, verdict, experiment }: Judged,
  conditions: string,
): string {
  const values = finding.compared.map((compared) =>
    `<tr><td class="words">${escapeHtml(compared.name)}</td><td class="words">${
      escapeHtml(publishedText(compared))
    }</td><td class="words">${escapeHtml(oursText(compared))}</td><td>${
      escapeHtml(ratioText(compared))
    }</td></tr>`
  );
  const { note, cause } = finding;
  const remarks = [
    ...(note === undefined ? [] : [escapeHtml(note)]),
    ...(cause === undefined ? [] : [
      `Cause: ${escapeHtml(cause.text)} (<a href="#${
        anchor(experiment, cause.shownBy)
      }">${escapeHtml(cause.shownBy)}</a>)`,
    ]),
  ].map((text) => `<div>${text}</div>`).join("");
  const at = `<small>${escapeHtml(claim.where)}; ${claim.check}; <a href="#${
    anchor(experiment)
  }">${escapeHtml(experiment)}</a><details><summary>conditions</summary>${
    escapeHtml(conditions)
  }</details></small>`;
  return `<tbody id="${anchor(claim.id)}">${
    wide(
      `<span class="verdict ${CLASSES[verdict]}">${verdict}</span><b>${
        escapeHtml(claim.id)
      }</b> ${escapeHtml(claim.says)}${at}`,
    )
  }${values.join("")}${remarks === "" ? "" : wide(remarks)}</tbody>`;
}

function wide(content: string): string {
  return `<tr><td class="says" colspan="${COLUMNS}">${content}</td></tr>`;
}
