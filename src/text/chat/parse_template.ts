/** A template's statements. */
import { describe } from "../../base/describe.ts";
import { CONSTANTS, ExpressionParser } from "./parse_expression.ts";
import type {
  Block,
  Expression,
  MacroBody,
  Statement,
} from "./template_syntax.ts";
import { templateTokens } from "./template_tokens.ts";

/** @throws TextFileError on what chat templates do not use, naming the line */
export function parseTemplate(source: string): Block {
  return new Parser(templateTokens(source)).all();
}

class Parser extends ExpressionParser {
  /** Loops around, in the same macro. */
  #loops = 0;

  all(): Block {
    const statements = this.#body([]);
    if (this.at < this.tokens.length) this.fail("there is nothing to end");
    this.names.settle();
    return { statements, unset: this.names.unset };
  }

  /** Statements up to one of those that end them. */
  #body(ends: readonly string[]): readonly Statement[] {
    const statements: Statement[] = [];
    for (let token = this.token; token; token = this.token) {
      const { line } = token;
      if (token.kind === "text") {
        statements.push({ kind: "text", text: token.value, line });
        this.at++;
      } else if (this.take("{{")) {
        const of = this.expression();
        statements.push({ kind: "print", of, block: undefined, line });
        this.expect("}}");
      } else {
        const next = this.tokens[this.at + 1]?.value ?? "";
        if (ends.includes(next)) return statements;
        this.expect("{%");
        statements.push(this.#statement());
      }
    }
    if (ends.length > 0) this.fail(`${ends.at(-1)} is missing`);
    return statements;
  }

  #end(name: string): void {
    this.expect("{%");
    this.expect(name);
    this.expect("%}");
  }

  /** What reads statements with names of their own. */
  #inner<T>(read: () => T): T & Pick<Block, "unset"> {
    const outer = this.names;
    this.names = outer.inner();
    const { unset } = this.names;
    const made = read();
    this.names = outer;
    return { ...made, unset };
  }

  #block(...ends: string[]): Block {
    return this.#inner(() => ({ statements: this.#body(ends) }));
  }

  #statement(): Statement {
    const { line } = this.tokens[this.at - 1];
    const word = this.name();
    switch (word) {
      case "set":
        return this.#set(line);
      case "if":
        return this.#if(line);
      case "for":
        return this.#for(line);
      case "macro": {
        const name = this.#target();
        this.names.sets(name);
        return { kind: "macro", macro: this.#macro(name, word), line };
      }
      case "call":
        return this.#call(line);
      case "filter": {
        let of = this.filter({ kind: "written" });
        while (this.take("|")) of = this.filter(of);
        this.expect("%}");
        const block = this.#block("endfilter");
        this.#end("endfilter");
        return { kind: "print", of, block, line };
      }
      case "break":
      case "continue":
        if (this.#loops === 0) this.fail(`${word} is outside of a loop`);
        this.expect("%}");
        return { kind: word, line };
      // Marks answers for training.
      case "generation": {
        this.expect("%}");
        const body = this.#apart(() => this.#block("endgeneration"));
        this.#end("endgeneration");
        return { kind: "scope", body, line };
      }
      default:
        this.fail(`there is no statement ${describe(word)}`);
    }
  }

  /** A name that something is set to. */
  #target(): string {
    const name = this.name();
    if (CONSTANTS.has(name) || name === "loop" || name === "caller") {
      this.fail(`nothing is set to ${describe(name)}`);
    }
    return name;
  }

  #set(line: number): Statement {
    const name = this.#target();
    const member = this.take(".") ? this.name() : undefined;
    const set = () =>
      member === undefined ? this.names.sets(name) : this.names.reads(name);
    const target = { kind: "set", name, member, line } as const;
    if (this.take("=")) {
      const of = this.expression();
      this.expect("%}");
      set();
      return { ...target, of, block: undefined };
    }
    set();
    const { of, ...block } = this.#inner(() => {
      let of: Expression = { kind: "written" };
      while (this.take("|")) of = this.filter(of);
      this.expect("%}");
      return { of, statements: this.#body(["endset"]) };
    });
    this.#end("endset");
    return { ...target, of, block };
  }

  #if(line: number): Statement {
    const when = this.or();
    this.expect("%}");
    this.names.conditions++;
    const then = this.#body(["elif", "else", "endif"]);
    this.expect("{%");
    let otherwise: readonly Statement[] = [];
    if (this.is("elif")) {
      const { line } = this;
      this.at++;
      otherwise = [this.#if(line)];
    } else {
      if (this.take("else")) {
        this.expect("%}");
        otherwise = this.#body(["endif"]);
        this.expect("{%");
      }
      this.expect("endif");
      this.expect("%}");
    }
    this.names.conditions--;
    return { kind: "if", when, then, otherwise, line };
  }

  #for(line: number): Statement {
    const names = [this.#target()];
    while (this.take(",")) names.push(this.#target());
    this.expect("in");
    // A condition behind it is not a choice.
    const of = this.or();
    const { when } = this.#inner(() => ({
      when: this.take("if") ? this.expression() : undefined,
    }));
    this.expect("%}");
    this.#loops++;
    const body = this.#inner(() => {
      for (const name of names) this.names.reads(name);
      return { statements: this.#body(["else", "endfor"]) };
    });
    this.#loops--;
    this.expect("{%");
    let otherwise: Block | undefined;
    if (this.take("else")) {
      this.expect("%}");
      otherwise = this.#block("endfor");
      this.expect("{%");
    }
    this.expect("endfor");
    this.expect("%}");
    return { kind: "for", names, of, when, body, otherwise, line };
  }

  /** What is read is called from elsewhere: loops around it are none of its own. */
  #apart<T>(read: () => T): T {
    const loops = this.#loops;
    this.#loops = 0;
    const made = read();
    this.#loops = loops;
    return made;
  }

  /**
   * Parameters and what is behind them, up to the end.
   * @param between reads what is between parameters and body, of the block around
   */
  #macro(
    name: string,
    word: "macro" | "call",
    between: () => void = () => {},
  ): MacroBody {
    const outer = this.names;
    const inner = this.names = outer.inner();
    const parameters = word === "macro" || this.is("(")
      ? this.#parameters()
      : [];
    this.names = outer;
    between();
    this.expect("%}");
    const said = this.saysCaller;
    this.saysCaller = false;
    this.names = inner;
    this.macros++;
    const statements = this.#apart(() => this.#body([`end${word}`]));
    this.#end(`end${word}`);
    this.macros--;
    this.names = outer;
    const takesCaller = this.saysCaller;
    this.saysCaller ||= said;
    const body = { statements, unset: inner.unset };
    return { name, parameters, takesCaller, body };
  }

  #parameters(): MacroBody["parameters"] {
    this.expect("(");
    let hasDefaults = false;
    return this.listed(")", () => {
      const name = this.#target();
      this.names.reads(name);
      const otherwise = this.take("=") ? this.expression() : undefined;
      hasDefaults ||= otherwise !== undefined;
      if (hasDefaults && !otherwise) {
        this.fail(`parameter ${describe(name)} has no default`);
      }
      return { name, otherwise };
    });
  }

  #call(line: number): Statement {
    let call: Expression | undefined;
    const caller = this.#macro("caller", "call", () => {
      call = this.expression();
    });
    if (call?.kind === "call") return { kind: "call", call, caller, line };
    this.fail("a block that is called is behind a call");
  }
}
