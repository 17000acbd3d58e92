/** Macros, blocks, lists and the clock of templates of chats, beside what Jinja makes of them; and what ends those without end. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { ChatTemplate } from "../../src/text/chat/chat_template.ts";
import { TextFileError } from "../../src/text/errors.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";
import { BLOCKS, GIVEN, LISTS, MACROS, NOW, VALUES } from "./chat_cases.ts";
import { BYTE_PAIRS } from "./tokenizers.ts";

for (const [what, cases] of Object.entries({ MACROS, BLOCKS, LISTS, VALUES })) {
  Deno.test(`${what.toLowerCase()} of templates of chats are what they are in Jinja`, () => {
    for (const [template, expected] of cases) {
      const text = new ChatTemplate(template).render(GIVEN, NOW);
      assert.equal(text, expected, template);
    }
  });
}

function refused(template: string, message: RegExp): void {
  assert.throws(
    () => new ChatTemplate(template).render(GIVEN, NOW),
    (error: Error) => {
      assert(error instanceof TextFileError, `${error.stack}`);
      assert.match(error.message, message, template.slice(0, 200));
      return true;
    },
  );
}

Deno.test("what macros, blocks and filters do not take is refused, naming the line", () => {
  const f = "{% macro f(a) %}{{ a }}{% endmacro %}\n";
  refused(`${f}{{ f(1, 2) }}`, /line 2: macro "f" is given 2 arguments/);
  refused(`${f}{{ f(*none) }}`, /line 2: "\*" of none/);
  refused(`${f}{{ f(b=1) }}`, /macro "f" takes no argument "b"/);
  refused(`${f}{{ f(1, a=1) }}`, /macro "f" is given "a" twice/);
  refused(`${f}{% call f(1) %}{% endcall %}`, /takes no argument "caller"/);
  refused("{% call f %}{% endcall %}", /is behind a call/);
  refused("{% macro f(a=1, b) %}{% endmacro %}", /"b" has no default/);
  refused("{% macro f() %}{{ varargs }}{% endmacro %}", /no "varargs"/);
  refused("{% macro f() %}{% break %}{% endmacro %}", /outside of a loop/);
  refused(
    "{% for i in [1] %}{% generation %}{% break %}{% endgeneration %}{% endfor %}",
    /outside of a loop/,
  );
  refused("{% set true = 1 %}", /nothing is set to "true"/);
  refused("{% for i in [1] %}{% set loop = 1 %}{% endfor %}", /set to "loop"/);
  refused("{% for i in [1] recursive %}{% endfor %}", /"%}" is missing/);
  refused("{% if 1 if 1 else 1 %}{% endif %}", /"%}" is missing/);
  // The names that it saw are no longer there.
  refused(
    "{% set n = namespace() %}{% for i in [1] %}{% macro f() %}{{ i }}{% endmacro %}{% set n.f = f %}{% endfor %}{{ n.f() }}",
    /block of macro "f" is over/,
  );
  refused("{{ f() }}", /no function "f"/);
  refused("{{ x() }}", /no function "x"/);
  refused("{{ words.append('a') }}", /no method "append" of a list/);
  refused("{{ 'a'.zfill(3) }}", /no method "zfill" of string/);
  refused("{{ map.items }}", /a method is no text/);
  refused("a\n{{ [words | map('upper')] }}", /line 2: .*once is no text/);
  refused(
    "{{ words | map('upper') | length }}",
    /not what is gone through once/,
  );
  refused("{{ words | map }}", /filter "map" takes names of members/);
  refused("{{ words | map('shout') | list }}", /no filter "shout"/);
  refused("{{ words | select('loud') | list }}", /no test "loud"/);
  refused("{{ [1, 'a'] | sort }}", /"<" of .* and /);
  refused("{{ [{}] | unique | list }}", /filter "unique" of a map/);
  for (const digits of ["1_0", " -1_0.5", "\uff11"]) {
    refused(`{{ '${digits}' | int }}`, /digits that are not known/);
  }
  // Jinja reads no more behind these.
  refused("{{ 'ab'[::1:1] }}", /"]" is missing/);
  refused("{{ rows | first.n }}", /"}}" is missing/);
  refused("{{ rows | first['n'] }}", /"}}" is missing/);
  refused("{{ x is defined is true }}", /"}}" is missing/);
  refused("{{ x is eq }}", /test "eq" takes one argument/);
  refused("{{ x is string(1) }}", /is given 1 arguments and takes 0/);
  refused("{{ ('a' | safe) | upper }}", /takes no text that is safe/);
  refused("{{ ('a' | safe) + 1 }}", /"\+" of number and a text that is safe/);
  refused("{{ 'ß' | title }}", /no capital that is known/);
  refused("{{ '{a}'.format(1) }}", /knows \{\} and \{0\}/);
  refused("{{ strftime_now('%c') }}", /knows no %c/);
  refused("{{ strftime_now() }}", /takes a text/);
  refused("{{ {none: 1} }}", /a key is a text or whole number, not none/);
  refused("{{ [] | tojson(indent='  ') }}", /takes a number and two sep/);
  refused("{{ [] | tojson(separators=[',']) }}", /takes a number and two sep/);
  refused("{{ namespace | tojson }}", /a function is no JSON/);
  refused(
    "{{ loop.cycle(1) if loop }}{% for i in [1] %}{{ loop.cycle(1) }}{% endfor %}",
    /a loop has no member "cycle"/,
  );
});

Deno.test("templates without end are ended, whatever they do", () => {
  const several = (made: (i: number) => string) =>
    Array.from({ length: 9000 }, (_, i) => made(i)).join("");
  const doubled = (value: string, made: string) =>
    `{% set n = namespace(a=${value}, b=${value}) %}{% for i in range(40) %}{% set n.a = ${made} %}{% set n.b = ${
      made.replaceAll("n.a", "n.b")
    } %}{% endfor %}`;
  // Most of the work there may be is done at once, so that the rest is soon done.
  const spent = "{% set spent = 'a' * 58000000 %}";
  const again = (what: string) =>
    `{% set s = 'a ' * 1000000 %}{% set p = 'a' ~ '.a' * 1000000 %}{% set m = {'a': 1} %}{% set r = range(20000) %}{% set l = r | list %}{% for i in l %}{% set y = ${what} %}{% endfor %}`;
  assert.equal(new ChatTemplate(spent + again("1")).render({}), "");
  for (
    const template of [
      "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(100) }}",
      `${doubled("[1]", "[n.a, n.a]")}{{ n.a }}`,
      `${doubled("[1]", "[n.a, n.a]")}{{ n.a == n.b }}`,
      `${doubled("{}", "{'a': n.a, 'b': n.a}")}{{ n.a | tojson }}`,
      "{% set l = ['a' * 1000000] * 100000 %}{{ l | sort | unique | join }}",
      ...[
        ...["s | length", "s | title", "s.split()", "s < s ~ 'b'"],
        ...["l | sort", "l | map('string') | list", "(s | safe) + s"],
        ...["-1 in r", "r | join", "{s: 1}", "m[s]", "m == {s: 2}"],
        ...["l[0] | map(attribute=p)", "[s ~ 1] | unique(true) | list"],
        `[${"1, ".repeat(9000)}]`,
      ].map(again),
      `{% for i in range(90000) %}{% continue %}${
        several((i) => `{% set a${i} = 1 %}`)
      }{% endfor %}`,
      ...[
        "{% for i in range(90000) %}{{ f() }}{% endfor %}",
        `{{ f(${several((i) => `a${i}=1, `)}) }}`,
      ].map((calls) =>
        `{% macro f(${several((i) => `a${i}, `)}) %}{% endmacro %}${calls}`
      ),
      ...["tojson", "string"].map((filter) =>
        `{% set n = namespace(a='a' * 1000000) %}{% for i in range(500) %}{% set n.a = [n.a, 1] %}{% endfor %}{{ n.a | ${filter} }}`
      ),
      "{% set y = ('a' * 500000 ~ 'b' ~ 'a' * 500000) in 'a' * 2000000 %}",
      "{% set y = ('{0}' * 8000).format('b' * 60000) %}",
      "{% set y = (['a' * 1000000] * 500) | join %}",
    ]
  ) refused(spent + template, /line 1: it goes on without end/);
  refused(
    "{% set n = namespace(s='a') %}{% for i in range(27) %}{% set n.s = n.s ~ n.s %}{% endfor %}",
    /line 1: it makes too long a text/,
  );
  assert.equal(new ChatTemplate("{{ [] * 2000000000 }}").render({}), "[]");
  const long = "a".repeat(2 ** 26 + 1);
  refused(`${long}{{- 1 }}`, /too long a text/);
  refused(
    "{% set n = namespace(l={}) %}{% for i in [1, 2] if not n.l.length %}{% set n.l = loop %}{% endfor %}",
    /line 1: a loop is asked by its own condition/,
  );
  const deep = /nested too deeply/;
  refused("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", deep);
  refused("{% macro f(a=f()) %}{% endmacro %}{{ f() }}", deep);
  refused("{% set n = namespace() %}{% set n.a = n %}{{ n }}", deep);
  for (const word of ["macro f()", "set x", "filter upper", "for i in x"]) {
    refused(`{% ${word} %}`.repeat(20_000), deep);
  }
});

Deno.test("a long conversation is no template without end", () => {
  const messages = Array.from({ length: 3000 }, () => ({ content: "Hi" }));
  const text = new ChatTemplate(
    "{% for m in messages %}{% if loop.index0 < messages | length - 1 and messages[loop.index0:loop.index] and messages | last %}{{ m.content }}{% endif %}{% endfor %}",
  ).render({ messages });
  assert.equal(text, "Hi".repeat(2999));
});

Deno.test("texts are in order by their characters", () => {
  const points = (text: string) => [...text].map((one) => one.codePointAt(0)!);
  const isLess = (a: readonly number[], b: readonly number[]) => {
    const at = a.findIndex((one, i) => one !== b[i]);
    return at < 0 ? a.length < b.length : at < b.length && a[at] < b[at];
  };
  const template = new ChatTemplate("{{ a < b }}");
  const text = fc.string({ unit: "binary" });
  fc.assert(fc.property(text, text, text, (front, a, b) => {
    const given = { a: front + a, b: front + b };
    const expected = isLess(points(given.a), points(given.b));
    assert.equal(template.render(given), expected ? "True" : "False");
  }));
});

Deno.test("what is undefined is not there, as in JSON", () => {
  const template = new ChatTemplate(
    "{{ x is defined }}{{ m.a is defined }}{{ 'a' in m }}{{ m | tojson }}{{ m == {'b': 1} }}",
  );
  const text = template.render({ x: undefined, m: { a: undefined, b: 1 } });
  assert.equal(text, 'FalseFalseFalse{"b": 1}True');
});

Deno.test("a conversation without tools has none, and the clock is given", async () => {
  const chat_template =
    "{{ 'tools' if tools is not none }}{{ documents is none }}{{ strftime_now('%Y-%m-%d') }}";
  const tokenizer = await TextTokenizer.load({
    ...BYTE_PAIRS,
    config: { ...Object(BYTE_PAIRS.config), chat_template },
  });
  assert.equal(tokenizer.chatPrompt([], { now: NOW }), "True2026-03-05");
  assert.equal(
    tokenizer.chatPrompt([], { now: NOW, variables: { tools: [] } }),
    "toolsTrue2026-03-05",
  );
  assert.match(tokenizer.chatPrompt([]), /^True\d{4}-\d\d-\d\d$/);
  for (const now of ["today", {}, new Date(NaN)]) {
    assert.throws(
      () => tokenizer.chatPrompt([], { now: now as never }),
      /"now" is a time/,
    );
  }
});
