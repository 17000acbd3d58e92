/** A template's statements as they are carried out, with scopes of names as Jinja has them. */
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { templateError, TemplateValueError } from "./template_error.ts";
import { filtered } from "./template_filters.ts";
import { functionsAt } from "./template_functions.ts";
import { Loop } from "./template_loop.ts";
import { attributeOf, itemOf } from "./template_methods.ts";
import { operated, sliced } from "./template_operators.ts";
import type {
  Arguments,
  Block,
  Expression,
  MacroBody,
  Statement,
} from "./template_syntax.ts";
import { isSuch } from "./template_tests.ts";
import {
  Callable,
  isTrue,
  itemsOf,
  kindOf,
  Namespace,
  textOf,
  Tuple,
  UNDEFINED,
} from "./template_values.ts";
import { ELEMENT_WORK, STATEMENT_WORK, work } from "./template_work.ts";

/** Macros in macros: what Python's own limit comes to. */
const CALLS_MAX = 200;

/** Names and what they stand for, of a block while it runs. */
type Scope = Map<string, unknown>;

/** What a loop has to do behind a statement: go on as ever when there is nothing. */
type Jump = "break" | "continue" | undefined;

/** One rendering of a template. */
export class Rendering {
  #text = "";
  /** The innermost one last. */
  #scopes: readonly Scope[];
  readonly #functions: ReadonlyMap<string, Callable>;
  /** Loops' scopes whose loop is over: what macros saw in them is no longer there. */
  readonly #over = new WeakSet<Scope>();
  /** What the block wrote that has just ended. */
  #written = "";
  #calls = 0;

  /**
   * @param variables by name
   * @param now what the clock says
   */
  constructor(variables: Readonly<Record<string, unknown>>, now: Date) {
    const given = Object.entries(variables).filter(([, value]) =>
      value !== undefined
    );
    this.#scopes = [new Map(given)];
    this.#functions = functionsAt(now);
  }

  /** What is written; once. */
  all({ statements, unset }: Block): string {
    bind(this.#scopes[0], unset);
    this.#run(statements);
    return this.#text;
  }

  #run(statements: readonly Statement[]): Jump {
    for (const statement of statements) {
      const jump = this.#at(statement.line, () => this.#do(statement));
      if (jump) return jump;
    }
    return undefined;
  }

