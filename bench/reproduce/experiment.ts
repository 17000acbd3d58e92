/**
 * The contract between experiments and what runs them: an experiment measures what some claims of a paper
 * say, and gives plain data; `reproduce.ts` runs, caches, judges and draws.
 */
import type { Finding } from "./claim.ts";

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json };

/** One line of a chart: points in the order in which they are joined, with the spread over seeds where there is one. */
export interface Series {
  readonly name: string;
  readonly points: readonly {
    readonly x: number;
    readonly y: number;
    /** 25th and 75th percentile over runs. */
    readonly low?: number;
    readonly high?: number;
  }[];
}

/** A chart in the paper's own form. Points that are not finite are left out. */
export type ChartData =
  | {
    readonly kind: "lines" | "bars";
    readonly title: string;
    readonly x: string;
    readonly y: string;
    readonly logX?: boolean;
    readonly logY?: boolean;
    /** Lines go on level until the next point, as distributions and time series of counts do. */
    readonly step?: boolean;
    /** Names of groups of bars: x is the place in this list. Without them x itself is the name. */
    readonly categories?: readonly string[];
    readonly series: readonly Series[];
  }
  | {
    /** Who runs what from when to when. */
    readonly kind: "timeline";
    readonly title: string;
    readonly unit: string;
    readonly rows: readonly {
      readonly name: string;
      readonly spans: readonly {
        readonly from: number;
        readonly to: number;
        readonly label: string;
      }[];
    }[];
  };

export interface TableData {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** What an experiment found: data only, so that it can be cached, printed as JSON and drawn. */
export interface Outcome {
  /** One for each claim that the experiment answers. */
  readonly findings: readonly Finding[];
  readonly charts: readonly ChartData[];
  readonly tables: readonly TableData[];
}

/** What an experiment is given. */
export interface Context {
  readonly seed: number;
  /** Seeds per point; fewer with --quick. */
  readonly runs: number;
  readonly quick: boolean;
  /** Paper sizes on this machine's workers, however long they take. */
  readonly full: boolean;
  /**
   * A result that is computed once for its configuration: read from the cache when an earlier run has left
   * it there, which is what makes a run resumable. Keys name everything that the value depends on but the code,
   * which the cache knows itself. Says on standard error what is computed.
   */
  point<T extends Json>(
    key: Readonly<Record<string, Json>>,
    compute: () => T | Promise<T>,
  ): Promise<T>;
}

export interface Experiment {
  /** Paper and figure, table or section: "lazybatching.fig12". What `--only` takes. */
  readonly id: string;
  readonly title: string;
  /** Ids of the claims that it answers. Every claim is answered by one experiment. */
  readonly claims: readonly string[];
  /** Device, workload and assumptions, for the reader of the report. */
  readonly conditions: string;
  /** Measures this machine, so nothing else may run beside it. */
  readonly exclusive?: boolean;
  run(context: Context): Promise<Outcome>;
}
