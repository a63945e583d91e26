/** Draws an image of counts with axes in pixel numbers and a colour bar; y points upwards. */

import { onResize, themeColour } from "./canvas";
import { makeCells, type Cells, type Region } from "./cells";
import { colours, steps } from "./colours";
import type { Counts } from "./frame";
import { roundStep, tick } from "./numbers";
import { layOut, type Layout } from "./plot_area";
import { makeScale, paint, position, quantile, ticks, type Scale } from "./scale";

export interface Source {
  nx: number;
  ny: number;
  counts: Counts;
  panels: number;
}

export type Top = { kind: "maximum" } | { kind: "quantile" } | { kind: "fixed"; value: number };

/** What the axes and the colour bar are called. */
export interface Labels {
  x: string;
  y: string;
  counts: string;
}

const font = "12px system-ui, sans-serif";

export class Heatmap {
  logarithmic = false;
  top: Top = { kind: "maximum" };
  /** The part that is shown; null for the whole image. */
  zoom: Region | null = null;
  /** A rectangle being dragged, in CSS pixels of the canvas. */
  selection: { left: number; top: number; width: number; height: number } | null = null;
  labels: Labels = { x: "x (pixel)", y: "y (pixel)", counts: "counts per pixel" };
  layout: Layout | null = null;
  scale: Scale = makeScale(false, 1, 1);
  /** Pixels along the side of a block that shares a cell; 1 if every pixel is drawn. */
  block = 1;
  private source: Source | null = null;
  private readonly context: CanvasRenderingContext2D;
  private readonly cells = document.createElement("canvas");
  private readonly bar = document.createElement("canvas");

  constructor(readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d")!;
    this.bar.width = 1;
    this.bar.height = steps;
    const words = new Uint32Array(steps).map((_, step) => colours[steps - 1 - step]);
    const bytes = new Uint8ClampedArray(words.buffer);
    this.bar.getContext("2d")!.putImageData(new ImageData(bytes, 1, steps), 0, 0);
    onResize(canvas, () => this.draw());
  }

  show(source: Source | null): void {
    this.source = source;
    if (this.zoom && source && (this.zoom.x1 > source.nx || this.zoom.y1 > source.ny)) this.zoom = null;
    this.draw();
  }

  region(): Region | null {
    if (!this.source) return null;
    return this.zoom ?? { x0: 0, y0: 0, x1: this.source.nx, y1: this.source.ny };
  }

