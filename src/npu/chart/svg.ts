/** The few pieces of SVG the charts share. Colours follow the reader's light or dark scheme. */

export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(
    ">",
    "&gt;",
  )
    .replaceAll('"', "&quot;");
}

export const COLORS = {
  array: "#2a78d6",
  compute: "#2a78d6",
  memory: "#c2571a",
  vector: "#7a5cc0",
};

export function svg(width: number, height: number, body: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
    `height="${height}" font-family="system-ui, sans-serif" font-size="${FONT_SIZE}" fill="currentColor">` +
    `${body}</svg>`;
}

export function text(
  x: number,
  y: number,
  words: string,
  attributes = "",
): string {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${
    escapeText(words)
  }</text>`;
}

export function line(
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  attributes = "",
): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${
    round(y2)
  }" ` +
    `stroke="currentColor" ${attributes}/>`;
}

const FONT_SIZE = 12;

/** About how wide words are in the charts' font, generously. */
export function textWidth(words: string): number {
  return words.length * FONT_SIZE * 0.58;
}

/** Coloured squares with their meaning, in a line that begins at (x, y). */
export function legend(
  x: number,
  y: number,
  entries: readonly { words: string; color: string; opacity: number }[],
): string {
  let at = x;
  return entries.map(({ words, color, opacity }) => {
    const entry =
      `<rect x="${round(at)}" y="${
        y - 10
      }" width="11" height="11" fill="${color}" ` +
      `fill-opacity="${opacity}"/>` + text(at + 16, y, words);
    at += 16 + textWidth(words) + 18;
    return entry;
  }).join("");
}

export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** A page around charts, without outside resources. */
export function page(title: string, parts: readonly string[]): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>${
    escapeText(title)
  }</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; } h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
</style></head><body>
<h1>${escapeText(title)}</h1>
${parts.join("\n")}
</body></html>
`;
}
