/** What templates are made of, as far as chat templates use it. */

/** Something with a value. */
export type Expression =
  | { readonly kind: "literal"; readonly value: unknown }
  | { readonly kind: "name"; readonly name: string; readonly line: number }
  | { readonly kind: "list" | "tuple"; readonly items: readonly Expression[] }
  | {
    readonly kind: "map";
    readonly entries: readonly (readonly [Expression, Expression])[];
    readonly line: number;
  }
  | {
    readonly kind: "member";
    readonly of: Expression;
    readonly key: Expression;
    readonly line: number;
  }
  | {
    readonly kind: "slice";
    readonly of: Expression;
    readonly bounds: readonly (Expression | undefined)[];
    readonly line: number;
  }
  | {
    readonly kind: "call";
    readonly of: Expression;
    readonly values: readonly Expression[];
    readonly named: Readonly<Record<string, Expression>>;
    readonly line: number;
  }
  | {
    readonly kind: "filter" | "test";
    readonly of: Expression;
    readonly name: string;
    readonly values: readonly Expression[];
    readonly named: Readonly<Record<string, Expression>>;
    readonly line: number;
  }
  | { readonly kind: "not"; readonly of: Expression }
  | { readonly kind: "minus"; readonly of: Expression; readonly line: number }
  | {
    readonly kind: "binary";
    readonly sign: string;
    readonly left: Expression;
    readonly right: Expression;
    readonly line: number;
  }
  | {
    readonly kind: "choice";
    readonly of: Expression;
    readonly then: Expression;
    readonly otherwise: Expression | undefined;
  };

/** Something that is done. */
export type Statement =
  | { readonly kind: "text"; readonly text: string }
  /** What is set in it is forgotten behind it. */
  | { readonly kind: "scope"; readonly body: readonly Statement[] }
  | { readonly kind: "print"; readonly of: Expression }
  | {
    readonly kind: "set";
    readonly name: string;
    /** Of a namespace, the name in it. */
    readonly member: string | undefined;
    readonly of: Expression;
    readonly line: number;
  }
  | {
    readonly kind: "if";
    readonly when: Expression;
    readonly then: readonly Statement[];
    readonly otherwise: readonly Statement[];
  }
  | {
    readonly kind: "for";
    readonly names: readonly string[];
    readonly of: Expression;
    readonly when: Expression | undefined;
    readonly body: readonly Statement[];
    readonly line: number;
  };
