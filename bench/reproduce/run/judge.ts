/** From what experiments found to verdicts, and what is wrong with what they found. */
import {
  type Claim,
  type Compared,
  type Finding,
  type Verdict,
  verdictOf,
  VERDICTS,
} from "../claim.ts";
import type { Experiment, Outcome } from "../experiment.ts";
import type { Paper } from "../registry.ts";
import type { Ran } from "./run_experiments.ts";

/** A claim with what was found of it. */
export interface Judged {
  readonly claim: Claim;
  readonly experiment: string;
  readonly finding: Finding;
  readonly verdict: Verdict;
}

export type RanExperiment =
  & Omit<Experiment, "run" | "exclusive">
  & Omit<Ran, "id">
  & { readonly outcome?: Outcome; readonly error?: string };

/** What was run of a paper. */
export interface JudgedPaper {
  readonly name: string;
  readonly title: string;
  readonly claims: readonly Judged[];
  readonly experiments: readonly RanExperiment[];
}

export type Tally = Readonly<Record<Verdict, number>>;

/** What is wrong with the registry, whatever the experiments find: every claim is answered by one of them. */
export function registryProblems(papers: readonly Paper[]): string[] {
  const problems: string[] = [];
  const claims = papers.flatMap(({ claims }) => claims.map(({ id }) => id));
  problems.push(...twice(claims).map((id) => `claim ${id} is there twice`));
  const ids = papers.flatMap(({ experiments }) =>
    experiments.map(({ id }) => id)
  );
  problems.push(...twice(ids).map((id) => `experiment ${id} is there twice`));
  for (const { name, claims, experiments } of papers) {
    const answered = experiments.flatMap(({ claims }) => claims);
    for (const { id } of experiments) {
      if (!id.startsWith(`${name}.`)) {
        problems.push(`experiment ${id} is not named after ${name}`);
      }
    }
    for (const { id } of claims) {
      const times = answered.filter((one) => one === id).length;
      if (times !== 1) {
        problems.push(`claim ${id} is answered by ${times} experiments`);
      }
    }
    for (const id of answered) {
      if (!claims.some((claim) => claim.id === id)) {
        problems.push(`${name} answers ${id}, which is no claim of it`);
      }
    }
  }
  return problems;
}

/** What is wrong with an outcome: a claim without a finding, a value that is none, a cause that nothing shows. */
export function outcomeProblems(
  { id, claims: answered }: Pick<Experiment, "id" | "claims">,
  { findings, charts, tables }: Outcome,
  claims: readonly Claim[],
): string[] {
  const problems: string[] = [];
  const say = (what: string) => problems.push(`${id}: ${what}`);
  const titles = [...charts, ...tables].map(({ title }) => title);
  for (const title of twice(titles)) say(`"${title}" is there twice`);
  const found = findings.map(({ claim }) => claim);
  for (const claim of twice(found)) say(`${claim} has two findings`);
  for (const claim of answered) {
    if (!found.includes(claim)) say(`${claim} has no finding`);
  }
  for (const finding of findings) {
    const claim = claims.find(({ id }) => id === finding.claim);
    if (claim === undefined || !answered.includes(finding.claim)) {
      say(`${finding.claim} is none of its claims`);
      continue;
    }
    if (finding.compared.length === 0) {
      say(`${claim.id} compares nothing`);
      continue;
    }
    for (const one of finding.compared) {
      if (one.as !== "holds" && !Number.isFinite(one.published)) {
        say(`${claim.id}: "${one.name}" has no published figure`);
      }
      if (one.as !== "holds" && !Number.isFinite(one.ours)) {
        say(`${claim.id}: "${one.name}" came out as ${one.ours}`);
      }
    }
    const { cause } = finding;
    if (cause !== undefined && !titles.includes(cause.shownBy)) {
      say(
        `the cause of ${claim.id} is shown by "${cause.shownBy}", which is not there`,
      );
    }
    if (
      cause === undefined && verdictOf(claim, finding) === "not reproduced"
    ) say(`${claim.id} is not reproduced, and no cause is given`);
  }
  for (const { title, columns, rows } of tables) {
    if (rows.some((row) => row.length !== columns.length)) {
      say(`a row of "${title}" has not ${columns.length} cells`);
    }
  }
  return problems;
}

function twice(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))];
}

/** Puts claims, findings and experiments together; of a paper of which nothing was run there is nothing. */
export function judge(
  papers: readonly Paper[],
  ran: readonly Ran[],
): { papers: JudgedPaper[]; problems: string[] } {
  const problems = registryProblems(papers);
  const judged = papers.map(({ name, title, claims, experiments }) => {
    const done = experiments.flatMap(
      ({ id, title, claims, conditions }): RanExperiment[] => {
        const one = ran.find((one) => one.id === id);
        return one === undefined ? [] : [{ ...one, title, claims, conditions }];
      },
    );
    for (const one of done) {
      if (one.error !== undefined) problems.push(`${one.id} failed`);
      if (one.outcome === undefined) continue;
      problems.push(...outcomeProblems(one, one.outcome, claims));
    }
    return {
      name,
      title,
      claims: claims.flatMap((claim) => judgedClaim(claim, done)),
      experiments: done,
    };
  });
  return {
    papers: judged.filter(({ experiments }) => experiments.length > 0),
    problems,
  };
}

function judgedClaim(
  claim: Claim,
  experiments: readonly RanExperiment[],
): Judged[] {
  for (const { id, outcome } of experiments) {
    const finding = outcome?.findings.find((one) => one.claim === claim.id);
    if (finding === undefined || finding.compared.length === 0) continue;
    const verdict = verdictOf(claim, finding);
    return [{ claim, experiment: id, finding, verdict }];
  }
  return [];
}

export function tallyOf(papers: readonly JudgedPaper[]): Tally {
  const verdicts = papers.flatMap(({ claims }) =>
    claims.map(({ verdict }) => verdict)
  );
  return Object.fromEntries(
    VERDICTS.map((verdict) => [
      verdict,
      verdicts.filter((one) => one === verdict).length,
    ]),
  ) as Tally;
}

/**
 * How far a value is from the published one: the logarithm of their ratio, of gains in both directions. Undefined for
 * statements, and where there is no ratio.
 */
export function distanceOf(compared: Compared): number | undefined {
  if (compared.as === "holds") return undefined;
  const factor = (value: number) =>
    compared.as === "reduction" ? 1 / (1 - value / 100) : value;
  const distance = Math.abs(
    Math.log(factor(compared.ours) / factor(compared.published)),
  );
  return Number.isFinite(distance) ? distance : undefined;
}

/** The claims that are furthest off by their worst value, of those that did not come out in the published size. */
export function furthestOff(
  papers: readonly JudgedPaper[],
  most: number,
): { judged: Judged; worst: Compared }[] {
  return papers.flatMap(({ claims }) => claims)
    .filter(({ verdict }) =>
      verdict === "same direction" || verdict === "not reproduced"
    )
    .flatMap((judged) => {
      const [worst] = judged.finding.compared
        .map((compared) => ({ compared, off: distanceOf(compared) ?? 0 }))
        .sort((a, b) => b.off - a.off);
      return worst.off > 0 ? [{ judged, ...worst }] : [];
    })
    .sort((a, b) => b.off - a.off)
    .slice(0, most)
    .map(({ judged, compared }) => ({ judged, worst: compared }));
}

/** Ours over the published value; undefined where neither is a quantity. */
export function ratioOf(compared: Compared): number | undefined {
  if (compared.as === "holds") return undefined;
  const ratio = compared.ours / compared.published;
  return Number.isFinite(ratio) ? ratio : undefined;
}