  draw(): void {
    const { context, source } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.canvas.width / ratio, this.canvas.height / ratio];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const region = this.region();
    if (!source || !region) return;
    const layout = layOut(width, height, region);
    this.layout = layout;
    const { plot } = layout;
    const cells = makeCells(source.counts, source.nx, region, plot.width * ratio, plot.height * ratio);
    this.block = cells.block;
    this.scale = makeScale(this.logarithmic, this.topOf(cells), 1 / cells.block ** 2);
    this.drawCells(cells, region, layout);
    context.font = font;
    this.drawAxes(region, layout, `${this.labels.x}${source.panels > 1 ? ", panels side by side" : ""}`);
    this.drawPanels(source, region, layout);
    this.drawBar(layout);
    this.drawSelection();
  }

  private topOf(cells: Cells): number {
    switch (this.top.kind) {
      case "maximum": return cells.largest;
      case "quantile": return quantile(cells.values, 0.999);
      case "fixed": return this.top.value;
    }
  }

  private drawCells(cells: Cells, region: Region, { plot }: Layout): void {
    const { columns, rows, block } = cells;
    if (this.cells.width !== columns || this.cells.height !== rows) {
      this.cells.width = columns;
      this.cells.height = rows;
    }
    const words = new Uint32Array(columns * rows);
    paint(this.scale, cells.values, words);
    const bytes = new Uint8ClampedArray(words.buffer);
    this.cells.getContext("2d")!.putImageData(new ImageData(bytes, columns, rows), 0, 0);
    // Blocks at the right and the top may reach beyond the region: cut them there.
    const [across, up] = [region.x1 - region.x0, region.y1 - region.y0];
    const beyond = rows - up / block;
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(
      this.cells, 0, beyond, across / block, rows - beyond, plot.left, plot.top, plot.width, plot.height,
    );
  }

  private drawAxes(region: Region, { plot }: Layout, labelOfX: string): void {
    const { context } = this;
    context.strokeStyle = themeColour("--axis");
    context.fillStyle = themeColour("--muted");
    context.lineWidth = 1;
    context.strokeRect(plot.left - 0.5, plot.top - 0.5, plot.width + 1, plot.height + 1);
    const bottom = plot.top + plot.height;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const x of pixelTicks(region.x0, region.x1, plot.width / 60)) {
      const at = plot.left + ((x + 0.5 - region.x0) / (region.x1 - region.x0)) * plot.width;
      line(context, at, bottom, at, bottom + 4);
      context.fillText(String(x), at, bottom + 7);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const y of pixelTicks(region.y0, region.y1, plot.height / 44)) {
      const at = bottom - ((y + 0.5 - region.y0) / (region.y1 - region.y0)) * plot.height;
      line(context, plot.left, at, plot.left - 4, at);
      context.fillText(String(y), plot.left - 7, at);
    }
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    context.fillText(labelOfX, plot.left + plot.width / 2, bottom + 35);
    context.save();
    context.translate(plot.left - 40, plot.top + plot.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(this.labels.y, 0, 0);
    context.restore();
  }

  /** Borders and numbers of panels that lie side by side. */
  private drawPanels(source: Source, region: Region, { plot }: Layout): void {
    if (source.panels < 2) return;
    const { context } = this;
    const panelWidth = source.nx / source.panels;
    const place = (x: number) => plot.left + ((x - region.x0) / (region.x1 - region.x0)) * plot.width;
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    for (let panel = 0; panel < source.panels; panel++) {
      const from = Math.max(region.x0, panel * panelWidth);
      const to = Math.min(region.x1, (panel + 1) * panelWidth);
      if (from >= to) continue;
      context.strokeStyle = themeColour("--border-of-panels");
      if (panel > 0 && from > region.x0) line(context, place(from), plot.top, place(from), plot.top + plot.height);
      context.fillStyle = themeColour("--muted");
      if (place(to) - place(from) > 24) {
        const name = place(to) - place(from) > 60 ? `panel ${panel}` : String(panel);
        context.fillText(name, (place(from) + place(to)) / 2, plot.top - 6);
      }
    }
  }

  private drawBar({ bar }: Layout): void {
    const { context } = this;
    context.imageSmoothingEnabled = true;
    context.drawImage(this.bar, bar.left, bar.top, bar.width, bar.height);
    context.strokeStyle = themeColour("--axis");
    context.strokeRect(bar.left - 0.5, bar.top - 0.5, bar.width + 1, bar.height + 1);
    context.fillStyle = themeColour("--muted");
    context.textAlign = "left";
    context.textBaseline = "middle";
    const right = bar.left + bar.width;
    for (const value of ticks(this.scale, bar.height / 40)) {
      const at = bar.top + bar.height * (1 - position(this.scale, value));
      line(context, right, at, right + 4, at);
      context.fillText(tick(value), right + 7, at);
    }
    context.save();
    context.translate(right + 56, bar.top + bar.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const mean = this.block > 1 ? ` (mean of ${this.block} × ${this.block})` : "";
    context.fillText(`${this.labels.counts}${mean}`, 0, 0);
    context.restore();
  }

  private drawSelection(): void {
    if (!this.selection) return;
    const { left, top, width, height } = this.selection;
    this.context.strokeStyle = "#fff";
    this.context.setLineDash([4, 3]);
    this.context.strokeRect(left, top, width, height);
    this.context.setLineDash([]);
  }
}

function line(context: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** Round pixel numbers in from..to, at most about `most`. */
function pixelTicks(from: number, to: number, most: number): number[] {
  const step = Math.max(1, roundStep(to - from, most));
  const numbers: number[] = [];
  for (let number = Math.ceil(from / step) * step; number < to; number += step) numbers.push(number);
  return numbers;
}
