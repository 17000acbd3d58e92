/** A template's expressions. Precedence of operators as Jinja has it. */
import { describe } from "../../base/describe.ts";
import { templateError } from "./template_error.ts";
import { BlockNames } from "./template_names.ts";
import type { Arguments, Expression } from "./template_syntax.ts";
import { floatOf } from "./template_values.ts";
import type { TemplateToken } from "./template_tokens.ts";

const COMPARISONS = ["==", "!=", "<", ">", "<=", ">=", "in", "not in"];

/** Operators between two values, by how tightly they bind. */
const BINARY: readonly (readonly string[])[] = [
  ["+", "-"],
  ["~"],
  ["*", "/", "//", "%"],
];

/** Names with a value of their own; as in Python and as in JSON. */
export const CONSTANTS: ReadonlyMap<string, unknown> = new Map<string, unknown>(
  [
    ["true", true],
    ["True", true],
    ["false", false],
    ["False", false],
    ["none", null],
    ["None", null],
  ],
);

/** Expressions in expressions. */
const DEPTH_MAX = 200;

/** Names that macros have besides their parameters, which are not known. */
const SURPLUS = ["varargs", "kwargs"];

/** Reads expressions of a template's tokens, and what statements are read with. */
export class ExpressionParser {
  protected at = 0;
  #depth = 0;
  /** Of the block that is read. */
  protected names: BlockNames = new BlockNames();
  /** Macros that are read, and whether `caller` was said in them. */
  protected macros = 0;
  protected saysCaller = false;

  constructor(protected readonly tokens: readonly TemplateToken[]) {}

  protected get token(): TemplateToken | undefined {
    return this.tokens[this.at];
  }

  protected get line(): number {
    return this.token?.line ?? this.tokens.at(-1)?.line ?? 1;
  }

  protected fail(what: string): never {
    throw templateError(what, this.line);
  }

  protected is(value: string, ahead = 0): boolean {
    const token = this.tokens[this.at + ahead];
    return token !== undefined && token.value === value &&
      (token.kind === "sign" || token.kind === "name" ||
        token.kind === "open" || token.kind === "close");
  }

  protected take(value: string): boolean {
    if (!this.is(value)) return false;
    this.at++;
    return true;
  }

  protected expect(value: string): void {
    if (this.take(value)) return;
    this.fail(
      `${describe(value)} is missing, there is ${
        describe(this.token?.value ?? "the end")
      }`,
    );
  }

  protected name(): string {
    const token = this.token;
    if (token?.kind !== "name") this.fail("a name is missing");
    this.at++;
    return token.value;
  }

  protected expression(): Expression {
    if (++this.#depth > DEPTH_MAX) this.fail("it is nested too deeply");
    try {
      let made = this.or();
      while (this.take("if")) {
        const of = this.or();
        const otherwise = this.take("else") ? this.expression() : undefined;
        made = { kind: "choice", of, then: made, otherwise };
      }
      return made;
    } finally {
      this.#depth--;
    }
  }

  protected or(): Expression {
    let left = this.#and();
    while (this.is("or")) left = this.#binary(left, () => this.#and());
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.is("and")) left = this.#binary(left, () => this.#not());
    return left;
  }

