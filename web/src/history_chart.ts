/**
 * Lines over time, each as the mean with a band from the smallest to the largest value. Seconds in which packets were lost are
 * marked in red.
 */

import uPlot from "uplot";
import { themeColour } from "./canvas";
import { axis, makeChart } from "./chart";
import { mostSeries } from "./history_choice";
import type { Table } from "./history_data";
import { clock } from "./numbers";

/** What is drawn. */
export interface Drawn extends Table {
  /** Colours of the lines, by their names in the style sheet. */
  colours: string[];
  /** The unit of all of them. */
  unit: string;
  /** The first and the last time, in seconds. */
  from: number;
  to: number;
  /** True if the area under the first line is filled. */
  filled: boolean;
}

export interface Listener {
  /** The cursor is elsewhere. */
  moved(): void;
  /** Somebody wants to see this time, in seconds. */
  zoomed(from: number, to: number): void;
  /** Somebody wants to see all. */
  all(): void;
}

const empty: Drawn = { times: [], lines: [], lost: [], colours: [], unit: "", from: 0, to: 60, filled: false };

export class HistoryChart {
  private readonly chart: uPlot;
  private drawn: Drawn = empty;

  constructor(private readonly holder: HTMLElement, private readonly listener: Listener) {
    const places = Array.from({ length: mostSeries }, (_, place) => place);
    this.chart = makeChart(
      holder,
      {
        scales: {
          x: { time: true, range: () => [this.drawn.from, this.drawn.to] },
          y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) > 0 ? high * 1.08 : (low ?? 0) < 0 ? 0 : 1] },
        },
        axes: [
          axis("time of day", { values: timeLabels, space: 70, size: 24 }),
          axis("per second", { size: 46 }),
        ],
        series: [{}, ...places.flatMap((place) => this.lines(place))],
        bands: places.map((place) => ({
          series: [place * 3 + 3, place * 3 + 2] as [number, number],
          fill: () => this.colour(place, "3a"),
        })),
        cursor: {
          y: false,
          drag: { x: true, y: false, setScale: false },
          points: { size: (_, at) => (at % 3 === 1 ? 6 : 0) },
          bind: { dblclick: () => () => (this.listener.all(), null) },
        },
        hooks: {
          draw: [(chart) => this.markLosses(chart)],
          setCursor: [() => this.listener.moved()],
          setSelect: [(chart) => this.select(chart)],
        },
      },
      [[], ...places.flatMap(() => [[], [], []])] as unknown as uPlot.AlignedData,
    );
  }

  show(drawn: Drawn): void {
    this.drawn = drawn;
    const { times } = drawn;
    const gaps = new Array<null>(times.length).fill(null);
    const columns = Array.from({ length: mostSeries }, (_, place) => {
      const line = drawn.lines[place];
      if (!line) return [gaps, gaps, gaps];
      return (["mean", "min", "max"] as const).map((which) => line.map((value) => value?.[which] ?? null));
    });
    const label = { "": "value", "events/s": "per second", "packets/s": "per second" }[drawn.unit] ?? drawn.unit;
    (this.chart.axes[1] as { label?: string }).label = label;
    this.chart.setData([times, ...columns.flat()] as uPlot.AlignedData);
  }

  /** The place of the time that the cursor is at; null if it is at none. */
  cursor(): number | null {
    // uPlot calls while it is being made.
    const index = this.chart?.cursor.idx;
    return index === undefined || index === null || index >= this.drawn.times.length ? null : index;
  }

  /** Moves the cursor to a place; one that is not shown is left out. */
  point(place: number): void {
    const { times } = this.drawn;
    const at = Math.min(times.length - 1, Math.max(0, place));
    if (at < 0) return;
    this.chart.setCursor({ left: this.chart.valToPos(times[at], "x"), top: this.holder.clientHeight / 2 });
  }

  private lines(place: number): uPlot.Series[] {
    // A value without neighbours is no line.
    const alone = (chart: uPlot, at: number) => {
      const data = chart.data[at];
      const has = (index: number) => data[index] !== null && data[index] !== undefined;
      return Array.from(data.keys()).filter((index) => has(index) && !has(index - 1) && !has(index + 1));
    };
    const mean: uPlot.Series = {
      stroke: () => this.colour(place, ""),
      fill: () => (place === 0 && this.drawn.filled ? themeColour("--line-fill") : "transparent"),
      width: 1.5,
      points: { show: true, size: 4, filter: alone },
    };
    const edge: uPlot.Series = { stroke: () => this.colour(place, "90"), width: 0.75, points: { show: false } };
    return [mean, edge, { ...edge }];
  }

  private colour(place: number, transparency: string): string {
    const name = this.drawn.colours[place];
    return name ? themeColour(name) + transparency : "transparent";
  }

  private select(chart: uPlot): void {
    const { left, width } = chart.select;
    if (width < 4) return;
    const [from, to] = [left, left + width].map((at) => chart.posToVal(at, "x"));
    chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.listener.zoomed(from, to);
  }

  private markLosses(chart: uPlot): void {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.fillStyle = themeColour("--bad");
    const width = Math.max(2, Math.round(2 * devicePixelRatio));
    this.drawn.lost.forEach((count, index) => {
      const time = this.drawn.times[index];
      if (count === 0 || time < this.drawn.from || time > this.drawn.to) return;
      const at = chart.valToPos(time, "x", true);
      ctx.fillRect(Math.round(at - width / 2), bbox.top + bbox.height - 8 * devicePixelRatio, width, 8 * devicePixelRatio);
    });
    ctx.restore();
  }
}

function timeLabels(_: uPlot, values: number[]): string[] {
  const seconds = values.length > 1 && values[1] - values[0] < 60;
  const days = values.length > 1 && values[values.length - 1] - values[0] > 72_000;
  const day = (value: number) => new Date(value * 1000).toLocaleDateString([], { weekday: "short" });
  return values.map((value) => (days ? `${day(value)} ` : "") + clock(value * 1000).slice(0, seconds ? 8 : 5));
}
