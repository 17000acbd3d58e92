import {
  colorRules,
  cssColor,
  GRID,
  INK,
  MUTED,
  PAPER,
  type PolicyStyle,
} from "./palette.ts";

/** The report's style: system fonts, light or dark after the reader's setting, printable: paper does not scroll. */
export function styleSheet(styles: ReadonlyMap<string, PolicyStyle>): string {
  const colors = colorRules(styles);
  return `:root{color-scheme:light dark;--better:#00704f;--worse:#b33a00;${colors.light}}
@media (prefers-color-scheme:dark){:root{--better:#3fd6a8;--worse:#ff9d66;${colors.dark}}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1380px;padding:24px 28px 48px;background:${
    cssColor(PAPER)
  };color:${cssColor(INK)};
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
h1{font-size:26px;margin:0 0 12px}
h2{font-size:21px;margin:44px 0 10px;padding-top:18px;border-top:1px solid ${
    cssColor(GRID)
  }}
h3{font-size:15px;margin:26px 0 8px;color:${cssColor(MUTED)};font-weight:600}
nav a{color:inherit;margin-right:14px}
.facts{display:flex;flex-wrap:wrap;gap:6px 26px;margin:0 0 14px}
.facts dt{font-size:12px;color:${cssColor(MUTED)}}
.facts dd{margin:0}
.conclusion{font-size:16px;max-width:900px;margin:4px 0 16px}
.note{font-size:13px;color:${cssColor(MUTED)};margin:4px 0 0}
a{color:inherit}
.columns{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:2px 24px}
.columns div{display:grid;grid-template-columns:104px 1fr}
.columns dt{font-weight:600}
.columns dd{margin:0}
.legend{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:4px 22px;margin:12px 0 0;padding:8px 0;list-style:none;
background:${cssColor(PAPER)};border-bottom:1px solid ${cssColor(GRID)}}
.legend svg{vertical-align:-2px;margin-right:7px}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:14px 20px}
figure{margin:8px 0 0;min-width:0;max-width:480px}
figcaption{font-weight:600;font-size:14px}
figure svg{display:block;width:100%;height:auto}
figure svg text{font-family:inherit}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:12.5px;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:3px 6px;text-align:right}
th:first-child,td:first-child{padding-left:0}
th{font-weight:600;color:${cssColor(MUTED)};border-bottom:1px solid ${
    cssColor(MUTED)
  };vertical-align:bottom}
.left{text-align:left}
tbody+tbody tr:first-child td{border-top:1px solid ${
    cssColor(GRID)
  };padding-top:6px}
tbody tr:last-child td{padding-bottom:6px}
.better{color:var(--better);font-weight:600}
.worse{color:var(--worse)}
.chip{display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:6px}
footer{font-size:13px;color:${cssColor(MUTED)};max-width:900px}
@media (max-width:600px){body{padding:16px 14px 32px}.legend{font-size:13px;gap:2px 14px;padding:6px 0}}
@media print{.legend{position:static}h2,h3{break-after:avoid}figure{break-inside:avoid}.scroll{overflow:visible}
table{font-size:10px;overflow-wrap:break-word}th,td{padding:3px 4px}th,td:last-child{white-space:normal}}
${colors.use}`;
}
