/**
 * Entry point of a worker thread that can be told to die: every access to shared memory that its JavaScript
 * makes counts down a fuse, and the thread ends at exactly the access at which the fuse burns out. Takes
 * the place of worker_main.ts; see mortal_workers.ts for the other side.
 */
import { DEATHS, FUSE } from "./fuse.ts";

const scope = globalThis as unknown as
  & Pick<Worker, "addEventListener" | "removeEventListener">
  & { close(): void };
const { load, sub, add } = Atomics;

/** The first message is the test's, and nobody else sees it. */
scope.addEventListener("message", (event) => {
  event.stopImmediatePropagation();
  lay((event as MessageEvent<Int32Array<SharedArrayBuffer>>).data);
}, { once: true });

function lay(fuse: Int32Array): void {
  /** A thread that dies by an error dies even where somebody catches it: every access fails from then on. */
  let dead = false;
  const burn = (looks = false) => {
    if (!dead) {
      if (looks && load(fuse, FUSE.writesOnly) === 1) return;
      add(fuse, FUSE.accesses, 1);
      if (load(fuse, FUSE.left) === 0 || sub(fuse, FUSE.left, 1) !== 1) return;
    }
    die();
  };
  const die = () => {
    if (!dead) {
      dead = true;
      add(fuse, FUSE.burnt, 1);
      if (DEATHS[load(fuse, FUSE.death)] === "exit") Deno.exit();
    }
    throw new Error("a fuse has burnt out");
  };
  if (load(fuse, FUSE.unloaded) === 1) {
    WebAssembly.Instance = class {
      exports = die();
    } as unknown as typeof WebAssembly.Instance;
  }
  const access = <Args extends unknown[], Value>(
    original: (...args: Args) => Value,
    looks = false,
  ) =>
  (...args: Args): Value => {
    burn(looks);
    return original(...args);
  };
  Object.assign(Atomics, {
    load: access(Atomics.load, true),
    store: access(Atomics.store),
    add: access(Atomics.add),
    sub: access(Atomics.sub),
    compareExchange: access(Atomics.compareExchange),
    notify: access(Atomics.notify),
    wait: access(Atomics.wait, true),
  });
  if (load(fuse, FUSE.stillborn) === 0) {
    import("../../src/engine/wall/worker_main.ts");
  } else if (load(fuse, FUSE.left) > 0) burn();
}
