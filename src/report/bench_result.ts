import type { Metrics } from "../metrics/metrics.ts";

/** One policy at one load. */
export interface BenchPoint {
  readonly policy: string;
  /** The same for all policies, e.g. "low"; loads appear in the order of their first point. */
  readonly loadName: string;
  readonly offeredPerS: number;
  /** Of the run in the middle, by p90, where there are several. */
  readonly metrics: Metrics;
  /** Of every run of the point, in which the policies took turns. */
  readonly p90OfRoundsNs?: readonly number[];
  readonly trace?: TraceFile;
}

/** A trace beside the report. */
export interface TraceFile {
  readonly file: string;
  /** Requests that it shows, the first ones. */
  readonly requests: number;
  /** Requests of the run. */
  readonly of: number;
}

/** Throughput of one cell against the rows in its batch: in the fastest of several turns, rows of tokens as of mean texts. */
export interface BatchCurve {
  readonly cell: string;
  readonly points: readonly {
    readonly rows: number;
    readonly rowsPerS: number;
  }[];
}

export interface ModelResult {
  readonly name: string;
  /** Sizes and settings of the model, e.g. hidden, vocabulary, parameters. */
  readonly sizes: Readonly<Record<string, string | number>>;
  /** Where lengths or shapes come from, and how requests arrive. */
  readonly workload: string;
  readonly workers: number;
  /** Requests per second, one after the other. */
  readonly serialCapacityPerS: number;
  /** Requests per second when all of them are there from the start, by policy. */
  readonly peaksPerS: Readonly<Record<string, number>>;
  /** How each policy was set up, in words. */
  readonly policies?: Readonly<Record<string, string>>;
  /** What is not as it is for the others, each a sentence. */
  readonly notes?: readonly string[];
  readonly points: readonly BenchPoint[];
  readonly batchCurves?: readonly BatchCurve[];
}

/** Everything a report shows. Plain data: it survives JSON, where NaN becomes null. */
export interface BenchResult {
  readonly machine: Readonly<Record<string, string | number>>;
  /** How large the models are, and why so. */
  readonly size: { readonly class: string; readonly why: string };
  readonly seed: number;
  readonly command: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly models: readonly ModelResult[];
}

/** What a point's p90 was in parts of it: in its rounds, or in the fifths of the only one. */
export function p90OfPartsNs(
  { p90OfRoundsNs, metrics }: Pick<BenchPoint, "metrics" | "p90OfRoundsNs">,
): readonly number[] {
  return p90OfRoundsNs ?? metrics.p90OfFifthsNs;
}

/** The policies of a result, in the order in which they first appear. */
export function policiesOf(models: readonly ModelResult[]): string[] {
  return [
    ...new Set(
      models.flatMap((model) => model.points.map((point) => point.policy)),
    ),
  ];
}

/** The loads of a model, in the order in which they first appear. */
export function loadsOf(model: ModelResult): string[] {
  return [...new Set(model.points.map((point) => point.loadName))];
}
