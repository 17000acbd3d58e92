/**
 * What is used of the AssemblyScript compiler. Its own declarations add to the global types of arrays, and the
 * compiler would then take `array.at(0)` for an element that is there.
 */
declare const asc: {
  /** Compiles with the command line's options; files go through the functions given. */
  main(argv: readonly string[], options: {
    stdout?: { write(chunk: string | Uint8Array): unknown };
    stderr?: { write(chunk: string | Uint8Array): unknown };
    readFile?(name: string, baseDir: string): string | null;
    writeFile?(
      name: string,
      contents: string | Uint8Array,
      baseDir: string,
    ): void;
    listFiles?(dirname: string, baseDir: string): string[] | null;
  }): Promise<{ error: Error | null; stderr: { toString(): string } }>;
  /** Compiles one source. */
  compileString(
    source: string,
    options: Readonly<Record<string, unknown>>,
  ): Promise<{
    binary: Uint8Array<ArrayBuffer> | null;
    stderr: { toString(): string };
  }>;
};
export default asc;
