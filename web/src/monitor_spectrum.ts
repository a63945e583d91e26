/** The chart of the spectrum of a beam monitor, on an axis of its own. */

import uPlot from "uplot";
import type { MonitorSpectrum } from "./beam_data";
import { axis, logarithmic, makeChart, stroke } from "./chart";
import { scaled } from "./numbers";

export class MonitorSpectrumChart {
  shown: MonitorSpectrum | null = null;
  isLog = false;
  private chart: uPlot | null = null;
  private builtFor = "";

  /** `moved` is called when the cursor is somewhere else. */
  constructor(private readonly holder: HTMLElement, private readonly moved: () => void) {}

  show(spectrum: MonitorSpectrum | null): void {
    this.shown = spectrum;
    this.draw();
  }

  /** What is at the cursor, or all together. */
  words(): string {
    const { shown } = this;
    if (!shown) return "";
    const at = this.chart?.cursor.idx;
    const bin = at === null || at === undefined ? null : Math.min(at, shown.counts.length - 1);
    const unit = shown.unit === "" ? "" : ` ${shown.unit}`;
    if (bin === null || shown.counts[bin] === undefined) return `${scaled(shown.total)}${unit} in ${shown.bins} bins`;
    const [from, to] = [shown.edges[bin], shown.edges[bin + 1]].map((edge) => Number(edge.toPrecision(6)));
    return `${from} to ${to} ${shown.axis_unit}: ${Number(shown.counts[bin].toPrecision(6))}${unit}`;
  }

  draw(): void {
    const { shown } = this;
    const label = shown ? `${shown.axis || "bin"}${shown.axis_unit && shown.axis_unit !== shown.axis ? ` (${shown.axis_unit})` : ""}` : "";
    const up = shown?.unit || "value";
    this.build(JSON.stringify([this.isLog, label, up]), label, up);
    const counts = shown?.counts ?? [];
    // The value of the last bin goes on to its upper edge. A logarithm has no 0.
    const values = [...counts, ...counts.slice(-1)].map((value) => (this.isLog && value <= 0 ? null : value));
    this.chart!.setData([shown?.edges ?? [], values]);
  }

  private build(key: string, label: string, up: string): void {
    if (key === this.builtFor) return;
    this.builtFor = key;
    this.chart?.destroy();
    const { isLog } = this;
    this.chart = makeChart(
      this.holder,
      {
        scales: {
          x: { time: false },
          y: {
            distr: isLog ? 3 : 1,
            range: (_, low, high) => {
              const most = Number.isFinite(high) && high > 0 ? high : 1;
              if (!isLog) return [Math.min(0, low ?? 0), most * 1.05];
              const least = Number.isFinite(low) && low > 0 && low < most ? low : most / 10;
              return [least / 2, most * 1.5];
            },
          },
        },
        axes: [axis(label, { size: 24 }), axis(`${up} / bin`, { size: 46, ...(isLog ? logarithmic : {}) })],
        series: [
          {},
          {
            points: { show: false },
            paths: uPlot.paths.stepped!({ align: 1 }),
            stroke: stroke("--line"),
            width: 1.25,
            ...(isLog ? {} : { fill: stroke("--line-fill") }),
          },
        ],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        hooks: { setCursor: [() => this.moved()] },
      },
      [[], []],
    );
  }
}
