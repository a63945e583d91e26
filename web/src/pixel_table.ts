/** The picture as a table of sums over coarse blocks, for those who hear the page: made only while it is open. */

import { pixelsOf } from "./cells";
import type { Model } from "./model";
import { grouped } from "./numbers";
import { element } from "./page_elements";

/** Most blocks along an axis, and where there is little room. */
const [most, few] = [8, 4];

export class PixelTable {
  private readonly details = element<HTMLDetailsElement>("values");
  private readonly table = element<HTMLTableElement>("value-table");

  constructor(private readonly model: Model) {
    this.details.ontoggle = () => this.update();
  }

  update(): void {
    const { frame } = this.model;
    if (!this.details.open || !frame) return;
    const { image } = frame;
    const wide = this.details.clientWidth < 480 ? few : most;
    const [across, up] = [Math.min(wide, image.columns), Math.min(most, image.rows)];
    const sums = Array.from({ length: up }, () => new Float64Array(across));
    for (let row = 0; row < image.rows; row++) {
      const to = sums[Math.floor((row * up) / image.rows)];
      for (let column = 0; column < image.columns; column++) {
        to[Math.floor((column * across) / image.columns)] += image.counts[row * image.columns + column];
      }
    }
    const span = (number: number, of: number, cells: number, low: "x0" | "y0", high: "x1" | "y1") => {
      const first = Math.ceil((number * cells) / of);
      const last = Math.ceil(((number + 1) * cells) / of) - 1;
      const of2 = (cell: number) => (low === "x0" ? pixelsOf(image, cell, 0) : pixelsOf(image, 0, cell));
      const [from, to] = [of2(first)[low], of2(last)[high] - 1];
      return from === to ? `${from}` : `${from}–${to}`;
    };
    const head = row("th", ["y \\ x", ...Array.from({ length: across }, (_, at) => span(at, across, image.columns, "x0", "x1"))]);
    const body = sums
      .map((values, at) => row("td", [span(at, up, image.rows, "y0", "y1"), ...Array.from(values, grouped)]))
      .reverse();
    this.table.tHead!.replaceChildren(head);
    this.table.tBodies[0].replaceChildren(...body);
  }
}

function row(tag: "th" | "td", texts: string[]): HTMLTableRowElement {
  const made = document.createElement("tr");
  texts.forEach((text, at) => {
    const cell = document.createElement(at === 0 ? "th" : tag);
    if (cell.tagName === "TH") cell.setAttribute("scope", tag === "th" ? "col" : "row");
    cell.textContent = text;
    made.append(cell);
  });
  return made;
}
