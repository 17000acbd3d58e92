/** The result on the terminal: a line for each compared value, then the tally. */
import { shorten } from "../../../src/base/describe.ts";
import {
  renderTable,
  type Table,
  type TableCell,
} from "../../../src/report/table.ts";
import { wrap } from "../../../src/report/wrap.ts";
import { VERDICTS } from "../claim.ts";
import { furthestOff, type JudgedPaper, type Tally } from "../run/judge.ts";
import type { ReproduceResult } from "../run/result.ts";
import { oursText, publishedText, ratioText, TONES } from "./values.ts";

export function reproduceText(
  { papers, tally }: ReproduceResult,
  options: { color: boolean },
): string {
  const far = furthestOff(papers, OFF_SHOWN).map((one) =>
    wrap(`${one.judged.claim.id} is far off: ${offText(one)}`, "  ")
  );
  return [
    ...papers.filter(({ claims }) => claims.length > 0).map((paper) =>
      `${paper.title}\n\n${renderTable(claimsTable(paper), options)}`
    ),
    `${[tallyText(tally), ...far].join("\n")}\n`,
  ].join("\n");
}

/** Claims that are named as furthest off. */
export const OFF_SHOWN = 3;

/** A claim that is far off, by its worst value. */
export function offText(
  { judged: { finding }, worst }: ReturnType<typeof furthestOff>[number],
): string {
  const because = finding.cause === undefined ? "" : `. ${finding.cause.text}`;
  return `${worst.name} published ${publishedText(worst)}, ours ${
    oursText(worst)
  }${because}`;
}

/** "93 claims: 20 to the digit, ..." */
export function tallyText(tally: Tally): string {
  const all = Object.values(tally).reduce((sum, count) => sum + count, 0);
  return `${all} claims: ${
    VERDICTS.map((verdict) => `${tally[verdict]} ${verdict}`).join(", ")
  }`;
}

/** Characters of what was published, so that a line has room for everything. */
const PUBLISHED_MAX = 24;

function claimsTable({ claims }: JudgedPaper): Table {
  return {
    columns: [
      { title: "claim", align: "left" },
      { title: "published" },
      { title: "ours" },
      { title: "ratio" },
    ],
    rows: claims.flatMap(({ claim, finding, verdict }) => [
      [
        cell(`${claim.id} ${verdict}`, TONES[verdict]),
        { text: "" },
        { text: "" },
        { text: "" },
      ],
      ...finding.compared.map((compared): TableCell[] => [
        { text: `  ${compared.name}` },
        { text: shorten(publishedText(compared), PUBLISHED_MAX - 1) },
        { text: oursText(compared) },
        { text: ratioText(compared) },
      ]),
    ]),
  };
}

function cell(text: string, tone: TableCell["tone"]): TableCell {
  return tone === undefined ? { text } : { text, tone };
}
