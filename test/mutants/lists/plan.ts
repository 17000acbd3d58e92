/** Planning: what a machine carries, judged on what it was not made with. */
import type { MutantList } from "../mutant.ts";

const PLAN = ["test/plan/plan_test.ts"];

export const MUTANTS: MutantList = [
  {
    id: "plan.rows-outside",
    file: "src/plan/profiled_cost.ts",
    from: "if (rows < least || rows > most) {",
    to: "if (rows < least) {",
    tests: PLAN,
    why: "batches larger than were measured are refused",
  },
  {
    id: "plan.tokens-outside",
    file: "src/plan/profiled_cost.ts",
    from: "each < tokens.least || each > tokens.most",
    to: "each < tokens.least",
    tests: PLAN,
    why: "more tokens than were measured are refused",
  },
  {
    id: "plan.level",
    file: "src/plan/plan.ts",
    from: "leastPerS: best.perS * (1 + precision),",
    to: "leastPerS: best.perS / 2,",
    tests: PLAN,
    why: "who is not ahead takes nobody's place",
  },
  {
    id: "plan.held-back",
    file: "src/plan/plan.ts",
    from:
      "perS: await carriedBy(choice, perS, { ...options, made: heldBack }),",
    to: "perS: await carriedBy(choice, perS, options),",
    tests: PLAN,
    why: "a plan is judged on what it was not made with",
  },
  {
    id: "plan.lasts",
    file: "src/plan/plan.ts",
    from: "if (targets >= TARGETS_LEAST) return;",
    to: "if (targets >= 0) return;",
    tests: PLAN,
    why: "what is worked off in time is not carried",
  },
  {
    id: "plan.late-share",
    file: "src/plan/target.ts",
    from: "return requests - Math.ceil(share * requests - 1e-9);",
    to: "return requests - Math.ceil(0.5 * share * requests);",
    tests: PLAN,
    why: "so many of a hundred are to be in time",
  },
  {
    id: "plan.speed",
    file: "src/plan/recorded_part.ts",
    from: "const nsPerSecond = NS_PER_S * recordedPerS / ratePerS;",
    to: "const nsPerSecond = NS_PER_S / ratePerS;",
    tests: PLAN,
    why: "a rate is that of the trace, replayed so much faster",
  },
  {
    id: "plan.host-time",
    file: "src/plan/simulated_trial.ts",
    from: "throughInStream(arrivals, requestNs)",
    to: "throughInStream(arrivals, 0 * requestNs)",
    tests: PLAN,
    why: "the host takes requests in one after the other",
  },
  {
    id: "plan.spread-slowest",
    file: "src/plan/spread.ts",
    from: "cut(slow, length, TOLD_APART);",
    to: "cut(slow, length, 1);",
    tests: PLAN,
    why: "the slowest tasks are as slow as they were",
  },
  {
    id: "plan.tuned-target",
    file: "src/cli/tune.ts",
    from: "slo_ms: nsToMs(sloNs),",
    to: "slo_ms: sloNs,",
    tests: PLAN,
    why: "settings say what was planned for",
  },
];
