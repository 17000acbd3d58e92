/** Conversations as prompts, by templates that models come with. */
import assert from "node:assert/strict";
import { ChatTemplate } from "../../src/text/chat/chat_template.ts";
import { TextFileError } from "../../src/text/errors.ts";
import { TextTokenizer } from "../../src/text/tokenizer.ts";
import { BYTE_PAIRS } from "./tokenizers.ts";

const SYSTEM = { role: "system", content: "Be brief. " };
const TALK = [
  { role: "user", content: " Hi" },
  { role: "assistant", content: "Hello!" },
  { role: "user", content: "Bye\n" },
];

/** Templates of models, and what transformers makes of them (`apply_chat_template`). */
const TEMPLATES: Readonly<
  Record<string, { template: string; prompt: string; plain: string }>
> = {
  // OpenAI's ChatML, as Qwen and others have it.
  ChatML: {
    template:
      `{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`,
    prompt:
      "<|im_start|>system\nBe brief. <|im_end|>\n<|im_start|>user\n Hi<|im_end|>\n" +
      "<|im_start|>assistant\nHello!<|im_end|>\n<|im_start|>user\nBye\n<|im_end|>\n<|im_start|>assistant\n",
    plain:
      "<|im_start|>user\n Hi<|im_end|>\n<|im_start|>assistant\nHello!<|im_end|>\n" +
      "<|im_start|>user\nBye\n<|im_end|>\n<|im_start|>assistant\n",
  },
  // Llama 2.
  "[INST]": {
    template:
      `{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif %}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == 'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}`,
    prompt:
      "<s>[INST] <<SYS>>\nBe brief. \n<</SYS>>\n\n Hi [/INST] Hello! </s><s>[INST] Bye [/INST]",
    plain: "<s>[INST] Hi [/INST] Hello! </s><s>[INST] Bye [/INST]",
  },
  // Llama 3.
  headers: {
    template:
      `{% set loop_messages = messages %}{% for message in loop_messages %}{% set content = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n'+ message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}`,
    prompt:
      "<s><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>" +
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>" +
      "<|start_header_id|>assistant<|end_header_id|>\n\nHello!<|eot_id|>" +
      "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>" +
      "<|start_header_id|>assistant<|end_header_id|>\n\n",
    plain: "<s><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>" +
      "<|start_header_id|>assistant<|end_header_id|>\n\nHello!<|eot_id|>" +
      "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|>" +
      "<|start_header_id|>assistant<|end_header_id|>\n\n",
  },
  // In the manner of newer ones: a namespace, lines, and spaces that are no text.
  "many lines": {
    template: `{%- set ns = namespace(system='', count=0) -%}
{%- for message in messages if message.role == 'system' %}
    {%- set ns.system = ns.system ~ message.content.strip() %}
{%- endfor %}
{# nothing of this is said #}
{{- bos_token }}
{%- if ns.system is defined and ns.system %}
    {{- '[' + ns.system + ']\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message['role'] not in ['system', 'tool'] -%}
        {%- set ns.count = ns.count + 1 %}
        {{- '%' ~ ns.count ~ ' ' ~ (message.role | upper)[:1] }}: {{ message.content | trim }}
        {% if not loop.last %}
-
        {% endif %}
    {%- endif %}
{%- endfor %}
{{ 'A: ' if add_generation_prompt else eos_token }}
`,
    prompt: "<s>[Be brief.]\n%1 U: Hi\n-\n%2 A: Hello!\n-\n%3 U: Bye\nA: ",
    plain: "<s>%1 U: Hi\n-\n%2 A: Hello!\n-\n%3 U: Bye\nA: ",
  },
};

const VARIABLES = {
  bos_token: "<s>",
  eos_token: "</s>",
  add_generation_prompt: true,
};

for (const [name, { template, prompt, plain }] of Object.entries(TEMPLATES)) {
  Deno.test(`a template of chats, ${name}, gives the prompt that its model knows`, () => {
    const chat = new ChatTemplate(template);
    const render = (messages: unknown) =>
      chat.render({ ...VARIABLES, messages });
    assert.equal(render([SYSTEM, ...TALK]), prompt);
    assert.equal(render(TALK), plain);
  });
}

