/** A template's statements. Precedence of operators as Jinja has it. */
import { describe } from "../../base/describe.ts";
import { templateError } from "./template_error.ts";
import type { Expression, Statement } from "./template_syntax.ts";
import { floatOf } from "./template_values.ts";
import { type TemplateToken, templateTokens } from "./template_tokens.ts";

const COMPARISONS = ["==", "!=", "<", ">", "<=", ">=", "in", "not in"];

/** Operators between two values, by how tightly they bind. */
const BINARY: readonly (readonly string[])[] = [
  ["+", "-"],
  ["~"],
  ["*", "/", "//", "%"],
];

/** Names with a value of their own; as in Python and as in JSON. */
const CONSTANTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["true", true],
  ["True", true],
  ["false", false],
  ["False", false],
  ["none", null],
  ["None", null],
]);

/** Expressions in expressions. */
const DEPTH_MAX = 200;

/** @throws TextFileError on what chat templates do not use, naming the line */
export function parseTemplate(source: string): readonly Statement[] {
  return new Parser(templateTokens(source)).all();
}

class Parser {
  #at = 0;
  #depth = 0;

  constructor(readonly tokens: readonly TemplateToken[]) {}

  all(): readonly Statement[] {
    const statements = this.#body([]);
    if (this.#at < this.tokens.length) this.#fail("there is nothing to end");
    return statements;
  }

  get #token(): TemplateToken | undefined {
    return this.tokens[this.#at];
  }

  get #line(): number {
    return this.#token?.line ?? this.tokens.at(-1)?.line ?? 1;
  }

  #fail(what: string): never {
    throw templateError(what, this.#line);
  }

  #is(value: string, ahead = 0): boolean {
    const token = this.tokens[this.#at + ahead];
    return token !== undefined && token.value === value &&
      (token.kind === "sign" || token.kind === "name" ||
        token.kind === "open" || token.kind === "close");
  }

  #take(value: string): boolean {
    if (!this.#is(value)) return false;
    this.#at++;
    return true;
  }

