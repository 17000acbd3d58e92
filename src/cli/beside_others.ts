import { progress } from "./terminal.ts";
import { watchOthers } from "./watch_others.ts";

/** Share of the machine from which others are said to have had it: a core of ten. */
const OTHERS_SHARE = 0.1;

/**
 * Measures something, and says on standard error when other processes had much of the machine meanwhile: threads that
 * wait for a processor make times long and throughput low, by more than what others took.
 */
export async function besideOthers<T>(
  measure: () => Promise<T>,
  say: (text: string) => void = progress,
): Promise<T> {
  const others = watchOthers();
  const measured = await measure();
  const share = others();
  if (share > OTHERS_SHARE) {
    say(
      `other processes had ${
        (100 * share).toFixed(0)
      } % of the machine meanwhile: times are too long, and throughput is too low; measure again when it is quiet`,
    );
  }
  return measured;
}
