import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const SCRIPT = fileURLToPath(new URL("./held_requests.ts", import.meta.url));

Deno.test("nothing is held of what requests brought and got that are over, nor of frames of parked streams", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["run", "-A", "--no-check", "--v8-flags=--expose-gc", SCRIPT],
  ]);
  const {
    step: { steps, ...step },
    end: { steps: others, ...end },
    streams: { parked, copied, ...streams },
  } = JSON.parse(stdout);
  assert.deepEqual([steps, others, parked, copied], [200, 200, 50, 150]);
  // The last ones may be on their way still; a stream's last frame was not, nor what it had copied.
  for (const [what, held] of Object.entries({ step, end, streams })) {
    for (const [of, count] of Object.entries(held as Record<string, number>)) {
      assert(count <= 8, `${count} ${of} (${what})`);
    }
  }
});
