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
  const { id, arrivalNs, deadlineNs, finishNs, session } = request;
  const ms = (atNs: number) =>
    `${Number(((atNs - arrivalNs) / NS_PER_MS).toPrecision(6))} ms`;
  return withoutStack(() => {
    if (missed === "start") {
      return new DeadlineError(
        `Request ${id} had not started by its deadlineMs, ${ms(deadlineNs)}`,
        missed,
      );
    }
    // A frame has one deadline, which is called so.
    const who = session
      ? `Frame ${id} had not finished by its deadlineMs`
      : `Request ${id} had not finished by its finishMs`;
    return new DeadlineError(
      `${who}, ${ms(finishNs)}: ${progress(request)}`,
      missed,
    );
  });
}

function progress(
  { begun, waiting, nodesDone, graph, session }: ActiveRequest,
): string {
  if (!begun) {
    if (!waiting) return "it had not started";
    return session
      ? "it waited for the frames before it"
      : "it waited for its turn to be unfolded";
  }
  return graph.closed
    ? `${nodesDone} of its ${graph.nodes.length} nodes were done`
    : `${nodesDone} nodes were done, and it was still growing`;
}
