/**
 * Templates and what Python's jinja2 (3.1.6) makes of them, set up as transformers does for templates of chats: at 9:07:03 on
 * Thursday, 5 March 2026, with `GIVEN`.
 */
export const NOW: Date = new Date(2026, 2, 5, 9, 7, 3);

export const GIVEN: Readonly<Record<string, unknown>> = {
  x: 5,
  words: ["b", "A", "c", "a"],
  rows: [
    { role: "user", n: 2, t: "b" },
    { role: "tool", n: 1 },
    { role: "user", n: 3, t: "A", f: { g: 1 } },
  ],
  map: { b: 1, A: 2, items: 3 },
  none: null,
};

type Cases = readonly (readonly [template: string, expected: string])[];

export const MACROS: Cases = [
  [
    "{% macro f(a, b='B', c=a ~ b) %}<{{ a }}{{ b }}{{ c }}>{% endmacro %}{{ f(1) }}{{ f(1, c=2) }}{{ f(b=3, a=4) }}{{ f() }}",
    "<1B1B><1B2><4343><BB>",
  ],
  ["{% macro f(a=b, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f() }}", "2"],
  // A macro sees what is around it as it is when it is called, and its own names are no others'.
  [
    "{% set y = 1 %}{% macro f() %}{{ y }}{% set y = 9 %}{{ y }}{% endmacro %}{% set y = 2 %}{{ f() }}{{ y }}",
    "292",
  ],
  // What the template itself sets is its own from the beginning on, whatever is given by that name.
  [
    "{% macro f() %}[{{ x }}]{% endmacro %}{{ f() }}{% set x = 1 %}{{ f() }}",
    "[][1]",
  ],
  [
    "{{ x }}{% macro f() %}[{{ x }}]{% endmacro %}{{ f() }}{% set x = 1 %}{{ f() }}",
    "5[5][1]",
  ],
  [
    "{% macro f() %}[{{ x }}]{% endmacro %}{{ f() }}{% if true %}{% set x = 1 %}{% endif %}{{ f() }}",
    "[5][1]",
  ],
  [
    "{% for i in [1, 2] %}{{ x }}{% endfor %}{% set x = 1 %}",
    "",
  ],
  [
    "{% for i in [1, 2] %}{% for j in [1] %}{{ y }}{% endfor %}{% set y = i %}{% endfor %}",
    "",
  ],
  [
    "{% macro tree(n) %}{{ n }}{% if n > 0 %}({{ tree(n - 1) }}{{ tree(n - 2) }}){% endif %}{% endmacro %}{{ tree(2) }}",
    "2(1(0-1)0)",
  ],
  [
    "{% macro f() %}{% macro g(a) %}{{ a }}{{ b }}{% endmacro %}{% set b = 2 %}{{ g(1) }}{% endmacro %}{{ f() }}",
    "12",
  ],
  [
    "{{ f is defined }}{% macro f() %}{% endmacro %}{{ f is callable }}",
    "FalseTrue",
  ],
  [
    "{% set fs = [] %}{% macro f(a, b) %}{{ b }}{{ a }}{% endmacro %}{% set fs = [f] %}{{ fs[0](*['x', 'y']) }}{{ f }}",
    "yx<Macro 'f'>",
  ],
  [
    "{% set n = namespace(i=0) %}{% macro up() %}{% set n.i = n.i + 1 %}{% endmacro %}{{ up() }}{{ up() }}{{ n.i }}",
    "2",
  ],
  [
    "{% macro f(t) %}<{{ t }}>{{ caller('c') if caller }}</{{ t }}>{% endmacro %}{% call(a) f('p') %}{{ a }}{{ x }}{% set x = 1 %}{% endcall %}{{ f('q') }}{{ x }}",
    "<p>c5</p><q></q>5",
  ],
  [
    "{% macro f(a) %}{{ a is defined }}{{ a or 'none' }}{% endmacro %}{{ f(missing) }}",
    "Falsenone",
  ],
  // Each of several values in a row is asked for once, up to the first that does not hold.
  [
    "{% set n = namespace(i=0) %}{% macro f() %}{% set n.i = n.i + 1 %}b{% endmacro %}{{ 'a' < f() < 'c' }}{{ n.i }}{{ 'b' < f() < f() }}{{ n.i }}",
    "True1False2",
  ],
  [`{{ ${"0 < (".repeat(60)}1${") < 2".repeat(60)} }}`, "True"],
];

