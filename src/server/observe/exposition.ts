/**
 * Figures in Prometheus' text format, version 0.0.4 (prometheus.io/docs/instrumenting/exposition_formats): names, help,
 * types and samples, written anew for each scrape from what was counted.
 */

/** Names and values; few of each, since every combination is a series. */
export type Labels = Readonly<Record<string, string>>;

const NO_LABELS: Labels = {};

/** What Prometheus is told it is. */
export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** A name under which there is a value for each combination of labels. */
export interface Family {
  readonly name: string;
  /** Its HELP and TYPE lines, and a line for each sample. */
  write(lines: string[]): void;
}

/** All families, each with its samples, as a scrape reads them. */
export function exposition(families: readonly Family[]): string {
  const lines: string[] = [];
  for (const family of families) family.write(lines);
  return `${lines.join("\n")}\n`;
}

abstract class LabelledFamily<Series> implements Family {
  /** By the labels, as they are written. */
  readonly #series = new Map<string, { labels: Labels; series: Series }>();
  /** Of labels that were seen before, which need not be written again to be found. */
  #seen = new WeakMap<Labels, Series>();

  constructor(
    readonly name: string,
    readonly help: string,
    readonly type: "counter" | "gauge" | "histogram",
  ) {}

  protected abstract made(): Series;
  protected abstract writeSeries(
    lines: string[],
    labels: Labels,
    series: Series,
  ): void;

  /** The series of these labels, from now on there. */
  with(labels: Labels = NO_LABELS): Series {
    const seen = this.#seen.get(labels);
    if (seen !== undefined) return seen;
    const key = written(labels);
    let found = this.#series.get(key);
    if (found === undefined) {
      found = { labels, series: this.made() };
      this.#series.set(key, found);
    }
    this.#seen.set(labels, found.series);
    return found.series;
  }

  /** All series, with their labels. */
  entries(): Iterable<{ readonly labels: Labels; readonly series: Series }> {
    return this.#series.values();
  }

  /** Takes out all series that have these labels, whatever others. */
  forget(some: Labels): void {
    for (const [key, { labels }] of this.#series) {
      const isSuch = Object.entries(some).every(([name, value]) =>
        labels[name] === value
      );
      if (isSuch) this.#series.delete(key);
    }
    this.#seen = new WeakMap();
  }

  write(lines: string[]): void {
    lines.push(
      `# HELP ${this.name} ${escaped(this.help, false)}`,
      `# TYPE ${this.name} ${this.type}`,
    );
    for (const { labels, series } of this.#series.values()) {
      this.writeSeries(lines, labels, series);
    }
  }
}

/** A number that may be changed. */
export class Value {
  value = 0;

  add(amount: number): void {
    this.value += amount;
  }
}

/** What only grows; names end in `_total`. */
export class CounterFamily extends LabelledFamily<Value> {
  constructor(name: string, help: string) {
    super(name, help, "counter");
  }

  protected made(): Value {
    return new Value();
  }

  protected writeSeries(lines: string[], labels: Labels, { value }: Value) {
    lines.push(`${this.name}${written(labels)} ${number(value)}`);
  }
}

/** What is as it is now. */
export class GaugeFamily extends LabelledFamily<Value> {
  constructor(name: string, help: string) {
    super(name, help, "gauge");
  }

  protected made(): Value {
    return new Value();
  }

  protected writeSeries(lines: string[], labels: Labels, { value }: Value) {
    lines.push(`${this.name}${written(labels)} ${number(value)}`);
  }
}

/** How often a value was at most each of some bounds. */
export class Histogram {
  readonly counts: Float64Array;
  sum = 0;
  count = 0;

  /** @param bounds ascending */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Float64Array(bounds.length);
  }

  observe(value: number): void {
    this.sum += value;
    this.count++;
    const at = this.bounds.findIndex((bound) => value <= bound);
    if (at >= 0) this.counts[at]++;
  }
}

export class HistogramFamily extends LabelledFamily<Histogram> {
  /** @param bounds ascending; the last bucket, of all values, is written by itself */
  constructor(name: string, help: string, readonly bounds: readonly number[]) {
    super(name, help, "histogram");
  }

  protected made(): Histogram {
    return new Histogram(this.bounds);
  }

  protected writeSeries(lines: string[], labels: Labels, histogram: Histogram) {
    const { counts, sum, count } = histogram;
    const bucket = (le: string, value: number) =>
      lines.push(`${this.name}_bucket${written({ ...labels, le })} ${value}`);
    let below = 0;
    this.bounds.forEach((bound, i) => {
      below += counts[i];
      bucket(number(bound), below);
    });
    bucket("+Inf", count);
    lines.push(
      `${this.name}_sum${written(labels)} ${number(sum)}`,
      `${this.name}_count${written(labels)} ${count}`,
    );
  }
}

/** Names as given, values escaped: `{a="b"}`; nothing without labels. */
function written(labels: Labels): string {
  const pairs = Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value, true)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(text: string, isQuoted: boolean): string {
  const plain = text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return isQuoted ? plain.replaceAll('"', '\\"') : plain;
}

function number(value: number): string {
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  return `${value}`;
}
