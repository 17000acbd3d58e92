import assert from "node:assert/strict";
import { interleaved } from "../../../src/server/wire/interleaved.ts";

/** Gives what it is told to, when it is told to. */
class Told implements AsyncIterable<number> {
  ended = false;
  readonly #given: number[] = [];
  #over = false;
  #error: Error | undefined;
  #wake = () => {};

  give(...values: number[]): void {
    this.#given.push(...values);
    this.#wake();
  }

  close(): void {
    this.#over = true;
    this.#wake();
  }

  fail(error: Error): void {
    this.#error = error;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<number> {
    try {
      while (true) {
        const value = this.#given.shift();
        if (value !== undefined) yield value;
        else if (this.#error) throw this.#error;
        else if (this.#over) return;
        else await new Promise<void>((resolve) => this.#wake = resolve);
      }
    } finally {
      this.ended = true;
    }
  }
}

Deno.test("interleaved gives what comes, as it comes, whichever source is silent", async () => {
  const [a, b] = [new Told(), new Told()];
  const both = interleaved([a, b]);
  b.give(1);
  assert.deepEqual((await both.next()).value, { source: 1, value: 1 });
  b.give(2);
  assert.deepEqual((await both.next()).value, { source: 1, value: 2 });
  a.give(3);
  b.close();
  assert.deepEqual((await both.next()).value, { source: 0, value: 3 });
  a.close();
  assert.deepEqual(await both.next(), { value: undefined, done: true });
});

Deno.test("interleaved asks each source for one value ahead, no more", async () => {
  let asked = 0;
  async function* endless() {
    while (true) {
      asked++;
      yield await Promise.resolve(asked);
    }
  }
  const all = interleaved([endless(), endless()]);
  await all.next();
  await new Promise((resolve) => setTimeout(resolve));
  assert.equal(asked, 2);
  await all.return();
});

Deno.test("interleaved gives what came before a failure, then fails and ends the others", async () => {
  const [a, b] = [new Told(), new Told()];
  const both = interleaved([a, b]);
  const first = both.next();
  a.give(1);
  b.fail(new Error("broken"));
  assert.deepEqual((await first).value, { source: 0, value: 1 });
  await assert.rejects(both.next(), { message: "broken" });
  a.close();
  await new Promise((resolve) => setTimeout(resolve));
  assert(a.ended);
});

Deno.test("interleaved ends its sources when nobody asks any more", async () => {
  const sources = [new Told(), new Told()];
  for (const source of sources) source.give(1);
  for await (const { value } of interleaved(sources)) {
    assert.equal(value, 1);
    break;
  }
  for (const source of sources) source.close();
  await new Promise((resolve) => setTimeout(resolve));
  assert(sources.every(({ ended }) => ended));
});
