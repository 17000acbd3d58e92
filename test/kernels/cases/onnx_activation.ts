import type { OnnxNode } from "../equivalent.ts";
import type { Activation } from "../../../src/kernels/module/activations.ts";

/** An activation as operators from value `from` to value `to`; none is no operator. */
export function onnxActivation(
  act: Activation,
  from: string,
  to: string,
): OnnxNode[] {
  const node = (
    opType: string,
    more: Pick<OnnxNode, "domain" | "attributes"> = {},
  ) => [{ opType, inputs: [from], outputs: [to], ...more }];
  switch (act) {
    case "none":
      return [];
    case "relu":
      return node("Relu");
    case "sigmoid":
      return node("Sigmoid");
    case "tanh":
      return node("Tanh");
    case "gelu":
      return node("Gelu");
    case "geluTanh":
      return node("FastGelu", { domain: "com.microsoft" });
    case "silu":
      return node("QuickGelu", {
        domain: "com.microsoft",
        attributes: { alpha: { float: 1 } },
      });
    default:
      return act satisfies never;
  }
}
