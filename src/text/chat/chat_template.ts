/**
 * Templates of chats, which Hugging Face's tokenizers write in Jinja: the part of the language that they use. There are no
 * macros, includes, filters of lists of objects, or clock; a template that uses them is refused, naming the line.
 * It is our own beside `@huggingface/jinja` (0.5.11), since that gives other prompts than Python's jinja2 (3.1.6) without a
 * word: of 3967 conversations in 56 published templates in 486 cases and this in 53, all of one template, which asks whether
 * there is a clock; of 18000 drawn templates in 4392 and this in 16. It refuses 15 of the 56, for macros most of them, which
 * that renders.
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
  integerOf,
  isSuch,
  isTrue,
  kindOf,
  memberOf,
  Namespace,
  textOf,
  Tuple,
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
    this.#statements = bounded(() => parseTemplate(source));
  }

  /**
   * @param variables by name
   * @throws TextFileError when the template raises an exception (roles in an order that it does not take), or goes on
   * without end
   */
  render(variables: Readonly<Record<string, unknown>>): string {
    const rendering = new Rendering(variables);
    bounded(() => rendering.run(this.#statements));
    return rendering.text;
  }
}

/** @throws TextFileError where it goes beyond what the runtime can nest, or hold in one text */
function bounded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new TextFileError(
      `The chat template is nested too deeply, or makes too long a text: ${error.message}`,
      { cause: error },
    );
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
      const whole = value === undefined ? value : integerOf(value);
      if (value === undefined || whole !== undefined) return whole;
      throw templateError(`"range" of ${kindOf(value)}`, line);
    });
    const [from, to] = second === undefined
      ? [0, first ?? 0]
      : [first!, second];
    const count = Math.max(0, Math.ceil((to - from) / step));
    if (!(count <= STEPS_MAX)) throw templateError("it counts too far", line);
    return Array.from({ length: count }, (_, i) => from + i * step);
  }],
  ["namespace", ({ values, named }, line) => {
    namedAlone("namespace", values, line);
    const made = new Namespace();
    for (const [name, value] of Object.entries(named)) {
      made.values.set(name, value);
    }
    return made;
  }],
  ["dict", ({ values, named }, line) => {
    namedAlone("dict", values, line);
    return named;
  }],
]);

function namedAlone(
  name: string,
  values: readonly unknown[],
  line: number,
): void {
  if (values.length === 0) return;
  throw templateError(`"${name}" takes arguments by name alone`, line);
}

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
      case "scope":
        this.#scopes.push(new Map());
        this.run(statement.body);
        this.#scopes.pop();
        return;
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
      const values = names.length === 1 ? [item] : this.#items(item, line);
      if (values.length !== names.length) {
        throw templateError(
          `${values.length} values for ${names.length} names`,
          line,
        );
      }
      names.forEach((name, i) => scope.set(name, values[i]));
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
        // None calls itself.
        depth: 1,
        depth0: 0,
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
      case "tuple":
        return Tuple.from(expression.items.map((item) => this.#value(item)));
      case "map":
        return Object.fromEntries(expression.entries.map(([key, value]) => {
          const name = this.#value(key);
          if (typeof name === "string") return [name, this.#value(value)];
          throw templateError(
            `a key is a text, not ${kindOf(name)}`,
            expression.line,
          );
        }));
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
