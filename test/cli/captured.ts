import process from "node:process";

export interface Captured {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process with the standard streams caught. */
export async function captured(
  run: () => number | Promise<number>,
): Promise<Captured> {
  const [out, err]: [string[], string[]] = [[], []];
  const streams = [[process.stdout, out], [process.stderr, err]] as const;
  const writes = streams.map(([stream]) => stream.write);
  for (const [stream, texts] of streams) {
    stream.write = ((text: string) =>
      texts.push(text) > 0) as typeof stream.write;
  }
  try {
    const code = await run();
    return { code, out: out.join(""), err: err.join("") };
  } finally {
    streams.forEach(([stream], i) => stream.write = writes[i]);
  }
}
