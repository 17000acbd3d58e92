/**
 * Errors that are answers: of a server that has too much to do they are made by the thousand, nobody looks where, and
 * writing down the stack is most of what one costs in V8. Elsewhere nothing changes.
 * Source: v8.dev/docs/stack-trace-api, "Stack trace collection for custom exceptions".
 */
export function withoutStack<E extends Error>(make: () => E): E {
  const { stackTraceLimit } = Error;
  // Where a program has frozen what is built in, errors have their stack.
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return make();
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}
