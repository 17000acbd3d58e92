import assert from "node:assert/strict";
import { withoutStack } from "../../src/base/without_stack.ts";

const made = () => withoutStack(() => new Error("late"));

Deno.test("an error is made without its stack, and those after it with theirs", () => {
  const { stackTraceLimit } = Error;
  assert.doesNotMatch(made().stack!, /without_stack_test/);
  assert.equal(Error.stackTraceLimit, stackTraceLimit);
  assert.match(new Error("later").stack!, /without_stack_test/);
});

Deno.test("an error is made where what is built in is frozen", () => {
  const before = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit")!;
  Object.defineProperty(Error, "stackTraceLimit", {
    ...before,
    writable: false,
  });
  try {
    assert.equal(made().message, "late");
  } finally {
    Object.defineProperty(Error, "stackTraceLimit", before);
  }
});
