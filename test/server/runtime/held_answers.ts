/** A process of its own, with `--expose-gc`: says how many of its listener's answers are held when all were read. */
import { setImmediate } from "node:timers/promises";
import { listen } from "../../../src/server/runtime/listen.ts";

const ANSWERS = 200;

const { gc } = globalThis as unknown as { gc(): void };
const answers: WeakRef<Response>[] = [];
const listener = await listen({
  fetch() {
    const answer = new Response("yes");
    answers.push(new WeakRef(answer));
    return Promise.resolve(answer);
  },
}, { port: 0 });
for (let i = 0; i < ANSWERS; i++) {
  await (await fetch(listener.url)).text();
}
// A reference that was looked at holds until the turn is over.
await setImmediate();
gc();
await setImmediate();
gc();
const held = answers.filter((answer) => answer.deref()).length;
console.log(JSON.stringify({ answers: answers.length, held }));
await listener.close(1000);
