/** As much of YAML as manifests need: maps and lists by indentation, texts, numbers, booleans; no flow, no anchors. */

interface Line {
  readonly indent: number;
  readonly text: string;
  readonly number: number;
}

/** @throws SyntaxError naming the line that is not read */
export function readYaml(text: string): unknown {
  const lines = text.split("\n").map((line, i) => ({
    indent: line.search(/\S/),
    text: line.trim(),
    number: i + 1,
  })).filter(({ text }) => text !== "" && !text.startsWith("#"));
  const [value, rest] = block(lines, 0);
  if (rest.length > 0) throw wrong(rest[0]);
  return value;
}

function block(
  lines: readonly Line[],
  indent: number,
): [value: unknown, rest: readonly Line[]] {
  return lines[0]?.text.startsWith("- ")
    ? list(lines, indent)
    : map(lines, indent);
}

function list(
  lines: readonly Line[],
  indent: number,
): [unknown[], readonly Line[]] {
  const items: unknown[] = [];
  while (lines.length > 0 && lines[0].indent === indent) {
    const [first, ...rest] = lines;
    if (!first.text.startsWith("- ")) break;
    const inner = { ...first, indent: indent + 2, text: first.text.slice(2) };
    if (/^[\w./-]+:( |$)/.test(inner.text)) {
      const [item, left] = map([inner, ...rest], indent + 2);
      items.push(item);
      lines = left;
    } else {
      items.push(scalar(inner));
      lines = rest;
    }
  }
  return [items, lines];
}

function map(
  lines: readonly Line[],
  indent: number,
): [Record<string, unknown>, readonly Line[]] {
  const entries: Record<string, unknown> = {};
  while (lines.length > 0 && lines[0].indent === indent) {
    const [first, ...rest] = lines;
    const match = /^([\w./-]+):(?: (.*))?$/.exec(first.text);
    if (match === null) throw wrong(first);
    const [, key, value] = match;
    if (Object.hasOwn(entries, key)) throw wrong(first);
    if (value === undefined) {
      if (!(rest[0]?.indent > indent)) throw wrong(first);
      [entries[key], lines] = block(rest, rest[0].indent);
    } else {
      entries[key] = scalar({ ...first, text: value });
      lines = rest;
    }
  }
  if (lines.length > 0 && lines[0].indent > indent) throw wrong(lines[0]);
  return [entries, lines];
}

function scalar(line: Line): string | number | boolean {
  const { text } = line;
  if (/^"[^"\\]*"$/.test(text)) return text.slice(1, -1);
  if (/^(true|false)$/.test(text)) return text === "true";
  if (/^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (/^[\w./][\w./: -]*$|^-[-\w]+$/.test(text)) return text;
  throw wrong(line);
}

function wrong({ number, text }: Line): SyntaxError {
  return new SyntaxError(`line ${number}: ${text}`);
}
