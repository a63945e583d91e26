/** Draws an image of counts with its axes and a colour bar; rows count from the bottom. */

import { onResize, themeColour } from "./canvas";
import { makeCells, type Block, type Cells, type Region } from "./cells";
import { colours, emptyStyle, steps } from "./colours";
import type { Counts } from "./frame";
import { roundStep, tick } from "./numbers";
import { layOut, type Layout } from "./plot_area";
import type { Axis } from "./protocol";
import { makeScale, paint, position, quantile, ticks, type Scale } from "./scale";

export interface Source {
  nx: number;
  ny: number;
  counts: Counts;
  panels: number;
  /** What a panel is, if that has a name of its own, and the number of the first one. */
  panel?: { name: string; first: number };
  across: Axis;
  up: Axis;
}

export type Top = { kind: "maximum" } | { kind: "quantile" } | { kind: "fixed"; value: number };

/** An axis that counts pixels. */
export function pixelAxis(label: string, pixels: number): Axis {
  return { label, unit: "column", pixels, first: 0, step: 1 };
}

const font = "12px system-ui, sans-serif";

export class Heatmap {
  logarithmic = false;
  top: Top = { kind: "maximum" };
  /** The part that is shown; null for the whole image. */
  zoom: Region | null = null;
  /** A rectangle being dragged, in CSS pixels of the canvas. */
  selection: { left: number; top: number; width: number; height: number } | null = null;
  /** What the colour bar is called. */
  countsLabel = "counts per pixel";
  layout: Layout | null = null;
  scale: Scale = makeScale(false, 1, 1);
  /** Pixels that share a cell; 1 x 1 if every pixel is drawn. */
  block: Block = { x: 1, y: 1 };
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
    const { across, up } = source;
    const wider = across.pitch_m && up.pitch_m ? across.pitch_m / up.pitch_m : 1;
    const layout = layOut(width, height, region, wider);
    this.layout = layout;
    const { plot } = layout;
    const cells = makeCells(source.counts, source.nx, region, plot.width * ratio, plot.height * ratio);
    this.block = cells.block;
    this.scale = makeScale(this.logarithmic, this.topOf(cells), 1 / (cells.block.x * cells.block.y));
    this.drawCells(cells, region, layout);
    context.font = font;
    this.drawAxes(source, region, layout);
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
    const beyond = rows - up / block.y;
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(
      this.cells, 0, beyond, across / block.x, rows - beyond, plot.left, plot.top, plot.width, plot.height,
    );
  }

  private drawAxes({ across, up, panels, panel }: Source, region: Region, { plot }: Layout): void {
    const { context } = this;
    context.strokeStyle = themeColour("--axis");
    context.fillStyle = themeColour("--muted");
    context.lineWidth = 1;
    context.strokeRect(plot.left - 0.5, plot.top - 0.5, plot.width + 1, plot.height + 1);
    const bottom = plot.top + plot.height;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const { value, place } of axisTicks(across, region.x0, region.x1, plot.width / 60)) {
      const at = plot.left + place * plot.width;
      line(context, at, bottom, at, bottom + 4);
      context.fillText(value, at, bottom + 7);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const { value, place } of axisTicks(up, region.y0, region.y1, plot.height / 44)) {
      const at = bottom - place * plot.height;
      line(context, plot.left, at, plot.left - 4, at);
      context.fillText(value, plot.left - 7, at);
    }
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const label = panels > 1 ? `${across.label}, ${panel?.name ?? "panel"}s side by side` : across.label;
    context.fillText(label, plot.left + plot.width / 2, bottom + 35);
    context.save();
    context.translate(plot.left - 40, plot.top + plot.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(up.label, 0, 0);
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
        const number = panel + (source.panel?.first ?? 0);
        const name = place(to) - place(from) > 60 ? `${source.panel?.name ?? "panel"} ${number}` : String(number);
        context.fillText(name, (place(from) + place(to)) / 2, plot.top - 6);
      }
    }
  }

  private drawBar(layout: Layout): void {
    const { bar } = layout;
    const { context } = this;
    context.imageSmoothingEnabled = true;
    context.drawImage(this.bar, bar.left, bar.top, bar.width, bar.height);
    // The colour of nothing has a box of its own below the bar.
    const { empty } = layout;
    context.fillStyle = emptyStyle;
    context.fillRect(empty.left, empty.top, empty.width, empty.height);
    context.strokeStyle = themeColour("--axis");
    for (const box of [bar, empty]) {
      context.strokeRect(box.left - 0.5, box.top - 0.5, box.width + 1, box.height + 1);
    }
    context.fillStyle = themeColour("--muted");
    context.textAlign = "left";
    context.textBaseline = "middle";
    const right = bar.left + bar.width;
    const place = (value: number) => bar.top + bar.height * (1 - position(this.scale, value));
    if (this.scale.logarithmic) context.fillText("0", right + 7, empty.top + empty.height / 2);
    // The top has its number in any case; round ones that would touch it are left out.
    const round = ticks(this.scale, bar.height / 40).filter((value) => place(value) > bar.top + 14);
    for (const value of [...round, this.scale.top]) {
      const at = place(value);
      line(context, right, at, right + 4, at);
      context.fillText(tick(Number(value.toPrecision(3))), right + 7, at);
    }
    context.save();
    context.translate(right + 56, bar.top + bar.height / 2);
    context.rotate(-Math.PI / 2);
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const { x, y } = this.block;
    const mean = x * y > 1 ? ` (mean of ${x} × ${y} pixels)` : "";
    context.fillText(`${this.countsLabel}${mean}`, 0, 0);
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

/**
 * Round values in the pixels from..to, at most about `most`, with their place: 0 at the beginning, 1 at the end. Pixel numbers
 * mark the middle of their pixel. The rule is that of crates/picture/src/axis.rs.
 */
function axisTicks(axis: Axis, from: number, to: number, most: number): { value: string; place: number }[] {
  const low = axis.first + (from - 0.5) * axis.step;
  const span = (to - from) * axis.step;
  const raw = roundStep(span, most);
  const step = axis.unit === "mm" ? raw : Math.max(1, raw);
  const found: { value: string; place: number }[] = [];
  for (let number = Math.ceil(low / step); number * step <= low + span * (1 + 1e-9); number++) {
    const value = number * step;
    // Adding 0 makes 0 of -0.
    const text = String(axis.unit === "mm" ? Number((value + 0).toPrecision(6)) : Math.round(value));
    found.push({ value: text, place: (value - low) / span });
  }
  return found;
}
