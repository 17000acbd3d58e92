/** The serving engine at its boundary: callers, signals, observers, closing, dying threads. */
import type { MutantList } from "../mutant.ts";

export const MUTANTS: MutantList = [
  {
    id: "serving.busy",
    file: "src/engine/wall/serving.ts",
    from: "    if (this.#busy) return void this.#actions.push(action);\n",
    to: "",
    tests: [{
      file: "test/engine/boundary_test.ts",
      filter: "growth may call",
    }, {
      file: "test/engine/boundary_test.ts",
      filter: "observers may throw",
    }],
    why:
      "one thing at a time is done to the core: what a callback asks for is done right after",
  },
  {
    id: "serving.policy-promise",
    file: "src/engine/core/engine.ts",
    from: '    refusePromise(returned, hook, "policy", this.#policy.name);\n',
    to: "",
    tests: [{
      file: "test/engine/policy_boundary_test.ts",
      filter: "return a promise",
    }],
    why: "a policy is done when it returns: nobody waits for its promises",
  },
  {
    id: "serving.policy-launch",
    file: "src/engine/core/engine.ts",
    from:
      "    checkLaunch(given, this.#dispatch.workers.length, this.#policy);\n",
    to: "",
    tests: [{
      file: "test/engine/policy_boundary_test.ts",
      filter: "a launch or a wait",
    }],
    why: "what a policy of one's own launches is looked at before it is done",
  },
  {
    id: "serving.policy-lists",
    file: "src/engine/core/dispatch.ts",
    from: "const nodes = step.nodes.slice();",
    to: "const nodes = step.nodes;",
    tests: [{
      file: "test/engine/decided_test.ts",
      filter: "use its launch",
    }],
    why: "what was launched stays what it was, whatever its policy does next",
  },
  {
    id: "serving.policy-tail",
    file: "src/engine/core/run.ts",
    from: "requests: tail.requests.slice()",
    to: "requests: tail.requests",
    tests: [{
      file: "test/engine/decided_test.ts",
      filter: "use its launch",
    }],
    why: "what was launched stays what it was, whatever its policy does next",
  },
  {
    id: "serving.endless-wait",
    file: "src/engine/virtual/virtual_driver.ts",
    from: "    if (timeline.isOver && active === 0) return;\n",
    to: "",
    tests: [{
      file: "test/engine/decided_test.ts",
      filter: "nothing but wait",
    }],
    why: "a simulation is over when nobody is left",
  },
  {
    id: "serving.abandon",
    file: "src/engine/wall/serving.ts",
    from: "    this.#core.abandonAll(wallNs(), error);\n",
    to: "",
    tests: [{
      file: "test/engine/inline_test.ts",
      filter: "cannot be called gives up",
    }],
    why: "an engine beyond repair ends its requests",
  },
  {
    id: "serving.computes-on",
    file: "src/engine/wall/serving.ts",
    from: "    void this.#executor.close();\n",
    to: "",
    tests: [{
      file: "test/engine/inline_test.ts",
      filter: "computes nothing more",
    }],
    why: "an engine that has failed computes nothing for nobody",
  },
  {
    id: "serving.unwatch",
    file: "src/engine/wall/submit_request.ts",
    from: "            } else reject(error);\n            unwatch?.();",
    to: "            } else reject(error);",
    tests: [{
      file: "test/engine/boundary_test.ts",
      filter: "left alone once",
    }],
    why: "a signal is left alone once its request has ended",
  },
  {
    id: "serving.closed",
    file: "src/engine/wall/serving.ts",
    from:
      '    return this.#closing && new ClosedError("The engine is closed");',
    to: "    return undefined;",
    tests: [{
      file: "test/engine/serving_test.ts",
      filter: "takes nothing more",
    }],
    why: "an engine that closes takes nothing more",
  },
  {
    id: "serving.close-reject",
    file: "src/engine/wall/serving.ts",
    from:
      'this.#core.failAll(wallNs(), new ClosedError("The engine was closed"));',
    to: "",
    tests: [{
      file: "test/engine/serving_test.ts",
      filter: "rejects what is in the system",
    }],
    why: 'close("reject") rejects what is in the system',
  },
  {
    id: "serving.timer-max",
    file: "src/engine/wall/patience.ts",
    from: "return Math.min(Math.max(0, delayMs), TIMER_MS_MAX);",
    to: "return Math.max(0, delayMs);",
    tests: [{
      file: "test/engine/boundary_test.ts",
      filter: "beyond what a timer takes",
    }],
    why: "a timer takes a delay beyond its range for none at all",
  },
  {
    id: "serving.aborted-before",
    file: "src/engine/wall/watch_signal.ts",
    from: "  if (signal.aborted) throw reasonOf(signal);\n",
    to: "",
    tests: [{
      file: "test/engine/serving_test.ts",
      filter: "signal's reason before",
    }],
    why:
      "a request whose signal is aborted already is rejected with its reason",
  },
  {
    id: "serving.abort-once",
    file: "src/engine/wall/watch_signal.ts",
    from: "      if (watcher.isOver) continue;\n",
    to: "",
    tests: ["test/engine/watch_signal_test.ts"],
    why: "a signal is not heard by whom it concerns no more",
  },
  {
    id: "serving.watch-anew",
    file: "src/engine/wall/watch_signal.ts",
    from: "    this.#forget();\n    try {",
    to: "    try {",
    tests: ["test/engine/watch_signal_test.ts"],
    why: "a signal that was left by all is listened to again",
  },
  {
    id: "serving.observer-promise",
    file: "src/engine/wall/guarded_observer.ts",
    from: "returned.catch((error) => report(error, hook));",
    to: "",
    tests: [{
      file: "test/engine/boundary_test.ts",
      filter: "observers may throw",
    }],
    why:
      "what a promise of an observer's is rejected with is reported and nothing else",
  },
  {
    id: "serving.observer-throws",
    file: "src/engine/wall/guarded_observer.ts",
    from: "      } catch (error) {\n        report(error, hook);\n      }",
    to: "      } catch (error) {\n        throw error;\n      }",
    tests: [{
      file: "test/engine/boundary_test.ts",
      filter: "observers may throw",
    }],
    why: "what an observer throws is reported and nothing else",
  },
  {
    id: "serving.one-a-turn",
    file: "src/engine/wall/inline_executor.ts",
    from: "      this.#executeOne();\n      this.#schedule();",
    to: "      while (this.#queue.length > 0) this.#executeOne();",
    tests: [{
      file: "test/engine/inline_test.ts",
      filter: "have their turn",
    }],
    why: "without workers the event loop has its turn between two tasks",
  },
  {
    id: "serving.inline-closed",
    file: "src/engine/wall/inline_executor.ts",
    from: "    this.#closed = true;\n    this.#queue = [];",
    to: "    this.#closed = true;",
    tests: [{
      file: "test/engine/inline_test.ts",
      filter: "computes nothing more",
    }],
    why: "an executor that is closed computes nothing more",
  },
  {
    id: "serving.gives-up",
    file: "src/engine/wall/tensor_executor.ts",
    from: "    this.#givenUp.add(begun);\n",
    to: "",
    tests: [{
      file: "test/engine/worker_death_test.ts",
      filter: "is given up",
    }],
    why: "rows of a task whose worker died twice end with an error",
  },
  {
    id: "serving.fresh-words",
    file: "src/engine/wall/crew.ts",
    from:
      "    openControl(new Int32Array(plan.memory.buffer), plan.control);\n",
    to: "",
    tests: [{
      file: "test/engine/worker_death_test.ts",
      filter: "successor",
    }],
    why: "a fresh crew finds fresh words",
  },
  {
    id: "serving.views-moved",
    file: "src/engine/tensors/session_slots.ts",
    from: "if (views[i]?.byteOffset !== at) {",
    to: "if (views[i] === undefined) {",
    tests: [{
      file: "test/engine/streams_test.ts",
      filter: "from where it lies now",
    }],
    why: "a state that is a result lies elsewhere after every frame",
  },
  {
    id: "serving.admission-turns",
    file: "src/engine/core/admission.ts",
    from: "this.#turn = (at + 1) % doors.length;",
    to: "",
    tests: ["test/engine/admission_test.ts"],
    why: "where there is time for few, one model does not keep others out",
  },
  {
    id: "serving.admission-bytes",
    file: "src/engine/core/admission.ts",
    from: "this.#bytes -= request.waiting!.bytes;",
    to: "",
    tests: ["test/engine/admission_test.ts"],
    why: "what no longer waits makes room for others",
  },
  {
    id: "serving.over-holds",
    file: "src/engine/core/engine.ts",
    from: "request.onEnd = request.steps = request.held = undefined;",
    to: "request.steps = request.held = undefined;",
    tests: ["test/engine/held_requests_test.ts"],
    why: "what a request brought and got is its caller's when it is over",
  },
  {
    id: "serving.parked-copies",
    file: "src/engine/core/sessions.ts",
    from: "    session.forgetCopies();\n",
    to: "",
    tests: ["test/engine/held_requests_test.ts"],
    why: "a parked stream holds its state's bytes alone",
  },
];
