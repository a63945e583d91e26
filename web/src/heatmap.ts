/** Draws an image of counts with its axes and a colour bar; rows count from the bottom. */

import { onResize, themeColour } from "./canvas";
import { makeCells, type Cells, type Part, type Sums } from "./cells";
import { colours, emptyStyle, steps, type MapName } from "./colours";
import type { Top } from "./looked";
import { roundStep, tick } from "./numbers";
import { layOut, placeOf, type Box, type Layout } from "./plot_area";
import type { Axis } from "./protocol";
import { differenceScale, makeScale, paint, position, quantile, ratioScale, ticks, type Scale } from "./scale";

export interface Source {
  /** Pixels of the whole picture. */
  nx: number;
  ny: number;
  sums: Sums;
  /** Pixels of each panel, if there are several; and whether they stand side by side. */
  panels: Part[];
  sideBySide: boolean;
  /** What a panel is, if that has a name of its own, and the number of the first one. */
  panel?: { name: string; first: number };
  across: Axis;
  up: Axis;
  /** Counts times this are shown. */
  factor: number;
  /** What the values are compared with, per pixel and in the order of the sums; and how. */
  reference?: { values: Float64Array; by: "difference" | "ratio" };
}

/** An axis that counts pixels. */
export function pixelAxis(label: string, pixels: number): Axis {
  return { label, unit: "column", pixels, first: 0, step: 1 };
}

const font = "12px system-ui, sans-serif";

export class Heatmap {
  logarithmic = false;
  top: Top = { kind: "maximum" };
  map: MapName = "evforge";
  /** The part that is to be shown; null for the whole image. What has come may be another one for a moment. */
  zoom: Part | null = null;
  /** What the colour bar is called. */
  countsLabel = "counts per pixel";
  layout: Layout | null = null;
  scale: Scale = makeScale(false, 1, 1);
  /** Draws what lies over the image, in CSS pixels and within the plot. */
  overlay: ((context: CanvasRenderingContext2D, plot: Box, part: Part) => void) | null = null;
  private source: Source | null = null;
  private cells: Cells | null = null;
  private readonly context: CanvasRenderingContext2D;
  private readonly image = document.createElement("canvas");
  private readonly bar = document.createElement("canvas");

  /** `onLayout` is called when the image has got another place. */
  constructor(readonly canvas: HTMLCanvasElement, private readonly onLayout: () => void = () => {}) {
    this.context = canvas.getContext("2d")!;
    [this.bar.width, this.bar.height] = [1, steps];
    onResize(canvas, () => this.draw());
  }

  show(source: Source | null): void {
    this.source = source;
    this.cells = null;
    this.draw();
  }

  /** The part that is to be shown. */
  part(): Part | null {
    const { source, zoom } = this;
    return source && zoom && zoom.x1 <= source.nx && zoom.y1 <= source.ny ? zoom : this.whole();
  }

  whole(): Part | null {
    return this.source && { x0: 0, y0: 0, x1: this.source.nx, y1: this.source.ny };
  }

  draw(): void {
    const { context, source } = this;
    const ratio = devicePixelRatio || 1;
    const [width, height] = [this.canvas.width / ratio, this.canvas.height / ratio];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const part = this.part();
    if (!source || !part) return;
    const { across, up } = source;
    const wider = across.pitch_m && up.pitch_m ? across.pitch_m / up.pitch_m : 1;
    const before = JSON.stringify(this.layout?.plot);
    const layout = layOut(width, height, part, wider);
    this.layout = layout;
    this.cells ??= this.makeCells(source);
    this.scale = this.makeScale(source, this.cells);
    this.drawCells(source.sums, this.cells, part, layout);
    context.font = font;
    this.drawAxes(source, part, layout);
    this.drawPanels(source, part, layout);
    this.drawBar(source, layout);
    if (this.overlay) {
      context.save();
      context.beginPath();
      context.rect(layout.plot.left, layout.plot.top, layout.plot.width, layout.plot.height);
      context.clip();
      this.overlay(context, layout.plot, part);
      context.restore();
    }
    if (JSON.stringify(layout.plot) !== before) this.onLayout();
  }

