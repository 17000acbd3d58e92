/**
 * Sizes that are not known yet: whole numbers, or sums of products of symbols with whole coefficients. What is no
 * such sum, a quotient rounded down or the larger of two, is a symbol of its own that knows its parts. Sums are kept in
 * one form, so that equal ones are recognised: `[batch*seq, 64]` reshaped to `[batch, -1, 64]` has `seq` in the
 * middle.
 *
 * Assumption: a size that a file names, or leaves open, is at least 1. Without that `x[:, 1:]` has max(0, n - 1)
 * elements, and nothing that is cut off at one end and put on at the other has the size it had.
 */
import { OnnxError } from "../place.ts";

/** A whole number, perhaps not known yet. Sizes are at least 0; elements of shape arithmetic may be less. */
export type Dim = number | DimSum;

/** A sum that is no number. */
export interface DimSum {
  /** Text by which equal sums are known; also what people are shown. */
  readonly key: string;
  /** Sorted; no two with the same factors. */
  readonly terms: readonly DimTerm[];
}

interface DimTerm {
  /** Never 0. */
  readonly coefficient: number;
  /** Sorted by key; none for the constant. A square has its factor twice. */
  readonly factors: readonly DimAtom[];
  /** Of the factors. */
  readonly key: string;
}

type DimAtom =
  & {
    readonly key: string;
    readonly least: number;
    /** Never above; default: nobody knows. */
    readonly most?: number;
  }
  & (
    | { readonly kind: "symbol"; readonly name: string }
    | {
      readonly kind: "floorDiv" | "max" | "min";
      readonly of: readonly [Dim, Dim];
    }
  );

/** Sums of more terms, and longer texts, are not made: what a hostile graph multiplies doubles at every node. */
const TERMS_MAX = 64;
const KEY_MAX = 2_000;

/** A size that is known by a name. */
export function symbol(name: string, least = 1, most?: number): Dim {
  const key = /^[A-Za-z_?][\w?.:#]*$/.test(name) ? name : JSON.stringify(name);
  return ofAtom({
    ...{ kind: "symbol", name, key, least },
    ...(most !== undefined && { most }),
  });
}

/** As people are shown it. */
export function describeDim(dim: Dim): string {
  return typeof dim === "number" ? `${dim}` : dim.key;
}

/** Whether two sizes are the same whatever the symbols are. */
export function isSameDim(a: Dim, b: Dim): boolean {
  return typeof a === "number" || typeof b === "number"
    ? a === b
    : a.key === b.key;
}

export function addDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return checked(a + b);
  return ofTerms([...termsOf(a), ...termsOf(b)]);
}

export function subtractDims(a: Dim, b: Dim): Dim {
  return addDims(a, multiplyDims(b, -1));
}

export function multiplyDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return checked(a * b);
  const terms: DimTerm[] = [];
  for (const left of termsOf(a)) {
    for (const right of termsOf(b)) {
      terms.push(term(
        checked(left.coefficient * right.coefficient),
        [...left.factors, ...right.factors],
      ));
    }
  }
  return ofTerms(terms);
}

/** The product of sizes; 1 of none. */
export function productOf(dims: readonly Dim[]): Dim {
  return dims.reduce<Dim>(multiplyDims, 1);
}

/** a / b where that leaves no rest for any symbols; undefined where it may. */
export function divideExactly(a: Dim, b: Dim): Dim | undefined {
  if (b === 0) return undefined;
  if (typeof a === "number" && typeof b === "number") {
    return a % b === 0 ? checked(a / b) : undefined;
  }
  // Long division: the first term of what is left by the first term of the divisor.
  const divisor = termsOf(b)[0];
  let left = a;
  let quotient: Dim = 0;
  for (let steps = 0; left !== 0; steps++) {
    if (steps > TERMS_MAX) return undefined;
    const next = quotientOf(termsOf(left)[0], divisor);
    if (next === undefined) return undefined;
    quotient = addDims(quotient, ofTerms([next]));
    left = subtractDims(left, multiplyDims(ofTerms([next]), b));
  }
  return quotient;
}

