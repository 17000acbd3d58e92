/** Headers with what an answer cost, as Text Embeddings Inference has them (its router, `lib.rs`, 1.9.3). */
import { NS_PER_MS } from "../../base/units.ts";
import type { TextCost } from "../http/text_observer.ts";

/** What one input of a request cost. */
export interface Cost extends TextCost {
  /** Code points of its text; token ids where it came as those. */
  readonly characters: number;
}

/** Code points, as the protocol counts characters. */
export function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * Sums of characters and tokens, means of times, in whole milliseconds.
 * @param costs of every input, one at least
 */
export function computeHeaders(
  costs: readonly Cost[],
  totalNs: number,
): Record<string, string> {
  const sum = (what: (cost: Cost) => number) =>
    costs.reduce((total, cost) => total + what(cost), 0);
  const ms = (ns: number) => String(Math.floor(ns / NS_PER_MS));
  const mean = (what: (cost: Cost) => number) => ms(sum(what) / costs.length);
  return {
    "x-compute-type": "cpu",
    "x-compute-time": ms(totalNs),
    "x-total-time": ms(totalNs),
    "x-compute-characters": String(sum(({ characters }) => characters)),
    "x-compute-tokens": String(sum(({ tokens }) => tokens)),
    "x-tokenization-time": mean(({ tokenizationNs }) => tokenizationNs),
    "x-queue-time": mean(({ queueNs }) => queueNs),
    "x-inference-time": mean(({ inferenceNs }) => inferenceNs),
  };
}
