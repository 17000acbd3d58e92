/** What commands say of ONNX files that leave something open: in words of their own options. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { tinyDecoder } from "../onnx/decoder_files.ts";
import { node, writeModel } from "../onnx/write_model.ts";
import { captured } from "./captured.ts";

/** y = relu(x). */
const relu = (dims?: readonly (number | string | null)[]) =>
  writeModel({
    graph: {
      inputs: [{ name: "x", ...(dims && { dims }) }],
      outputs: [{ name: "y" }],
      nodes: [node("Relu", ["x"], ["y"])],
    },
  });

/** y is x turned around, which takes all positions. */
const TURNED = writeModel({
  graph: {
    inputs: [{ name: "x", dims: ["N", "time", 2] }],
    outputs: [{ name: "y" }],
    nodes: [node("Transpose", ["x"], ["y"], { perm: [0, 2, 1] })],
  },
});

const DECODER = tinyDecoder({
  ...{ layers: 1, heads: 2, size: 2, vocabulary: 8, seed: 1 },
  ...{ shared: "no", mask: "input", scale: "scores", positions: "table" },
});

/** A file, options, and what is said of them. */
const SAID: readonly (readonly [Uint8Array, readonly string[], RegExp])[] = [
  [
    relu(["N", "seq", 2]),
    [],
    /axis 1 is "seq"; give --size seq=N, or --size-max seq=N to let every request have its own$/m,
  ],
  [
    relu(["N", "my axis", 2]),
    [],
    /give --size 'my axis'=N, or --size-max 'my axis'=N /,
  ],
  [relu(["N", null, 2]), [], /size of axis 1 open; give --shape x=N,N$/m],
  [relu(), [], /does not say its shape; give --shape x=N,N$/m],
  [
    relu(["N", "seq", 2]),
    ["--size", "seq=2", "--size-max", "seq=4"],
    /give one, --size seq=N or --size-max seq=N$/m,
  ],
  [
    relu(["N", "seq", 2]),
    ["--size", "sequence=2"],
    /size "sequence": no input has an axis of that name; there are "N", "seq"$/m,
  ],
  [
    relu(["N", 2]),
    ["--shape", "y=1,2"],
    /shape of "y": there is no such input; there are "x"$/m,
  ],
  [relu(["N", 2]), ["--constant", "z=1"], /are; give one of x$/m],
  [
    TURNED,
    ["--size-max", "time=4"],
    /"time" cannot stay free .*; give its size instead, --size time=N$/m,
  ],
  [
    relu([1, 2]),
    ["--decoder"],
    /which input is the token's id; give --token NAME$/m,
  ],
  [
    DECODER,
    ["--decoder", "--positions-max", "100"],
    /its tables have 40 positions; --positions-max 100 is more$/m,
  ],
  [
    DECODER,
    ["--decoder", "--positions-max", "1e9"],
    /--positions-max is an integer from 1 to 1048576, got "1e9"$/m,
  ],
];

Deno.test("what a file leaves open is asked for by options of the command", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-words-"));
  try {
    const path = join(folder, "model.onnx");
    for (const [file, options, said] of SAID) {
      writeFileSync(path, file);
      const { code, err, out } = await captured(() =>
        main(["inspect", path, ...options])
      );
      assert.equal(code, 2);
      assert.equal(out, "");
      assert.match(err, said);
      assert.doesNotMatch(
        err,
        /(sizes|sizesMax|shapes|decoder): |positionsMax/,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

Deno.test("an axis, input or constant that is named twice is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-words-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(path, relu(["N", "seq", 2]));
    for (
      const [option, value] of [
        ["size", "seq=3"],
        ["size-max", "seq=3"],
        ["shape", "x=1,3,2"],
        ["constant", "x=1"],
      ]
    ) {
      const { code, err } = await captured(() =>
        main(["inspect", path, `--${option}`, value, `--${option}`, value])
      );
      assert.equal(code, 2);
      assert.match(err, new RegExp(`--${option} (seq|x) is given twice`));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** What a configuration says of such a file, beside its path. */
const CONFIGURED: readonly (readonly [Record<string, unknown>, RegExp])[] = [
  [{}, /give "size": \["my seq=N"\], or "sizeMax": \["my seq=N"\] to let/],
  [{ size: ["my seq"] }, /"size" is NAME=VALUE, got "my seq"$/m],
  [{ sizeMax: ["my seq=0"] }, /"sizeMax" my seq is an integer from 1 /],
  [{ shape: ["x=1,a"] }, /each of "shape" x is an integer from 1 /],
  [{ constant: ["x=a"] }, /each of "constant" x is a number, true or false/],
  [{ size: ["my seq=2"], cells: "all" }, /"cells" is an integer from 0 /],
];

Deno.test("a configuration is asked for its keys, not for options of a command", async () => {
  const folder = mkdtempSync(join(tmpdir(), "shoal-words-"));
  try {
    const path = join(folder, "model.onnx");
    writeFileSync(path, relu(["N", "my seq", 2]));
    const config = join(folder, "config.json");
    for (const [given, said] of CONFIGURED) {
      writeFileSync(
        config,
        JSON.stringify({
          model: { file: path, ...given },
          policies: [{ name: "serial" }],
          workload: { requests: 1, arrivals: { kind: "at-once" } },
          cost: { constantNs: 1 },
        }),
      );
      const { code, err } = await captured(() =>
        main(["simulate", "--config", config])
      );
      assert.equal(code, 2);
      assert.match(err, said);
      assert.doesNotMatch(err, /--/);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