  #binary(left: Expression, right: () => Expression): Expression {
    const { value: sign, line } = this.tokens[this.at++];
    return { kind: "binary", sign, left, right: right(), line };
  }

  #not(): Expression {
    return this.take("not")
      ? { kind: "not", of: this.#not() }
      : this.#comparison();
  }

  /** One, or several in a row, of which all have to hold: `a < b < c`. */
  #comparison(): Expression {
    const of = this.#between(0);
    const others: { sign: string; of: Expression; line: number }[] = [];
    for (;;) {
      const { line } = this.token ?? { line: 0 };
      const isNotIn = this.is("not") && this.is("in", 1);
      const sign = isNotIn ? "not in" : this.token?.value ?? "";
      if (!isNotIn && !COMPARISONS.some((one) => this.is(one))) {
        return others.length > 0 ? { kind: "comparison", of, others } : of;
      }
      this.at += isNotIn ? 2 : 1;
      others.push({ sign, of: this.#between(0), line });
    }
  }

  #between(level: number): Expression {
    if (level === BINARY.length) return this.#unary();
    let left = this.#between(level + 1);
    while (BINARY[level].some((sign) => this.is(sign))) {
      left = this.#binary(left, () => this.#between(level + 1));
    }
    return left;
  }

  #unary(): Expression {
    return this.filtered(this.#negated());
  }

  /** A minus binds tighter than a filter, and less than a member. */
  #negated(): Expression {
    const line = this.line;
    if (this.take("-")) return { kind: "minus", of: this.#negated(), line };
    return this.behind(this.#primary());
  }

  #primary(): Expression {
    const token = this.token;
    if (token === undefined) this.fail("it ends amid an expression");
    this.at++;
    const { kind, value, line } = token;
    if (kind === "number") {
      const number = Number(value);
      if (value.includes(".")) {
        return { kind: "literal", value: floatOf(number) };
      }
      if (Number.isSafeInteger(number)) {
        return { kind: "literal", value: number };
      }
      this.at--;
      this.fail("a number of more digits than are exact");
    }
    if (kind === "string") {
      let all = value;
      for (; this.token?.kind === "string"; this.at++) {
        all += this.token.value;
      }
      return { kind: "literal", value: all };
    }
    if (kind === "name") {
      if (CONSTANTS.has(value)) {
        return { kind: "literal", value: CONSTANTS.get(value) };
      }
      if (this.macros > 0 && SURPLUS.includes(value)) {
        this.fail(`macros have no ${describe(value)}`);
      }
      if (value === "caller") this.saysCaller = true;
      this.names.reads(value);
      return { kind: "name", name: value, line };
    }
    if (value === "(") {
      const first = this.expression();
      if (!this.is(",")) {
        this.expect(")");
        return first;
      }
      const items = [first];
      while (this.take(",") && !this.is(")")) items.push(this.expression());
      this.expect(")");
      return { kind: "tuple", items };
    }
    if (value === "[") {
      return {
        kind: "list",
        items: this.listed("]", () => this.expression()),
      };
    }
    if (value === "{") {
      const entry = () => {
        const key = this.expression();
        this.expect(":");
        return [key, this.expression()] as const;
      };
      return { kind: "map", entries: this.listed("}", entry), line };
    }
    this.at--;
    this.fail(`${describe(value)} begins no expression`);
  }

  protected listed<T>(end: string, read: () => T): T[] {
    const items: T[] = [];
    while (!this.take(end)) {
      items.push(read());
      if (!this.is(end)) this.expect(",");
    }
    return items;
  }

  /** Members, indices and calls behind a value. */
  protected behind(of: Expression): Expression {
    for (;;) {
      const line = this.line;
      if (this.take(".")) {
        const { kind, value } = this.token ?? {};
        const isIndex = kind === "number" && !value!.includes(".");
        const key: Expression = isIndex
          ? this.#primary()
          : { kind: "literal", value: this.name() };
        of = { kind: "member", of, key, isNamed: !isIndex, line };
      } else if (this.take("[")) {
        of = this.#index(of, line);
      } else if (this.is("(")) {
        of = this.called(of);
      } else return of;
    }
  }

  #index(of: Expression, line: number): Expression {
    const bounds: (Expression | undefined)[] = [];
    let isSlice = false;
    do {
      const isEmpty = this.is(":") || this.is("]");
      bounds.push(isEmpty ? undefined : this.expression());
      isSlice ||= this.is(":");
    } while (bounds.length < 3 && this.take(":"));
    this.expect("]");
    if (isSlice) return { kind: "slice", of, bounds, line };
    const [key] = bounds;
    if (key === undefined) this.fail("an index is missing");
    return { kind: "member", of, key, isNamed: false, line };
  }

  protected called(of: Expression): Extract<Expression, { kind: "call" }> {
    const { line } = this;
    return { kind: "call", of, given: this.#arguments(), line };
  }

  #arguments(): Arguments {
    const values: Expression[] = [];
    const named: Record<string, Expression> = Object.create(null);
    let rest: Expression | undefined;
    this.expect("(");
    this.listed(")", () => {
      if (this.token?.kind === "name" && this.is("=", 1)) {
        const name = this.name();
        this.expect("=");
        if (Object.hasOwn(named, name)) this.fail(`${name} is given twice`);
        named[name] = this.expression();
      } else if (rest !== undefined) {
        this.fail("behind a list of arguments there are named ones");
      } else if (this.take("*")) rest = this.expression();
      else values.push(this.expression());
    });
    return { values, named, ...(rest && { rest }) };
  }

  /** Filters and tests behind a value. */
  protected filtered(of: Expression): Expression {
    for (;;) {
      const { line } = this;
      if (this.take("|")) of = this.filter(of);
      else if (this.is("(")) of = this.called(of);
      else if (this.take("is")) {
        const isNot = this.take("not");
        const name = this.name();
        of = { kind: "test", of, name, given: this.#tested(), line };
        if (isNot) of = { kind: "not", of };
      } else return of;
    }
  }

  protected filter(of: Expression): Expression {
    const { line } = this;
    const name = this.name();
    const given = this.is("(") ? this.#arguments() : NOTHING;
    return { kind: "filter", of, name, given, line };
  }

  /** What a test is given, in brackets or as one value behind it. */
  #tested(): Arguments {
    if (this.is("(")) return this.#arguments();
    const { kind, value } = this.token ?? {};
    const isOne = kind === "name"
      ? !["else", "or", "and"].includes(value!)
      : kind === "string" || kind === "number" || this.is("[") || this.is("{");
    return isOne
      ? { values: [this.behind(this.#primary())], named: {} }
      : NOTHING;
  }
}

const NOTHING = { values: [], named: {} } as const;
