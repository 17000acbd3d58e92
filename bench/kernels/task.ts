/** What bench:kernels times: one operation on one shape, ours and the same for peers. */
import { Prng } from "../../src/base/prng.ts";
import type { Equivalent, OwnResult } from "../../test/kernels/equivalent.ts";
import type { KernelCase, Work } from "../../test/kernels/kernel_case.ts";
import { place } from "../../test/kernels/placement.ts";
import { COMPOSITIONS, KERNELS } from "../../test/kernels/registry.ts";
import { encodeLayer } from "./encoder.ts";
import type { Own } from "./own.ts";

/** Something of ours ready to run. */
export interface OwnRun {
  run(): void;
  /** Bits of a result, after a run. */
  bits: OwnResult;
}

/** One line of the table. */
export interface Task {
  /** Heading of its figures. */
  area: string;
  label: string;
  /** Operations, elements or bytes, as `unit` says. */
  count: number;
  unit: Work["unit"] | "GB/s";
  /** Bytes that have to move at least once, for the roofline. */
  bytes: number;
  own(own: Own): OwnRun;
  /** The same for peers. */
  equivalent?(): Equivalent;
  /** Naive results, for what no peer computes. */
  naive?: Pick<KernelCase, "expected" | "tolerance" | "results">;
}

/** Bytes of all operands of a case. */
function operandBytes({ rows, inputs, blocks, results }: KernelCase): number {
  const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0);
  return sum(Object.values(inputs).map(({ data }) => data.byteLength)) +
    sum(Object.values(blocks ?? {}).map((data) => data.byteLength)) +
    sum(Object.values(results).map(({ width }) => 4 * rows * width));
}

function taskOf(area: string, name: string, kernelCase: KernelCase): Task {
  const { label, work, equivalent } = kernelCase;
  const bytes = kernelCase.bytes ?? operandBytes(kernelCase);
  return {
    area,
    label: `${name} ${label}`,
    count: work?.count ?? bytes,
    unit: work?.unit ?? "GB/s",
    bytes,
    own(own) {
      const placed = place(own.memory, kernelCase, {
        base: own.base,
        dense: true,
      });
      return { run: () => placed.run(own.kernels), bits: placed.bits };
    },
    ...(equivalent && { equivalent }),
    naive: kernelCase,
  };
}

/** A task that can still be left out, without having drawn its operands. */
export interface Candidate {
  area: string;
  name: string;
  make(): Task;
}

/** Every kernel of the registry at every size it is timed at, then whole layers. */
export function candidates(seed: number): Candidate[] {
  const kernels = [...KERNELS, ...COMPOSITIONS].flatMap((
    { name, area, timed },
  ) =>
    timed.map((make, i): Candidate => ({
      area,
      name,
      make: () => taskOf(area, name, make(new Prng(seed).fork(`${name}/${i}`))),
    }))
  );
  const layers = [32, 128].flatMap((tokens) =>
    [1, 8].map((batch): Candidate => ({
      area: "encoder layer",
      name: "encoder",
      make: () =>
        encodeLayer(
          new Prng(seed).fork(`encoder/${tokens}/${batch}`),
          tokens,
          batch,
        ),
    }))
  );
  return [...kernels, ...layers];
}
