/** What templates are made of, as far as chat templates use it. */

/** What a call is given. */
export interface Arguments {
  readonly values: readonly Expression[];
  /** A list of more of them, behind those: `*all`. */
  readonly rest?: Expression;
  readonly named: Readonly<Record<string, Expression>>;
}

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
    /** Whether by a name behind a dot: a method comes before what a map has by it. */
    readonly isNamed: boolean;
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
    readonly given: Arguments;
    readonly line: number;
  }
  | {
    readonly kind: "filter" | "test";
    readonly of: Expression;
    readonly name: string;
    readonly given: Arguments;
    readonly line: number;
  }
  /** What the block wrote that has just ended. */
  | { readonly kind: "written" }
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
    /** Of values in a row, each of which is asked for once: `a < b < c`. */
    readonly kind: "comparison";
    readonly of: Expression;
    readonly others: readonly {
      readonly sign: string;
      readonly of: Expression;
      readonly line: number;
    }[];
  }
  | {
    readonly kind: "choice";
    readonly of: Expression;
    readonly then: Expression;
    readonly otherwise: Expression | undefined;
  };

/** Statements with names of their own: what is set in them is forgotten behind them. */
export interface Block {
  readonly statements: readonly Statement[];
  /** Names that are nothing at its beginning. */
  readonly unset: readonly string[];
}

/** What is written for the values of its parameters, wherever it is called. */
export interface MacroBody {
  /** As texts have it. */
  readonly name: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly otherwise: Expression | undefined;
  }[];
  /** Whether it says `caller`: what a call's block writes. */
  readonly takesCaller: boolean;
  readonly body: Block;
}

/** Something that is done. */
export type Statement =
  | { readonly kind: "text"; readonly text: string; readonly line: number }
  | {
    readonly kind: "print";
    /** What it has in it is "written" when there is a block. */
    readonly of: Expression;
    readonly block: Block | undefined;
    readonly line: number;
  }
  | {
    readonly kind: "set";
    readonly name: string;
    /** Of a namespace, the name in it. */
    readonly member: string | undefined;
    readonly of: Expression;
    readonly block: Block | undefined;
    readonly line: number;
  }
  | {
    readonly kind: "if";
    readonly when: Expression;
    readonly then: readonly Statement[];
    readonly otherwise: readonly Statement[];
    readonly line: number;
  }
  | {
    readonly kind: "for";
    readonly names: readonly string[];
    readonly of: Expression;
    readonly when: Expression | undefined;
    readonly body: Block;
    /** For no element. */
    readonly otherwise: Block | undefined;
    readonly line: number;
  }
  | {
    readonly kind: "macro";
    readonly macro: MacroBody;
    readonly line: number;
  }
  | {
    /** A call that may call the block behind it. */
    readonly kind: "call";
    readonly call: Extract<Expression, { kind: "call" }>;
    readonly caller: MacroBody;
    readonly line: number;
  }
  | {
    /** What is set in it is forgotten. */
    readonly kind: "scope";
    readonly body: Block;
    readonly line: number;
  }
  | { readonly kind: "break" | "continue"; readonly line: number };
