/**
 * Turns for what is written: one piece in each turn of the event loop, of a long answer or of the many of a batch, so
 * that nobody else's request, and no refusal, waits for more than that.
 */
import { nextTurn } from "../../engine/wall/next_turn.ts";

interface Waiting {
  readonly left: number;
  readonly go: () => void;
}

/** Of all that is written in this thread: the event loop is one. */
const waiting: Waiting[] = [];

/** Whether this turn of the event loop has its piece. */
let isTaken = false;

/**
 * Waits for a turn in which to write a piece. Whoever has the least left goes first, which keeps the mean short.
 * @param left pieces that are to be written still
 */
export function pieceTurn(left: number): Promise<void> {
  return new Promise((go) => {
    waiting.push({ left, go });
    if (!isTaken) give();
  });
}

function give(): void {
  isTaken = waiting.length > 0;
  if (!isTaken) return;
  let first = 0;
  for (let i = 1; i < waiting.length; i++) {
    if (waiting[i].left < waiting[first].left) first = i;
  }
  const [{ go }] = waiting.splice(first, 1);
  nextTurn(give);
  go();
}
