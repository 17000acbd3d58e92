/** What a batch of frames takes on this machine, by cell and rows: for policies that decide by time, and simulations. */
import { ascending, percentile } from "../../src/base/statistics.ts";
import { ServingEngine } from "../../src/engine/wall/serving.ts";
import type { ProfileTable } from "../../src/policy/profile.ts";
import { cellular } from "../../src/policy/cellular_batching/cellular.ts";
import type { StreamSubject } from "./models.ts";

const ROWS = [1, 2, 4, 8, 16, 32, 64];
const WARM_FRAMES = 200;
const FRAMES = 40;
/** Of a batch's times, from the shortest on, which counts: what else a machine does makes them longer, never shorter. */
const QUIET = 0.1;

/** Nanoseconds that batches with so many rows take with nothing else to do. */
export async function frameProfile(
  subject: Pick<StreamSubject, "model" | "frame">,
): Promise<ProfileTable> {
  const rowsMax = ROWS[ROWS.length - 1];
  const seen = new Map<string, number[]>();
  await using engine = await ServingEngine.create({
    models: [subject.model],
    policy: cellular({ batchSizeMax: rowsMax }),
    workers: 0,
    observer: {
      task({ cell }, { rows, startNs, endNs }) {
        const key = `${cell.name}\n${rows}`;
        const times = seen.get(key) ?? [];
        seen.set(key, [...times, endNs - startNs]);
      },
    },
  });
  const sessions = Array.from(
    { length: rowsMax },
    () => engine.open(subject.model),
  );
  const pushed = (rows: number, frame: number) =>
    Promise.all(
      sessions.slice(0, rows).map((session, stream) =>
        session.push(subject.frame(stream, frame))
      ),
    );
  for (let frame = 0; frame < WARM_FRAMES; frame++) {
    await pushed(ROWS[frame % ROWS.length], frame);
  }
  seen.clear();
  // In turns: minutes of a machine differ.
  for (let frame = 0; frame < FRAMES * ROWS.length; frame++) {
    await pushed(ROWS[frame % ROWS.length], frame);
  }
  const table: Record<string, [number, number][]> = {};
  for (const { name } of subject.model.cells) {
    table[name] = ROWS.flatMap((rows) => {
      const times = seen.get(`${name}\n${rows}`);
      return times === undefined
        ? []
        : [[rows, percentile(ascending(times), QUIET)]];
    });
  }
  return table;
}
