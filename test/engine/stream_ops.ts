/** Random things to do to streams. */
import fc from "fast-check";
import type { StreamOp } from "./stream_player.ts";

/** How often each is worth it. */
const WEIGHTS: Readonly<Record<StreamOp["does"], number>> = {
  push: 40,
  burst: 15,
  open: 14,
  restore: 4,
  snapshot: 5,
  cancel: 6,
  late: 5,
  reset: 4,
  park: 5,
  resume: 3,
  close: 3,
  reject: 1,
};

const does = fc.oneof(
  ...Object.entries(WEIGHTS).map(([name, weight]) => ({
    weight,
    arbitrary: fc.constant(name as StreamOp["does"]),
  })),
);

/** One thing to do. */
export const anyStreamOp: fc.Arbitrary<StreamOp> = fc.record({
  does,
  who: fc.nat(1000),
  value: fc.nat(40),
}, { noNullPrototype: true });
