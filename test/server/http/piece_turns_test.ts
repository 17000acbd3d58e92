/** What takes long to write lets others have their turns. */
import assert from "node:assert/strict";
import { nextTurn } from "../../../src/engine/wall/next_turn.ts";
import { jsonOfElements } from "../../../src/server/oip/tensor_json.ts";
import { pieceTurn } from "../../../src/server/http/piece_turns.ts";

const PIECE = 2048;

function tensor(count: number, from: (i: number) => number) {
  const data = Float32Array.from({ length: count }, (_, i) => from(i));
  return { name: "y", datatype: "FP32" as const, shape: [count], data };
}

/** Turns that others have until a promise is kept. */
async function turnsUntil(promise: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns++;
    if (!isOver) nextTurn(turn);
  };
  nextTurn(turn);
  await promise;
  isOver = true;
  return turns;
}

Deno.test("others have a turn between two pieces of what is long, however many are written", async () => {
  const long = tensor(8 * PIECE, (i) => i / 8);
  const one = await turnsUntil(jsonOfElements(long));
  assert(one >= 6, `${one}`);
  const three = await turnsUntil(
    Promise.all([long, long, long].map(jsonOfElements)),
  );
  assert(three >= 22, `${three}`);
});

Deno.test("others have a turn between two answers of a batch, and one alone waits for none", async () => {
  const short = tensor(256, (i) => i / 8);
  assert(await turnsUntil(jsonOfElements(short)) <= 1);
  const batch = await turnsUntil(
    Promise.all(Array.from({ length: 16 }, () => jsonOfElements(short))),
  );
  assert(batch >= 15, `${batch}`);
});

Deno.test("who has the least left is first", async () => {
  const order: number[] = [];
  const writes = async (pieces: number) => {
    for (let left = pieces; left > 0; left--) await pieceTurn(left);
    order.push(pieces);
  };
  await Promise.all([5, 2, 9, 1, 3].map(writes));
  assert.deepEqual(order, [1, 2, 3, 5, 9]);
});

Deno.test("in pieces elements are what they are, numbers that JSON does not have among them", async () => {
  const special = new Map([[0, -0], [PIECE, NaN], [3 * PIECE - 1, -Infinity]]);
  const { data, ...rest } = tensor(
    3 * PIECE + 1,
    (i) => special.get(i) ?? Math.fround(i / 7),
  );
  const text = await jsonOfElements({ ...rest, data });
  assert(text.startsWith("[-0,"));
  const read = (JSON.parse(text) as (number | string)[]).map(Number);
  assert.deepEqual(read, [...data]);
  assert.equal(await jsonOfElements(tensor(0, () => 0)), "[]");
});
