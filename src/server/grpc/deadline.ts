/** How much time a call has: the header `grpc-timeout` (grpc/grpc, doc/PROTOCOL-HTTP2.md, "Timeout"). */
import { HttpError } from "../http/http_error.ts";

export const TIMEOUT = "grpc-timeout";

const UNITS_MS: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};

/** Milliseconds; Infinity where it has no deadline. @throws HttpError 400 */
export function leftMsOf(headers: Headers): number {
  const text = headers.get(TIMEOUT);
  if (text === null) return Infinity;
  const [, number, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  if (unit !== undefined) return Number(number) * UNITS_MS[unit];
  throw new HttpError(400, `${TIMEOUT} is no time`);
}

/** The header's value, at most what eight digits have room for. */
export function timeoutText(leftMs: number): string {
  const us = Math.max(0, Math.floor(leftMs * 1000));
  return us < 1e8
    ? `${us}u`
    : `${Math.min(Math.floor(leftMs / 1000), 99_999_999)}S`;
}
