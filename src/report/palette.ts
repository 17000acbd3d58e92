/**
 * Colours of the report. Charts are drawn with stand-ins; the page's style sheet gives each its value
 * for a light and a dark background (attribute selectors win over SVG attributes).
 * Hues after Okabe and Ito, told apart with any common colour vision deficiency, each with at least
 * 3:1 contrast to its background; every policy has a marker and a line style of its own as well.
 */

/** A colour by its stand-in in the SVG and its values in the two themes. */
interface ThemeColor {
  readonly standIn: string;
  readonly light: string;
  readonly dark: string;
}

export const INK: ThemeColor = {
  standIn: "#000001",
  light: "#1c2024",
  dark: "#e8eaed",
};
export const MUTED: ThemeColor = {
  standIn: "#000002",
  light: "#5b6470",
  dark: "#a3abb6",
};
export const GRID: ThemeColor = {
  standIn: "#000003",
  light: "#e3e6ea",
  dark: "#30363d",
};
export const PAPER: ThemeColor = {
  standIn: "#000004",
  light: "#ffffff",
  dark: "#16191d",
};

/** How a policy looks in every chart. */
export interface PolicyStyle {
  readonly color: ThemeColor;
  readonly symbol:
    | "circle"
    | "rect"
    | "triangle"
    | "diamond"
    | "roundRect"
    | "pin"
    | "arrow";
  readonly line: "solid" | "dashed" | "dotted";
}

const STYLES: readonly Omit<PolicyStyle, "color">[] = [
  { symbol: "circle", line: "solid" },
  { symbol: "rect", line: "dashed" },
  { symbol: "triangle", line: "dotted" },
  { symbol: "diamond", line: "solid" },
  { symbol: "roundRect", line: "dashed" },
  { symbol: "arrow", line: "dotted" },
  { symbol: "pin", line: "solid" },
];

/** Light and dark value per place; the first are taken by the policies named below. */
const COLORS: readonly (readonly [light: string, dark: string])[] = [
  ["#0067a8", "#5db8ee"],
  ["#c94f00", "#ff9150"],
  ["#997000", "#e8bb3f"],
  ["#008562", "#2fd0a3"],
  ["#a8478b", "#e79acb"],
  ["#646b75", "#aab1bb"],
  ["#7a3fc4", "#bb9af5"],
];

/** Places that stay the same from report to report. */
const KNOWN: readonly string[] = [
  "cellular",
  "graph",
  "bucketed",
  "late",
  "merged",
  "serial",
];

/**
 * The style of each policy; names not known take the free places, then go round, each colour with other
 * markers and lines the next time.
 */
export function policyStyles(
  policies: readonly string[],
): Map<string, PolicyStyle> {
  const unknown = policies.filter((name) => !KNOWN.includes(name));
  const taken = policies.filter((name) => KNOWN.includes(name)).map((name) =>
    KNOWN.indexOf(name)
  );
  const free = COLORS.map((_, place) => place).filter((place) =>
    !taken.includes(place)
  );
  // Beside known policies, from the places that these leave free most often.
  if (taken.length > 0) free.reverse();
  return new Map(policies.map((name) => {
    const nth = unknown.indexOf(name);
    const place = nth < 0
      ? KNOWN.indexOf(name)
      : free[nth % Math.max(free.length, 1)] ?? nth % COLORS.length;
    const round = nth < 0
      ? 0
      : Math.floor(nth / (free.length || COLORS.length));
    const [light, dark] = COLORS[place];
    return [name, {
      color: { standIn: `#00010${place}`, light, dark },
      ...STYLES[(place + round) % STYLES.length],
    }];
  }));
}

/** Style rules that give the stand-ins their values. */
export function colorRules(
  styles: ReadonlyMap<string, PolicyStyle>,
): { light: string; dark: string; use: string } {
  const colors = [
    INK,
    MUTED,
    GRID,
    PAPER,
    ...[...styles.values()].map(({ color }) => color),
  ];
  const unique = [
    ...new Map(colors.map((color) => [color.standIn, color])).values(),
  ];
  const name = (color: ThemeColor) => `--c${color.standIn.slice(1)}`;
  return {
    light: unique.map((color) => `${name(color)}:${color.light};`).join(""),
    dark: unique.map((color) => `${name(color)}:${color.dark};`).join(""),
    use: unique.map((color) =>
      `svg [fill="${color.standIn}"]{fill:var(${
        name(color)
      })}svg [stroke="${color.standIn}"]{stroke:var(${name(color)})}`
    ).join("\n"),
  };
}

/** The CSS value of a colour, for HTML beside the charts. */
export function cssColor(color: ThemeColor): string {
  return `var(--c${color.standIn.slice(1)})`;
}
