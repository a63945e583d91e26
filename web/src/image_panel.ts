/** The pictures with their controls: which one, the scale, tools of the mouse, and what is under the mouse or the cursor. */

import { onThemeChange } from "./canvas";
import { area, cellAt, pixelsOf, type Block, type Part } from "./cells";
import { mapNames, type MapName } from "./colours";
import { Heatmap } from "./heatmap";
import { ImageTools, type Tool } from "./image_tools";
import { chosenPlan, isNumber, layerOf, withBins } from "./looker";
import type { Looked } from "./looked";
import type { Model } from "./model";
import { grouped, scaled } from "./numbers";
import { element, option, press, setField, write } from "./page_elements";
import { isOneRow, panelAt, panelsOf } from "./panels";
import { PixelCursor } from "./pixel_cursor";
import { layOut, pixelsAt, type Box } from "./plot_area";
import type { Axis, Hello, PicturePlan } from "./protocol";
import type { Reference } from "./reference";
import { shownAs, type Shown } from "./values";
import type { View } from "./view";
import { withMain } from "./views";

export class ImagePanel {
  readonly tools: ImageTools;
  private readonly heatmap = new Heatmap(element<HTMLCanvasElement>("image"), () => this.onLayout());
  private readonly cursor: PixelCursor;
  private readonly choice = element<HTMLSelectElement>("picture");
  private readonly topValue = element<HTMLInputElement>("top-value");
  /** The greeting for which the choice was filled. */
  private filledFor: Hello | null = null;
  private mouse: { left: number; top: number } | null = null;

  /** `onLayout` is called when the picture has got another size. */
  constructor(
    private readonly model: Model,
    private readonly view: View,
    private readonly reference: Reference,
    private readonly onLayout: () => void,
  ) {
    this.tools = new ImageTools(this.heatmap, view, () => this.shownPicture(), (place) => {
      this.mouse = place;
      this.tell();
    });
    this.cursor = new PixelCursor(this.heatmap, view, () => this.block(), () => {
      this.tell();
      write("cursor-said", element("cursor").textContent ?? "");
    });
    this.heatmap.overlay = (context, plot, part) => {
      this.tools.draw(context, plot, part);
      this.cursor.draw(context, plot, part);
    };
    this.listen();
    onThemeChange(() => this.heatmap.draw());
    view.onChange(() => this.update());
  }

  /** Draws what the model has now, as the view says. */
  update(): void {
    const { frame, hello } = this.model;
    const { looked } = this.view;
    this.fillChoice();
    this.showControls();
    const plan = this.plan();
    this.heatmap.map = looked.map;
    this.heatmap.top = looked.top;
    this.heatmap.logarithmic = this.isLogarithmic();
    // Until the picture that is asked for has come, the one before is shown: whole, for the part is one of the other.
    const isChosen = plan?.name === (hello && chosenPlan(hello, looked.picture)?.name);
    this.heatmap.zoom = isChosen ? looked.part : null;
    if (!frame || !plan || !hello) {
      this.heatmap.show(null);
      write("image-total", "");
      this.tell();
      return;
    }
    const shown = this.shown()!;
    const { content } = hello;
    const compared = this.compared(plan.name);
    this.heatmap.countsLabel = content?.pixel ?? this.label(plan, shown, compared !== null);
    const panel = content && { name: content.panel, first: content.first_panel };
    this.heatmap.show({
      nx: plan.across.pixels,
      ny: plan.up.pixels,
      sums: frame.image,
      panels: plan.panels > 1 ? panelsOf(plan) : [],
      sideBySide: isOneRow(plan),
      panel,
      across: plan.across,
      up: plan.up,
      factor: shown.factor,
      ...(compared ? { reference: { values: compared, by: looked.compare as "difference" | "ratio" } } : {}),
    });
    write("image-total", this.account(plan));
    element("whole").hidden = looked.part === null;
    this.tell();
  }

  /** The picture that is drawn: what the newest frame shows. */
  plan(): PicturePlan | null {
    const { hello, frame } = this.model;
    const plan = this.model.framePlan();
    return hello && frame && plan ? withBins(plan, hello, frame.head.bins) : null;
  }

