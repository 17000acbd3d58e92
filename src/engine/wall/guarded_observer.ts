import type { Observer } from "../../policy/records.ts";

const HOOKS = ["decided", "waited", "task", "request"] as const;

/**
 * An observer whose hooks may do what they like: what they throw, or what a promise of theirs is rejected
 * with, is reported and nothing else.
 * @throws TypeError when a hook is no function
 */
export function guardedObserver(
  observer: Observer,
  report: (error: unknown, hook: string) => void,
): Observer {
  const guarded: Record<string, (...args: unknown[]) => void> = {};
  for (const hook of HOOKS) {
    const call = observer[hook] as
      | ((...args: unknown[]) => unknown)
      | undefined;
    if (call === undefined) continue;
    if (typeof call !== "function") {
      throw new TypeError(`"${hook}" of "observer" is a function`);
    }
    guarded[hook] = (...args) => {
      try {
        const returned = call.apply(observer, args);
        if (returned instanceof Promise) {
          returned.catch((error) => report(error, hook));
        }
      } catch (error) {
        report(error, hook);
      }
    };
  }
  return guarded as Observer;
}
