/**
 * One process by itself, over a memory of its own: what it accesses there, in lines that accesses of the
 * real code are compared with (record.ts).
 */
import { type Access, NOT_EQUAL, OK } from "./access.ts";
import type { Body, Next } from "./automaton.ts";
import { spelled } from "./search.ts";

export interface Solo {
  /** Words by name; changed by what the process does. */
  readonly memory: Record<string, number>;
  /** What it decides, in order, taken from the front; then always the first of its ways. */
  readonly choices?: number[];
  /** Others, while it sleeps, wakes them: they change memory; false ends it there. */
  readonly asleep?: (memory: Record<string, number>) => boolean;
  /** Called behind each access. */
  readonly after?: (line: string, memory: Record<string, number>) => void;
}

export interface Trace {
  readonly lines: string[];
}

/** Runs a part of a process. @returns what it comes to */
export function solo<T>(body: Body<T>, options: Solo): Trace & { result: T } {
  const lines: string[] = [];
  const { choices = [] } = options;
  let step = body.next();
  while (!step.done) {
    const answer = perform(step.value, options, choices);
    const line = spelled(step.value, answer ?? OK);
    if (line !== undefined && step.value.op !== "choose") {
      lines.push(line);
      options.after?.(line, options.memory);
    }
    if (answer === undefined && !options.asleep?.(options.memory)) {
      throw new Error("it sleeps for ever");
    }
    step = body.next(answer ?? OK);
  }
  return { lines, result: step.value };
}

/** Runs a process from `next` on, to its end. */
export function soloFrom(next: Next, options: Solo): Trace {
  const lines: string[] = [];
  while (next !== undefined) {
    const { routine, args }: NonNullable<Next> = next;
    const body = routine(...args);
    const part = solo(body, options);
    for (const line of part.lines) lines.push(line);
    next = part.result;
  }
  return { lines };
}

/** Undefined: it sleeps. */
function perform(
  access: Access,
  { memory }: Solo,
  choices: number[],
): number | undefined {
  switch (access.op) {
    case "choose":
    case "event":
      return choices.shift() ?? 0;
    case "start":
    case "gone":
    case "notify":
      return OK;
  }
  const before = memory[access.word] ?? 0;
  switch (access.op) {
    case "load":
    case "read":
    case "look":
      return before;
    case "store":
    case "write":
      memory[access.word] = access.value;
      return OK;
    case "add":
    case "count":
      memory[access.word] = Math.min(
        before + access.value,
        (access.op === "add" && access.most) || Infinity,
      );
      return access.op === "add" ? before : before + access.value;
    case "cas":
      if (before === access.expected) memory[access.word] = access.value;
      return before;
    case "listen":
      return before === access.value ? OK : NOT_EQUAL;
    case "wait":
      return before === access.value ? undefined : NOT_EQUAL;
  }
}
