import { UnavailableError } from "./errors.ts";

/** What a host does with requests: it takes them while it is "serving", and while it is "leaving", about to end. */
export type HostState = "serving" | "leaving" | "draining" | "closed";

/** Whether requests are taken. */
export function takesRequests(state: HostState): boolean {
  return state === "serving" || state === "leaving";
}

/** @throws UnavailableError where none are taken any more */
export function checkTakesRequests(state: HostState): void {
  if (takesRequests(state)) return;
  throw new UnavailableError("The server is about to end");
}

/** Whether to send requests here, as who asks for readiness is told. */
export function isReady({ failure, state }: {
  readonly failure: Error | undefined;
  readonly state: HostState;
}): boolean {
  return failure === undefined && state === "serving";
}
