/** What a process takes, as Prometheus' client libraries call it; where a runtime tells, which pages do not. */
import { absoluteMs } from "../../engine/wall/clock.ts";
import { CounterFamily, type Family, GaugeFamily } from "./exposition.ts";

/** What Node, Deno and Bun have as `process`. */
interface ProcessLike {
  memoryUsage?(): { rss: number; heapUsed: number };
  cpuUsage?(): { user: number; system: number };
}

const STARTED_S = absoluteMs() / 1000;

/** Read anew by each call. */
export function processFigures(): Family[] {
  const { process } = globalThis as { process?: ProcessLike };
  const families: Family[] = [];
  const gauge = (name: string, help: string, value: number | undefined) => {
    if (value === undefined) return;
    const family = new GaugeFamily(name, help);
    family.with().value = value;
    families.push(family);
  };
  gauge(
    "process_start_time_seconds",
    "When the server's code was loaded, in seconds since 1970.",
    STARTED_S,
  );
  const memory = told(() => process?.memoryUsage?.());
  gauge(
    "process_resident_memory_bytes",
    "Memory of the process.",
    memory?.rss,
  );
  gauge(
    "shoal_heap_used_bytes",
    "Memory that JavaScript's objects take in the server's thread.",
    memory?.heapUsed,
  );
  const cpu = told(() => process?.cpuUsage?.());
  if (cpu) {
    const family = new CounterFamily(
      "process_cpu_seconds_total",
      "Time of all threads on processors.",
    );
    family.with().value = (cpu.user + cpu.system) / 1e6;
    families.push(family);
  }
  return families;
}

/** A runtime may want a permission for what it does not tell without one. */
function told<T>(ask: () => T): T | undefined {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