  /** The points of the screen that the picture has, for the server. */
  points(): [number, number] {
    const { hello } = this.model;
    const { width, height } = element("image").getBoundingClientRect();
    const plan = hello && chosenPlan(hello, this.view.looked.picture);
    const ratio = devicePixelRatio || 1;
    if (!plan) return [width * ratio, height * ratio];
    const { across, up } = plan;
    const part = this.view.looked.part ?? { x0: 0, y0: 0, x1: across.pixels, y1: up.pixels };
    const { plot } = layOut(width, height, part, across.pitch_m && up.pitch_m ? across.pitch_m / up.pitch_m : 1);
    return [Math.round(plot.width * ratio), Math.round(plot.height * ratio)];
  }

  /** Where the image is drawn in its canvas, in CSS pixels. */
  plot(): Box | null {
    return this.heatmap.layout?.plot ?? null;
  }

  /** Pixels that share a cell, in a row and in a column. */
  block(): Block {
    return this.model.frame?.image.block ?? { x: 1, y: 1 };
  }

  /** What counts are shown as. */
  shown(): Shown | null {
    const { frame } = this.model;
    const { per, corrected } = this.view.looked;
    return frame && shownAs(frame.head, per, corrected, this.model.liveFraction());
  }

  private shownPicture(): { name: string; size: [number, number] } | null {
    const plan = this.plan();
    return plan && { name: plan.name, size: [plan.across.pixels, plan.up.pixels] };
  }

  private isLogarithmic(): boolean {
    // Values of a content lie above a pedestal, where a logarithmic scale shows nothing.
    return this.view.looked.log ?? this.model.hello?.content === undefined;
  }

  /** Values of the reference for the cells that have come; null where there is no comparison. */
  private compared(picture: string): Float64Array | null {
    const { compare, per } = this.view.looked;
    const { frame } = this.model;
    return compare === "none" || !frame ? null : this.reference.valuesLike(picture, frame.image, per);
  }

  private label(plan: PicturePlan, shown: Shown, isCompared: boolean): string {
    const summed = this.summed(plan);
    const { compare } = this.view.looked;
    const what = `${shown.name} per pixel${summed ? `, ${summed}` : ""}`;
    if (!isCompared) return what;
    return compare === "difference" ? `difference in ${what}` : `ratio of ${what}`;
  }

  /** "12.3 k events", or how many of them are in the slice. */
  private account(plan: PicturePlan): string {
    const { content } = this.model.hello ?? {};
    const head = this.model.frame?.head;
    if (content || !head) return content?.pixel ?? "";
    const of = plan.is_monitor ? ` of ${plan.name}` : "";
    return head.events === head.all ? `${scaled(head.events)} events${of}` : `${scaled(head.events)} of ${scaled(head.all)} events${of}`;
  }

  /** "sum of 16 layers", for pictures of a detector with depth. */
  private summed(plan: PicturePlan): string | null {
    const layer = layerOf(plan, this.view.looked);
    if (layer !== null) return `${plan.beyond} ${layer}`;
    return plan.depth > 1 ? plan.title.replace(/^\w+, /, "").replace(/, panels.*/, "") : null;
  }

  /** Lists the pictures, if there is a choice. */
  private fillChoice(): void {
    const { hello } = this.model;
    if (!hello || hello === this.filledFor) return;
    this.filledFor = hello;
    const offered = hello.pictures.filter((plan) => !isNumber(plan));
    this.choice.replaceChildren(...offered.map(({ name, title }) => option(name, name, title)));
    element("picture-choice").hidden = offered.length < 2;
    element("tools").hidden = !hello.selections;
    element("vetoed-choice").hidden = !hello.selections || (hello.vetoes ?? []).length === 0;
  }

