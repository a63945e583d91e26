/** Events per second over the last ten minutes. Seconds in which packets were lost are marked in red. */

import uPlot from "uplot";
import { themeColour } from "./canvas";
import { axis, makeChart, stroke } from "./chart";
import type { Model } from "./model";
import { clock, scaled } from "./numbers";

/** Shortest span of time that is shown, in seconds. */
const shortest = 60;

export class RateChart {
  private readonly chart: uPlot;
  private readonly value = document.getElementById("rate-value")!;
  private lost: number[] = [];
  private drawn: unknown = null;

  constructor(private readonly model: Model) {
    this.chart = makeChart(
      document.getElementById("rate")!,
      {
        scales: {
          x: { time: true, range: (_, low, high) => [Math.min(low, high - shortest), high] },
          y: { range: (_, __, high) => [0, high > 0 ? high * 1.08 : 1] },
        },
        axes: [axis(null, { values: timeLabels, space: 70, size: 26 }), axis("events / s", { size: 46 })],
        series: [{}, { stroke: stroke("--line"), width: 1.5, fill: stroke("--line-fill"), points: { show: false } }],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        hooks: { draw: [(chart) => this.markLosses(chart)], setCursor: [() => this.tell()] },
      },
      [[], []],
    );
  }

  update(): void {
    const { points } = this.model;
    if (points !== this.drawn) {
      this.drawn = points;
      this.lost = points.map((point) => point.packets_lost ?? 0);
      this.chart.setData([points.map((p) => p.time_ms / 1000), points.map((p) => p.events_per_second)]);
    }
    this.tell();
  }

  private tell(): void {
    const { points } = this.model;
    // uPlot calls while it is being made.
    const index = this.chart?.cursor.idx;
    const chosen = index !== null && index !== undefined ? points[index] : undefined;
    const point = chosen ?? points.at(-1);
    if (!point) {
      this.value.textContent = "";
      return;
    }
    const at = chosen ? ` at ${clock(chosen.time_ms)}` : "";
    const lost = point.packets_lost ? `, ${scaled(point.packets_lost)} lost` : "";
    this.value.textContent = `${scaled(Math.round(point.events_per_second))} events/s${at}${lost}`;
  }

  private markLosses(chart: uPlot): void {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.fillStyle = themeColour("--bad");
    const width = Math.max(2, Math.round(2 * devicePixelRatio));
    this.lost.forEach((count, index) => {
      if (count === 0) return;
      const at = chart.valToPos(chart.data[0][index], "x", true);
      ctx.fillRect(Math.round(at - width / 2), bbox.top + bbox.height - 8 * devicePixelRatio, width, 8 * devicePixelRatio);
    });
    ctx.restore();
  }
}

function timeLabels(_: uPlot, values: number[]): string[] {
  const seconds = values.length > 1 && values[1] - values[0] < 60;
  return values.map((value) => clock(value * 1000).slice(0, seconds ? 8 : 5));
}
