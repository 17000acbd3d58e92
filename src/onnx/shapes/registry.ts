/** What is known of results before anything runs, by operator. */
import { CONTRIB_DOMAIN } from "../domains.ts";
import { CONTROL } from "./control.ts";
import { ELEMENTWISE } from "./elementwise.ts";
import { IMAGES } from "./images.ts";
import { dynamicQuantizeLstm, MATRICES } from "./matrices.ts";
import type { ShapeRule } from "./node_view.ts";
import { REDUCTIONS } from "./reductions.ts";
import { RESHAPES } from "./reshapes.ts";
import { SAMPLINGS } from "./sampling.ts";
import { SELECTIONS } from "./selections.ts";
import { SIGNALS } from "./signals.ts";

/** Rules of ONNX's own domain. */
const RULES: Readonly<Record<string, ShapeRule>> = {
  ...ELEMENTWISE,
  ...RESHAPES,
  ...SELECTIONS,
  ...REDUCTIONS,
  ...IMAGES,
  ...MATRICES,
  ...CONTROL,
  ...SIGNALS,
  ...SAMPLINGS,
};

/** Of `com.microsoft`, what is not written in ONNX's own operators. */
const CONTRIB_RULES: Readonly<Record<string, ShapeRule>> = {
  DynamicQuantizeLSTM: dynamicQuantizeLstm,
};

/** The rule of an operator; undefined where there is none. */
export function shapeRule(op: string, domain: string): ShapeRule | undefined {
  const rules = domain === ""
    ? RULES
    : domain === CONTRIB_DOMAIN
    ? CONTRIB_RULES
    : {};
  return Object.hasOwn(rules, op) ? rules[op] : undefined;
}
