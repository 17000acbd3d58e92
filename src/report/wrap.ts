/** Characters of a line of text: what terminals and mails show without breaking it. */
export const LINE_MAX = 100;

/**
 * Text in lines of at most LINE_MAX characters, broken at spaces, and inside words that are longer.
 * @param indent before every line but the first
 */
export function wrap(text: string, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (let word of text.split(" ")) {
    const joined = line === "" ? word : `${line} ${word}`;
    if (joined.length <= LINE_MAX) {
      line = joined;
      continue;
    }
    if (line.trim() !== "") lines.push(line);
    const room = LINE_MAX - indent.length;
    for (; word.length > room; word = word.slice(room)) {
      lines.push(indent + word.slice(0, room));
    }
    line = indent + word;
  }
  return [...lines, line].join("\n");
}
