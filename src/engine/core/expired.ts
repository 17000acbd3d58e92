import { NS_PER_MS } from "../../base/units.ts";
import { withoutStack } from "../../base/without_stack.ts";
import type { ActiveRequest, Ending } from "./active_request.ts";
import { DeadlineError } from "./errors.ts";

/** How a request ends that missed a deadline: the error says which one, and how far it had got. */
export function expired(
  request: ActiveRequest,
  missed: DeadlineError["missed"],
): Ending {
  return { outcome: "expired", error: deadlineError(request, missed) };
}

function deadlineError(
  request: ActiveRequest,
  missed: DeadlineError["missed"],
): DeadlineError {
  const { id, arrivalNs, deadlineNs, finishNs } = request;
  const ms = (atNs: number) =>
    `${Number(((atNs - arrivalNs) / NS_PER_MS).toPrecision(6))} ms`;
  return withoutStack(() =>
    missed === "start"
      ? new DeadlineError(
        `Request ${id} had not started by its deadlineMs, ${ms(deadlineNs)}`,
        missed,
      )
      : new DeadlineError(
        `Request ${id} had not finished by its finishMs, ${ms(finishNs)}: ${
          progress(request)
        }`,
        missed,
      )
  );
}

function progress({ begun, waiting, nodesDone, graph }: ActiveRequest): string {
  if (!begun) {
    return waiting
      ? "it waited for its turn to be unfolded"
      : "it had not started";
  }
  return graph.closed
    ? `${nodesDone} of its ${graph.nodes.length} nodes were done`
    : `${nodesDone} nodes were done, and it was still growing`;
}