  private showControls(): void {
    const { looked } = this.view;
    const { hello } = this.model;
    setField(this.choice, (hello && chosenPlan(hello, looked.picture)?.name) ?? "");
    this.showLayer();
    setField(element<HTMLSelectElement>("map"), looked.map);
    setField(element<HTMLSelectElement>("vetoed"), looked.vetoed);
    setField(element<HTMLSelectElement>("top"), looked.top.kind);
    this.topValue.hidden = looked.top.kind !== "fixed";
    if (looked.top.kind === "fixed") setField(this.topValue, String(looked.top.value));
    press("linear", !this.isLogarithmic());
    press("logarithmic", this.isLogarithmic());
  }

  /** The slider of layers: all of them at its left end. */
  private showLayer(): void {
    const { hello } = this.model;
    const chosen = hello && chosenPlan(hello, this.view.looked.picture);
    const has = hello !== null && hello.selections && chosen !== null && chosen.depth > 1;
    element("layer-choice").hidden = !has;
    if (!has) return;
    const layer = layerOf(chosen, this.view.looked);
    const slider = element<HTMLInputElement>("layer");
    slider.max = String(chosen.depth);
    setField(slider, String(layer === null ? 0 : layer + 1));
    const text = layer === null ? `all ${chosen.beyond}s` : `${chosen.beyond} ${layer}`;
    write("layer-said", text);
    slider.setAttribute("aria-valuetext", text);
  }

