/** Experiments of a paper that there is not, for tests of what runs them. */
import type { Claim } from "../../../../../bench/reproduce/claim.ts";
import type { Experiment } from "../../../../../bench/reproduce/experiment.ts";

export const CLAIMS: readonly Claim[] = [
  { id: "MU-01", where: "Fig. 1 <b>", says: "Doubles & more", check: "shape" },
  { id: "MU-02", where: "Section 2", says: "Ten of them", check: "exact" },
  { id: "MU-03", where: "Section 3", says: "Never late", check: "shape" },
];

const squares: Experiment = {
  id: "made_up.squares",
  title: "Squares",
  claims: ["MU-01", "MU-02"],
  conditions: "none but <these>",
  async run({ seed, runs, point }) {
    const values: number[] = [];
    for (let i = 1; i <= 10; i++) {
      values.push(await point({ square: i, seed }, () => i * i));
    }
    const points = values.map((y, i) => ({
      x: i + 1,
      y,
      low: y - runs / 4,
      high: y + runs / 4,
    }));
    return {
      findings: [{
        claim: "MU-01",
        compared: [{ name: "gain", as: "gain", published: 2, ours: 2.5 }],
      }, {
        claim: "MU-02",
        compared: [{
          name: "how many",
          as: "equal",
          published: 10,
          ours: values.length,
        }],
        note: "counted",
      }],
      charts: [
        {
          kind: "lines",
          title: "Squares",
          x: "x",
          y: "x * x",
          logX: true,
          logY: true,
          series: [
            { name: "y", points },
            { name: "nothing", points: [{ x: NaN, y: 1 }, { x: 1, y: 0 }] },
          ],
        },
        {
          kind: "bars",
          title: "Squares as bars",
          x: "x",
          y: "x * x",
          categories: ["one", "two", "three"],
          series: ["a", "b"].map((name) => ({
            name,
            points: points.slice(0, 3).map(({ y, low, high }, x) => ({
              x,
              y,
              low,
              high,
            })),
          })),
        },
      ],
      tables: [],
    };
  },
};

const late: Experiment = {
  id: "made_up.late",
  title: "Late",
  claims: ["MU-03"],
  conditions: "as they are",
  exclusive: true,
  run: () =>
    Promise.resolve({
      findings: [{
        claim: "MU-03",
        compared: [{
          name: "nobody",
          as: "holds",
          published: "never late",
          ours: false,
          seen: "2 late",
        }],
        cause: { text: "a & b", shownBy: "Who is late" },
      }],
      charts: [{
        kind: "timeline",
        title: "When <what> runs",
        unit: "ms",
        rows: [{
          name: "worker 0",
          spans: [{ from: 0, to: 2, label: "A1" }, {
            from: 2,
            to: 5,
            label: "B & C",
          }],
        }, { name: "worker 1", spans: [] }],
      }],
      tables: [{
        title: "Who is late",
        columns: ["who", "ms"],
        rows: [["A", 1.25], ["B", 1e6]],
      }],
    }),
};

const failing: Experiment = {
  id: "made_up.failing",
  title: "Fails",
  claims: [],
  conditions: "none",
  run: () => Promise.reject(new Error("on purpose")),
};

export const EXPERIMENTS: readonly Experiment[] = [late, squares, failing];
