/**
 * What issuing more requests would leave to the one that has least slack.
 * Source: LazyBatching, section IV-C, Eq. 1 and 2.
 */
import type { BatchTable, SubBatch } from "./batch_table.ts";

/** Estimates before anything is decided; never touches the table. */
export interface SlackPredictor {
  /** What a request's slack counts down from, fixed when it is issued, ns. */
  limitNs(
    request: { readonly arrivalNs: number; readonly slaNs: number },
    nowNs: number,
  ): number;
  /** Smallest slack of any request in the table or in `pending`, were that pushed now, ns. */
  slackNs(table: BatchTable, pending: SubBatch, nowNs: number): number;
}

/**
 * Section IV-C, Eq. 2: Slack = SLA_target - (T_wait + sum over all N of SingleInputExecTime_i); with N = 1, Eq. 1.
 * The N are the members of all entries: all of them wait for the others' nodes. To the letter: T_wait ends when a
 * request is issued, and every time is the whole graph's, however far a request has come.
 */
export const equation2: SlackPredictor = {
  limitNs: ({ arrivalNs, slaNs }, nowNs) => slaNs - (nowNs - arrivalNs),
  slackNs: ({ top }, pending) =>
    Math.min(top?.limitBelowNs ?? Infinity, pending.limitNs) -
    ((top?.execBelowNs ?? 0) + pending.execNs),
};

/**
 * Eq. 2 at the moment that it is asked: what has passed counts as it passed, what is left as the sum of the times
 * of nodes still to be executed, one by one. The same as to the letter until requests leave or nodes are batched.
 * Deviation: read to the letter, whoever leaves takes the time that was spent on it out of the sum, so that a
 * request below a stream of others waits for ever with its slack intact; section VI-C promises that a co-located
 * model's requests are protected.
 */
export const conservative: SlackPredictor = {
  limitNs: ({ arrivalNs, slaNs }) => arrivalNs + slaNs,
  slackNs: ({ top }, pending, nowNs) =>
    Math.min(top?.limitBelowNs ?? Infinity, pending.limitNs) -
    (nowNs + (top?.leftBelowNs ?? 0) + pending.leftNs),
};
