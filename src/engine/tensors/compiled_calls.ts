/** Calls of a program as functions: what is known of their arguments when a runner starts is worked out then. */
import type { RunPlain } from "../../graph/operator.ts";
import type { KernelExports } from "../../kernels/module/module.ts";
import type {
  Call,
  CellProgram,
  KernelCall,
  TurnArgument,
} from "../lowering/cell_program.ts";
import type { Compiled } from "./compiled.ts";
import { compilePlain, type Refusal } from "./plain_calls.ts";

/** Where the calls find what they work on. */
export interface CallMemory {
  readonly addresses: Uint32Array;
  /** Address of the program's own tables. */
  readonly tables: number;
  /** Address of the runner's scratch rows. */
  readonly scratch: number;
  /** Runs operators in plain TypeScript, if programs have any. */
  readonly plain?: RunPlain;
  /** What operators in plain TypeScript say of a row that they refuse. */
  readonly refusal: Refusal;
}

/** Which turn a call is in. */
interface Turn {
  number: number;
}

/** Fills the program's tables that never change. */
export function writeFixedTables(
  { fixedTables, rowsPerCall }: CellProgram,
  { addresses, tables, scratch }: CallMemory,
): void {
  for (const { table, base, stride } of fixedTables) {
    const first = typeof base === "number" ? base : scratch + base.scratch;
    for (let i = 0; i < rowsPerCall; i++) {
      addresses[((tables + table) >>> 2) + i] = first + i * stride;
    }
  }
}

export function compileCall(
  call: Call,
  kernels: KernelExports,
  memory: CallMemory,
): Compiled {
  const { addresses } = memory;
  switch (call.call) {
    case "kernel":
      return compileKernel(call, kernels, memory);
    case "plain":
      return compilePlain(
        call,
        memory.plain,
        (rows) => resolver(rows, memory),
        addresses,
        memory.refusal,
      );
    case "each": {
      const turn: Turn = { number: 0 };
      const calls = call.calls.map((inner) =>
        compileKernel(inner, kernels, memory, turn)
      );
      return (rows, ports, stride) => {
        const turns = rows * call.turns;
        for (turn.number = 0; turn.number < turns; turn.number++) {
          for (const inner of calls) inner(rows, ports, stride);
        }
        return -1;
      };
    }
    case "offset": {
      const from = resolver(call.from, memory);
      const to = resolver(call.to, memory);
      return (rows, ports, stride) => {
        const source = from(rows, ports, stride) >>> 2;
        const target = to(rows, ports, stride) >>> 2;
        const count = rows * call.count;
        for (let i = 0; i < count; i++) {
          addresses[target + i] = addresses[source + i] + call.bytes;
        }
        return -1;
      };
    }
    case "spread": {
      const from = resolver(call.from, memory);
      const to = resolver(call.to, memory);
      const { of, count, bytes } = call;
      return (rows, ports, stride) => {
        const source = from(rows, ports, stride) >>> 2;
        let target = to(rows, ports, stride) >>> 2;
        const sources = rows * of;
        for (let i = 0; i < sources; i++) {
          const first = addresses[source + i];
          for (let j = 0; j < count; j++) {
            addresses[target++] = first + j * bytes;
          }
        }
        return -1;
      };
    }
    case "list": {
      const sources = call.tables.map((table) => resolver(table, memory));
      const to = resolver(call.to, memory);
      return (rows, ports, stride) => {
        const target = to(rows, ports, stride) >>> 2;
        sources.forEach((source, i) =>
          addresses[target + i] = source(rows, ports, stride)
        );
        return -1;
      };
    }
  }
}

function compileKernel(
  call: KernelCall<TurnArgument>,
  kernels: KernelExports,
  memory: CallMemory,
  turn?: Turn,
): Compiled {
  const kernel = kernels[call.kernel] as (...args: number[]) => number | void;
  // What is the same in every task is worked out once.
  const args = call.args.map((argument) =>
    isFixed(argument) ? resolver(argument, memory)(0, 0, 0) : 0
  );
  const changing = call.args.flatMap((argument, place) =>
    isFixed(argument)
      ? []
      : [{ place, valueOf: resolver(argument, memory, turn) }]
  );
  const { reports } = call;
  return (rows, ports, stride) => {
    for (let i = 0; i < changing.length; i++) {
      const { place, valueOf } = changing[i];
      args[place] = valueOf(rows, ports, stride);
    }
    const result = kernel(...args);
    return reports === undefined ? -1 : Math.floor(result as number / reports);
  };
}

/** Whether an argument does not hang on the task. */
function isFixed(argument: TurnArgument): boolean {
  if (typeof argument === "string") return false;
  return typeof argument === "number" || "scratch" in argument ||
    "own" in argument;
}

/** What an argument is in a call. */
function resolver(
  argument: TurnArgument,
  memory: CallMemory,
  turn?: Turn,
): Compiled {
  const { tables, scratch } = memory;
  if (typeof argument === "number") return () => argument;
  if (argument === "rows") return (rows) => rows;
  if ("entries" in argument) {
    const table = resolver(argument.entries, memory);
    const bytes = 4 * argument.step;
    return (...call) => table(...call) + bytes * turn!.number;
  }
  if ("word" in argument) {
    const table = resolver(argument.of, memory);
    const words = argument.word === "f32"
      ? new Float32Array(memory.addresses.buffer)
      : new Int32Array(memory.addresses.buffer);
    return (...call) => {
      const row = memory.addresses[(table(...call) >>> 2) + turn!.number];
      return words[(row + argument.at) >>> 2];
    };
  }
  if ("rowsTimes" in argument) return (rows) => rows * argument.rowsTimes;
  if ("scratch" in argument) return () => scratch + argument.scratch;
  if ("own" in argument) return () => tables + argument.own;
  return (_rows, ports, stride) => ports + argument.port * stride;
}
