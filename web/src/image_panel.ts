/** The detector image with its controls: scale, zoom by dragging, and what is under the mouse. */

import { onThemeChange } from "./canvas";
import { Heatmap } from "./heatmap";
import type { Model } from "./model";
import { grouped, scaled } from "./numbers";
import { pixelAt, type Box } from "./plot_area";

/** A drag shorter than this, in CSS pixels, is a click. */
const shortestDrag = 6;

export class ImagePanel {
  private readonly heatmap = new Heatmap(element<HTMLCanvasElement>("image"));
  private readonly cursor = element("cursor");
  private readonly topValue = element<HTMLInputElement>("top-value");
  private mouse: { left: number; top: number } | null = null;
  private dragFrom: { left: number; top: number } | null = null;

  constructor(private readonly model: Model) {
    this.listenToScale();
    this.listenToMouse();
    onThemeChange(() => this.heatmap.draw());
  }

  /** Draws what the model has now. */
  update(): void {
    const { picture, hello } = this.model;
    this.heatmap.show(
      picture && {
        nx: picture.nx,
        ny: picture.ny,
        counts: this.model.shownCounts(),
        panels: hello?.geometry.panels ?? 1,
      },
    );
    element("image-total").textContent = picture ? `${scaled(this.model.shownEvents())} events` : "";
    element("whole").hidden = this.heatmap.zoom === null;
    this.tell();
  }

  /** Where the image is drawn in its canvas, in CSS pixels. */
  plot(): Box | null {
    return this.heatmap.layout?.plot ?? null;
  }

  private listenToScale(): void {
    const [linear, logarithmic] = [element("linear"), element("logarithmic")];
    const choose = (chosen: boolean) => {
      this.heatmap.logarithmic = chosen;
      linear.setAttribute("aria-pressed", String(!chosen));
      logarithmic.setAttribute("aria-pressed", String(chosen));
      this.heatmap.draw();
    };
    linear.onclick = () => choose(false);
    logarithmic.onclick = () => choose(true);
    const top = element<HTMLSelectElement>("top");
    const setTop = () => {
      this.topValue.hidden = top.value !== "fixed";
      if (top.value === "maximum" || top.value === "quantile") {
        this.heatmap.top = { kind: top.value };
      } else {
        const value = Number(this.topValue.value);
        if (value > 0) this.heatmap.top = { kind: "fixed", value };
      }
      this.heatmap.draw();
    };
    top.onchange = () => {
      // A fixed top begins where the scale is now.
      if (top.value === "fixed") this.topValue.value = String(Number(this.heatmap.scale.top.toPrecision(3)));
      setTop();
    };
    this.topValue.oninput = setTop;
    element("whole").onclick = () => this.zoomOut();
  }

  private zoomOut(): void {
    this.heatmap.zoom = null;
    this.update();
  }

  private listenToMouse(): void {
    const { canvas } = this.heatmap;
    const at = (event: MouseEvent) => {
      const box = canvas.getBoundingClientRect();
      return { left: event.clientX - box.left, top: event.clientY - box.top };
    };
    canvas.onpointerdown = (event) => {
      if (event.button !== 0 || !this.pixelUnder(at(event))) return;
      this.dragFrom = at(event);
      canvas.setPointerCapture(event.pointerId);
    };
    canvas.onpointermove = (event) => {
      this.mouse = at(event);
      if (this.dragFrom) {
        this.heatmap.selection = rectangle(this.dragFrom, this.mouse);
        this.heatmap.draw();
      }
      this.tell();
    };
    canvas.onpointerup = (event) => {
      const from = this.dragFrom;
      this.dragFrom = null;
      this.heatmap.selection = null;
      if (from) this.zoomTo(from, at(event));
    };
    canvas.onpointercancel = () => {
      this.dragFrom = null;
      this.heatmap.selection = null;
    };
    canvas.onpointerleave = () => {
      this.mouse = null;
      this.tell();
    };
    canvas.ondblclick = () => this.zoomOut();
  }

  private zoomTo(from: { left: number; top: number }, to: { left: number; top: number }): void {
    const { layout } = this.heatmap;
    const region = this.heatmap.region();
    const { left, top, width, height } = rectangle(from, to);
    if (!layout || !region || width < shortestDrag || height < shortestDrag) {
      this.heatmap.draw();
      return;
    }
    const { plot } = layout;
    const inside = (value: number, low: number, size: number) => Math.min(low + size - 0.01, Math.max(low, value));
    const corner = (x: number, y: number) =>
      pixelAt(plot, region, inside(x, plot.left, plot.width), inside(y, plot.top + 0.01, plot.height));
    const [low, high] = [corner(left, top + height), corner(left + width, top)];
    if (low && high && (high.x - low.x > 1 || high.y - low.y > 1)) {
      this.heatmap.zoom = { x0: low.x, y0: low.y, x1: high.x + 1, y1: high.y + 1 };
    }
    this.update();
  }

  private pixelUnder(mouse: { left: number; top: number }): { x: number; y: number } | null {
    const region = this.heatmap.region();
    const { layout } = this.heatmap;
    return region && layout ? pixelAt(layout.plot, region, mouse.left, mouse.top) : null;
  }

  /** Says what is under the mouse, or what can be done. */
  private tell(): void {
    const { picture, hello } = this.model;
    if (!picture || !hello) {
      this.cursor.textContent = "";
      return;
    }
    const pixel = this.mouse && this.pixelUnder(this.mouse);
    if (!pixel) {
      const stretched = this.heatmap.layout?.square === false ? " · pixels stretched to fill the space" : "";
      this.cursor.textContent = `Point at a pixel to read it, drag to zoom, double-click for all${stretched}`;
      return;
    }
    const { nx, ny, nz, panels } = hello.geometry;
    const panel = Math.floor(pixel.x / nx);
    const x = pixel.x % nx;
    const id = panel * nx * ny * nz + pixel.y * nx + x + 1;
    const counts = this.model.shownCounts()[pixel.y * picture.nx + pixel.x];
    const parts = [`x ${x}`, `y ${pixel.y}`, `pixel id ${id}`, `${grouped(counts)} counts`];
    if (nz > 1) parts[2] = `pixel ids ${id} + n × ${nx * ny}, sum of ${nz} layers`;
    if (panels > 1) parts.unshift(`panel ${panel}`);
    this.cursor.textContent = parts.join("  ·  ");
  }
}

function rectangle(from: { left: number; top: number }, to: { left: number; top: number }) {
  return {
    left: Math.min(from.left, to.left),
    top: Math.min(from.top, to.top),
    width: Math.abs(to.left - from.left),
    height: Math.abs(to.top - from.top),
  };
}

function element<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}
