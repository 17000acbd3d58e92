/** Files' figures as text. */
import type { Column, Table } from "../../src/report/table.ts";
import type { FileResult, Measured } from "./measure.ts";

/** A row for every file; one that a side refuses has no figures, and its reason below the table. */
export function filesTable(
  results: readonly FileResult[],
  inFlight: number,
): Table {
  const columns: Column[] = [
    { title: "model", align: "left" },
    { title: "alone, ms", meaning: "a request at a time, best round" },
    { title: "ort, ms", meaning: "the same by onnxruntime-web" },
    {
      title: "over it",
      meaning:
        "its time over ours, median of the rounds; of those in flight against its requests one by one",
    },
    {
      title: `${inFlight} at once, /s`,
      meaning: "requests a second with so many in flight, best round",
    },
    { title: "over it" },
    {
      title: `ort of ${inFlight}, /s`,
      meaning: "onnxruntime-web by batches, of files that take them",
    },
    { title: "over it" },
    { title: "load, ms", meaning: "loadOnnx of a path, best of three" },
    { title: "ready, ms", meaning: "the same, and an engine that serves it" },
    {
      title: "session, ms",
      meaning: "the file read, and InferenceSession.create",
    },
  ];
  return {
    columns,
    rows: results.map((result) => {
      const figures = "refused" in result
        ? columns.slice(1).map(() => "-")
        : figuresOf(result);
      return [result.name, ...figures].map((text) => ({ text }));
    }),
  };
}

/** Why files have no figures, a line each. */
export function refusals(results: readonly FileResult[]): string[] {
  return results.flatMap((result) =>
    "refused" in result ? [`${result.path}: ${result.refused}`] : []
  );
}

function figuresOf({ bestMs, ratios, loadMs }: Measured): string[] {
  const { alone, peerAlone, inFlight, peerBatch } = bestMs;
  return [
    threeDigits(alone),
    threeDigits(peerAlone),
    times(ratios.alone),
    threeDigits(1000 / inFlight),
    times(ratios.inFlight),
    peerBatch === undefined ? "-" : threeDigits(1000 / peerBatch),
    ratios.batch === undefined ? "-" : times(ratios.batch),
    ...[loadMs.load, loadMs.ready, loadMs.peer].map(threeDigits),
  ];
}

function times(ratio: number): string {
  return `${ratio.toFixed(2)}x`;
}

/** Three digits, of large numbers more. */
function threeDigits(value: number): string {
  return value.toFixed(value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0);
}