export const BLOCKS: Cases = [
  ["{% set a %}x{{ 1 + 1 }}{% set b = 2 %}{% endset %}{{ a }}{{ b }}", "x2"],
  [
    "{% set a | upper | replace('B', '.') %}abc{% endset %}{{ a }}{{ a is string }}",
    "A.CTrue",
  ],
  [
    "{% set n = namespace() %}{% set n.a %}x{% endset %}{{ n.a }}{{ n }}",
    "x<Namespace {'a': 'x'}>",
  ],
  ["{% filter upper | trim %} a{{ x }} {% endfilter %}", "A5"],
  [
    "{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{{ loop.last }}{% endfor %}",
    "0False2False3False",
  ],
  [
    "{% for i in [] %}a{% else %}b{% endfor %}{% for i in [1] %}a{% else %}b{% endfor %}",
    "ba",
  ],
  // Where no pass comes to its end there was none.
  ["{% for i in [1, 2] %}{{ i }}{% continue %}{% else %}b{% endfor %}", "12b"],
  ["{% for i in [1, 2] %}{{ i }}{% break %}{% else %}b{% endfor %}", "1b"],
  [
    "{% for i in [1, 2] %}{% set a %}x{% break %}{% endset %}{% endfor %}{{ a }}.",
    ".",
  ],
  // A condition is asked when its turn comes, and what comes next when it is asked for.
  [
    "{% set n = namespace(i=0) %}{% for i in [1, 2, 3] if n.i < 2 %}{{ i }}{{ loop.last }}{% set n.i = n.i + 1 %}{% endfor %}",
    "1False2False3True",
  ],
  [
    "{% set n = namespace(i=0) %}{% for i in [1, 2, 3] if n.i < 2 %}{{ i }}{% set n.i = n.i + 1 %}{% endfor %}",
    "12",
  ],
  [
    "{% for i in words if i != 'A' %}{{ loop.length }}{{ loop.revindex }}{{ loop.nextitem }} {% endfor %}",
    "33c 32a 31 ",
  ],
  ["{% for k, v in map | dictsort %}{{ k }}{{ v }}{% endfor %}", "A2b1items3"],
  ["{{ 1 if 0 if 0 else 2 }}|{{ 1 if 1 if 1 else 2 }}", "2|1"],
];

export const LISTS: Cases = [
  [
    "{{ rows | selectattr('role', 'equalto', 'user') | map(attribute='n') | list }}",
    "[2, 3]",
  ],
  [
    "{{ rows | rejectattr('n', 'gt', 1) | list | length }}{{ rows | selectattr('t') | list | length }}",
    "12",
  ],
  [
    "{{ rows | selectattr('t', 'defined') | map(attribute='f.g', default='z') | join }}",
    "z1",
  ],
  ["{{ rows | map(attribute='items') | first is callable }}", "True"],
  ["{{ words | map('upper') | reject('in', ['A']) | join('-') }}", "B-C"],
  [
    "{{ [0, 1, '', none, 'a'] | select | list }}{{ [1, 'a'] | select('string') | list }}",
    "[1, 'a']['a']",
  ],
  [
    "{{ none | map('upper') | list }}{{ missing | selectattr('a') | list }}",
    "[][]",
  ],
  // It is gone through once, holds as a condition, and has no length.
  [
    "{% set g = words | map('upper') %}{{ g | first }}{{ 'X' if g }}{{ g | join }}{{ g | list }}",
    "BXACA[]",
  ],
  [
    "{% set g = words | reverse %}{{ 'c' in g }}{{ g | list }}",
    "True['A', 'b']",
  ],
  [
    "{{ words | sort | join }}{{ words | sort(case_sensitive=true) | join }}{{ words | sort(reverse=true) | join }}",
    "AabcAabccbAa",
  ],
  ["{{ rows | sort(attribute='n') | map(attribute='n') | join }}", "123"],
  [
    "{{ words | unique | join }}{{ rows | map(attribute='role') | unique | list }}",
    "bAc['user', 'tool']",
  ],
  ["{{ [3, 1, 2] | min }}{{ words | max }}{{ [] | min }}", "1c"],
  [
    "{{ map | dictsort(reverse=true) }}{{ map | dictsort(by='value') }}",
    "[('items', 3), ('b', 1), ('A', 2)][('b', 1), ('A', 2), ('items', 3)]",
  ],
  [
    "{{ ['\u{ff21}', '\u{1f41f}'] | sort | join }}{{ '\u{ff21}' < '\u{1f41f}' }}",
    "\u{ff21}\u{1f41f}True",
  ],
];

