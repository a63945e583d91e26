/**
 * Counts over time of flight, or wavelength, energy, spacing of planes: one curve for the picture and one for each region, with a
 * slice to choose; or what a run shows in its place, over steps from 0.
 */

import uPlot from "uplot";
import { Brush } from "./brush";
import { axis, logarithmic, makeChart, stroke } from "./chart";
import { curve, edgesOf, reachesEnd, wholeBins, type Edges } from "./curves";
import type { Bins } from "./frame";
import type { Model } from "./model";
import { grouped, scaled } from "./numbers";
import { element, write } from "./page_elements";
import { lineOf } from "./regions";
import { scaling, type Scaling } from "./units";
import { shownAs } from "./values";
import type { View } from "./view";

interface Curve {
  name: string;
  /** Its place in the list of regions; null for the whole picture. */
  index: number | null;
}

export class SpectrumChart {
  /** True if dragging zooms instead of choosing a slice. */
  zooms = false;
  private chart: uPlot | null = null;
  private builtFor = "";
  private range: [number, number] = [0, 1];
  private lowest = 0.5;
  private edges: Edges = { values: [], bins: [] };
  private readonly brush: Brush;

  constructor(private readonly model: Model, private readonly view: View) {
    this.brush = new Brush({
      slice: () => this.ends(this.view.looked.slice),
      onSlice: (ends) => this.setSlice(ends),
      onZoom: (ends) => this.view.change({ zoom: ends && this.times(ends) }),
      zooms: () => this.zooms,
    });
    view.onChange(() => this.update());
  }

  /** The unit of the axis now. */
  scaling(): Scaling {
    const { unit } = this.view.looked;
    return scaling(unit, this.flightPath(), this.twoTheta(), this.model.hello?.spectrum.period_ns ?? 1);
  }

  /** As given on the page; else as the server says. */
  flightPath(): number | null {
    return this.view.looked.flightPath ?? this.model.hello?.flight_path_m ?? null;
  }

  twoTheta(): number | null {
    return this.view.looked.twoTheta ?? this.model.hello?.two_theta_deg ?? null;
  }

  update(): void {
    const { hello, frame } = this.model;
    if (!hello) return;
    if (hello.content) this.updateContent();
    else this.updateCurves(frame?.head.bins ?? { from_ns: 0, width_ns: hello.spectrum.bin_ns, count: hello.spectrum.bins });
    this.tell();
  }

  /** Where a time lies in the chart, in CSS pixels from the left of its plot, for tests. */
  placeOf(ns: number): number | null {
    return this.chart?.valToPos(this.scaling().fromNs(ns), "x") ?? null;
  }

  private updateCurves(bins: Bins): void {
    const { hello, frame } = this.model;
    const { per, corrected, spectrumLog, zoom } = this.view.looked;
    const unit = this.scaling();
    const shown = frame ? shownAs(frame.head, per, corrected, this.model.liveFraction()) : null;
    const curves: Curve[] = [{ name: "all", index: null }];
    for (const { name } of frame?.regions ?? []) {
      const index = this.view.looked.regions.findIndex((region) => region.name === name);
      if (index >= 0) curves.push({ name, index });
    }
    this.build(unit, spectrumLog, curves);
    this.edges = edgesOf(bins, unit);
    this.lowest = (shown?.factor ?? 1) / 2;
    this.range = this.rangeOf(unit, zoom, hello!.spectrum.period_ns);
    const chart = this.chart!;
    chart.axes[0].label = unit.label;
    chart.axes[1].label = `${shown?.short ?? "counts"} / bin`;
    const data = curves.map(({ name, index }) => {
      const counts = index === null ? frame?.spectrum : frame?.regions.find((region) => region.name === name)?.spectrum;
      return counts ? curve(this.edges, counts, shown!.factor) : this.edges.values.map(() => null);
    });
    chart.setData([this.edges.values, ...data] as uPlot.AlignedData);
    const overlap = frame && reachesEnd(bins, frame.spectrum, hello!.spectrum.period_ns);
    write("overlap", overlap ? this.overlapWords(unit, hello!.spectrum.period_ns) : "");
    element("overlap").hidden = !overlap;
  }

  private overlapWords(unit: Scaling, periodNs: number): string {
    const time = scaling("tof", null, null, periodNs);
    const at = `${Number(time.fromNs(periodNs).toPrecision(4))}\u202f${time.symbol}`;
    const also = unit.unit === "tof" ? "" : `, ${short(unit.fromNs(periodNs))}\u202f${unit.symbol}`;
    return `Frame overlap: counts up to the end of the period, ${at}${also}`;
  }

  private rangeOf(unit: Scaling, zoom: [number, number] | null, periodNs: number): [number, number] {
    const ends = zoom ? this.ends(zoom, unit)! : unit.falls
      ? [unit.fromNs(periodNs), this.edges.values.at(-1) ?? 1]
      : [0, unit.fromNs(periodNs)];
    return [ends[0], ends[1]];
  }

