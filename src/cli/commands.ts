/**
 * Runs a command; resolves with the exit code. Reads its arguments with `readOptions`, so that it has help
 * and version as all of them.
 */
export type Command = (args: string[]) => Promise<number>;

export interface CommandEntry {
  readonly summary: string;
  /** Loaded when it is called for: a simulation does not need the report's charts. */
  load(): Promise<Command>;
}

/** Every command by name: one line adds one. */
export const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  bench: {
    summary: "run policies on real tensors under load; table, report, traces",
    load: async () => (await import("./bench.ts")).bench,
  },
  ebird: {
    summary:
      "find the workers of e-ebird's engine for each load (E2bird, offline phase)",
    load: async () => (await import("./ebird.ts")).ebird,
  },
  explain: {
    summary: "say why a request waited or a batch was not full",
    load: async () => (await import("./explain.ts")).explain,
  },
  inspect: {
    summary: "show what an ONNX file becomes: inputs, outputs, cells",
    load: async () => (await import("./inspect.ts")).inspect,
  },
  load: {
    summary:
      "put a server under load (open loop); latency, goodput, the rate that holds a target",
    load: async () => (await import("./load.ts")).load,
  },
  npu: {
    summary: "run a SCALE-Sim topology on the systolic-array model",
    load: async () => (await import("./npu.ts")).runNpu,
  },
  plan: {
    summary:
      "say which load a machine carries, under which policy, with how many workers",
    load: async () => (await import("./plan.ts")).plan,
  },
  profile: {
    summary: "measure this machine's kernels per cell and batch size",
    load: async () => (await import("./profile.ts")).profile,
  },
  quantize: {
    summary: "write an ONNX file with weights of int8, and say what is lost",
    load: async () => (await import("./quantize.ts")).quantize,
  },
  run: {
    summary: "run one request to a model of an ONNX file",
    load: async () => (await import("./run.ts")).run,
  },
  serve: {
    summary: "serve the models of a folder over HTTP",
    load: async () => (await import("./serve.ts")).serve,
  },
  simulate: {
    summary: "run policies on virtual time with a given cost table",
    load: async () => (await import("./simulate.ts")).simulate,
  },
  tune: {
    summary: "plan, and write the settings that shoal serve reads",
    load: async () => (await import("./tune.ts")).tune,
  },
};