Deno.test("expressions are what they are in Jinja", () => {
  const value = (expression: string, variables: object = {}) =>
    new ChatTemplate(`{{ ${expression} }}`).render({ ...variables });
  const words = { words: ["a", "b", "c"], map: { x: 1, "y z": [2] } };
  for (
    const [expression, expected] of [
      ["1 + 2 * 3", "7"],
      ["(1 + 2) * 3 - 10 // 4 % 3", "7"],
      ["-7 % 3", "2"],
      ["'a' 'b' ~ 1", "ab1"],
      ["words[-1] + words[0]", "ca"],
      ["words[::-1] | join('-')", "c-b-a"],
      ["words[1:] | length", "2"],
      ["'b' in words and 'x' in map and 'q' not in map", "True"],
      ["map['y z'][0] == 2", "True"],
      ["map | tojson", '{"x": 1, "y z": [2]}'],
      ["map.items() | length", "2"],
      ["map.get('q', 'none') ~ map.get('q')", "noneNone"],
      ["missing | default('d')", "d"],
      ["'' | default('d') ~ '|' ~ ('' | default('d', true))", "|d"],
      ["missing is defined or not missing", "True"],
      ["none is none and 'a' is string and map is mapping", "True"],
      ["'x' if missing", ""],
      ["1 if false else 2 if false else 3", "3"],
      ["'  a b '.strip().split(' ') | join('+')", "a+b"],
      ["'xxaxx'.lstrip('x') ~ 'xxaxx'.rstrip('x')", "axxxxa"],
      ["'abc'.replace('b', '$&')", "a$&c"],
      ["{'a': {'b': '}}'}}['a']['b']", "}}"],
      ["range(1, 4) | list", "[1, 2, 3]"],
      ["[1, 'a', true, none]", "[1, 'a', True, None]"],
      ["map.constructor is defined or map['__proto__'] is defined", "False"],
      ["not 'a' == 'b' and 1 < 2 <= 2", "True"],
      ["'don\\'t' ~ \"\\n\"", "don't\n"],
      ["'\\x41\\u00e9\\d\\\\' ~ '\\U0001f41f'", "Aé\\d\\🐟"],
      ["'=' * 3 ~ [1] * 2 ~ 'a' * -1", "===[1, 1]"],
      ["'a,b,c'.split(',', 1) | last", "b,c"],
      ["' a  b c '.split(maxsplit=1) | last", "b c "],
      ["'aaa'.replace('a', 'b', 2) ~ 'aa' | replace('a', 'c', 1)", "bbaca"],
      ["'abc'.startswith(('x', 'ab')) and 'abc'.endswith('c')", "True"],
      ["'xax' | trim('x')", "a"],
      [
        "words[2:0:-1] ~ words[::-2] ~ 'abcd'[-1:-3:-1]",
        "['c', 'b']['c', 'a']dc",
      ],
      ["words[-9:2] ~ words[5:]", "['a', 'b'][]"],
      ["map == {'y z': [2], 'x': 1} and [map] != [{}]", "True"],
      ["true == 1 and true in [1]", "True"],
      ["3 > 2 > 2 or 1 < 2 < 2", "False"],
      ["-2 | string ~ -map.x", "-2-1"],
      ["[\"it's\", 'a\nb\\\\', '\"']", `["it's", 'a\\nb\\\\', '"']`],
      [
        "map | tojson(indent=2)",
        '{\n  "x": 1,\n  "y z": [\n    2\n  ]\n}',
      ],
      ["[{}, []] | tojson(indent=4)", "[\n    {},\n    []\n]"],
      ["'0x10' | int ~ ' 2.9 ' | int ~ 'a' | int(7) ~ [5] | int", "0270"],
      ["10 / 2 ~ 7 // 2.0 ~ (2.5 + 1.5) ~ 2 * 3", "5.03.04.06"],
      ["[2.0, 10 / 5] ~ 2.0 | tojson ~ (4 / 2 == 2)", "[2.0, 2.0]2.0True"],
      ["1 / 3 * 3 ~ 0.1 % 3 ~ 1 // 0.1 ~ -7.5 // 2", "1.00.19.0-4.0"],
      ["-3 % 3 / 10 ~ -0 ~ 0 * -1", "0.000"],
      ["1 / 100000 ~ ' ' ~ 10000000000000000.0", "1e-05 1e+16"],
      ["-0.0 ~ -(1 - 1.0) ~ -0", "-0.0-0.00"],
      ["2.0 is float and 2.0 is not integer and not 0.0", "True"],
      ["words[1.0] is defined", "False"],
      [
        "(1, 'a') ~ (1,) ~ (1, 2)[1:] ~ (1, 2) * 2",
        "(1, 'a')(1,)(2,)(1, 2, 1, 2)",
      ],
      [
        "map.items() | list ~ [(1, 2)] | tojson",
        "[('x', 1), ('y z', [2])][[1, 2]]",
      ],
      ["(1, 2) == [1, 2] or (1, 2) != (1, 2)", "False"],
      ["{'1': 'a'}[1] is defined or 1 in {'1': 'a'}", "False"],
      ["'🐟x'.replace('', '.') ~ 'ab'.replace('', '.', 1)", ".🐟.x..ab"],
      // A byte order mark is no space; separators of information are.
      ["'\ufeffa\x1c\x85'.strip() | length", "2"],
      ["'\x1ca\x1fb\ufeff'.split() | length", "2"],
      ["['\u200b\xa0\u{e0001}é']", "['\\u200b\\xa0\\U000e0001é']"],
      ["missing is iterable and missing | length == 0", "True"],
      ["missing in words or missing in map or 'a' in missing", "False"],
    ]
  ) assert.equal(value(expression, words), expected, expression);
});

