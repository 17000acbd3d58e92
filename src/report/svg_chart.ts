/**
 * Charts as SVG text, drawn by ECharts without a DOM. ECharts is loaded when the first chart is
 * drawn: nothing but a report needs it.
 */
import type { EChartsCoreOption } from "echarts/core";

/** As wide as a phone shows: text keeps its size there. */
export const CHART_WIDTH = 360;
export const CHART_HEIGHT = 270;

/** One chart: ECharts options, and words for those who cannot see it. */
export interface Chart {
  readonly title: string;
  readonly label: string;
  readonly option: EChartsCoreOption;
}

export type ChartRenderer = (chart: Chart) => string;

export async function chartRenderer(): Promise<ChartRenderer> {
  const { init } = await import("./echarts.ts");
  let drawn = 0;
  return (chart) => {
    const instance = init(null, null, {
      renderer: "svg",
      ssr: true,
      width: CHART_WIDTH,
      height: CHART_HEIGHT,
    });
    try {
      instance.setOption({ animation: false, ...chart.option });
      return inlineSvg(
        instance.renderToSVGString(),
        chart.label,
        `chart${drawn++}`,
      );
    } finally {
      instance.dispose();
    }
  };
}

/** Fits ECharts' file for a page: no namespaces, no fixed size, no hover rules; ids of its own. */
function inlineSvg(svg: string, label: string, id: string): string {
  return svg
    .replace(
      /<svg [^>]*>/,
      `<svg viewBox="0 0 ${CHART_WIDTH} ${CHART_HEIGHT}" role="img" aria-label="${
        escapeHtml(label)
      }">`,
    )
    .replace(/<style[^>]*>[\s\S]*?<\/style>/g, "")
    .replace(/ (?:class|ecmeta_\w+|pointer-events)="[^"]*"/g, "")
    .replace(/zr\d+(?=-)/g, id)
    .replace(/>\s+</g, "><");
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(
    ">",
    "&gt;",
  ).replaceAll('"', "&quot;");
}