  #expect(value: string): void {
    if (this.#take(value)) return;
    this.#fail(
      `${describe(value)} is missing, there is ${
        describe(this.#token?.value ?? "the end")
      }`,
    );
  }

  #name(): string {
    const token = this.#token;
    if (token?.kind !== "name") this.#fail("a name is missing");
    this.#at++;
    return token.value;
  }

  /** Statements up to one of those that end them. */
  #body(ends: readonly string[]): readonly Statement[] {
    const statements: Statement[] = [];
    for (let token = this.#token; token; token = this.#token) {
      if (token.kind === "text") {
        statements.push({ kind: "text", text: token.value });
        this.#at++;
      } else if (this.#take("{{")) {
        statements.push({ kind: "print", of: this.#expression() });
        this.#expect("}}");
      } else {
        const next = this.tokens[this.#at + 1]?.value ?? "";
        if (ends.includes(next)) return statements;
        this.#expect("{%");
        statements.push(...this.#statement());
      }
    }
    if (ends.length > 0) this.#fail(`${ends.at(-1)} is missing`);
    return statements;
  }

  #end(name: string): void {
    this.#expect("{%");
    this.#expect(name);
    this.#expect("%}");
  }

  #statement(): readonly Statement[] {
    const { line } = this.tokens[this.#at - 1];
    const word = this.#name();
    switch (word) {
      case "set": {
        const name = this.#name();
        const member = this.#take(".") ? this.#name() : undefined;
        this.#expect("=");
        const of = this.#expression();
        this.#expect("%}");
        return [{ kind: "set", name, member, of, line }];
      }
      case "if":
        return [this.#if()];
      case "for":
        return [this.#for(line)];
      // Marks answers for training.
      case "generation": {
        this.#expect("%}");
        const body = this.#body(["endgeneration"]);
        this.#end("endgeneration");
        return [{ kind: "scope", body }];
      }
      default:
        this.#fail(`there is no statement ${describe(word)}`);
    }
  }

  #if(): Statement {
    const when = this.#expression();
    this.#expect("%}");
    const then = this.#body(["elif", "else", "endif"]);
    this.#expect("{%");
    if (this.#take("elif")) {
      return { kind: "if", when, then, otherwise: [this.#if()] };
    }
    let otherwise: readonly Statement[] = [];
    if (this.#take("else")) {
      this.#expect("%}");
      otherwise = this.#body(["endif"]);
      this.#expect("{%");
    }
    this.#expect("endif");
    this.#expect("%}");
    return { kind: "if", when, then, otherwise };
  }

  #for(line: number): Statement {
    const names = [this.#name()];
    while (this.#take(",")) names.push(this.#name());
    this.#expect("in");
    // A condition behind it is not a choice.
    const of = this.#or();
    const when = this.#take("if") ? this.#expression() : undefined;
    this.#expect("%}");
    const body = this.#body(["endfor"]);
    this.#end("endfor");
    return { kind: "for", names, of, when, body, line };
  }

  #expression(): Expression {
    if (++this.#depth > DEPTH_MAX) this.#fail("it is nested too deeply");
    try {
      const then = this.#or();
      if (!this.#take("if")) return then;
      const of = this.#or();
      const otherwise = this.#take("else") ? this.#expression() : undefined;
      return { kind: "choice", of, then, otherwise };
    } finally {
      this.#depth--;
    }
  }

  #or(): Expression {
    let left = this.#and();
    while (this.#is("or")) left = this.#binary(left, () => this.#and());
    return left;
  }

  #and(): Expression {
    let left = this.#not();
    while (this.#is("and")) left = this.#binary(left, () => this.#not());
    return left;
  }

  #binary(left: Expression, right: () => Expression): Expression {
    const { value: sign, line } = this.tokens[this.#at++];
    return { kind: "binary", sign, left, right: right(), line };
  }

  #not(): Expression {
    return this.#take("not")
      ? { kind: "not", of: this.#not() }
      : this.#comparison();
  }

  /** One, or several in a row, of which all have to hold: `a < b < c`. */
  #comparison(): Expression {
    let left = this.#between(0);
    let all: Expression | undefined;
    for (;;) {
      const { line } = this.#token ?? { line: 0 };
      const isNotIn = this.#is("not") && this.#is("in", 1);
      const sign = isNotIn ? "not in" : this.#token?.value ?? "";
      if (!isNotIn && !COMPARISONS.some((one) => this.#is(one))) {
        return all ?? left;
      }
      this.#at += isNotIn ? 2 : 1;
      const right = this.#between(0);
      const one: Expression = { kind: "binary", sign, left, right, line };
      all = all
        ? { kind: "binary", sign: "and", left: all, right: one, line }
        : one;
      left = right;
    }
  }

  #between(level: number): Expression {
    if (level === BINARY.length) return this.#unary();
    let left = this.#between(level + 1);
    while (BINARY[level].some((sign) => this.#is(sign))) {
      left = this.#binary(left, () => this.#between(level + 1));
    }
    return left;
  }

  #unary(): Expression {
    return this.#filtered(this.#negated());
  }

  /** A minus binds tighter than a filter, and less than a member. */
  #negated(): Expression {
    const line = this.#line;
    if (this.#take("-")) return { kind: "minus", of: this.#negated(), line };
    return this.#behind(this.#primary());
  }

  #primary(): Expression {
    const token = this.#token;
    if (token === undefined) this.#fail("it ends amid an expression");
    this.#at++;
    const { kind, value, line } = token;
    if (kind === "number") {
      const number = Number(value);
      if (value.includes(".")) {
        return { kind: "literal", value: floatOf(number) };
      }
      if (Number.isSafeInteger(number)) {
        return { kind: "literal", value: number };
      }
      this.#at--;
      this.#fail("a number of more digits than are exact");
    }
    if (kind === "string") {
      let all = value;
      for (; this.#token?.kind === "string"; this.#at++) {
        all += this.#token.value;
      }
      return { kind: "literal", value: all };
    }
    if (kind === "name") {
      return CONSTANTS.has(value)
        ? { kind: "literal", value: CONSTANTS.get(value) }
        : { kind: "name", name: value, line };
    }
    if (value === "(") {
      const first = this.#expression();
      if (!this.#is(",")) {
        this.#expect(")");
        return first;
      }
      const items = [first];
      while (this.#take(",") && !this.#is(")")) items.push(this.#expression());
      this.#expect(")");
      return { kind: "tuple", items };
    }
    if (value === "[") {
      return {
        kind: "list",
        items: this.#listed("]", () => this.#expression()),
      };
    }
    if (value === "{") {
      const entry = () => {
        const key = this.#expression();
        this.#expect(":");
        return [key, this.#expression()] as const;
      };
      return { kind: "map", entries: this.#listed("}", entry), line };
    }
    this.#at--;
    this.#fail(`${describe(value)} begins no expression`);
  }

  #listed<T>(end: string, read: () => T): T[] {
    const items: T[] = [];
    while (!this.#take(end)) {
      items.push(read());
      if (!this.#is(end)) this.#expect(",");
    }
    return items;
  }

  /** Members, indices and calls behind a value. */
  #behind(of: Expression): Expression {
    for (;;) {
      const line = this.#line;
      if (this.#take(".")) {
        const key: Expression = { kind: "literal", value: this.#name() };
        of = { kind: "member", of, key, line };
      } else if (this.#take("[")) {
        of = this.#index(of, line);
      } else if (this.#is("(")) {
        of = { kind: "call", of, ...this.#arguments(), line };
      } else return of;
    }
  }

  #index(of: Expression, line: number): Expression {
    const bounds: (Expression | undefined)[] = [];
    let isSlice = false;
    do {
      const isEmpty = this.#is(":") || this.#is("]");
      bounds.push(isEmpty ? undefined : this.#expression());
      isSlice ||= this.#is(":");
    } while (this.#take(":"));
    this.#expect("]");
    if (isSlice) return { kind: "slice", of, bounds, line };
    const [key] = bounds;
    if (key === undefined) this.#fail("an index is missing");
    return { kind: "member", of, key, line };
  }

  #arguments() {
    const values: Expression[] = [];
    const named: Record<string, Expression> = {};
    this.#expect("(");
    this.#listed(")", () => {
      if (this.#token?.kind === "name" && this.#is("=", 1)) {
        const name = this.#name();
        this.#expect("=");
        named[name] = this.#expression();
      } else values.push(this.#expression());
    });
    return { values, named };
  }

  /** Filters and tests behind a value. */
  #filtered(of: Expression): Expression {
    for (;;) {
      const line = this.#line;
      if (this.#take("|")) {
        const name = this.#name();
        const given = this.#is("(") ? this.#arguments() : NOTHING;
        of = this.#behind({ kind: "filter", of, name, ...given, line });
      } else if (this.#take("is")) {
        const isNot = this.#take("not");
        const name = this.#name();
        const given = this.#is("(") ? this.#arguments() : NOTHING;
        of = { kind: "test", of, name, ...given, line };
        if (isNot) of = { kind: "not", of };
      } else return of;
    }
  }
}

const NOTHING = { values: [], named: {} } as const;
