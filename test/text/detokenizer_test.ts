/** Text of ids that come one by one, and of pieces that a stop string ends. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { StopStrings } from "../../src/text/stop_strings.ts";
import { propertyRuns } from "../property_runs.ts";
import { TOKENIZERS } from "./tokenizers.ts";

const NOTHING = "\uFFFD";

for (const [name, { tokenizer, vocabulary }] of Object.entries(TOKENIZERS)) {
  const anyIds = fc.array(fc.nat(vocabulary - 1), { maxLength: 24 });

  Deno.test(`${name}: pieces are the text of all ids, whatever they are`, () => {
    fc.assert(
      fc.property(anyIds, fc.boolean(), (ids, skip) => {
        const words = tokenizer.detokenizer([], skip);
        const pieces = ids.map((id) => words.push(id));
        assert.equal(
          [...pieces, words.end()].join(""),
          tokenizer.decode(ids, skip),
        );
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  Deno.test(`${name}: a piece behind a text is what the text gains`, () => {
    fc.assert(
      fc.property(anyIds, anyIds, (context, ids) => {
        const before = tokenizer.decode(context.slice(-8));
        fc.pre(!before.endsWith(NOTHING));
        const words = tokenizer.detokenizer(context);
        const pieces = ids.map((id) => words.push(id));
        const whole = tokenizer.decode([...context.slice(-8), ...ids]);
        assert.equal(before + pieces.join("") + words.end(), whole);
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  Deno.test(`${name}: texts come back, and no piece has half a character`, () => {
    const word = fc.constantFrom("the", "cat", "hello", "world", "in");
    const text = fc.array(
      name === "word pieces"
        ? fc.constantFrom("the", "cats", "ran", "faster", "and")
        : fc.oneof(word, fc.constantFrom("é", "€", "🐟", "日本", "a👩‍👩‍👧b")),
      { minLength: 1, maxLength: 8 },
    ).map((words) => words.join(" "));
    fc.assert(
      fc.property(text, (text) => {
        const words = tokenizer.detokenizer();
        let whole = "";
        for (const id of tokenizer.encode(text).ids) {
          const piece = words.push(id);
          assert(!piece.includes(NOTHING), JSON.stringify(piece));
          assert(piece.isWellFormed());
          whole += piece;
        }
        assert.equal(whole + words.end(), text);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
}

Deno.test("a character of four tokens comes when the last one does", () => {
  const { tokenizer } = TOKENIZERS["byte pairs"];
  const { ids } = tokenizer.encode("a🐟b");
  const words = tokenizer.detokenizer();
  assert.deepEqual(
    Array.from(ids, (id) => words.push(id)),
    ["a", "", "", "", "🐟", "b"],
  );
});

Deno.test("bytes that are no character come with what follows, or at the end", () => {
  const { tokenizer } = TOKENIZERS["byte pairs"];
  const [fish] = tokenizer.encode("🐟").ids;
  const [letter] = tokenizer.encode("b").ids;
  const words = tokenizer.detokenizer();
  assert.equal(words.push(fish), "");
  assert.equal(words.push(letter), `${NOTHING}b`);
  assert.equal(words.push(fish), "");
  assert.equal(words.end(), NOTHING);
});

Deno.test("words of the answer are apart from those of the prompt", () => {
  const { tokenizer } = TOKENIZERS["word pieces"];
  const { ids } = tokenizer.encode("the cat", { addSpecialTokens: false });
  const words = tokenizer.detokenizer(ids);
  const [sat] = tokenizer.encode("sat", { addSpecialTokens: false }).ids;
  assert.equal(words.push(sat), " sat");
});

Deno.test("a stop string ends the text, wherever pieces are cut", () => {
  const stops = new StopStrings(["END", "\n\n"]);
  const pieces = ["one E", "N", "", "E", "ND two", "three"];
  assert.deepEqual(pieces.map((piece) => stops.push(piece)), [
    "one ",
    "",
    "",
    "EN",
    "",
    "",
  ]);
  assert.equal(stops.found, "END");
  assert.equal(stops.end(), "");
  const open = new StopStrings(["END"]);
  assert.equal(open.push("the EN"), "the ");
  assert.equal(open.end(), "EN");
});

Deno.test("a text ends where the stop string begins that is complete first", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });
  const stop = fc.string({
    unit: fc.constantFrom("a", "b"),
    minLength: 1,
    maxLength: 4,
  });
  fc.assert(
    fc.property(
      fc.array(letters, { maxLength: 8 }),
      fc.array(stop, { maxLength: 3 }),
      (pieces, strings) => {
        const stops = new StopStrings(strings);
        let text = "";
        for (const piece of pieces) {
          text += stops.push(piece);
          for (const each of strings) assert(!text.includes(each));
        }
        text += stops.end();
        const whole = pieces.join("");
        // As if it came letter by letter.
        let said = "";
        let found: string | undefined;
        for (const letter of whole) {
          said += letter;
          const ends = strings.filter((each) => said.endsWith(each))
            .sort((a, b) => b.length - a.length);
          found = ends[0];
          if (found === undefined) continue;
          said = said.slice(0, -found.length);
          break;
        }
        assert.deepEqual([text, stops.found], [said, found]);
      },
    ),
    { numRuns: propertyRuns(2000) },
  );
});
