/** Einsum as what it stands for: results, and what is left in plain TypeScript. */
import assert from "node:assert/strict";
import { Prng } from "../../src/base/prng.ts";
import { onnxModel } from "../../src/onnx/model.ts";
import { readModel } from "../../src/onnx/read/read_model.ts";
import { near } from "./sequence_checks.ts";
import { Writer } from "./sequence_models.ts";
import { node, writeModel } from "./write_model.ts";

const SEED = 3;
const SIZES: Readonly<Record<string, number>> = {
  ...{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 2 },
  ...{ B: 1, G: 3, H: 2, I: 4, J: 4, D: 5 },
};

/** A formula; what is constant of its operands. */
const WRITTEN: readonly [equation: string, constants?: readonly number[]][] = [
  // Attention, with blanks and capitals as written by hand.
  ["B G H I D, B G H J D -> B G H I J"],
  ["B G H I J, B G H J D -> B G H I D"],
  ["abhd,ahcd->abhc".replaceAll("h", "e")],
  ["abc,adc->abd"],
  ["abcd,cde->abe", [1]],
  ["abc,cd->abd", [1]],
  ["cd,abc->abd", [0]],
  ["abc,bce->ae"],
  ["ab,cd->abcd"],
  ["abc,abc->abc"],
  ["abc,abc->ab"],
  ["abc,c->abc"],
  ["acb,b->ac", [1]],
  ["abc,ade->bc"],
  ["abc->cb"],
  ["abc->acb"],
  ["abcd,cf->dbaf"],
  ["...ab,...bc->...ac"],
  ["abcd,bcd"],
];
/** What stays: diagonals, three operands. */
const PLAIN: typeof WRITTEN = [["aacd->acd"], ["ab,bc,cd->ad"]];

const sizesOf = (term: string) =>
  [...term.replaceAll(" ", "").replace("...", "ff")].map((label) =>
    SIZES[label]
  );

for (
  const [written, plain] of [[WRITTEN, undefined], [PLAIN, "Einsum"]] as const
) {
  for (const [equation, constants = []] of written) {
    Deno.test(`${equation} ${plain ? "stays Einsum" : "is products and moves"} (seed ${SEED})`, () => {
      const writer = new Writer(new Prng(SEED));
      const terms = equation.split("->")[0].split(",").map(sizesOf);
      const names = terms.map((dims, i) =>
        constants.includes(i) ? writer.weight(...dims) : `x${i}`
      );
      const inputs = terms.map((dims, i) => ({ name: `x${i}`, dims }))
        .filter((_, i) => !constants.includes(i));
      const file = readModel(writeModel({
        graph: {
          inputs,
          outputs: [{ name: "y" }],
          initializers: writer.constants,
          nodes: [node("Einsum", names, ["y"], { equation })],
        },
      }));
      const model = onnxModel(file);
      const request = new Map(
        inputs.map(({ name, dims }) => [name, writer.drawn("float32", dims)]),
      );
      near(model, file, request, equation);
      const notes = model.notes.filter((note) => /Einsum/.test(note));
      assert.equal(notes.length, plain ? 1 : 0, model.notes.join("\n"));
    });
  }
}