/** a / b, rounded down; b is not 0, and positive where it is no number. */
export function floorDivDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") {
    return checked(Math.floor(a / b));
  }
  const exact = divideExactly(a, b);
  if (exact !== undefined) return exact;
  if (typeof b !== "number" || b <= 0) return ofAtom(floorDivAtom(a, b));
  // What divides comes out; of the constant its multiple.
  const out: DimTerm[] = [];
  const rest: DimTerm[] = [];
  for (const { coefficient, factors } of termsOf(a)) {
    const whole = factors.length === 0
      ? Math.floor(coefficient / b)
      : coefficient % b === 0
      ? coefficient / b
      : 0;
    if (whole !== 0) out.push(term(whole, factors));
    const left = coefficient - whole * b;
    if (left !== 0) rest.push(term(left, factors));
  }
  const inside = ofTerms(rest);
  return addDims(
    ofTerms(out),
    typeof inside === "number"
      ? Math.floor(inside / b)
      : ofAtom(floorDivAtom(inside, b)),
  );
}

/** a / b, rounded up. */
export function ceilDivDims(a: Dim, b: number): Dim {
  return floorDivDims(addDims(a, b - 1), b);
}

export function maxDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return Math.max(a, b);
  if (leastOf(subtractDims(a, b)) >= 0) return a;
  if (leastOf(subtractDims(b, a)) >= 0) return b;
  if (isPairWith("max", a, b) || isPairWith("min", b, a)) return a;
  if (isPairWith("max", b, a) || isPairWith("min", a, b)) return b;
  return ofAtom(pairAtom("max", a, b, Math.max(leastOf(a), leastOf(b))));
}

export function minDims(a: Dim, b: Dim): Dim {
  if (typeof a === "number" && typeof b === "number") return Math.min(a, b);
  if (leastOf(subtractDims(a, b)) >= 0) return b;
  if (leastOf(subtractDims(b, a)) >= 0) return a;
  if (isPairWith("min", a, b) || isPairWith("max", b, a)) return a;
  if (isPairWith("min", b, a) || isPairWith("max", a, b)) return b;
  return ofAtom(pairAtom("min", a, b, Math.min(leastOf(a), leastOf(b))));
}

/** Whether a is the larger (or smaller) one of b and something. */
function isPairWith(kind: "max" | "min", a: Dim, b: Dim): boolean {
  if (typeof a === "number" || a.terms.length !== 1) return false;
  const [{ coefficient, factors: [atom, ...others] }] = a.terms;
  return coefficient === 1 && others.length === 0 && atom.kind === kind &&
    atom.of.some((part) => isSameDim(part, b));
}

/** A number that it is never below; -Infinity where that is not known. */
export function leastOf(dim: Dim): number {
  if (typeof dim === "number") return dim;
  let least = 0;
  for (const { coefficient, factors } of dim.terms) {
    if (factors.some((atom) => atom.least < 0)) return -Infinity;
    const isBelow = coefficient < 0;
    least += factors.reduce(
      (bound, atom) => bound * (isBelow ? atom.most ?? Infinity : atom.least),
      coefficient,
    );
  }
  return least;
}

/** Names of the symbols that it depends on. */
export function symbolsOf(
  dim: Dim,
  found: Set<string> = new Set(),
): Set<string> {
  if (typeof dim === "number") return found;
  for (const { factors } of dim.terms) {
    for (const atom of factors) {
      if (atom.kind === "symbol") found.add(atom.name);
      else for (const part of atom.of) symbolsOf(part, found);
    }
  }
  return found;
}

/**
 * The size where symbols are given; those that are undefined stay.
 * @throws OnnxError where it is no safe integer
 */
export function substituteDim(
  dim: Dim,
  given: (name: string) => Dim | undefined,
): Dim {
  if (typeof dim === "number") return dim;
  let sum: Dim = 0;
  for (const { coefficient, factors } of dim.terms) {
    let product: Dim = coefficient;
    for (const atom of factors) {
      product = multiplyDims(product, substituteAtom(atom, given));
    }
    sum = addDims(sum, product);
  }
  return sum;
}

