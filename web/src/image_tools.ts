/** What the mouse does on the picture: zoom, draw a rectangle or a polygon, pull corners, move regions by their edges. */

import type { Part } from "./cells";
import type { Heatmap } from "./heatmap";
import type { Region } from "./looked";
import { pixelsAt, type Box } from "./plot_area";
import { freeName, mostCorners, mostRegions, movedBy, rectangleBetween, rounded, withCorner } from "./regions";
import { drawOpen, drawRegions, gripAt, type Grip, type Shown } from "./region_layer";
import type { View } from "./view";

/** A drag shorter than this, in CSS pixels, is a click. */
const shortestDrag = 6;

export type Tool = "zoom" | "rectangle" | "polygon";

interface Place {
  left: number;
  top: number;
}

export class ImageTools {
  tool: Tool = "zoom";
  private from: Place | null = null;
  private to: Place | null = null;
  /** What is pulled, and how it was when that began. */
  private pulled: { grip: Grip; region: Region; at: [number, number] } | null = null;
  /** Corners of the polygon that is being drawn. */
  private open: [number, number][] = [];

  /** `picture` names what is shown and says how many pixels it has; null before there is one. */
  constructor(
    private readonly heatmap: Heatmap,
    private readonly view: View,
    private readonly picture: () => { name: string; size: [number, number] } | null,
    private readonly onHover: (place: Place | null) => void,
  ) {
    const { canvas } = heatmap;
    const at = (event: MouseEvent): Place => {
      const box = canvas.getBoundingClientRect();
      return { left: event.clientX - box.left, top: event.clientY - box.top };
    };
    canvas.onpointerdown = (event) => {
      if (event.button !== 0) return;
      this.press(at(event), event.pointerId);
    };
    canvas.onpointermove = (event) => this.drag(at(event));
    canvas.onpointerup = (event) => this.release(at(event));
    canvas.onpointercancel = () => this.cancel();
    canvas.onpointerleave = () => {
      if (!this.from) this.to = null;
      onHover(null);
      heatmap.draw();
    };
    canvas.ondblclick = () => (this.tool === "polygon" ? this.close() : this.view.change({ part: null }));
  }

  /** Draws regions, and what is being drawn. */
  draw(context: CanvasRenderingContext2D, plot: Box, part: Part): void {
    drawRegions(context, plot, part, this.shown());
    if (this.open.length > 0) {
      const next: [number, number][] = this.to ? [pixelsAt(plot, part, this.to.left, this.to.top)] : [];
      drawOpen(context, plot, part, [...this.open, ...next]);
    } else if (this.from && this.to && !this.pulled) {
      drawSelection(context, this.from, this.to);
    }
  }

  choose(tool: Tool): void {
    this.tool = tool;
    this.cancel();
  }

  /** Ends the polygon that is being drawn. */
  close(): void {
    const points = this.open.filter(([x, y], at) => at === 0 || x !== this.open[at - 1][0] || y !== this.open[at - 1][1]);
    this.open = [];
    if (points.length >= 3) this.add("polygon", points);
    this.heatmap.draw();
  }

  cancel(): void {
    [this.from, this.to, this.pulled, this.open] = [null, null, null, []];
    this.heatmap.draw();
  }

  /** Adds a region to the picture that is shown. */
  add(shape: Region["shape"], points: [number, number][]): void {
    const picture = this.picture();
    const { regions } = this.view.looked;
    if (!picture || regions.length >= mostRegions) return;
    this.view.change({ regions: [...regions, { picture: picture.name, name: freeName(regions), shape, points }] });
  }

  /** The regions of the picture that is shown. */
  shown(): Shown[] {
    const name = this.picture()?.name;
    return this.view.looked.regions.map((region, index) => ({ index, region })).filter(({ region }) => region.picture === name);
  }

  private press(place: Place, pointer: number): void {
    const { layout } = this.heatmap;
    const part = this.heatmap.part();
    if (!layout || !part) return;
    const { plot } = layout;
    const grip = this.open.length === 0 ? gripAt(plot, part, this.shown(), place.left, place.top) : null;
    const isInside =
      place.left >= plot.left && place.left < plot.left + plot.width && place.top >= plot.top && place.top < plot.top + plot.height;
    if (!grip && !isInside) return;
    if (!grip && this.tool === "polygon") {
      this.addCorner(place);
      return;
    }
    this.heatmap.canvas.setPointerCapture(pointer);
    this.from = place;
    this.to = place;
    if (grip) this.pulled = { grip, region: this.view.looked.regions[grip.index], at: pixelsAt(plot, part, place.left, place.top) };
  }

  private addCorner(place: Place): void {
    const point = this.pixels(place);
    if (!point || this.open.length >= mostCorners) return;
    this.open.push([rounded(point[0]), rounded(point[1])]);
    this.to = place;
    this.heatmap.draw();
  }

  private drag(place: Place): void {
    this.onHover(this.pulled ? null : place);
    if (this.pulled) {
      this.pull(place);
    } else if (this.from || this.open.length > 0) {
      this.to = place;
      this.heatmap.draw();
    } else {
      const { layout } = this.heatmap;
      const part = this.heatmap.part();
      const grip = layout && part && gripAt(layout.plot, part, this.shown(), place.left, place.top);
      this.heatmap.canvas.style.cursor = !grip ? "" : grip.corner === null ? "move" : "grab";
    }
  }

  private pull(place: Place): void {
    const { pulled } = this;
    const size = this.picture()?.size;
    const to = this.pixels(place);
    if (!pulled || !size || !to) return;
    const { grip, region, at } = pulled;
    const changed =
      grip.corner === null
        ? movedBy(region, [to[0] - at[0], to[1] - at[1]], size)
        : withCorner(region, grip.corner, to, size);
    this.view.change({ regions: this.view.looked.regions.map((one, index) => (index === grip.index ? changed : one)) });
  }

  private release(place: Place): void {
    const { from, pulled } = this;
    [this.from, this.pulled] = [null, null];
    if (!from || pulled) return;
    this.to = null;
    const size = this.picture()?.size;
    const [low, high] = [this.pixels(from), this.pixels(place)];
    const isDrag = Math.abs(place.left - from.left) >= shortestDrag && Math.abs(place.top - from.top) >= shortestDrag;
    if (isDrag && size && low && high) {
      const points = rectangleBetween(low, high, size);
      if (this.tool === "rectangle") this.add("rectangle", points);
      else this.zoomTo(points);
    }
    this.heatmap.draw();
  }

  private zoomTo([[x0, y0], [x1, y1]]: [number, number][]): void {
    if (x1 - x0 > 1 || y1 - y0 > 1) this.view.change({ part: { x0, y0, x1, y1 } });
  }

  private pixels(place: Place): [number, number] | null {
    const { layout } = this.heatmap;
    const part = this.heatmap.part();
    return layout && part && pixelsAt(layout.plot, part, place.left, place.top);
  }
}

function drawSelection(context: CanvasRenderingContext2D, from: Place, to: Place): void {
  const [left, top] = [Math.min(from.left, to.left), Math.min(from.top, to.top)];
  context.strokeStyle = "#fff";
  context.setLineDash([4, 3]);
  context.strokeRect(left, top, Math.abs(to.left - from.left), Math.abs(to.top - from.top));
  context.setLineDash([]);
}