Deno.test("statements are what they are in Jinja", () => {
  for (
    const [template, expected] of [
      ["{% for i in [1] %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}", "10"],
      ["{% for a, b in ['xy', (1, 2)] %}{{ a }}{{ b }},{% endfor %}", "xy,12,"],
      // What is set between these words is forgotten behind them.
      [
        "{% set a = 1 %}{% generation %}{% set a = 2 %}{{ a }}{% endgeneration %}{{ a }}",
        "21",
      ],
      ["a{# b +#}\nc{# d #}\ne", "a\nce"],
      ["a\n\xa0{% if true %}\x1c{%- endif %}", "a\n"],
      ["a \ufeff{%- if true %}{% endif -%}\x85\nb", "a \ufeffb"],
    ]
  ) assert.equal(new ChatTemplate(template).render({}), expected, template);
});

Deno.test("a long template takes a time as its length, and so does a long number", () => {
  const [spaces, number] = [" ".repeat(200_000), "1".repeat(200_000)];
  const { length } = new ChatTemplate(
    `a${spaces}b{%- if true %}${"{{ 1 }}\n".repeat(50_000)}{% endif %}`,
  ).render({});
  assert.equal(length, 300_002);
  assert.equal(
    new ChatTemplate("{{ a | int }}").render({ a: `${number}x` }),
    "0",
  );
});

