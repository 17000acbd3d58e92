import assert from "node:assert/strict";
import { imageShape } from "../../src/tensor/image_shape.ts";
import { KernelHost } from "../../src/kernels/host/kernel_host.ts";
import { packGemm } from "../../src/kernels/pack/pack_gemm.ts";
import { packConv } from "../../src/kernels/pack/pack_conv.ts";
import { packTreeInternal } from "../../src/kernels/pack/pack_cells.ts";
import { release } from "./builds.ts";

const host = () => new KernelHost(release.kernels, release.memory);
const ramp = (length: number) => Float32Array.from({ length }, (_, i) => i);

Deno.test("KernelHost calls a kernel by names, with what it can know left out", () => {
  const shoal = host();
  const a = shoal.rows(2, 3, Float32Array.of(1, 2, 3, 4, 5, 6));
  const weight = Float32Array.of(1, 0, 0, 1, 1, 1);
  const w = shoal.block(packGemm({ n: 2, k: 3, weight, layout: "kn" }));
  const c = shoal.rows(2, 2, "f32");
  shoal.call("gemm_f32", { n: 2, k1: 3, aRows1: a, w, cRows: c });
  assert.deepEqual([...shoal.read(c)], [4, 5, 10, 11]);
  shoal.call("relu_f32", { n: 2, aRows: c, outRows: c });
  const id = shoal.rows(2, 1, "i32");
  shoal.call("argmax_rows_f32", { n: 2, aRows: c, idOutRows: id });
  assert.deepEqual([...shoal.read(id)], [1, 1]);
});

Deno.test("KernelHost looks rows up and goes on with them", () => {
  const shoal = host();
  const table = shoal.block(ramp(12));
  const found = shoal.block("address", 2);
  const ids = shoal.rows(2, 1, Int32Array.of(3, 1));
  const sizes = { rowBytes: 12, count: 4 };
  const refused = shoal.call("gather_rows", {
    ...{ idRows: ids, table, outRows: found },
    ...sizes,
  });
  assert.equal(refused, -1);
  const rows = shoal.rowsBehind(found, 3, "f32");
  assert.deepEqual([...shoal.read(rows)], [9, 10, 11, 3, 4, 5]);
});

Deno.test("KernelHost takes image shapes and lists of tables, and forgets where it put them", () => {
  const shoal = host();
  const shape = imageShape({ height: 2, width: 2, channels: 1, kernel: 2 });
  const images = shoal.rows(1, 4, ramp(4));
  const out = shoal.rows(1, 1, "f32");
  shoal.call("pool_max_f32", { shape, inRows: images, outRows: out });
  assert.deepEqual([...shoal.read(out)], [3]);
  const [hidden, arity] = [4, 2];
  const r = new Float32Array((3 + arity) * hidden * arity * hidden);
  const w = shoal.block(packTreeInternal({ hidden, arity, r }));
  const [h, c] = [shoal.rows(1, 4, ramp(4)), shoal.rows(1, 4, ramp(4))];
  const [hOut, cOut] = [shoal.rows(1, 4, "f32"), shoal.rows(1, 4, "f32")];
  const before = shoal.reserve(0);
  shoal.call("tree_internal_f32", {
    ...{ hidden, arity, w },
    ...{ hRowsTables: [h, h], cRowsTables: [c, c] },
    ...{ hOutRows: hOut, cOutRows: cOut },
  });
  // Gates of zeros: every forget gate lets half of its child through.
  assert.deepEqual([...shoal.read(cOut)], [0, 1, 2, 3]);
  assert.equal(shoal.reserve(0), before);
  assert.throws(
    () =>
      shoal.call("tree_internal_f32", {
        ...{ hidden, arity, w },
        ...{ hRowsTables: [h], cRowsTables: [c, c] },
        ...{ hOutRows: hOut, cOutRows: cOut },
      }),
    new RangeError(
      "tree_internal_f32: hRowsTables must be 2 tables, got 1",
    ),
  );
});

Deno.test("KernelHost says what is wrong with an operand", () => {
  const shoal = host();
  const a = shoal.rows(2, 3, "f32");
  const c = shoal.rows(2, 2, "f32");
  const weight = ramp(6);
  const w = shoal.block(packGemm({ n: 2, k: 3, weight, layout: "kn" }));
  const sound = { n: 2, k1: 3, aRows1: a, w, cRows: c };
  const wrong: [Record<string, unknown>, RegExp][] = [
    [{ k1: 4 }, /aRows1 must be 2 rows of 4, got 2 of 3/],
    [{ cRows: shoal.rows(1, 2, "f32") }, /cRows must be 2 rows of 2, got 1/],
    [
      { cRows: shoal.rows(2, 2, "i32") },
      /cRows must be rows of f32, got rows of i32/,
    ],
    [
      { w: shoal.block(ramp(6)) },
      /w must have 32 elements, has 6; packGemm\(\) makes it/,
    ],
    [{ w: shoal.block(new Int32Array(32)) }, /w must be f32, got i32/],
    [{ w: a }, /w must be a block, as block\(\) makes it, got rows/],
    [{ act: "swish" }, /act must be one of "none", .*, got "swish"/],
    [{ n: "2" }, /n must be a number, got "2"/],
    [{ n: 2.5 }, /n must be an integer of at least 1, is 2.5/],
    [{ bias: c }, /gemm_f32 has no argument bias; it takes m, n, k1/],
    [
      { aRows1: undefined },
      /aRows1 must be rows, as rows\(\) makes them, got undefined/,
    ],
    [
      { cRows: shoal.rows(2, 2, "f32"), aRows1: c },
      /aRows1 must be 2 rows of 3/,
    ],
  ];
  for (const [change, message] of wrong) {
    assert.throws(
      () => shoal.call("gemm_f32", { ...sound, ...change }),
      message,
    );
  }
  const square = shoal.rows(2, 3, "f32");
  assert.throws(
    () =>
      shoal.call("softmax_rows_f32", {
        n: 3,
        aRows: shoal.rowsAt(
          [shoal.addressOf(square, 1), shoal.addressOf(square, 0)],
          3,
          "f32",
        ),
        outRows: square,
      }),
    /softmax_rows_f32: row \d of (outRows|aRows) .* overlaps row \d of/,
  );
});