  /** @throws TextFileError that has the line, when something is wrong with a value */
  #at<T>(line: number, run: () => T): T {
    try {
      work(STATEMENT_WORK);
      return run();
    } catch (error) {
      if (!(error instanceof TemplateValueError)) throw error;
      throw templateError(error.message, line);
    }
  }

  #write(text: string): void {
    work(text.length);
    this.#text += text;
  }

  /** Runs with another innermost scope. */
  #inside<T>(scopes: readonly Scope[], run: () => T): T {
    const outer = this.#scopes;
    this.#scopes = scopes;
    const made = run();
    this.#scopes = outer;
    return made;
  }

  /** Runs with names of a block's own, which end with it. */
  #inBlock<T>({ unset }: Block, run: () => T): T {
    const scope = bind(new Map(), unset);
    const made = this.#inside([...this.#scopes, scope], run);
    this.#over.add(scope);
    return made;
  }

  /** What is written meanwhile. */
  #captured(run: () => Jump): { text: string; jump: Jump } {
    const outer = this.#text;
    this.#text = "";
    const jump = run();
    const text = this.#text;
    this.#text = outer;
    return { text, jump };
  }

  #do(statement: Statement): Jump {
    switch (statement.kind) {
      case "text":
        this.#write(statement.text);
        return;
      case "print":
        return this.#made(statement, (value) => this.#write(textOf(value)));
      case "set":
        return this.#made(statement, (value) => this.#set(statement, value));
      case "if": {
        const holds = isTrue(this.#value(statement.when));
        return this.#run(holds ? statement.then : statement.otherwise);
      }
      case "scope":
        return this.#inBlock(
          statement.body,
          () => this.#run(statement.body.statements),
        );
      case "for":
        return this.#loop(statement);
      case "macro":
        this.#scopes.at(-1)!.set(
          statement.macro.name,
          this.#macro(statement.macro, `<Macro '${statement.macro.name}'>`),
        );
        return;
      case "call": {
        const caller = this.#macro(statement.caller, "<Macro anonymous>");
        const { call, line } = statement;
        const given = this.#given(call.given);
        const named = { ...given.named, caller };
        this.#write(
          textOf(this.#called(call.of, { ...given, named }, line)),
        );
        return;
      }
      case "break":
      case "continue":
        return statement.kind;
      default:
        statement satisfies never;
    }
  }

  /** A statement's value, of what its block writes if it has one. */
  #made(
    { of, block }: { of: Expression; block: Block | undefined },
    take: (value: unknown) => void,
  ): Jump {
    if (!block) {
      take(this.#value(of));
      return;
    }
    let value: unknown;
    const jump = this.#inBlock(block, () => {
      const { text, jump } = this.#captured(() => this.#run(block.statements));
      if (jump) return jump;
      this.#written = text;
      value = this.#value(of);
      return undefined;
    });
    if (!jump) take(value);
    return jump;
  }

  #set(
    { name, member, line }: Extract<Statement, { kind: "set" }>,
    value: unknown,
  ): void {
    if (member === undefined) {
      this.#scopes.at(-1)!.set(name, value);
      return;
    }
    const space = this.#lookUp(name);
    if (space instanceof Namespace) space.values.set(member, value);
    else throw templateError(`"${name}" is no namespace`, line);
  }

  #loop(statement: Extract<Statement, { kind: "for" }>): Jump {
    const { names, when, body, otherwise, line } = statement;
    const scope: Scope = new Map();
    const of = this.#items(this.#value(statement.of), line);
    const scopes = [...this.#scopes, scope];
    const loop = when
      ? new Loop(this.#chosen(of, statement), undefined)
      : new Loop(of, Array.isArray(of) ? of.length : undefined);
    let passed = false;
    while (this.#at(line, () => loop.next())) {
      scope.clear();
      bind(scope, body.unset);
      this.#assign(scope, names, loop.current, line);
      scope.set("loop", loop);
      const jump = this.#inside(scopes, () => this.#run(body.statements));
      if (jump === "break") break;
      passed ||= jump === undefined;
    }
    this.#over.add(scope);
    // As in Jinja: where none of its passes came to its end, and not only where there was none.
    if (passed || !otherwise) return undefined;
    return this.#inBlock(otherwise, () => this.#run(otherwise.statements));
  }

  /** Those of which the loop's condition holds, asked when their turn comes. */
  *#chosen(
    items: Iterable<unknown>,
    { names, when, line }: Extract<Statement, { kind: "for" }>,
  ): Iterable<unknown> {
    const scopes = [...this.#scopes, new Map<string, unknown>()];
    for (const item of items) {
      work(STATEMENT_WORK);
      this.#assign(scopes.at(-1)!, names, item, line);
      if (this.#inside(scopes, () => isTrue(this.#value(when!)))) yield item;
    }
  }

  #assign(
    scope: Scope,
    names: readonly string[],
    item: unknown,
    line: number,
  ): void {
    const values = names.length === 1 ? [item] : [...this.#items(item, line)];
    if (values.length !== names.length) {
      throw templateError(
        `${values.length} values for ${names.length} names`,
        line,
      );
    }
    names.forEach((name, i) => scope.set(name, values[i]));
  }

  #items(value: unknown, line: number): Iterable<unknown> {
    const items = itemsOf(value);
    if (items) return items;
    throw templateError(`there is nothing to go through in a value`, line);
  }

  /** A macro, which sees the names that are around it as they are when it is called. */
  #macro(
    { name, parameters, takesCaller, body }: MacroBody,
    written: string,
  ): Callable {
    const scopes = this.#scopes;
    const call = ({ values, named }: GivenArguments, line: number) => {
      const names = parameters.map(({ name }) => name);
      if (this.#calls === CALLS_MAX) {
        throw templateError("macros are nested too deeply", line);
      }
      if (scopes.some((scope) => this.#over.has(scope))) {
        throw templateError(`the block of macro "${name}" is over`, line);
      }
      const scope = bind(new Map(), body.unset);
      const { caller = UNDEFINED, ...others } = named;
      if (takesCaller) scope.set("caller", caller);
      const given = argumentsOf(
        `macro "${name}"`,
        names,
        { values, named: takesCaller ? others : named },
        line,
      );
      names.forEach((name, i) =>
        scope.set(name, given[i] === undefined ? UNDEFINED : given[i])
      );
      this.#calls++;
      return this.#inside([...scopes, scope], () => {
        parameters.forEach(({ name, otherwise }, i) => {
          if (given[i] !== undefined || !otherwise) return;
          scope.set(name, this.#value(otherwise));
        });
        const { text } = this.#captured(() => this.#run(body.statements));
        this.#calls--;
        return text;
      });
    };
    return new Callable("a macro", call, written);
  }

  #lookUp(name: string): unknown {
    const scope = this.#scopes.findLast((scope) => scope.has(name));
    if (scope) return scope.get(name);
    return this.#functions.get(name) ?? UNDEFINED;
  }

  #value(expression: Expression): unknown {
    // A name is looked up in each of them.
    work(1 + this.#scopes.length);
    switch (expression.kind) {
      case "literal":
        return expression.value;
      case "written":
        return this.#written;
      case "name":
        return this.#lookUp(expression.name);
      case "list":
        return expression.items.map((item) => this.#value(item));
      case "tuple":
        return Tuple.from(expression.items.map((item) => this.#value(item)));
      case "map":
        return this.#map(expression);
      case "member": {
        const of = this.#value(expression.of);
        if (of === UNDEFINED) {
          throw templateError("a member of what there is not", expression.line);
        }
        const key = this.#value(expression.key);
        return expression.isNamed
          ? attributeOf(of, key as string)
          : itemOf(of, key);
      }
      case "slice":
        return sliced(
          this.#value(expression.of),
          expression.bounds.map((bound) => bound && this.#value(bound)),
          expression.line,
        );
      case "call":
        return this.#called(
          expression.of,
          this.#given(expression.given),
          expression.line,
        );
      case "filter":
        return filtered(
          this.#value(expression.of),
          expression.name,
          this.#given(expression.given),
          expression.line,
        );
      case "test":
        return isSuch(
          this.#value(expression.of),
          expression.name,
          this.#given(expression.given),
          expression.line,
        );
      case "not":
        return !isTrue(this.#value(expression.of));
      case "minus":
        return operated("-", -0, this.#value(expression.of), expression.line);
      case "choice": {
        const { of, then, otherwise } = expression;
        if (isTrue(this.#value(of))) return this.#value(then);
        return otherwise ? this.#value(otherwise) : UNDEFINED;
      }
      case "binary":
        return this.#binary(expression);
      case "comparison":
        return this.#compared(expression);
      default:
        return expression satisfies never;
    }
  }

  #map({ entries, line }: Extract<Expression, { kind: "map" }>): unknown {
    const made = new Map(entries.map(([key, value]) => {
      const name = this.#value(key);
      if (typeof name === "string" || Number.isSafeInteger(name)) {
        if (typeof name === "string") work(name.length * ELEMENT_WORK);
        return [name, this.#value(value)];
      }
      throw templateError(
        `a key is a text or whole number, not ${kindOf(name)}`,
        line,
      );
    }));
    return made;
  }

  #given({ values, rest, named }: Arguments): GivenArguments {
    const all = values.map((each) => this.#value(each));
    if (rest) {
      const more = this.#value(rest);
      const items = itemsOf(more);
      if (!items) throw new TemplateValueError(`"*" of ${kindOf(more)}`);
      for (const item of items) all.push(item);
    }
    return {
      values: all,
      named: Object.fromEntries(
        Object.entries(named).map(([name, each]) => [name, this.#value(each)]),
      ),
    };
  }

  #called(of: Expression, given: GivenArguments, line: number): unknown {
    work(STATEMENT_WORK);
    const called = this.#value(of);
    if (called instanceof Callable) return called.call(given, line);
    throw templateError(
      of.kind === "name"
        ? `there is no function "${of.name}"`
        : of.kind === "member" && of.isNamed && of.key.kind === "literal"
        ? `there is no method "${textOf(of.key.value)}" of ${
          kindOf(this.#value(of.of))
        }`
        : `${kindOf(called)} is called`,
      line,
    );
  }

  #binary(
    { sign, left, right, line }: Extract<Expression, { kind: "binary" }>,
  ): unknown {
    const a = this.#value(left);
    if (sign === "and") return isTrue(a) ? this.#value(right) : a;
    if (sign === "or") return isTrue(a) ? a : this.#value(right);
    return operated(sign, a, this.#value(right), line);
  }

  #compared(
    { of, others }: Extract<Expression, { kind: "comparison" }>,
  ): unknown {
    let left = this.#value(of);
    return others.every(({ sign, of, line }) => {
      const right = this.#value(of);
      const holds = operated(sign, left, right, line);
      left = right;
      return holds;
    });
  }
}

/** With names that stand for nothing. */
function bind(scope: Scope, unset: readonly string[]): Scope {
  work(unset.length * ELEMENT_WORK);
  for (const name of unset) scope.set(name, UNDEFINED);
  return scope;
}
