/**
 * The parts of ECharts that the charts are made of. By static imports: a bundler leaves the rest out, which is
 * most of it.
 */
import { BarChart, LineChart } from "echarts/charts";
import { GridComponent } from "echarts/components";
import { init, use } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

use([LineChart, BarChart, GridComponent, SVGRenderer]);

export { init };