  /** What a run shows in place of time of flight. */
  private updateContent(): void {
    const { hello, frame } = this.model;
    const { content } = hello!;
    this.build(scaling("tof", null, null, 1), this.view.looked.spectrumLog, [{ name: "all", index: null }]);
    // There is room for more than most runs have: as far as there are values.
    const all = Array.from(frame?.spectrum ?? []);
    const counts = all.slice(0, 1 + all.findLastIndex((count) => count > 0));
    this.range = [0, Math.max(1, counts.length)];
    this.lowest = 0.5;
    const chart = this.chart!;
    [chart.axes[0].label, chart.axes[1].label] = [content!.across, content!.up];
    document.querySelector("#spectrum-panel h2")!.textContent = content!.chart;
    element("spectrum-panel").ariaLabel = content!.chart;
    chart.setData([counts.map((_, step) => step), counts]);
  }

  /** Makes another chart if this one has other axes or curves. */
  private build(unit: Scaling, isLog: boolean, curves: Curve[]): void {
    const key = JSON.stringify([unit.falls, isLog, curves]);
    if (key === this.builtFor) return;
    this.builtFor = key;
    this.chart?.destroy();
    const paths = uPlot.paths.stepped!({ align: 1 });
    const lines = curves.map(({ index }): uPlot.Series => {
      const common = { points: { show: false }, paths };
      if (index === null) return { ...common, stroke: stroke("--line"), width: 1.25, ...(isLog ? {} : { fill: stroke("--line-fill") }) };
      const { colour, dash } = lineOf(index);
      return { ...common, stroke: stroke(colour), width: 1.75, ...(dash.length > 0 ? { dash } : {}) };
    });
    const isSliced = !this.model.hello?.content && this.model.hello?.selections !== false;
    this.chart = makeChart(
      element("spectrum"),
      {
        scales: {
          x: { time: false, distr: unit.falls ? 3 : 1, range: () => this.range },
          y: {
            distr: isLog ? 3 : 1,
            range: (_, __, high) => {
              const most = Number.isFinite(high) && high > 0 ? high : 0;
              return isLog ? [this.lowest, Math.max(this.lowest * 4, most * 1.5)] : [0, most > 0 ? most * 1.05 : 1];
            },
          },
        },
        axes: [
          axis(unit.label, { size: 24, ...(unit.falls ? logarithmic : {}) }),
          axis("counts / bin", { size: 46, ...(isLog ? logarithmic : {}) }),
        ],
        series: [{}, ...lines],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        hooks: {
          setCursor: [() => this.tell()],
          drawClear: [(chart) => (isSliced ? this.brush.draw(chart) : undefined)],
        },
      },
      [[], ...curves.map(() => [])],
    );
    if (isSliced) this.brush.attach(this.chart);
  }

  /** Times as values of the axis, low first. */
  private ends(times: [number, number] | null, unit = this.scaling()): [number, number] | null {
    if (!times) return null;
    const [a, b] = times.map((ns) => Math.min(Number.MAX_VALUE, unit.fromNs(ns)));
    return a < b ? [a, b] : [b, a];
  }

  /** Values of the axis as times, early first. */
  private times([a, b]: [number, number]): [number, number] {
    const unit = this.scaling();
    const [from, to] = [Math.round(unit.toNs(a)), Math.round(unit.toNs(b))];
    return from < to ? [from, to] : [to, from];
  }

  private setSlice(ends: [number, number] | null): void {
    const bins = this.model.frame?.head.bins;
    if (!bins) return;
    const unit = this.scaling();
    // Below zero there is no time; at infinite energy it is 0.
    const held = ends?.map((value) => (value <= 0 ? (unit.falls ? Number.MAX_VALUE : 0) : value));
    this.view.change({ slice: held ? wholeBins(bins, this.times([held[0], held[1]])) : null });
  }

  /** Says what is at the cursor, or how wide a bin is. */
  private tell(): void {
    const { hello, frame } = this.model;
    const index = this.chart?.cursor.idx;
    if (!hello || !this.chart) return;
    if (hello.content) {
      const { across, up } = hello.content;
      const value = this.chart.data[1][index ?? -1];
      write("spectrum-value", value === undefined ? "" : `${across} ${index}: ${up} ${grouped(value ?? 0)}`);
      return;
    }
    const bins = frame?.head.bins;
    const time = scaling("tof", null, null, hello.spectrum.period_ns);
    const bin = this.edges.bins[index ?? -1];
    if (!bins || bin === undefined) {
      write("spectrum-value", `bins of ${short(time.fromNs(bins?.width_ns ?? hello.spectrum.bin_ns))}\u202f${time.symbol}`);
      return;
    }
    const unit = this.scaling();
    const edges = [bin, bin + 1].map((edge) => unit.fromNs(bins.from_ns + edge * bins.width_ns)).sort((a, b) => a - b);
    const counts = [frame!.spectrum, ...frame!.regions.map(({ spectrum }) => spectrum)].map((spectrum) => grouped(spectrum[bin]));
    const names = frame!.regions.map(({ name }, at) => `, ${name} ${counts[at + 1]}`).join("");
    write("spectrum-value", `${short(edges[0])} to ${short(edges[1])}\u202f${unit.symbol}: ${counts[0]} counts${names}`);
  }
}

export function short(value: number): string {
  return Math.abs(value) >= 1e6 ? scaled(value) : String(Number(value.toPrecision(6)));
}
