/** The list of regions: their counts, and fields for name and corners, which is how a keyboard draws them. */

import type { RegionCounts } from "./frame";
import type { ImageTools } from "./image_tools";
import type { Region } from "./looked";
import type { Model } from "./model";
import { grouped, scaled } from "./numbers";
import { element, setField } from "./page_elements";
import type { PicturePlan } from "./protocol";
import { lineOf, mostRegions, pointsFrom, pointsText } from "./regions";
import type { View } from "./view";

interface Row {
  body: HTMLTableSectionElement;
  name: HTMLInputElement;
  numbers: HTMLTableCellElement[];
  corners: HTMLInputElement;
  problem: HTMLElement;
}

export class RegionTable {
  private readonly table = element<HTMLTableElement>("region-table");
  private rows: Row[] = [];

  constructor(
    private readonly model: Model,
    private readonly view: View,
    private readonly tools: ImageTools,
    private readonly plan: () => PicturePlan | null,
  ) {
    view.onChange(() => this.update());
    element("add-rectangle").onclick = () => this.add("rectangle");
    element("add-polygon").onclick = () => this.add("polygon");
    element("remove-regions").onclick = () => view.change({ regions: [] });
  }

  update(): void {
    const shown = this.tools.shown();
    const { hello, frame } = this.model;
    element("regions").hidden = hello?.selections === false || hello === null;
    this.table.hidden = shown.length === 0;
    element("remove-regions").hidden = this.view.looked.regions.length === 0;
    const isFull = this.view.looked.regions.length >= mostRegions;
    for (const id of ["add-rectangle", "add-polygon"]) element<HTMLButtonElement>(id).disabled = isFull;
    while (this.rows.length > shown.length) this.rows.pop()!.body.remove();
    while (this.rows.length < shown.length) this.rows.push(this.makeRow(this.rows.length));
    shown.forEach(({ index, region }, at) => {
      const counted = frame?.regions.find(({ name }) => name === region.name);
      this.fill(this.rows[at], index, region, counted);
    });
    const others = this.view.looked.regions.length - shown.length;
    element("regions-note").textContent = others > 0 ? `${others} on other pictures` : "";
  }

  /** Adds a region in the middle of what is shown, to be changed by its fields. */
  private add(shape: Region["shape"]): void {
    const plan = this.plan();
    if (!plan) return;
    const { x0, y0, x1, y1 } = this.view.looked.part ?? { x0: 0, y0: 0, x1: plan.across.pixels, y1: plan.up.pixels };
    const at = (low: number, high: number, share: number) => Math.round(low + (high - low) * share);
    const [left, right] = [at(x0, x1, 0.25), Math.max(at(x0, x1, 0.25) + 1, at(x0, x1, 0.75))];
    const [low, high] = [at(y0, y1, 0.25), Math.max(at(y0, y1, 0.25) + 1, at(y0, y1, 0.75))];
    const corners: [number, number][] = [[left, low], [right, low], [(left + right) / 2, high]];
    this.tools.add(shape, shape === "rectangle" ? [[left, low], [right, high]] : corners);
    this.rows.at(-1)?.name.focus();
  }

  private fill(row: Row, index: number, region: Region, counted: RegionCounts | undefined): void {
    const { colour, dash } = lineOf(index);
    row.body.style.setProperty("--line-of-region", `var(${colour})`);
    row.body.dataset.dash = String(dash.length > 0);
    row.name.setAttribute("aria-label", `Name of ${region.name}`);
    row.corners.setAttribute("aria-label", `Corners of ${region.name}`);
    row.body.querySelector("button")!.setAttribute("aria-label", `Remove ${region.name}`);
    setField(row.name, region.name);
    setField(row.corners, pointsText(region.points));
    const texts = counted ? this.numbers(counted) : ["–", "–", "–", "–"];
    row.numbers.forEach((cell, at) => {
      if (cell.textContent !== texts[at]) cell.textContent = texts[at];
    });
    const of = counted ? `of ${grouped(counted.pixels)} pixels` : "";
    [counted?.events, counted?.all].forEach((events, at) => {
      row.numbers[at].title = events === undefined ? "" : `${grouped(events)} events ${of}`;
    });
  }

  /** Events in the slice and in all, those in the slice per second, and their share. */
  private numbers({ events, all }: RegionCounts): string[] {
    const head = this.model.frame!.head;
    const rate = head.seconds > 0 ? scaled(Number((events / head.seconds).toPrecision(3))) : "–";
    const share = head.events > 0 ? `${((100 * events) / head.events).toPrecision(3)}\u202f%` : "–";
    return [short(events), short(all), rate, share];
  }

  private makeRow(at: number): Row {
    const body = document.createElement("tbody");
    const first = body.insertRow();
    const head = document.createElement("th");
    head.scope = "row";
    const name = document.createElement("input");
    name.maxLength = 40;
    head.append(name);
    first.append(head);
    const corners = document.createElement("input");
    corners.title =
      "Corners in pixels: x,y with spaces between them. A rectangle has its lower left pixel and the one beyond its upper right.";
    const problem = document.createElement("span");
    problem.className = "problem";
    problem.setAttribute("role", "alert");
    first.insertCell().append(corners, problem);
    const numbers = Array.from({ length: 4 }, () => first.insertCell());
    const button = document.createElement("button");
    [button.type, button.textContent] = ["button", "✕"];
    button.onclick = () => this.replace(at, null);
    first.insertCell().append(button);
    this.table.append(body);
    const row = { body, name, numbers, corners, problem };
    name.onchange = () => this.rename(at, row);
    corners.onchange = () => this.reshape(at, row);
    return row;
  }

  /** Puts a region, or nothing, in the place of the one in this row. */
  private replace(at: number, region: Region | null): void {
    const index = this.tools.shown()[at]?.index;
    const regions = this.view.looked.regions.flatMap((one, number) => (number !== index ? [one] : region ? [region] : []));
    this.view.change({ regions });
  }

  private rename(at: number, row: Row): void {
    const region = this.tools.shown()[at]?.region;
    const name = row.name.value.trim();
    const isTaken = this.view.looked.regions.some((other) => other !== region && other.name === name);
    row.problem.textContent = name === "" ? "a region needs a name" : isTaken ? `there is another ${name}` : "";
    if (region && row.problem.textContent === "") this.replace(at, { ...region, name });
  }

  private reshape(at: number, row: Row): void {
    const region = this.tools.shown()[at]?.region;
    const plan = this.plan();
    if (!region || !plan) return;
    const points = pointsFrom(row.corners.value, region.shape, [plan.across.pixels, plan.up.pixels]);
    row.problem.textContent = typeof points === "string" ? points : "";
    if (typeof points !== "string") this.replace(at, { ...region, points });
  }
}

/** All digits as far as there is room for them. */
function short(value: number): string {
  return value < 1e5 ? grouped(value) : scaled(value);
}
