/** What every report's page has to be. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { CHART_HEIGHT, CHART_WIDTH } from "../../src/report/svg_chart.ts";

/** Names of the elements, checked to be balanced, with quoted attributes and no stray markup. */
export function elements(xml: string): string[] {
  const open: string[] = [];
  const names: string[] = [];
  const body = xml.replace(/^<!DOCTYPE html>\n/, "");
  const tag =
    /<(\/?)([A-Za-z][A-Za-z0-9]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g;
  let end = 0;
  for (const match of body.matchAll(tag)) {
    const text = body.slice(end, match.index);
    ok(
      !/[<]|&(?!amp;|lt;|gt;|quot;)/.test(text),
      `stray markup in ${JSON.stringify(text.slice(0, 200))}`,
    );
    end = match.index + match[0].length;
    const [, close, name, attributes, empty] = match as unknown as [
      string,
      string,
      string,
      string,
      string,
    ];
    if (close) {
      equal(open.pop(), name);
      equal(attributes, "");
    } else {
      names.push(name);
      if (!empty) open.push(name);
    }
  }
  equal(body.slice(end).trim(), "");
  deepEqual(open, []);
  return names;
}

/** Nothing is loaded. */
export function needsNothing(html: string): void {
  ok(
    !/https?:|\/\/[a-z]|@import|<script|<link|<img|<iframe|\ssrc=/i.test(html),
  );
}

/** Links within the page lead somewhere. */
export function linksLead(html: string): void {
  const ids = new Set(
    [...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id),
  );
  for (const [, id] of html.matchAll(/(?:href="|url\()#([^")]*)/g)) {
    ok(ids.has(id), `#${id} is there`);
  }
}

/** Where a text's anchor is, as a share of its width. */
const ANCHORS: Record<string, number> = { start: 0, middle: 0.5, end: 1 };

/** No label of a chart leaves it. @returns how many there are */
export function labelsInside(html: string): number {
  const labels = [
    ...html.matchAll(
      /<text [^>]*text-anchor="(\w+)" style="font-size:(\d+)px[^>]*transform="translate\(([\d.-]+) ([\d.-]+)\)[^>]*>([^<]*)</g,
    ),
  ];
  for (const [, anchor, size, x, y, label] of labels) {
    // A little more than the mean width of a character of a sans-serif font.
    const width = 0.55 * Number(size) * label.length;
    const share = ANCHORS[anchor];
    const left = Number(x) - share * width;
    ok(left >= 0 && left + width <= CHART_WIDTH, `${label} at ${x}`);
    ok(Number(y) >= 0 && Number(y) <= CHART_HEIGHT, `${label} at ${y}`);
  }
  return labels.length;
}
