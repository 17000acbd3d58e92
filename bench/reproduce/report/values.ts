/** How compared values and verdicts are written. */
import { formatNumber } from "../../../src/report/format.ts";
import type { TableCell } from "../../../src/report/table.ts";
import type { Compared, Verdict } from "../claim.ts";
import { ratioOf } from "../run/judge.ts";

export const TONES: Readonly<Record<Verdict, TableCell["tone"]>> = {
  "to the digit": "better",
  "same direction and size": "better",
  "same direction": undefined,
  "not reproduced": "worse",
};

export function publishedText(compared: Compared): string {
  return compared.as === "holds"
    ? compared.published
    : figure(compared.published, compared);
}

export function oursText(compared: Compared): string {
  if (compared.as !== "holds") return figure(compared.ours, compared);
  return `${compared.ours ? "yes" : "no"}: ${compared.seen}`;
}

export function ratioText(compared: Compared): string {
  const ratio = ratioOf(compared);
  return ratio === undefined ? "" : formatNumber(ratio);
}

function figure(
  value: number,
  compared: Exclude<Compared, { as: "holds" }>,
): string {
  // Integers and short decimals as they are: an exact claim is judged by all of its digits.
  const digits = compared.as === "equal" ||
      `${value}`.replace("-", "").length <= 6
    ? `${value}`
    : formatNumber(value);
  switch (compared.as) {
    case "gain":
      return `${digits}x`;
    case "reduction":
      return `${digits} %`;
    default:
      return compared.unit === undefined
        ? digits
        : `${digits} ${compared.unit}`;
  }
}