Deno.test("what chat templates do not use is refused, naming the line", () => {
  const refused = (template: string, message: RegExp, variables = {}) =>
    assert.throws(
      () => new ChatTemplate(template).render({ messages: [], ...variables }),
      (error: Error) => {
        assert(error instanceof TextFileError, `${error.stack}`);
        assert.match(error.message, message);
        return true;
      },
    );
  refused("a\n{% include 'b' %}", /line 2: .* "include"/);
  refused("{% if true %}", /endif is missing/);
  refused("{% endif %}", /no statement "endif"/);
  refused("{{ 'a }}", /line 1: no word/);
  refused("{# a", /a comment has no end/);
  refused("{{ a | shout }}", /no filter "shout"/);
  refused("{{ a is loud }}", /no test "loud"/);
  refused("{{ 'a'.zfill(1) }}", /no method "zfill"/);
  refused("{{ a.b }}", /a member of what there is not/);
  refused("{{ 1 + 'a' }}", /"\+" of number and string/);
  refused("{{ 'a' * 'b' }}", /"\*" of string and string/);
  refused("{{ a < 1 }}", /"<" of what there is not and number/);
  refused("{{ -none }}", /"-" of number and none/);
  refused("{{ 1 % 0 }}", /a division by 0/);
  refused("{{ 'a' * 1000000000 }}", /repeats something 1000000000 times/);
  refused("{{ 1 in none }}", /"in" of number and none/);
  refused("{{ a[1:] }}", /a part of what there is not/);
  refused("{{ 'a'[::0] }}", /steps of 0/);
  refused("{{ a | tojson }}", /what there is not is no JSON/);
  refused("{{ a | int }}", /a number of nothing/);
  refused("{{ none | length }}", /filter "length" takes a list, not none/);
  refused("{{ range(a) }}", /"range" of what there is not/);
  refused("{{ a is odd }}", /what there is not is neither odd nor even/);
  refused("{{ '\\u12' }}", /is no escape that is known/);
  // Left out, they would change the prompt without a word.
  refused(
    "{{ [] | join('', attribute='role') }}",
    /filter "join" takes no argument "attribute"/,
  );
  refused(
    "{{ [] | first(1) }}",
    /filter "first" is given 1 arguments and takes 0/,
  );
  refused(
    "{{ 'a'.strip('a', 'b') }}",
    /method "strip" is given 2 arguments and takes 1/,
  );
  refused("{{ 'a'.replace('a') }}", /method "replace" takes a text/);
  refused("{% set a.b = 1 %}", /"a" is no namespace/);
  refused("{{ namespace({'a': 1}).a }}", /"namespace" takes .* by name alone/);
  refused("{{ dict({'a': 1}, b=2).a }}", /"dict" takes .* by name alone/);
  refused("{{ {true: 2} }}", /a key is a text or whole number, not boolean/);
  refused("{% for a, b in [[1]] %}{% endfor %}", /1 values for 2 names/);
  refused("{{ [1] + (2, 3) }}", /"\+" of a list and a tuple/);
  refused("{{ 'a'.startswith(['a']) }}", /takes a text, not a list/);
  refused("{{ range(2.0) }}", /"range" of number/);
  refused("{{ 'a' * 2.0 }}", /"\*" of string and number/);
  refused("{{ 1 + }}", /begins no expression/);
  refused("{{ 9007199254740991 + 1 }}", /more digits than are exact/);
  refused("{{ 9007199254740993 }}", /more digits than are exact/);
  refused("{{ '9007199254740993' | int }}", /more digits than are exact/);
  refused(`${"{% if a %}".repeat(20_000)}`, /nested too deeply/);
  refused(`{{ ${"a or ".repeat(50_000)} 1 }}`, /nested too deeply/);
  refused(
    "{% set n = namespace(s='a') %}{% for i in range(40) %}{% set n.s = n.s + n.s %}{% endfor %}",
    /makes too long a text/,
  );
  refused(
    "{% set n = namespace(s=[1]) %}{% for i in range(40) %}{% set n.s = n.s + n.s %}{% endfor %}",
    /makes too long a list/,
  );
  refused("{{ 1 1 }}", /"}}" is missing/);
  const deep = `${"(".repeat(500)}1${")".repeat(500)}`;
  refused(`{{ ${deep} }}`, /nested too deeply/);
  refused("{% for i in range(2000000) %}{% endfor %}", /counts too far/);
  refused(
    "{% for i in range(2000) %}{% for j in range(2000) %}{% endfor %}{% endfor %}",
    /without end/,
  );
});

Deno.test("a tokenizer's own template is found, and its tokens are in it", async () => {
  const load = (chat_template: unknown) =>
    TextTokenizer.load({
      ...BYTE_PAIRS,
      config: { ...Object(BYTE_PAIRS.config), chat_template },
    });
  const template =
    "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}{{ eos_token }}{{ extra }}{% endif %}";
  for (const given of [template, [{ name: "default", template }]]) {
    const tokenizer = await load(given);
    const prompt = tokenizer.chatPrompt(TALK.slice(0, 1), {
      variables: { extra: "!" },
    });
    assert.equal(prompt, "<|user|> Hi<|end|>!");
    const { ids } = tokenizer.encode(prompt, { addSpecialTokens: false });
    assert.deepEqual([ids[0], ids.at(-2)], [1, 0]);
    assert.equal(
      tokenizer.chatPrompt([], { addGenerationPrompt: false }),
      "",
    );
  }
  const none = await load(undefined);
  assert.throws(() => none.chatPrompt(TALK), /has no template of chats/);
  const strict = await load("{{ raise_exception('roles must alternate') }}");
  assert.throws(() => strict.chatPrompt(TALK), /says: roles must alternate/);
});

Deno.test("a template of a file of its own counts more than the configuration's", async () => {
  const files = {
    tokenizer: {
      pre_tokenizer: { type: "Whitespace" },
      model: { type: "WordLevel", unk_token: "?", vocab: { "?": 0 } },
    },
    config: { chat_template: "a", bos_token: "<s>" },
  };
  const template = "b {{ bos_token }}{{ messages | length }}";
  const bytes = new TextEncoder().encode(template);
  for (const chatTemplate of [undefined, template, bytes]) {
    const tokenizer = await TextTokenizer.load({
      ...files,
      ...(chatTemplate !== undefined && { chatTemplate }),
    });
    assert.equal(
      tokenizer.chatPrompt([{ role: "user", content: "c" }]),
      chatTemplate === undefined ? "a" : "b <s>1",
    );
  }
});
