import { nsToMs } from "../base/units.ts";

/** What stands for a figure that there is not. */
export const NO_FIGURE = "–";

/** Three significant digits without an exponent. */
export function formatNumber(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return NO_FIGURE;
  if (value === 0) return "0";
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(decimals, 6));
}

export function formatMs(ns: number | null): string {
  return ns === null ? NO_FIGURE : formatNumber(nsToMs(ns));
}

/** A share as a percentage, with one decimal. */
export function formatShare(share: number | null): string {
  return share === null || !Number.isFinite(share)
    ? NO_FIGURE
    : (100 * share).toFixed(1);
}

/** A share that somebody asked for, as the percentage that it was given as: of 99.9 / 100 and the like. */
export function formatPercentile(share: number): string {
  return `${Number((100 * share).toPrecision(12))}`;
}

/** With two decimals below 100. */
export function formatRatio(ratio: number): string {
  return Number.isFinite(ratio)
    ? `${ratio.toFixed(ratio < 100 ? 2 : 0)}x`
    : NO_FIGURE;
}

/** A count with a comma between thousands. */
export function formatCount(count: number): string {
  return `${count}`.replace(/\B(?=(\d{3})+$)/g, ",");
}
