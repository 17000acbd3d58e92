/** Late Batching, section 2, as late.ts reads it. */
import type { EngineView } from "../../../src/policy/policy.ts";
import type { Request } from "../../../src/policy/request.ts";
import { type Naive, nodesOf } from "./beside.ts";
import { ReadyOrder } from "./ready_order.ts";

export function naiveLate(
  { batchSizeMax, pushAhead }: { batchSizeMax: number; pushAhead: number },
): Naive {
  const requests: Request[] = [];
  const order = new ReadyOrder();
  return {
    enqueue(request) {
      requests.push(request);
      order.look(nodesOf(request));
    },
    decide({ workers }: EngineView) {
      if (workers[0].queued >= pushAhead) return undefined;
      const ready = requests.flatMap((request) => order.of(nodesOf(request)));
      if (ready.length === 0) return undefined;
      const rows = ready.filter(({ cell }) => cell === ready[0].cell);
      return { worker: 0, steps: [rows.slice(0, batchSizeMax)] };
    },
    submitted({ steps: [{ nodes }] }) {
      for (const node of nodes) order.submitted(node);
    },
    ended: (request) => void requests.splice(requests.indexOf(request), 1),
  };
}
