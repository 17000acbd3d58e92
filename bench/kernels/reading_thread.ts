/** A thread of `readingRate()`: reads its share whenever the turn advances. */
import { parentChannel } from "../../src/engine/wall/runtime.ts";
import { instantiateReader, LAST_TURN, type ReadingStart } from "./reader.ts";

void parentChannel().then((channel) => {
  channel.onMessage((message) => {
    const { module, memory, words, thread, from, bytes } =
      message as ReadingStart;
    const read = instantiateReader(module, memory);
    channel.post("started");
    let done = 0;
    for (;;) {
      const turn = Atomics.load(words, 0);
      if (turn === LAST_TURN) break;
      if (turn === done) continue;
      read(from, bytes);
      done = turn;
      Atomics.store(words, thread, turn);
    }
    channel.close();
  });
  channel.post("loaded");
});