  /** The map that is drawn: one of its own for comparisons. */
  private shownMap(source: Source): MapName {
    return source.reference ? "difference" : this.map;
  }

  private makeCells({ sums, factor, reference }: Source): Cells {
    if (!reference) return makeCells(sums, factor);
    const { values, by } = reference;
    return makeCells(sums, factor, (value, at) => (by === "difference" ? value - values[at] : value / values[at]));
  }

  private makeScale({ sums, factor, reference }: Source, cells: Cells): Scale {
    if (!reference) return makeScale(this.logarithmic, this.topOf(cells), factor / (sums.block.x * sums.block.y));
    if (this.top.kind === "fixed") return reference.by === "ratio" ? ratioScale(this.top.value) : differenceScale(this.top.value);
    const far = cells.values.map((value) => (reference.by === "difference" ? Math.abs(value) : Math.max(value, 1 / value)));
    const finite = far.filter((value) => value > 0 && Number.isFinite(value));
    // A single pixel with few counts must not make all others pale.
    const largest = quantile(finite, this.top.kind === "maximum" && reference.by === "difference" ? 1 : 0.99);
    return reference.by === "difference" ? differenceScale(largest) : ratioScale(largest);
  }

  private topOf(cells: Cells): number {
    switch (this.top.kind) {
      case "maximum": return cells.largest;
      case "quantile": return quantile(cells.values, 0.999);
      case "fixed": return this.top.value;
    }
  }

