/**
 * Workers that stand back: where there are more threads than cores, one that computes without end keeps another one that
 * was woken waiting for up to a tick of the system's clock (4 ms are usual), and a worker that is woken takes the core of
 * the very thread that woke it. Of a lower priority it does neither. The thread of the event loop is such a one: what it
 * has to do is short, and all clients wait for it.
 *
 * Source: setpriority(2), "C library/kernel differences": on Linux a nice value is a thread's, and 0 is the caller.
 * Elsewhere it is the process's, whose event loop would be slower as well.
 */
import { nodeModule } from "../../base/node_module.ts";

/** As much of Deno as is used. */
interface DenoRuntime {
  readonly permissions: {
    querySync(
      of: { readonly name: "sys"; readonly kind: "setPriority" },
    ): { readonly state: string };
  };
}

/** @returns whether the calling thread is as nice now: on Linux, where the runtime lets it */
export function beNice(niceness: number): boolean {
  const os = nodeModule("node:os");
  if (niceness === 0 || os?.platform() !== "linux") return false;
  const { Deno: deno } = globalThis as { Deno?: DenoRuntime };
  // Without this it would ask whoever sits at the terminal.
  const kind = { name: "sys", kind: "setPriority" } as const;
  if (deno && deno.permissions.querySync(kind).state !== "granted") {
    return false;
  }
  try {
    os.setPriority(0, niceness);
    return true;
  } catch {
    // A container's rules may forbid it.
    return false;
  }
}
