/** Bars of counts over a number: channels, amplitudes, sizes of clusters. A second series is drawn in front. */

import { begin, boxWithin, drawAxes, type AxisScale } from "./axes";
import { onResize, onThemeChange, themeColour } from "./canvas";
import { roundStep } from "./numbers";
import { makeScale, position, ticks, type Scale } from "./scale";
import type { Box } from "./plot_area";

export interface Bars {
  counts: ArrayLike<number>;
  /** Counts drawn in front, in another colour. */
  front?: ArrayLike<number>;
  /** The number at the left edge of the first bar, and how much each bar covers. */
  first: number;
  step: number;
  label: string;
  /** The bar that is marked, if any. */
  marked?: number | null;
}

export class BarChart {
  logarithmic = false;
  private bars: Bars | null = null;
  private box: Box | null = null;
  private bar: number | null = null;

  /** `onHover` gets the bar under the mouse or null, `onClick` the bar that is clicked. */
  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly onHover: (bar: number | null) => void = () => {},
    onClick: (bar: number | null) => void = () => {},
  ) {
    onResize(canvas, () => this.draw());
    onThemeChange(() => this.draw());
    canvas.onpointermove = (event) => this.hover(this.barUnder(event));
    canvas.onpointerleave = () => this.hover(null);
    canvas.onclick = (event) => onClick(this.barUnder(event));
  }

  show(bars: Bars): void {
    this.bars = bars;
    this.draw();
    this.onHover(this.bar);
  }

  /** The middle of a bar in CSS pixels of the canvas, for tests. */
  middleOf(bar: number): { left: number; top: number } | null {
    const { bars, box } = this;
    if (!bars || !box) return null;
    return { left: box.left + ((bar + 0.5) / bars.counts.length) * box.width, top: box.top + box.height / 2 };
  }

  draw(): void {
    const { bars } = this;
    const { context, width, height } = begin(this.canvas);
    if (!bars) return;
    const box = boxWithin(width, height);
    this.box = box;
    const scale = this.scaleOf(bars);
    this.drawSeries(context, box, scale, bars.counts, themeColour("--line"));
    if (bars.front) this.drawSeries(context, box, scale, bars.front, themeColour("--wait"));
    if (bars.marked !== undefined && bars.marked !== null) {
      const at = box.left + ((bars.marked + 0.5) / bars.counts.length) * box.width;
      context.fillStyle = themeColour("--bad");
      context.fillRect(Math.round(at) - 1, box.top, 2, box.height);
    }
    const y = { ticks: ticks(scale, box.height / 34), place: (value: number) => height01(scale, value), label: "counts" };
    drawAxes(context, box, this.across(bars, box), y);
  }

  private scaleOf(bars: Bars): Scale {
    let largest = 0;
    for (let bar = 0; bar < bars.counts.length; bar++) {
      largest = Math.max(largest, bars.counts[bar], bars.front?.[bar] ?? 0);
    }
    // A single count must be seen on a logarithmic scale: it begins below 1.
    return makeScale(this.logarithmic, largest * (this.logarithmic ? 1.3 : 1.05), this.logarithmic ? 0.5 : 1);
  }

  private across(bars: Bars, box: Box): AxisScale {
    const span = bars.counts.length * bars.step;
    const step = roundStep(span, box.width / 60);
    const values: number[] = [];
    for (let value = Math.ceil(bars.first / step) * step; value <= bars.first + span; value += step) values.push(value);
    return { ticks: values, place: (value) => (value - bars.first) / span, label: bars.label };
  }

  private drawSeries(
    context: CanvasRenderingContext2D, box: Box, scale: Scale, counts: ArrayLike<number>, colour: string,
  ): void {
    context.fillStyle = colour;
    const width = box.width / counts.length;
    for (let bar = 0; bar < counts.length; bar++) {
      if (counts[bar] <= 0) continue;
      const size = height01(scale, counts[bar]) * box.height;
      // Bars thinner than a pixel lie over each other: the highest is seen, and no channel is left out.
      const gap = width > 5 ? 1 : 0;
      context.fillRect(box.left + bar * width, box.top + box.height - size, Math.max(1, width - gap), size);
    }
  }

  private hover(bar: number | null): void {
    this.bar = bar;
    this.onHover(bar);
  }

  /** The bar under the mouse; where several share a pixel, the highest of them. */
  private barUnder(event: MouseEvent): number | null {
    const { bars, box } = this;
    if (!bars || !box) return null;
    const left = event.clientX - this.canvas.getBoundingClientRect().left - box.left;
    if (left < 0 || left >= box.width) return null;
    const { counts } = bars;
    const first = Math.floor((left / box.width) * counts.length);
    const end = Math.min(counts.length, Math.max(first + 1, Math.floor(((left + 1) / box.width) * counts.length)));
    let highest = first;
    for (let bar = first; bar < end; bar++) if (counts[bar] > counts[highest]) highest = bar;
    return highest;
  }
}

/** Height of a bar as a share of the box. */
function height01(scale: Scale, value: number): number {
  return value <= 0 ? 0 : Math.min(1, Math.max(0, position(scale, value)));
}
