/**
 * The pictures with their controls: which one, the scale, zoom by dragging, and what is under the mouse. Which one is kept in the
 * address of the page: `#picture=xz`.
 */

import { onThemeChange } from "./canvas";
import type { Block } from "./cells";
import type { Counts, Image } from "./frame";
import { Heatmap } from "./heatmap";
import type { Model } from "./model";
import { grouped, scaled } from "./numbers";
import { pixelAt, type Box } from "./plot_area";
import type { Axis, Hello, PicturePlan } from "./protocol";

/** A drag shorter than this, in CSS pixels, is a click. */
const shortestDrag = 6;

export class ImagePanel {
  private readonly heatmap = new Heatmap(element<HTMLCanvasElement>("image"));
  private readonly cursor = element("cursor");
  private readonly topValue = element<HTMLInputElement>("top-value");
  private readonly choice = element<HTMLSelectElement>("picture");
  /** The greeting for which the choice was filled. */
  private filledFor: Hello | null = null;
  private shown = "";
  private mouse: { left: number; top: number } | null = null;
  private dragFrom: { left: number; top: number } | null = null;

  constructor(private readonly model: Model) {
    this.heatmap.logarithmic = true;
    this.listenToChoice();
    this.listenToScale();
    this.listenToMouse();
    onThemeChange(() => this.heatmap.draw());
  }

  /** Draws what the model has now. */
  update(): void {
    this.fillChoice();
    const plan = this.plan();
    const image = this.image();
    if (plan && this.shown !== plan.name) {
      this.shown = plan.name;
      this.heatmap.zoom = null;
    }
    const summed = plan && this.summed(plan);
    const { content } = this.model.hello ?? {};
    this.heatmap.countsLabel = content?.pixel ?? (summed ? `counts per pixel, ${summed}` : "counts per pixel");
    const panel = content && { name: content.panel, first: content.first_panel };
    this.heatmap.show(image && plan && { ...image, panels: plan.panels, panel, across: plan.across, up: plan.up });
    element("image-total").textContent = image && plan ? this.account(image.counts, plan) : "";
    element("whole").hidden = this.heatmap.zoom === null;
    this.tell();
  }

  /** The picture that is shown: its place in the greeting's list. */
  which(): number {
    const { pictures = [] } = this.model.hello ?? {};
    const chosen = new URLSearchParams(location.hash.slice(1)).get("picture");
    const found = pictures.findIndex(({ name }) => name === chosen);
    if (found >= 0) return found;
    // A monitor without positions is a number in the ledger, and no picture.
    return Math.max(0, pictures.findIndex((plan) => !isNumber(plan)));
  }

  /** What is drawn: counts since the last "Clear". */
  image(): Image | null {
    return this.model.shownImage(this.which());
  }

  private plan(): PicturePlan | null {
    return this.model.hello?.pictures[this.which()] ?? null;
  }

  /** "12.3 k events" */
  private account(counts: Counts, plan: PicturePlan): string {
    const { content } = this.model.hello ?? {};
    if (content) return content.pixel;
    let sum = 0;
    for (const count of counts) sum += count;
    return `${scaled(sum)} events${plan.is_monitor ? ` of ${plan.name}` : ""}`;
  }

  /** "sum of 16 layers", for pictures of a detector with depth. */
  private summed(plan: PicturePlan): string | null {
    const { nz = 1 } = this.model.hello?.geometry ?? {};
    return nz > 1 && !plan.is_monitor ? plan.title.replace(/^\w+, /, "").replace(/, panels.*/, "") : null;
  }

  /** Lists the pictures, if there is a choice. */
  private fillChoice(): void {
    const { hello } = this.model;
    if (!hello || hello === this.filledFor) return;
    this.filledFor = hello;
    // Values lie above a pedestal, where a logarithmic scale shows nothing.
    if (hello.content) element("linear").click();
    const offered = hello.pictures.filter((plan) => !isNumber(plan));
    this.choice.replaceChildren(
      ...offered.map(({ name, title }) => {
        const option = document.createElement("option");
        [option.value, option.textContent, option.title] = [name, name, title];
        return option;
      }),
    );
    element("picture-choice").hidden = offered.length < 2;
    this.choice.value = this.plan()?.name ?? "";
  }

  private listenToChoice(): void {
    this.choice.onchange = () => {
      const parameters = new URLSearchParams(location.hash.slice(1));
      parameters.set("picture", this.choice.value);
      // Replaced, not added: "back" leaves the page and does not go through all pictures.
      history.replaceState(null, "", `#${parameters}`);
      this.update();
    };
    addEventListener("hashchange", () => {
      this.choice.value = this.plan()?.name ?? "";
      this.update();
    });
  }

  /** Where the image is drawn in its canvas, in CSS pixels. */
  plot(): Box | null {
    return this.heatmap.layout?.plot ?? null;
  }

  /** Pixels that share a cell, in a row and in a column. */
  block(): Block {
    return this.heatmap.block;
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
    const { hello } = this.model;
    const [image, plan] = [this.image(), this.plan()];
    if (!image || !plan || !hello) {
      this.cursor.textContent = "";
      return;
    }
    const pixel = this.mouse && this.pixelUnder(this.mouse);
    if (!pixel) {
      const stretched = this.heatmap.layout?.inShape === false ? " · stretched to fill the space" : "";
      this.cursor.textContent = `Point to read a pixel, drag to zoom, double-click for all${stretched}`;
      return;
    }
    const width = plan.across.pixels / plan.panels;
    const [panel, column] = [Math.floor(pixel.x / width), pixel.x % width];
    const parts = [coordinate(plan.across, plan.plane[0], column), coordinate(plan.up, plan.plane[1], pixel.y)];
    const { content } = hello;
    if (plan.panels > 1) parts.unshift(content ? `${content.panel} ${content.first_panel + panel}` : `panel ${panel}`);
    const { nx, ny, nz } = hello.geometry;
    if (nz === 1 && !plan.is_monitor && !content) parts.push(`pixel id ${(panel * ny + pixel.y) * nx + column + 1}`);
    const summed = this.summed(plan);
    if (summed) parts.push(summed);
    const value = grouped(image.counts[pixel.y * image.nx + pixel.x]);
    parts.push(content ? `${content.pixel}: ${value}` : `${value} counts`);
    this.cursor.textContent = parts.join("  ·  ");
  }
}

function isNumber({ across, up }: PicturePlan): boolean {
  return across.pixels === 1 && up.pixels === 1;
}

/** "x 12", and where that is if it is known: "x 12 (−20.4 mm)". */
function coordinate(axis: Axis, letter: string, pixel: number): string {
  const where = axis.unit === "mm" ? ` (${Number((axis.first + pixel * axis.step).toPrecision(5))} mm)` : "";
  return `${letter} ${pixel}${where}`;
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
