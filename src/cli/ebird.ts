/** `shoal ebird`: E2bird's offline phase, which writes the engine configuration (section 7.3.2, Table 4). */
import { type CurvePoints, onCurve } from "../base/curve.ts";
import {
  RESNET_TITAN_RTX,
  sharedTable,
  titanRtxInterference,
} from "../cost/published.ts";
import { coRunNs } from "../cost/shared_capacity.ts";
import { log2 } from "../base/elementary/logarithm.ts";
import { defineCell, f32 } from "../graph/cell_builder.ts";
import {
  engineConfiguration,
  searchConfigurations,
  type SearchObjective,
} from "../policy/e2bird/offline.ts";
import { checkApart, checkWritable, writeText } from "./files.ts";
import { LOAD_MAX, LOADS_MAX } from "./limits.ts";
import { integersOption, oneName, readOptions, see } from "./options.ts";
import { readProfile } from "./read_profile.ts";
import { print, progress, UsageError } from "./terminal.ts";

const OBJECTIVES = ["worker", "inference", "last"] as const;

const HELP = `shoal ebird (--network NAME | --profile FILE) [options]

E2bird's offline phase: tries every combination of workers whose sizes sum to each load, on a device that
they share, and writes the best ones and the engine that has them all.

  --network NAME    ${
  Object.keys(RESNET_TITAN_RTX).join(", ")
}: latencies of E2bird's Table 1
  --profile FILE    latencies as shoal profile or shoal npu --profile saves them; every cell counts once
  --totals N,N,...  loads, TotalBS (default 4,8,16,32)
  --objective NAME  worker (mean over workers, as in the paper; default), inference (mean over
                    inferences) or last (until all are done)
  --interference    streams cost each other what the paper's Fig. 12 shows, not only their shares
  --out FILE        where the JSON goes (default: standard output); "configurations" is what the option of
                    that name of policy e-ebird takes`;

export function ebird(args: string[]): Promise<number> {
  const given = readOptions({
    name: "shoal ebird",
    help: HELP,
    options: {
      network: { type: "string" },
      profile: { type: "string" },
      totals: { type: "string", default: "4,8,16,32" },
      objective: { type: "string", default: "worker" },
      interference: { type: "boolean", default: false },
      out: { type: "string" },
    },
  }, args);
  if (given === undefined) return Promise.resolve(0);
  const { values } = given;
  if ((values.network === undefined) === (values.profile === undefined)) {
    throw new UsageError(
      `One of --network and --profile is needed${see("shoal ebird")}`,
    );
  }
  if (values.out !== undefined) {
    checkApart(values.out, [values.profile]);
    checkWritable(values.out);
  }
  const objective: SearchObjective = oneName(
    "--objective",
    values.objective,
    OBJECTIVES,
  );
  const totals = integersOption("totals", values.totals, {
    min: 1,
    max: LOAD_MAX,
  });
  if (totals.length > LOADS_MAX) {
    throw new UsageError(
      `--totals are at most ${LOADS_MAX} loads, got ${totals.length}`,
    );
  }
  const { source, points } = values.network !== undefined
    ? published(values.network)
    : profiled(values.profile!);
  const interference = values.interference ? titanRtxInterference : undefined;
  const cost = sharedTable(points);
  const cell = defineCell({
    name: "network",
    inputs: { x: f32(1) },
    body: (op, { x }) => ({ y: op.Tanh(x) }),
  });
  const latenciesNs = (sizes: readonly number[]) =>
    coRunNs(
      sizes.map((rows) => ({
        aloneNs: cost.latencyNs(cell, rows),
        demand: cost.demand(cell, rows),
      })),
      interference,
    );
  const sizes = Math.floor(log2(Math.max(...totals))) + 1;
  const configurations = searchConfigurations({
    totals,
    sizes,
    objective,
    latenciesNs,
  });
  const result = {
    source,
    objective,
    interference: values.interference,
    configurations,
    engine: engineConfiguration(configurations),
  };
  const text = `${JSON.stringify(result, undefined, 1)}\n`;
  if (values.out === undefined) print(text);
  else {
    writeText(values.out, text);
    progress(`saved: ${values.out}`);
  }
  return Promise.resolve(0);
}

function published(network: string): { source: string; points: CurvePoints } {
  oneName("--network", network, Object.keys(RESNET_TITAN_RTX));
  return {
    source: `${network}, E2bird, Table 1`,
    points: RESNET_TITAN_RTX[network],
  };
}

/** The whole network's curve: the sum of its cells', at every size that any of them was measured at. */
function profiled(path: string): { source: string; points: CurvePoints } {
  const tables = Object.values(readProfile(path));
  if (tables.length === 0) throw new UsageError(`${path} has no cells`);
  const sizes = new Set(tables.flat().map(([rows]) => rows));
  const points = [...sizes].sort((a, b) => a - b).map((rows) =>
    [
      rows,
      tables.reduce((sum, table) => sum + onCurve(table, rows), 0),
    ] as const
  );
  return { source: path, points };
}
