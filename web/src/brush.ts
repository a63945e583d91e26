/** What the mouse does on the spectrum: choose a slice, pull its ends, move it; or zoom. */

import type uPlot from "uplot";
import { themeColour } from "./canvas";

/** How near to an end of the slice the mouse must be, in CSS pixels, and how far a drag must go. */
const near = 6;

export interface BrushOwner {
  /** The slice in the chart's values, low first; null for none. */
  slice(): [number, number] | null;
  /** Called while the mouse goes, with values of the chart. */
  onSlice(ends: [number, number] | null): void;
  onZoom(ends: [number, number] | null): void;
  /** True if dragging zooms; the shift key turns it around. */
  zooms(): boolean;
}

type Drag =
  | { kind: "new" | "zoom"; from: number }
  | { kind: "end"; held: number }
  | { kind: "move"; from: number; slice: [number, number] };

export class Brush {
  private drag: Drag | null = null;
  private isFar = false;
  private zoomTo: [number, number] | null = null;
  private pressedAt = 0;

  constructor(private readonly owner: BrushOwner) {}

  /** Listens to the mouse over the chart. */
  attach(chart: uPlot): void {
    const { over } = chart;
    over.style.touchAction = "none";
    const left = (event: MouseEvent) => event.clientX - over.getBoundingClientRect().left;
    over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      over.setPointerCapture(event.pointerId);
      this.pressedAt = left(event);
      this.isFar = false;
      this.drag = this.begin(chart, left(event), this.owner.zooms() !== event.shiftKey);
    });
    over.addEventListener("pointermove", (event) => {
      if (this.drag) this.go(chart, left(event));
      else over.style.cursor = this.cursorAt(chart, left(event));
    });
    over.addEventListener("pointerup", () => {
      const { zoomTo, drag } = this;
      [this.drag, this.zoomTo] = [null, null];
      if (drag?.kind === "zoom" && zoomTo && this.isFar) this.owner.onZoom(zoomTo);
      chart.redraw(false);
    });
    over.addEventListener("pointercancel", () => ([this.drag, this.zoomTo] = [null, null]));
    over.addEventListener("dblclick", () => (this.owner.zooms() ? this.owner.onZoom(null) : this.owner.onSlice(null)));
  }

  /** Draws the slice, and what is being zoomed to. */
  draw(chart: uPlot): void {
    const { ctx, bbox } = chart;
    const slice = this.owner.slice();
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const place = (value: number) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, chart.valToPos(value, "x", true)));
    if (slice) {
      const [low, high] = slice.map(place);
      const width = Math.max(2, 2 * devicePixelRatio);
      ctx.fillStyle = themeColour("--slice-fill");
      ctx.fillRect(low, bbox.top, high - low, bbox.height);
      ctx.fillStyle = themeColour("--slice");
      for (const end of [low, high]) {
        ctx.fillRect(end - width / 2, bbox.top, width, bbox.height);
        // A handle, to be seen and taken.
        ctx.fillRect(end - 2 * width, bbox.top + bbox.height / 2 - 5 * width, 4 * width, 10 * width);
      }
    }
    if (this.zoomTo && this.isFar) {
      const [low, high] = this.zoomTo.map(place);
      ctx.strokeStyle = themeColour("--text");
      ctx.setLineDash([5, 4]);
      ctx.strokeRect(low, bbox.top + 1, high - low, bbox.height - 2);
    }
    ctx.restore();
  }

  private begin(chart: uPlot, left: number, zooms: boolean): Drag {
    const value = chart.posToVal(left, "x");
    if (zooms) return { kind: "zoom", from: value };
    const slice = this.owner.slice();
    if (slice) {
      const [low, high] = slice.map((end) => chart.valToPos(end, "x"));
      if (Math.abs(left - low) <= near) return { kind: "end", held: slice[1] };
      if (Math.abs(left - high) <= near) return { kind: "end", held: slice[0] };
      if (left > low && left < high) return { kind: "move", from: value, slice };
    }
    return { kind: "new", from: value };
  }

  private go(chart: uPlot, left: number): void {
    const value = chart.posToVal(Math.min(chart.over.clientWidth, Math.max(0, left)), "x");
    this.isFar ||= Math.abs(left - this.pressedAt) >= 3;
    if (!this.isFar || !this.drag) return;
    const ordered = (a: number, b: number): [number, number] => (a < b ? [a, b] : [b, a]);
    switch (this.drag.kind) {
      case "zoom":
        this.zoomTo = ordered(this.drag.from, value);
        chart.redraw(false);
        break;
      case "new":
        this.owner.onSlice(ordered(this.drag.from, value));
        break;
      case "end":
        this.owner.onSlice(ordered(this.drag.held, value));
        break;
      case "move": {
        const by = value - this.drag.from;
        this.owner.onSlice([this.drag.slice[0] + by, this.drag.slice[1] + by]);
      }
    }
  }

  private cursorAt(chart: uPlot, left: number): string {
    const slice = this.owner.slice();
    if (!slice || this.owner.zooms()) return "";
    const [low, high] = slice.map((end) => chart.valToPos(end, "x"));
    if (Math.abs(left - low) <= near || Math.abs(left - high) <= near) return "ew-resize";
    return left > low && left < high ? "grab" : "";
  }
}