Deno.test("KernelHost knows how much room a cache needs", () => {
  const shoal = host();
  const cache = shoal.rows(1, 16, "f32");
  const keys = shoal.rows(1, 2, "f32");
  const append = (position: number) =>
    shoal.call("attention_append_f32", {
      ...{ keyWidth: 2, valueWidth: 2, kRows: keys, vRows: keys },
      positions: shoal.block(Int32Array.of(position)),
      ...{ kCaches: cache, vCaches: shoal.rows(1, 16, "f32") },
    });
  assert.doesNotThrow(() => append(7));
  assert.throws(() => append(8), /kCaches must be 1 rows of 32, got 1 of 16/);
  assert.throws(
    () => append(-1),
    /positions: element 0 is -1, must be between 0/,
  );
});

Deno.test("KernelHost places operands inside memory alone, and says how much is missing", () => {
  const memory = new WebAssembly.Memory({ initial: 2 });
  const shoal = new KernelHost(release.kernels, memory);
  assert.throws(
    () => shoal.block("f32", 65_536),
    /Cannot place 262144 bytes at \d+ in a memory of 131072 bytes; give it [56] pages of 64 KiB/,
  );
  assert.throws(
    () => shoal.block("f32", 2 ** 31),
    /WebAssembly addresses 4 GiB, .*: split the work/,
  );
  assert.throws(
    () => shoal.rows(2, 3, ramp(5)),
    /2 rows of 3 are 6 numbers, got 5/,
  );
  assert.throws(() => shoal.reserve(-1), /Cannot reserve -1 bytes/);
  shoal.block("f32", 1000);
  const top = shoal.reserve(0);
  shoal.reset();
  assert.ok(shoal.reserve(0) < top);
});

Deno.test("KernelHost checks convolutions by their shape", () => {
  const shoal = host();
  const shape = imageShape({
    ...{ height: 4, width: 4, channels: 2, outChannels: 3, kernel: 3 },
    pads: [1, 1, 1, 1],
  });
  const weight = ramp(54);
  const call = (change: { w?: Float32Array; scratch?: number }) =>
    shoal.call("conv_f32", {
      shape,
      inRows: shoal.rows(1, 32, ramp(32)),
      w: shoal.block(change.w ?? packConv(shape, { weight })),
      outRows: shoal.rows(1, 48, "f32"),
      scratch: change.scratch
        ? shoal.block("f32", change.scratch)
        : shoal.convScratch(shape),
    });
  assert.throws(
    () => call({ scratch: 5 }),
    /scratch must have (\d+) elements, has 5; conv_scratch_bytes\(\) makes it/,
  );
  assert.throws(
    () => call({ w: weight }),
    /w must have 152 elements, has 54; packConv\(\)/,
  );
  assert.doesNotThrow(() => call({}));
});

Deno.test("KernelHost places no bytes of other arrays, and no parts of a row", () => {
  const shoal = host();
  const refused: [() => unknown, RegExp][] = [
    [
      () => shoal.rows(1, 2, Float64Array.of(1, 2) as never),
      /is a Float32Array, an Int32Array or one of f32, .*, got/,
    ],
    [() => shoal.rows(1, 2, [1, 2] as never), /got \[1,2\]/],
    [() => shoal.rows(1, 2, "f64" as never), /got "f64"/],
    [() => shoal.block([1, 2] as never), /got \[1,2\]/],
    [() => shoal.rows(1.5, 2, "f32"), /a whole number of rows, got 1.5/],
    [() => shoal.rows(1, NaN, "f32"), /number of elements in a row, got NaN/],
    [() => shoal.block("f32", 1.5), /a whole number of elements, got 1.5/],
    [() => shoal.block("f32", -1), /a whole number of elements, got -1/],
  ];
  for (const [place, message] of refused) assert.throws(place, { message });
});

Deno.test("KernelHost says which kernels there are, and what a list of tables is", () => {
  const shoal = host();
  for (const name of ["gemm", "constructor"]) {
    assert.throws(() => shoal.call(name as never, {}), {
      name: "TypeError",
      message: new RegExp(
        `^There is no kernel "${name}"; there are gemm_f32, `,
      ),
    });
  }
  assert.throws(() => shoal.call("gemm_f32", null as never), {
    name: "TypeError",
    message: "gemm_f32 takes its arguments by name, got null",
  });
  assert.throws(
    () =>
      shoal.call("tree_internal_f32", {
        ...{ m: 1, hidden: 4, arity: 1 },
        hRowsTables: [null] as never,
      }),
    /hRowsTables must be an array of rows/,
  );
});
