import { deepEqual, equal, throws } from "node:assert/strict";
import type { Claim, Finding } from "../../../bench/reproduce/claim.ts";
import type {
  Experiment,
  Outcome,
} from "../../../bench/reproduce/experiment.ts";
import { type Paper, PAPERS } from "../../../bench/reproduce/registry.ts";
import {
  furthestOff,
  type Judged,
  outcomeProblems,
  registryProblems,
} from "../../../bench/reproduce/run/judge.ts";
import { chosenExperiments } from "../../../bench/reproduce/run/selection.ts";
import { PAPERS as MADE_UP } from "./papers/registry.ts";

Deno.test("every claim is answered by exactly one experiment", () => {
  deepEqual(registryProblems(PAPERS), []);
});

Deno.test("what is wrong with a registry is said", () => {
  const [paper] = MADE_UP;
  const [late, squares] = paper.experiments;
  const problems = (changed: Partial<Paper>) =>
    registryProblems([{ ...paper, ...changed }]);
  deepEqual(problems({}), []);
  deepEqual(problems({ experiments: [squares] }), [
    "claim MU-03 is answered by 0 experiments",
  ]);
  deepEqual(
    problems({ experiments: [squares, late, { ...late, id: "made_up.b" }] }),
    ["claim MU-03 is answered by 2 experiments"],
  );
  deepEqual(problems({ claims: paper.claims.slice(0, 2) }), [
    "made_up answers MU-03, which is no claim of it",
  ]);
  deepEqual(
    problems({ experiments: [squares, { ...late, id: "other.late" }] }),
    ["experiment other.late is not named after made_up"],
  );
  deepEqual(registryProblems([...MADE_UP, ...MADE_UP]).slice(0, 4), [
    "claim MU-01 is there twice",
    "claim MU-02 is there twice",
    "claim MU-03 is there twice",
    "experiment made_up.late is there twice",
  ]);
});

const CLAIMS: readonly Claim[] = [
  { id: "C-1", where: "", says: "", check: "shape" },
];
const EXPERIMENT: Pick<Experiment, "id" | "claims"> = {
  id: "p.e",
  claims: ["C-1"],
};

function problemsOf(
  finding: Partial<Finding>,
  rest: Partial<Outcome> = {},
): string[] {
  const whole: Finding = {
    claim: "C-1",
    compared: [{ name: "v", as: "gain", published: 2, ours: 2 }],
    ...finding,
  };
  return outcomeProblems(EXPERIMENT, {
    findings: [whole],
    charts: [],
    tables: [{ title: "Why", columns: ["a"], rows: [["b"]] }],
    ...rest,
  }, CLAIMS);
}

Deno.test("what is wrong with an outcome is said", () => {
  const missed = [{ name: "v", as: "gain", published: 2, ours: 1 }] as const;
  deepEqual(problemsOf({}), []);
  deepEqual(problemsOf({ compared: missed }), [
    "p.e: C-1 is not reproduced, and no cause is given",
  ]);
  deepEqual(
    problemsOf({
      compared: missed,
      cause: { text: "t", shownBy: "Why" },
    }),
    [],
  );
  deepEqual(
    problemsOf({
      compared: missed,
      cause: { text: "t", shownBy: "Why not" },
    }),
    [`p.e: the cause of C-1 is shown by "Why not", which is not there`],
  );
  deepEqual(problemsOf({ compared: [] }), ["p.e: C-1 compares nothing"]);
  deepEqual(problemsOf({ claim: "C-2" }), [
    "p.e: C-1 has no finding",
    "p.e: C-2 is none of its claims",
  ]);
  equal(
    problemsOf({ compared: [{ ...missed[0], ours: NaN }] })[0],
    `p.e: C-1: "v" came out as NaN`,
  );
  deepEqual(
    problemsOf({}, {
      tables: [{ title: "Why", columns: ["a", "b"], rows: [["b"]] }, {
        title: "Why",
        columns: [],
        rows: [],
      }],
    }),
    [
      `p.e: "Why" is there twice`,
      `p.e: a row of "Why" has not 2 cells`,
    ],
  );
});

Deno.test("--only takes experiments, papers and claims", () => {
  const only = (text?: string) =>
    chosenExperiments(MADE_UP, text).map(({ id }) => id);
  const all = ["made_up.late", "made_up.squares", "made_up.failing"];
  deepEqual(only(), all);
  deepEqual(only("made_up"), all);
  deepEqual(only("MU-02"), ["made_up.squares"]);
  deepEqual(only("MU-01, made_up.late,MU-03"), all.slice(0, 2));
  throws(() => only("MU-04"), /--only "MU-04" is no experiment/);
});

Deno.test("the furthest off are those by the worst ratio, gains and reductions as factors", () => {
  const judged = (
    id: string,
    ...compared: Judged["finding"]["compared"]
  ): Judged => ({
    claim: { id, where: "", says: "", check: "shape" },
    experiment: "p.e",
    finding: { claim: id, compared },
    verdict: id.startsWith("ok") ? "same direction and size" : "same direction",
  });
  const value = (
    as: "gain" | "reduction" | "size",
    published: number,
    ours: number,
  ) => ({ name: `${as} ${ours}`, as, published, ours });
  const claims = [
    judged("a", value("gain", 2, 2), value("gain", 10, 1)),
    judged("b", value("reduction", 0, 95)),
    judged("ok", value("gain", 1000, 1)),
    judged("c", value("size", 1, 3), value("size", 1, NaN)),
    judged("d", {
      name: "d",
      as: "holds",
      published: "so",
      ours: false,
      seen: "not",
    }),
  ];
  const papers = [{ name: "p", title: "", claims, experiments: [] }];
  deepEqual(
    furthestOff(papers, 9).map(({ judged, worst }) => [
      judged.claim.id,
      worst.name,
    ]),
    [["b", "reduction 95"], ["a", "gain 1"], ["c", "size 3"]],
  );
  equal(furthestOff(papers, 2).length, 2);
});
