/** The few pieces of SVG the charts share. Colours follow the reader's light or dark scheme. */

export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(
    ">",
    "&gt;",
  )
    .replaceAll('"', "&quot;");
}

export const COLORS = {
  compute: "#2a78d6",
  memory: "#c2571a",
  vector: "#7a5cc0",
  idle: "#8a8f98",
};

export function svg(width: number, height: number, body: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
    `height="${height}" font-family="system-ui, sans-serif" font-size="12" fill="currentColor">` +
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
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
svg { max-width: 100%; height: auto; } h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; }
</style></head><body>
<h1>${escapeText(title)}</h1>
${parts.join("\n")}
</body></html>
`;
}
