import { mean } from "../../../src/base/statistics.ts";
import type { Experiment, Outcome } from "../experiment.ts";
import {
  type Algorithm,
  ALGORITHMS,
  convolutionTime,
  type Shape,
  SHAPES,
} from "./convolution.ts";

const BATCHES = Array.from({ length: 64 }, (_, i) => i + 1);
const REPEATS = 152;
/** Assumption: the commonest convolution of ResNets' first stage; the paper does not say which it took. */
const SHAPE = SHAPES[0];

/** Share of the variance that a straight line explains. */
function linearity(ys: readonly number[]): number {
  const xMean = mean(BATCHES);
  const yMean = mean(ys);
  let xy = 0;
  let xx = 0;
  let yy = 0;
  ys.forEach((y, i) => {
    const dx = BATCHES[i] - xMean;
    xy += dx * (y - yMean);
    xx += dx * dx;
    yy += (y - yMean) ** 2;
  });
  return xy ** 2 / (xx * yy);
}

/** The largest rise from one batch to the next over the mean rise: 1 is a straight line. */
function steepest(ys: readonly number[]): number {
  const rises = ys.slice(1).map((y, i) => y - ys[i]);
  return Math.max(...rises) / mean(rises);
}

interface Line {
  readonly algorithm: Algorithm;
  readonly shape: Shape;
  readonly ms: readonly number[];
}

function lineOf(algorithm: Algorithm, shape: Shape): Line {
  const ms = BATCHES.map((batch) =>
    REPEATS * convolutionTime(algorithm, shape, batch).ns / 1e6
  );
  return { algorithm, shape, ms };
}

const nameOf = ({ side, channels }: Shape) => `${side} x ${side} x ${channels}`;

function run(): Promise<Outcome> {
  const names = Object.keys(ALGORITHMS) as Algorithm[];
  const lines = SHAPES.flatMap((shape) =>
    names.map((algorithm) => lineOf(algorithm, shape))
  );
  const lineFor = (algorithm: Algorithm, shape: Shape) =>
    lines.find((line) => line.algorithm === algorithm && line.shape === shape)!
      .ms;
  const smooth = steepest(lineFor("im2col", SHAPE));
  const stepped = steepest(lineFor("winograd", SHAPE));
  return Promise.resolve({
    findings: [{
      claim: "EB-07",
      compared: [
        ...names.map((algorithm) => {
          const share = linearity(lineFor(algorithm, SHAPE));
          return {
            name: `${algorithm}: variance that a line explains`,
            as: "holds" as const,
            published: "about linear",
            ours: share > 0.98,
            seen: share.toFixed(4),
          };
        }),
        {
          name: "winograd grows in larger steps than im2col",
          as: "holds",
          published: "a ladder beside a smooth line",
          ours: stepped > 1.5 * smooth,
          seen: `steepest rises of ${stepped.toFixed(1)} and ${
            smooth.toFixed(1)
          } times the mean`,
        },
      ],
      note:
        "Steps are waves of tiles, the last of which leaves SMs idle; over smaller maps im2col is a ladder, too.",
    }],
    charts: SHAPES.map((shape) => ({
      kind: "lines",
      title: `Time of 152 convolutions of 3 x 3 over ${nameOf(shape)}`,
      x: "batch size",
      y: "time, ms",
      series: names.map((name) => ({
        name,
        points: lineFor(name, shape).map((y, i) => ({ x: BATCHES[i], y })),
      })),
    })),
    tables: [{
      title:
        "Variance that a line explains, and the steepest rise over the mean rise",
      columns: ["map", ...names.flatMap((name) => [name, "rise"])],
      rows: SHAPES.map((shape) => [
        nameOf(shape),
        ...names.flatMap((name) => {
          const ms = lineFor(name, shape);
          return [linearity(ms).toFixed(4), steepest(ms).toFixed(2)];
        }),
      ]),
    }],
  });
}

/** Fig. 9: how a convolution's time grows with the batch. */
export const FIG_9: Experiment = {
  id: "e2bird.fig9",
  title: "A convolution's time by batch size",
  claims: ["EB-07"],
  conditions:
    "The tile model's Titan RTX: 3 x 3 over 56 x 56 x 64 (assumption; beside it the maps of ResNets' other stages), by im2col and by winograd F(2x2, 3x3) without its " +
    "transforms.",
  run,
};
