/** A connection that waits is taken in one turn of the event loop, what it sent is read in the next one. */
const TURNS = 3;

/**
 * Lets what has reached a port by now be taken before it closes: a request that nobody has read yet would be cut off, and
 * a proxy does not send that to another server, as it may have been run.
 */
export async function lastTurns(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) {
    await new Promise<void>((resolve) => setTimeout(resolve));
  }
}
