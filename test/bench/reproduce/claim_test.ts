import { equal } from "node:assert/strict";
import {
  type Claim,
  type Compared,
  type Verdict,
  verdictOf,
} from "../../../bench/reproduce/claim.ts";

function verdict(
  check: Claim["check"],
  ...compared: readonly Compared[]
): Verdict {
  const claim = { id: "MU-01", where: "here", says: "so", check };
  return verdictOf(claim, { claim: claim.id, compared });
}

function value(
  as: "equal" | "gain" | "reduction" | "size",
  published: number,
  ours: number,
): Compared {
  return { name: as, as, published, ours };
}

function holds(ours: boolean): Compared {
  return { name: "so", as: "holds", published: "yes", ours, seen: "it" };
}

Deno.test("to the digit is for claims that can be, and only for the value itself", () => {
  for (const check of ["exact", "data", "config"] as const) {
    equal(verdict(check, value("equal", 30, 30)), "to the digit");
    equal(verdict(check, value("size", 30, 30)), "to the digit");
    equal(verdict(check, holds(true)), "to the digit");
    equal(verdict(check, value("equal", 30, 31)), "not reproduced");
    equal(verdict(check, value("size", 30, 31)), "same direction and size");
  }
  for (const check of ["shape", "hardware"] as const) {
    equal(verdict(check, value("equal", 30, 30)), "same direction and size");
    equal(verdict(check, value("size", 30, 30)), "same direction and size");
    equal(verdict(check, holds(true)), "same direction");
    equal(verdict(check, holds(false)), "not reproduced");
  }
});

Deno.test("a gain has the published size within a factor of 2 of its logarithm, and a direction", () => {
  const of = (published: number, ours: number) =>
    verdict("shape", value("gain", published, ours));
  equal(of(4, 4), "same direction and size");
  equal(of(4, 2), "same direction and size");
  equal(of(4, 16), "same direction and size");
  equal(of(4, 1.99), "same direction");
  equal(of(4, 16.1), "same direction");
  equal(of(4, 1.004), "not reproduced");
  equal(of(4, 1.006), "same direction");
  equal(of(4, 0.5), "not reproduced");
  equal(of(0.25, 0.5), "same direction and size");
  equal(of(0.25, 2), "not reproduced");
  equal(of(4, 0), "not reproduced");
  equal(of(4, NaN), "not reproduced");
});

Deno.test("a reduction is the gain of what is left", () => {
  const of = (published: number, ours: number) =>
    verdict("shape", value("reduction", published, ours));
  equal(of(75, 75), "same direction and size");
  equal(of(75, 50), "same direction and size");
  equal(of(75, 49), "same direction");
  equal(of(75, 93.8), "same direction");
  equal(of(75, -10), "not reproduced");
  equal(of(75, 0.4), "not reproduced");
});

Deno.test("a quantity has the published size within a factor of 1.5", () => {
  const of = (published: number, ours: number) =>
    verdict("hardware", value("size", published, ours));
  equal(of(30, 45), "same direction and size");
  equal(of(30, 20), "same direction and size");
  equal(of(30, 45.1), "not reproduced");
  equal(of(30, 19.9), "not reproduced");
  equal(of(30, NaN), "not reproduced");
});

Deno.test("a claim is judged by its worst value", () => {
  equal(
    verdict("shape", value("gain", 4, 4), value("gain", 4, 1.2)),
    "same direction",
  );
  equal(
    verdict("exact", value("equal", 1, 1), value("equal", 1, 2)),
    "not reproduced",
  );
});
