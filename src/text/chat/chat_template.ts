/**
 * Templates of chats, which Hugging Face's tokenizers write in Jinja: the part of the language that they use. There are no
 * macros, includes, filters of lists of objects, or clock; a template that uses them is refused, naming the line.
 * Source: Jinja's documentation ("Template Designer Documentation"); transformers, `apply_chat_template`.
 */
import { TextFileError } from "../errors.ts";
import { parseTemplate } from "./parse_template.ts";
import { templateError } from "./template_error.ts";
import type { Expression, Statement } from "./template_syntax.ts";
import { argumentsOf, type GivenArguments } from "./template_arguments.ts";
import { filtered } from "./template_filters.ts";
import { method } from "./template_methods.ts";
import { operated, sliced } from "./template_operators.ts";
import {
  entriesOf,
  isSuch,
  isTrue,
  kindOf,
  memberOf,
  Namespace,
  textOf,
  UNDEFINED,
} from "./template_values.ts";

/** A message of a conversation. */
export interface ChatMessage {
  /** Who says it: "system", "user", "assistant" or what the template knows. */
  readonly role: string;
  /** What. */
  readonly content: string;
}

/** How a conversation becomes a prompt. */
export interface ChatOptions {
  /** Whether an answer is asked for: its beginning is the prompt's end. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** What the template knows besides, such as `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** Statements and loops of one rendering. */
const STEPS_MAX = 1_000_000;

/** Characters of a prompt. */
const CHARACTERS_MAX = 2 ** 26;

/** A template, read once. */
export class ChatTemplate {
  readonly #statements: readonly Statement[];

  /** @throws TextFileError on what chat templates do not use, naming the line */
  constructor(source: string) {
    this.#statements = parseTemplate(source);
  }

  /**
   * @param variables by name
   * @throws TextFileError when the template raises an exception (roles in an order that it does not take), or goes on
   * without end
   */
  render(variables: Readonly<Record<string, unknown>>): string {
    const rendering = new Rendering(variables);
    rendering.run(this.#statements);
    return rendering.text;
  }
}

/** What is called by name. */
type Callable = (given: GivenArguments, line: number) => unknown;

const FUNCTIONS: ReadonlyMap<string, Callable> = new Map<string, Callable>([
  ["raise_exception", ({ values: [message] }) => {
    throw new TextFileError(`The chat template says: ${textOf(message)}`);
  }],
  ["range", (given, line) => {
    const [first, second, step = 1] = argumentsOf(
      ...["range", ["start", "stop", "step"], given, line] as const,
    ).map((value) => {
      if (value === undefined || typeof value === "number") return value;
      throw templateError(`"range" of ${kindOf(value)}`, line);
    });
    const [from, to] = second === undefined
      ? [0, first ?? 0]
      : [first!, second];
    const count = Math.max(0, Math.ceil((to - from) / step));
    if (!(count <= STEPS_MAX)) throw templateError("it counts too far", line);
    return Array.from({ length: count }, (_, i) => from + i * step);
  }],
  ["namespace", ({ named }) => {
    const made = new Namespace();
    for (const [name, value] of Object.entries(named)) {
      made.values.set(name, value);
    }
    return made;
  }],
  ["dict", ({ named }) => named],
]);

class Rendering {
  text = "";
  #steps = 0;
  /** The innermost one last. */
  readonly #scopes: Map<string, unknown>[];

  constructor(variables: Readonly<Record<string, unknown>>) {
    this.#scopes = [new Map(Object.entries(variables))];
  }

  run(statements: readonly Statement[]): void {
    for (const statement of statements) {
      this.#count(1);
      this.#do(statement);
    }
  }

  #count(line: number): void {
    if (++this.#steps > STEPS_MAX || this.text.length > CHARACTERS_MAX) {
      throw templateError("it goes on without end", line);
    }
  }