function substituteAtom(
  atom: DimAtom,
  given: (name: string) => Dim | undefined,
): Dim {
  if (atom.kind === "symbol") return given(atom.name) ?? ofAtom(atom);
  const [a, b] = atom.of.map((part) => substituteDim(part, given));
  switch (atom.kind) {
    case "floorDiv":
      return floorDivDims(a, b);
    case "max":
      return maxDims(a, b);
    case "min":
      return minDims(a, b);
  }
}

function floorDivAtom(a: Dim, b: Dim): DimAtom {
  const least = typeof b === "number"
    ? Math.floor(leastOf(a) / b)
    : leastOf(a) >= 0
    ? 0
    : -Infinity;
  return {
    kind: "floorDiv",
    of: [a, b],
    least,
    key: `floor((${describeDim(a)})/(${describeDim(b)}))`,
  };
}

function pairAtom(
  kind: "max" | "min",
  a: Dim,
  b: Dim,
  least: number,
): DimAtom {
  const of = describeDim(a) <= describeDim(b)
    ? [a, b] as const
    : [b, a] as const;
  return { kind, of, least, key: `${kind}(${of.map(describeDim).join(", ")})` };
}

function ofAtom(atom: DimAtom): Dim {
  return ofTerms([term(1, [atom])]);
}

function term(coefficient: number, factors: readonly DimAtom[]): DimTerm {
  const sorted = factors.length < 2
    ? factors
    : [...factors].sort((a, b) => a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
  return {
    coefficient,
    factors: sorted,
    key: sorted.map((atom) => atom.key).join("*"),
  };
}

function termsOf(dim: Dim): readonly DimTerm[] {
  if (typeof dim !== "number") return dim.terms;
  return dim === 0 ? [] : [term(dim, [])];
}

/** Equal products added up. */
function ofTerms(given: readonly DimTerm[]): Dim {
  const byKey = new Map<string, DimTerm>();
  for (const each of given) {
    const found = byKey.get(each.key);
    const coefficient = checked(each.coefficient + (found?.coefficient ?? 0));
    byKey.set(each.key, { ...each, coefficient });
  }
  const terms = [...byKey.values()].filter(({ coefficient }) =>
    coefficient !== 0
  ).sort(byDegree);
  if (terms.length === 0) return 0;
  if (terms.length === 1 && terms[0].factors.length === 0) {
    return terms[0].coefficient;
  }
  const key = terms.map(({ coefficient, factors, key }, i) => {
    const size = Math.abs(coefficient);
    const sign = coefficient < 0
      ? (i === 0 ? "-" : " - ")
      : i === 0
      ? ""
      : " + ";
    if (factors.length === 0) return `${sign}${size}`;
    return `${sign}${size === 1 ? "" : `${size}*`}${key}`;
  }).join("");
  if (terms.length > TERMS_MAX || key.length > KEY_MAX) {
    throw new OnnxError(
      `a size of ${terms.length} terms (${key.length} characters) is not computed with`,
    );
  }
  return { terms, key };
}

/** Higher powers first, as long division needs; the constant last. */
function byDegree(a: DimTerm, b: DimTerm): number {
  return b.factors.length - a.factors.length ||
    (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
}

/** One term by another; undefined where something would be left. */
function quotientOf(a: DimTerm, b: DimTerm): DimTerm | undefined {
  if (a.coefficient % b.coefficient !== 0) return undefined;
  const left = [...a.factors];
  for (const { key } of b.factors) {
    const i = left.findIndex((atom) => atom.key === key);
    if (i < 0) return undefined;
    left.splice(i, 1);
  }
  return term(a.coefficient / b.coefficient, left);
}

function checked(size: number): number {
  if (!Number.isSafeInteger(size)) {
    throw new OnnxError(`a size of ${size} is beyond any memory`);
  }
  // -0 is 0.
  return size + 0;
}
