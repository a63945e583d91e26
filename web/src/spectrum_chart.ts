/** Counts over time of flight, one pulse period wide; or what a run shows in its place, over steps from 0. */

import uPlot from "uplot";
import { axis, makeChart, stroke } from "./chart";
import type { Model } from "./model";
import { grouped } from "./numbers";

export class SpectrumChart {
  private readonly chart: uPlot;
  private readonly value = document.getElementById("spectrum-value")!;
  private period = 1;
  private unit = { name: "ms", nanoseconds: 1e6 };

  constructor(private readonly model: Model) {
    this.chart = makeChart(
      document.getElementById("spectrum")!,
      {
        scales: {
          x: { time: false, range: () => [0, this.period] },
          y: { range: (_, __, high) => [0, high > 0 ? high * 1.05 : 1] },
        },
        axes: [axis("time of flight (ms)", { size: 24 }), axis("counts / bin", { size: 46 })],
        series: [
          {},
          {
            stroke: stroke("--line"),
            width: 1.25,
            fill: stroke("--line-fill"),
            points: { show: false },
            paths: uPlot.paths.stepped!({ align: 1 }),
          },
        ],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        hooks: { setCursor: [() => this.tell()] },
      },
      [[], []],
    );
  }

  update(): void {
    const { hello, picture } = this.model;
    if (hello) {
      const { bin_ns, period_ns } = hello.spectrum;
      const { content } = hello;
      let counts = picture ? this.model.shownSpectrum() : [];
      if (content) {
        // There is room for more than most runs have: as far as there are values.
        counts = counts.slice(0, 1 + counts.findLastIndex((count) => count > 0));
        this.unit = { name: content.across, nanoseconds: 1 };
        this.period = Math.max(1, counts.length);
        [this.chart.axes[0].label, this.chart.axes[1].label] = [content.across, content.up];
        document.querySelector("#spectrum-panel h2")!.textContent = content.chart;
        document.getElementById("spectrum-panel")!.ariaLabel = content.chart;
      } else {
        this.unit = unitFor(period_ns);
        this.period = period_ns / this.unit.nanoseconds;
        this.chart.axes[0].label = `time of flight (${this.unit.name})`;
      }
      this.chart.setData([counts.map((_, bin) => (bin * bin_ns) / this.unit.nanoseconds), counts]);
    }
    this.tell();
  }

  private tell(): void {
    const { hello } = this.model;
    const index = this.chart?.cursor.idx;
    if (!hello) return;
    if (hello.content) {
      const { across, up } = hello.content;
      const value = this.chart.data[1][index ?? -1];
      this.value.textContent = value === undefined ? "" : `${across} ${index}: ${up} ${grouped(value ?? 0)}`;
      return;
    }
    const width = hello.spectrum.bin_ns / this.unit.nanoseconds;
    if (index === null || index === undefined || this.chart.data[1].length === 0) {
      this.value.textContent = `bins of ${short(width)}\u202f${this.unit.name}`;
      return;
    }
    const from = index * width;
    this.value.textContent =
      `${short(from)} to ${short(from + width)}\u202f${this.unit.name}: ${grouped(this.chart.data[1][index] ?? 0)} counts`;
  }
}

function unitFor(nanoseconds: number): { name: string; nanoseconds: number } {
  if (nanoseconds >= 5e9) return { name: "s", nanoseconds: 1e9 };
  if (nanoseconds >= 5e6) return { name: "ms", nanoseconds: 1e6 };
  if (nanoseconds >= 5e3) return { name: "µs", nanoseconds: 1e3 };
  return { name: "ns", nanoseconds: 1 };
}

function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}