  #do(statement: Statement): void {
    switch (statement.kind) {
      case "text":
        this.text += statement.text;
        return;
      case "print":
        this.text += textOf(this.#value(statement.of));
        return;
      case "set": {
        const value = this.#value(statement.of);
        const { name, member, line } = statement;
        if (member === undefined) {
          this.#scopes.at(-1)!.set(name, value);
          return;
        }
        const space = this.#lookUp(name);
        if (!(space instanceof Namespace)) {
          throw templateError(`"${name}" is no namespace`, line);
        }
        space.values.set(member, value);
        return;
      }
      case "if": {
        const holds = isTrue(this.#value(statement.when));
        this.run(holds ? statement.then : statement.otherwise);
        return;
      }
      case "for":
        this.#loop(statement);
        return;
      default:
        statement satisfies never;
    }
  }

  #loop(
    { names, of, when, body, line }: Extract<Statement, { kind: "for" }>,
  ): void {
    const scope = new Map<string, unknown>();
    this.#scopes.push(scope);
    const bind = (item: unknown) => {
      this.#count(line);
      names.forEach((name, i) => {
        const value = names.length === 1 ? item : memberOf(item, i);
        scope.set(name, value);
      });
    };
    const items = this.#items(this.#value(of), line).filter((item) => {
      if (when === undefined) return true;
      bind(item);
      return isTrue(this.#value(when));
    });
    items.forEach((item, i) => {
      scope.clear();
      bind(item);
      scope.set("loop", {
        index: i + 1,
        index0: i,
        revindex: items.length - i,
        revindex0: items.length - i - 1,
        first: i === 0,
        last: i === items.length - 1,
        length: items.length,
        previtem: i > 0 ? items[i - 1] : UNDEFINED,
        nextitem: i + 1 < items.length ? items[i + 1] : UNDEFINED,
      });
      this.run(body);
    });
    this.#scopes.pop();
  }

  #items(value: unknown, line: number): readonly unknown[] {
    if (Array.isArray(value)) return value;
    if (typeof value === "string") return [...value];
    if (value === UNDEFINED) return [];
    const entries = entriesOf(value);
    if (entries) return entries.map(([key]) => key);
    throw templateError(`there is nothing to go through in a value`, line);
  }

  #lookUp(name: string): unknown {
    const scope = this.#scopes.findLast((scope) => scope.has(name));
    return scope ? scope.get(name) : UNDEFINED;
  }

  #value(expression: Expression): unknown {
    switch (expression.kind) {
      case "literal":
        return expression.value;
      case "name":
        return this.#lookUp(expression.name);
      case "list":
        return expression.items.map((item) => this.#value(item));
      case "map":
        return Object.fromEntries(
          expression.entries.map((
            [key, value],
          ) => [textOf(this.#value(key)), this.#value(value)]),
        );
      case "member": {
        const of = this.#value(expression.of);
        if (of !== UNDEFINED) return memberOf(of, this.#value(expression.key));
        throw templateError("a member of what there is not", expression.line);
      }
      case "slice":
        return sliced(
          this.#value(expression.of),
          expression.bounds.map((bound) => bound && this.#value(bound)),
          expression.line,
        );
      case "call":
        return this.#call(expression);
      case "filter":
        return filtered(
          this.#value(expression.of),
          expression.name,
          this.#given(expression),
          expression.line,
        );
      case "test":
        return isSuch(
          this.#value(expression.of),
          expression.name,
          expression.line,
        );
      case "not":
        return !isTrue(this.#value(expression.of));
      case "minus":
        return operated("-", 0, this.#value(expression.of), expression.line);
      case "choice": {
        const { of, then, otherwise } = expression;
        if (isTrue(this.#value(of))) return this.#value(then);
        return otherwise ? this.#value(otherwise) : UNDEFINED;
      }
      case "binary":
        return this.#binary(expression);
      default:
        return expression satisfies never;
    }
  }

  #given(
    { values, named }: {
      readonly values: readonly Expression[];
      readonly named: Readonly<Record<string, Expression>>;
    },
  ): GivenArguments {
    return {
      values: values.map((each) => this.#value(each)),
      named: Object.fromEntries(
        Object.entries(named).map(([name, each]) => [name, this.#value(each)]),
      ),
    };
  }

  #call(call: Extract<Expression, { kind: "call" }>): unknown {
    const { of, line } = call;
    const given = this.#given(call);
    if (of.kind === "member" && of.key.kind === "literal") {
      return method(this.#value(of.of), textOf(of.key.value), given, line);
    }
    const name = of.kind === "name" ? of.name : "";
    const called = FUNCTIONS.get(name);
    if (called === undefined) {
      throw templateError(`there is no function "${name}"`, line);
    }
    return called(given, line);
  }

  #binary(
    { sign, left, right, line }: Extract<Expression, { kind: "binary" }>,
  ): unknown {
    const a = this.#value(left);
    if (sign === "and") return isTrue(a) ? this.#value(right) : a;
    if (sign === "or") return isTrue(a) ? a : this.#value(right);
    return operated(sign, a, this.#value(right), line);
  }
}
