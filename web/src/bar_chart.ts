/** Bars of counts over a number: channels, amplitudes, sizes of clusters. A second series is drawn in front. */

import { begin, boxWithin, drawAxes, type AxisScale } from "./axes";
import { onResize, onThemeChange, themeColour } from "./canvas";
import { grouped, roundStep } from "./numbers";
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
  /** Values on the axis across at which a line stands, with their numbers. */
  lines?: number[];
  /** What the bars count, if not counts. */
  up?: string;
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

  /** What is drawn at a value on the axis across, for tests: pixels in the colour of lines, of the height of the box. */
  lineAt(value: number): { drawn: number; height: number } | null {
    const { bars, box } = this;
    if (!bars || !box) return null;
    const ratio = devicePixelRatio || 1;
    const left = Math.round(box.left + this.across(bars, box).place(value) * box.width);
    const [width, height] = [Math.max(1, Math.round(2 * ratio)), Math.round(box.height * ratio)];
    // A copy is read: reading the page's own canvas often would make it slower.
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true })!;
    copy.fillStyle = themeColour("--bad");
    copy.fillRect(0, 0, 1, 1);
    const colour = copy.getImageData(0, 0, 1, 1).data.slice();
    copy.clearRect(0, 0, 1, 1);
    copy.drawImage(this.canvas, -(left - 1) * ratio, -box.top * ratio);
    const { data } = copy.getImageData(0, 0, width, height);
    let drawn = 0;
    for (let row = 0; row < height; row++) {
      const at = row * width * 4;
      if (colour.every((part, index) => data[at + index] === part)) drawn += 1;
    }
    return { drawn, height };
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
    const y = { ticks: ticks(scale, box.height / 34), place: (value: number) => height01(scale, value), label: bars.up ?? "counts" };
    const across = this.across(bars, box);
    drawAxes(context, box, across, y);
    this.drawLines(context, box, across, bars.lines ?? []);
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

  private drawLines(context: CanvasRenderingContext2D, box: Box, across: AxisScale, lines: number[]): void {
    context.fillStyle = themeColour("--bad");
    context.textBaseline = "top";
    for (const value of lines) {
      const share = across.place(value);
      if (share < 0 || share > 1) continue;
      const at = box.left + share * box.width;
      context.fillRect(Math.round(at) - 1, box.top, 2, box.height);
      context.textAlign = share > 0.7 ? "right" : "left";
      context.fillText(grouped(value), at + (share > 0.7 ? -4 : 4), box.top + 3);
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
