/** The result on the terminal: a line for each compared value, then the tally. */
import {
  renderTable,
  type Table,
  type TableCell,
} from "../../../src/report/table.ts";
import { VERDICTS } from "../claim.ts";
import { furthestOff, type JudgedPaper, type Tally } from "../run/judge.ts";
import type { ReproduceResult } from "../run/result.ts";
import { oursText, publishedText, ratioText, TONES } from "./values.ts";

export function reproduceText(
  { papers, tally }: ReproduceResult,
  options: { color: boolean },
): string {
  return [
    ...papers.filter(({ claims }) => claims.length > 0).map((paper) =>
      `${paper.title}\n\n${renderTable(claimsTable(paper), options)}`
    ),
    `${tallyText(tally)}\n`,
    ...furthestOff(papers, OFF_SHOWN).map((one) =>
      `Far off: ${offText(one)}\n`
    ),
  ].join("\n");
}

/** Claims that are named as furthest off. */
export const OFF_SHOWN = 3;

/** A claim that is far off, by its worst value. */
export function offText(
  { judged: { claim, finding }, worst }: ReturnType<typeof furthestOff>[number],
): string {
  const because = finding.cause === undefined ? "" : `; ${finding.cause.text}`;
  return `${claim.id}, ${worst.name}: published ${publishedText(worst)}, ours ${
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

function claimsTable({ claims }: JudgedPaper): Table {
  return {
    columns: [
      { title: "claim", align: "left" },
      { title: "value", align: "left" },
      { title: "published" },
      { title: "ours" },
      { title: "ratio" },
      { title: "verdict", align: "left" },
    ],
    keys: 2,
    rows: claims.flatMap(({ claim, finding, verdict }) =>
      finding.compared.map((compared, i): TableCell[] => [
        { text: i === 0 ? claim.id : "" },
        { text: compared.name },
        { text: publishedText(compared) },
        { text: oursText(compared) },
        { text: ratioText(compared) },
        i === 0 ? cell(verdict, TONES[verdict]) : { text: "" },
      ])
    ),
  };
}

function cell(text: string, tone: TableCell["tone"]): TableCell {
  return tone === undefined ? { text } : { text, tone };
}