export const VALUES: Cases = [
  [
    "{{ 'ab-cd (ef' | title }}{{ \"ab's x1y\".title() }}{{ 'ΑΣ'.capitalize() }}",
    "Ab-Cd (EfAb'S X1YΑς",
  ],
  [
    "{{ 'a\\n\\nb' | indent }}|{{ 'a\\n\\nb' | indent(2, true, true) }}|{{ 'a\\nb' | indent('> ') }}",
    "a\n\n    b|  a\n  \n  b|a\n> b",
  ],
  [
    "{{ '{} {{}} {}'.format('a', 1) }}{{ '{1}{0}'.format('a', none) }}",
    "a {} 1Nonea",
  ],
  [
    "{{ strftime_now('%d %b %Y, %-d %B %A %a %I:%M %p %j %y %H%S%%') }}",
    "05 Mar 2026, 5 March Thursday Thu 09:07 AM 064 26 0903%",
  ],
  ["{{ strftime_now is defined }}{{ range is callable }}", "TrueTrue"],
  [
    "{{ {'a': 'é', 'B': [1, 2]} | tojson(separators=(',', ':'), sort_keys=true, ensure_ascii=true) }}",
    '{"B":[1,2],"a":"\\u00e9"}',
  ],
  [
    "{{ {'a': [1]} | tojson(indent=1, separators=(', ', '=')) }}",
    '{\n "a"=[\n  1\n ]\n}',
  ],
  // A method comes before what a map has by its name, behind a dot, and behind it in brackets.
  [
    "{{ map.items is callable }}{{ map['items'] }}{{ rows[0]['items'] is callable }}{{ rows[0].update is defined }}",
    "True3TrueFalse",
  ],
  // What changes a list is no member of a map, and what changes a map is one whatever it has.
  ["{{ {'sort': 1, 'append': 2}.sort }}{{ {'pop': 3}.pop }}", "1"],
  ["{{ '\x7f\x80' | tojson(ensure_ascii=true) }}", '"\\u007f\\u0080"'],
  [
    "{{ map['b'] }}{{ rows.0.n }}{{ {1: 'a', 'x': 2}[1] }}{{ {'b': 1, '1': 2} }}",
    "12a{'b': 1, '1': 2}",
  ],
  [
    "{{ map.keys() | list }}{{ map.items() is sequence }}{{ range(3) is sequence }}{{ range(3)[1] }}",
    "['b', 'A', 'items']FalseTrue1",
  ],
  // What is added to a text that is safe is written with entities.
  [
    "{{ '<a>' | safe + '<b> & \"c\\'' }}{{ ('<a>' | safe) ~ '<b>' }}",
    "<a>&lt;b&gt; &amp; &#34;c&#39;<a><b>",
  ],
  [
    "{{ [1, 'a' | safe] }}{{ ('a' | safe) == 'a' }}{{ 'a' | safe is string }}",
    "[1, Markup('a')]TrueTrue",
  ],
  [
    "{{ x is eq 5 }}{{ 'a' is in ['a'] }}{{ x is ge(6) }}{{ x is not ne 5 }}",
    "TrueTrueFalseTrue",
  ],
];
