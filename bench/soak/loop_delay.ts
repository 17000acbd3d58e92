import type { LogHistogram } from "./histogram.ts";

/** Time between two looks; short tasks of the event loop in between are not seen. */
const EVERY_MS = 10;

/** Notes by how much later than due timers come, until it is stopped. @returns what stops it */
export function watchLoop(delaysMs: LogHistogram): () => void {
  let id: ReturnType<typeof setTimeout>;
  const look = () => {
    const dueMs = performance.now() + EVERY_MS;
    id = setTimeout(() => {
      delaysMs.add(Math.max(0, performance.now() - dueMs));
      look();
    }, EVERY_MS);
  };
  look();
  return () => clearTimeout(id);
}
