import assert from "node:assert/strict";
import { LoadAgent } from "../../../src/server/observe/load_agent.ts";

Deno.test("the weight falls with what a server has, never to 0, and comes back", () => {
  const agent = new LoadAgent({ halfAt: 16 });
  const weights = [];
  for (let i = 0; i <= 48; i++) {
    if (i % 16 === 0) weights.push(agent.line("serving"));
    agent.arrived();
  }
  assert.deepEqual(weights, [
    "ready up 100%\n",
    "ready up 50%\n",
    "ready up 33%\n",
    "ready up 25%\n",
  ]);
  for (let i = 0; i < 10_000; i++) agent.arrived();
  assert.equal(agent.line("serving"), "ready up 1%\n");
  for (let i = 0; i < 10_049; i++) agent.ended();
  assert.equal(agent.waiting, 0);
  assert.equal(agent.line("serving"), "ready up 100%\n");
});

Deno.test("a server that is about to end, or takes no more requests, drains, whatever it has", () => {
  const agent = new LoadAgent();
  agent.arrived();
  assert.equal(agent.line("leaving"), "drain\n");
  assert.equal(agent.line("draining"), "drain\n");
  assert.equal(agent.line("closed"), "drain\n");
  assert.throws(() => new LoadAgent({ halfAt: 0 }), RangeError);
});