  private drawCells(sums: Sums, cells: Cells, part: Part, { plot }: Layout): void {
    const { columns, rows, block } = sums;
    if (this.image.width !== columns || this.image.height !== rows) [this.image.width, this.image.height] = [columns, rows];
    const words = new Uint32Array(columns * rows);
    paint(this.scale, this.shownMap(this.source!), cells.values, words);
    const bytes = new Uint8ClampedArray(words.buffer);
    this.image.getContext("2d")!.putImageData(new ImageData(bytes, columns, rows), 0, 0);
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(plot.left, plot.top, plot.width, plot.height);
    context.clip();
    context.fillStyle = themeColour("--page");
    context.fillRect(plot.left, plot.top, plot.width, plot.height);
    this.keepToPanels(part, plot);
    // Blocks at the right and the top may reach beyond the part that has come: cut them there.
    const has = sums.part;
    const [across, up] = [has.x1 - has.x0, has.y1 - has.y0];
    const beyond = rows - up / block.y;
    const [wide, high] = [plot.width / (part.x1 - part.x0), plot.height / (part.y1 - part.y0)];
    const [left, top] = [plot.left + (has.x0 - part.x0) * wide, plot.top + (part.y1 - has.y1) * high];
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, 0, beyond, across / block.x, rows - beyond, left, top, across * wide, up * high);
    context.restore();
  }

  /** What lies between panels that stand apart is nothing, and not pixels without counts. */
  private keepToPanels(part: Part, plot: Box): void {
    const { panels, sideBySide } = this.source!;
    if (panels.length < 2 || sideBySide) return;
    this.context.beginPath();
    for (const { x0, y0, x1, y1 } of panels) {
      const [from, to] = [placeOf(plot, part, x0, y1), placeOf(plot, part, x1, y0)];
      this.context.rect(from.left, from.top, to.left - from.left, to.top - from.top);
    }
    this.context.clip();
  }

  private drawAxes({ across, up, panels, sideBySide, panel }: Source, part: Part, { plot }: Layout): void {
    const { context } = this;
    context.strokeStyle = themeColour("--axis");
    context.fillStyle = themeColour("--muted");
    context.lineWidth = 1;
    context.strokeRect(plot.left - 0.5, plot.top - 0.5, plot.width + 1, plot.height + 1);
    const bottom = plot.top + plot.height;
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const { value, place } of axisTicks(across, part.x0, part.x1, plot.width / 60)) {
      const at = plot.left + place * plot.width;
      line(context, at, bottom, at, bottom + 4);
      context.fillText(value, at, bottom + 7);
    }
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const { value, place } of axisTicks(up, part.y0, part.y1, plot.height / 44)) {
      const at = bottom - place * plot.height;
      line(context, plot.left, at, plot.left - 4, at);
      context.fillText(value, plot.left - 7, at);
    }
    context.textAlign = "center";
    context.textBaseline = "alphabetic";
    const label = panels.length > 1 && sideBySide ? `${across.label}, ${panel?.name ?? "panel"}s side by side` : across.label;
    context.fillText(label, plot.left + plot.width / 2, bottom + 35);
    context.save();
    context.translate(plot.left - 40, plot.top + plot.height / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(up.label, 0, 0);
    context.restore();
  }

  /** Borders and numbers of panels: above them where they stand side by side, else in their corners. */
  private drawPanels(source: Source, part: Part, { plot }: Layout): void {
    if (source.panels.length < 2) return;
    const { context } = this;
    const across = (x: number) => plot.left + ((x - part.x0) / (part.x1 - part.x0)) * plot.width;
    const down = (y: number) => plot.top + ((part.y1 - y) / (part.y1 - part.y0)) * plot.height;
    context.textBaseline = "alphabetic";
    for (const [panel, box] of source.panels.entries()) {
      const [from, to] = [Math.max(part.x0, box.x0), Math.min(part.x1, box.x1)];
      const [low, high] = [Math.max(part.y0, box.y0), Math.min(part.y1, box.y1)];
      if (from >= to || low >= high) continue;
      context.strokeStyle = themeColour("--border-of-panels");
      const wide = across(to) - across(from);
      const number = panel + (source.panel?.first ?? 0);
      const name = wide > 60 ? `${source.panel?.name ?? "panel"} ${number}` : String(number);
      if (source.sideBySide) {
        if (panel > 0 && from > part.x0) line(context, across(from), plot.top, across(from), plot.top + plot.height);
        context.textAlign = "center";
        context.fillStyle = themeColour("--muted");
        if (wide > 24) context.fillText(name, across(from) + wide / 2, plot.top - 6);
        continue;
      }
      context.strokeRect(across(from), down(high), wide, down(low) - down(high));
      context.textAlign = "left";
      context.fillStyle = "#ffffffcc";
      if (wide > 24 && down(low) - down(high) > 20) context.fillText(name, across(from) + 4, down(high) + 14);
    }
  }

  private drawBar(source: Source, layout: Layout): void {
    const { bar } = layout;
    const { context } = this;
    const table = colours(this.shownMap(source));
    const words = new Uint32Array(steps).map((_, step) => table[steps - 1 - step]);
    this.bar.getContext("2d")!.putImageData(new ImageData(new Uint8ClampedArray(words.buffer), 1, steps), 0, 0);
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
    if (this.scale.diverging) context.fillText("none", right + 7, empty.top + empty.height / 2);
    else if (this.scale.logarithmic) context.fillText("0", right + 7, empty.top + empty.height / 2);
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
    const { x, y } = source.sums.block;
    const mean = x * y > 1 ? ` (mean of ${x} × ${y} pixels)` : "";
    // In a low picture the letters are narrower: none is cut off.
    context.fillText(`${this.countsLabel}${mean}`, 0, 0, Math.min(layout.plot.height + 40, 2 * (bar.top + bar.height / 2) - 4));
    context.restore();
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
  const isWhole = !["mm", "ms"].includes(axis.unit);
  const step = isWhole ? Math.max(1, raw) : raw;
  const found: { value: string; place: number }[] = [];
  for (let number = Math.ceil(low / step); number * step <= low + span * (1 + 1e-9); number++) {
    const value = number * step;
    // Adding 0 makes 0 of -0.
    const text = String(isWhole ? Math.round(value) : Number((value + 0).toPrecision(6)));
    found.push({ value: text, place: (value - low) / span });
  }
  return found;
}
