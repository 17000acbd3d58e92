/** The page's looks; see page_html.ts. */
export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#fbfbf9, #14171a);
  --panel: light-dark(#ffffff, #1b2024);
  --ink: light-dark(#1d2429, #e6eaec);
  --soft: light-dark(#5d6a72, #9aa7ae);
  --line: light-dark(#dde2e5, #2c343a);
  --c0: light-dark(#0b6e99, #4cb5e0);
  --c1: light-dark(#c2571a, #f0935a);
  --c2: light-dark(#4b8b3b, #7fc46d);
  --c3: light-dark(#8a4fa3, #c493db);
  --c4: light-dark(#9a7b00, #d9bb45);
  --c5: light-dark(#b03a5b, #ec7f9e);
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.45 system-ui, sans-serif;
}
header {
  display: flex; flex-wrap: wrap; gap: 8px 28px; align-items: baseline;
  padding: 16px 24px 12px; border-bottom: 1px solid var(--line);
}
h1 { font-size: 20px; margin: 0; }
h2 { font-size: 15px; margin: 0; }
dl { display: flex; flex-wrap: wrap; gap: 4px 24px; margin: 0; flex: 1; }
dl div { min-width: 66px; }
dt { color: var(--soft); font-size: 12px; }
dd { margin: 0; font-variant-numeric: tabular-nums; font-size: 17px; }
#state { margin: 0; color: var(--soft); font-size: 13px; }
main {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 320px), 1fr));
  gap: 16px; padding: 16px 24px;
}
section {
  background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px 14px; min-width: 0;
}
section.wide { grid-column: 1 / -1; }
section p { margin: 2px 0 8px; color: var(--soft); font-size: 13px; }
canvas { display: block; width: 100%; height: 220px; }
#swim { height: 360px; }
.legend {
  display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 6px 0 0; padding: 0;
  list-style: none; font-size: 12px; color: var(--soft);
  overflow-wrap: anywhere;
}
.legend li::before {
  content: ""; display: inline-block; width: 10px; height: 10px;
  margin-right: 5px; border-radius: 2px; background: var(--c, var(--soft));
}
.k-running { --c: var(--c0); }
.k-waiting { --c: var(--c1); }
`;