  private listen(): void {
    const { view } = this;
    this.choice.onchange = () => {
      const { hello } = this.model;
      const before = hello && chosenPlan(hello, view.looked.picture);
      view.change(withMain(view.looked, before?.name ?? null, this.choice.value));
    };
    const slider = element<HTMLInputElement>("layer");
    slider.oninput = () => view.change({ layer: slider.value === "0" ? null : Number(slider.value) - 1 });
    const map = element<HTMLSelectElement>("map");
    map.replaceChildren(...mapNames.map((name) => option(name, name)));
    map.onchange = () => view.change({ map: map.value as MapName });
    const vetoed = element<HTMLSelectElement>("vetoed");
    vetoed.onchange = () => view.change({ vetoed: vetoed.value as Looked["vetoed"] });
    element("linear").onclick = () => view.change({ log: false });
    element("logarithmic").onclick = () => view.change({ log: true });
    const top = element<HTMLSelectElement>("top");
    top.onchange = () => {
      // A fixed top begins where the scale is now.
      const now = Number(this.heatmap.scale.top.toPrecision(3));
      view.change({ top: top.value === "fixed" ? { kind: "fixed", value: now } : { kind: top.value as "maximum" | "quantile" } });
    };
    this.topValue.oninput = () => {
      const value = Number(this.topValue.value);
      if (value > 0) view.change({ top: { kind: "fixed", value } });
    };
    element("whole").onclick = () => view.change({ part: null });
    for (const tool of ["zoom", "rectangle", "polygon"] as Tool[]) {
      element(`${tool}-tool`).onclick = () => {
        this.tools.choose(tool);
        for (const other of ["zoom", "rectangle", "polygon"]) press(`${other}-tool`, other === tool);
        this.tell();
      };
    }
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.tools.cancel();
      if (event.key === "Enter" && document.activeElement === this.heatmap.canvas) this.tools.close();
    });
  }

  private pixelUnder(mouse: { left: number; top: number }): { x: number; y: number } | null {
    const { layout } = this.heatmap;
    const part = this.heatmap.part();
    if (!layout || !part) return null;
    const { left, top, width, height } = layout.plot;
    if (mouse.left < left || mouse.left >= left + width || mouse.top < top || mouse.top >= top + height) return null;
    const [x, y] = pixelsAt(layout.plot, part, mouse.left, mouse.top);
    return { x: Math.min(part.x1 - 1, Math.floor(x)), y: Math.min(part.y1 - 1, Math.floor(y)) };
  }

  /** Says what is under the mouse or the cursor, or what can be done. */
  private tell(): void {
    const { hello, frame } = this.model;
    const plan = this.plan();
    if (!frame || !plan || !hello) {
      write("cursor", "");
      return;
    }
    const pixel = this.cursor.pixel ?? (this.mouse && this.pixelUnder(this.mouse));
    const cell = pixel && cellAt(frame.image, pixel.x, pixel.y);
    write("cursor", pixel && cell ? this.words(plan, pixelsOf(frame.image, cell.column, cell.row), cell) : this.help());
  }

  private help(): string {
    const stretched = this.heatmap.layout?.inShape === false ? " · stretched to fill the space" : "";
    switch (this.tools.tool) {
      case "zoom": return `Point to read a pixel, drag to zoom, double-click for all${stretched}`;
      case "rectangle": return "Drag to draw a rectangle; pull its corners, or move it by its edges";
      case "polygon": return "Click each corner, double-click to end; Escape gives up";
    }
  }

  /** "x 12 · y 5 · 17 counts", or what is in a block of pixels. */
  private words(plan: PicturePlan, pixels: Part, cell: { column: number; row: number }): string {
    const { hello, frame } = this.model;
    const { content, geometry } = hello!;
    const { x0, y0, x1, y1 } = pixels;
    const single = area(pixels) === 1;
    const at = cell.row * frame!.image.columns + cell.column;
    const found = plan.panels > 1 ? panelAt(plan, x0, y0) : { panel: 0, box: { x0: 0, y0: 0 } };
    if (!found) return "between the panels";
    const { panel, box } = found;
    const [left, bottom] = [x0 - box.x0, y0 - box.y0];
    // Of a block that reaches into the next panel, the end is one of that.
    const end = (plan.panels > 1 && panelAt(plan, x1 - 1, y1 - 1)?.box) || box;
    const [across, up] = letters(plan);
    // Places in millimetres are those of the picture, and not of a panel.
    const x = coordinate(plan.across, across, left, x1 - 1 - end.x0, box.x0);
    const parts = [x, coordinate(plan.up, up, bottom, y1 - 1 - end.y0, box.y0)];
    if (plan.panels > 1) parts.unshift(content ? `${content.panel} ${content.first_panel + panel}` : `panel ${panel}`);
    const { nx, ny, nz } = geometry;
    const isFlat = nz === 1 && !plan.is_monitor && !plan.is_map && !content && plan.name === "xy";
    if (single && isFlat) parts.push(`pixel id ${(panel * ny + bottom) * nx + left + 1}`);
    const summed = this.summed(plan);
    if (summed) parts.push(summed);
    const value = grouped(frame!.image.counts[at]);
    const counts = single ? `${value} counts` : `sum of ${x1 - x0} × ${y1 - y0} pixels: ${value} counts`;
    parts.push(content ? `${content.pixel}: ${value}` : counts);
    const shown = this.shown()!;
    const compared = this.compared(plan.name);
    if (shown.factor !== 1 && !content) {
      parts.push(`${scaled(Number(((frame!.image.counts[at] * shown.factor) / area(pixels)).toPrecision(3)))}${shown.unit} per pixel`);
    }
    if (compared) parts.push(`reference ${scaled(Number(compared[at].toPrecision(3)))}${shown.unit} per pixel`);
    return parts.join("  ·  ");
  }
}

/** What the axes of a picture are called: "x", "bin", "strip". */
function letters(plan: PicturePlan): [string, string] {
  const name = (axis: Axis, letter: string) => (["strip", "wire", "blade"].includes(axis.unit) ? axis.unit : letter);
  return plan.is_map ? ["bin", plan.name[0]] : [name(plan.across, plan.plane[0]), name(plan.up, plan.plane[1])];
}

/** "x 12", "x 12 to 13", and where that is if it is known: "x 12 (−20.4 mm)". The axis begins `from` pixels before the first one. */
function coordinate(axis: Axis, letter: string, first: number, last: number, from: number): string {
  const value = (pixel: number) => Number((axis.first + (from + pixel) * axis.step).toPrecision(5));
  const where = axis.unit === "mm" || axis.unit === "ms" ? ` (${value((first + last) / 2)} ${axis.unit})` : "";
  return `${letter} ${first}${last > first ? ` to ${last}` : ""}${where}`;
}
