/** Tries mutants, one after the other, in a copy of the project. */
import { transform } from "esbuild";
import { ProjectCopy } from "../project_copy.ts";
import type { Mutant, MutantTest } from "./mutant.ts";
import { mutated } from "./mutated.ts";
import { asTest, nameOf, type Tested, tested } from "./tested.ts";

export interface Verdict {
  /** "timeout" is killed, too; "error": it could not be tried. */
  readonly outcome: "killed" | "timeout" | "alive" | "error";
  readonly seconds: number;
  /** The test that saw it; or why it could not be tried. */
  readonly by?: string;
}

/** A test without a mutant: how long it takes, or why it cannot see anything. */
export interface Baseline {
  readonly seconds: number;
  readonly fault?: string;
}

/** Seconds beyond some times what a test takes without a mutant, after which it hangs. */
const PATIENCE = { times: 5, seconds: 30 };

/** A test without a mutant that takes longer is no test for mutants. */
const BASELINE_SECONDS_MAX = 300;

/** Lines of a failed run that are shown. */
const LINES_SHOWN = 24;

const IS_KERNEL = /^assembly\//;

export class Trial {
  readonly #copy = new ProjectCopy();

  remove(): void {
    this.#copy.remove();
  }

  /** Runs a test without a mutant. */
  async baseline(test: MutantTest): Promise<Baseline> {
    const ran = await this.#tested(test, BASELINE_SECONDS_MAX);
    return {
      seconds: ran.seconds,
      ...(ran.outcome !== "passed" && { fault: faultOf(test, ran) }),
    };
  }

  /** Once more where the runtime crashed after its tests: that says nothing of them. */
  async #tested(test: MutantTest, seconds: number): Promise<Tested> {
    const ran = await tested(this.#copy, test, 1000 * seconds);
    if (ran.outcome !== "crashed") return ran;
    return await tested(this.#copy, test, 1000 * seconds);
  }

  /** @param baselineOf what the mutant's tests do without it */
  async run(
    mutant: Mutant,
    baselineOf: (test: MutantTest, trial: Trial) => Promise<Baseline>,
  ): Promise<Verdict> {
    const tests = mutant.tests.map(asTest);
    const baselines: Baseline[] = [];
    for (const test of tests) {
      const baseline = await baselineOf(test, this);
      if (baseline.fault !== undefined) return error(0, baseline.fault);
      baselines.push(baseline);
    }
    const startMs = performance.now();
    const seconds = () => (performance.now() - startMs) / 1000;
    const text = this.#copy.read(mutant.file);
    const builds = mutant.builds ??
      (IS_KERNEL.test(mutant.file) ? ["release"] : []);
    const kept = this.#copy.keepBuilds();
    try {
      const changed = mutated(text, mutant);
      const wrong = await syntaxError(mutant.file, changed);
      if (wrong !== undefined) return error(seconds(), wrong);
      this.#copy.write(mutant.file, changed);
      for (const build of builds) {
        const { code, text } = await this.#copy.compile(build);
        if (code !== 0) return error(seconds(), `does not compile: ${text}`);
      }
      for (const [i, test] of tests.entries()) {
        const limitSeconds = PATIENCE.times * baselines[i].seconds +
          PATIENCE.seconds;
        const ran = await this.#tested(test, limitSeconds);
        const { outcome } = ran;
        if (outcome === "broken" || outcome === "crashed") {
          return error(seconds(), faultOf(test, ran));
        }
        if (outcome === "passed") continue;
        return {
          outcome: outcome === "failed" ? "killed" : "timeout",
          seconds: seconds(),
          by: nameOf(test),
        };
      }
      return { outcome: "alive", seconds: seconds() };
    } catch (thrown) {
      return error(seconds(), (thrown as Error).message);
    } finally {
      this.#copy.write(mutant.file, text);
      if (builds.length > 0) kept.restore();
    }
  }
}

function error(seconds: number, why: string): Verdict {
  return { outcome: "error", seconds, by: why };
}

function faultOf(test: MutantTest, { outcome, text }: Tested): string {
  const what = {
    passed: "passes",
    failed: "fails without a mutant",
    timeout: `takes more than ${BASELINE_SECONDS_MAX} s without a mutant`,
    broken: "runs no test: a file does not load, or the filter fits none",
    crashed: "passes, but the runtime crashes",
  }[outcome];
  const lines = text.trimEnd().split("\n").slice(-LINES_SHOWN).join("\n");
  return `${nameOf(test)} ${what}:\n${lines}`;
}

/** What is wrong with TypeScript that cannot be parsed; kernels are the compiler's to judge. */
async function syntaxError(
  file: string,
  text: string,
): Promise<string | undefined> {
  if (IS_KERNEL.test(file)) return undefined;
  try {
    await transform(text, { loader: "ts", logLevel: "silent" });
    return undefined;
  } catch (error) {
    return `does not parse: ${(error as Error).message}`;
  }
}
