import type { OnnxAttribute, OnnxNode } from "../ir.ts";

/** A node that is not in the file. */
export function madeNode(
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, number | { float: number }>> = {},
  domain = "",
): OnnxNode {
  return {
    ...{ name: outputs[0], op, domain, version: 13, inputs, outputs },
    attributes: new Map(
      Object.entries(attributes).map((
        [name, value],
      ): [string, OnnxAttribute] => [
        name,
        typeof value === "number"
          ? { kind: "int", value }
          : { kind: "float", value: value.float },
      ]),
    ),
  };
}
