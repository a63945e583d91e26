/** The fields and buttons of the spectrum: slice, bins, unit, flight path. */

import type { Unit } from "./looked";
import type { Model } from "./model";
import { element, press, setField, write } from "./page_elements";
import { short, type SpectrumChart } from "./spectrum_chart";
import { lacks } from "./units";
import type { View } from "./view";

export class SpectrumControls {
  private readonly from = element<HTMLInputElement>("slice-from");
  private readonly to = element<HTMLInputElement>("slice-to");
  private readonly bins = element<HTMLInputElement>("bins");
  private readonly unit = element<HTMLSelectElement>("unit");
  private readonly path = element<HTMLInputElement>("flight-path");
  private readonly angle = element<HTMLInputElement>("two-theta");

  constructor(private readonly model: Model, private readonly view: View, private readonly chart: SpectrumChart) {
    view.onChange(() => this.update());
    for (const field of [this.from, this.to]) field.onchange = () => this.takeSlice();
    element("clear-slice").onclick = () => view.change({ slice: null });
    element("slice-zoom").onclick = () => view.change({ zoom: view.looked.slice });
    element("whole-spectrum").onclick = () => view.change({ zoom: null });
    element("drag-slice").onclick = () => this.choose(false);
    element("drag-zoom").onclick = () => this.choose(true);
    element("spectrum-linear").onclick = () => view.change({ spectrumLog: false });
    element("spectrum-logarithmic").onclick = () => view.change({ spectrumLog: true });
    this.bins.onchange = () => {
      const count = Math.round(Number(this.bins.value));
      view.change({ bins: count >= 1 && count !== model.hello?.spectrum.bins ? count : null });
    };
    this.unit.onchange = () => view.change({ unit: this.unit.value as Unit });
    this.path.onchange = () => view.change({ flightPath: positive(this.path) });
    this.angle.onchange = () => view.change({ twoTheta: positive(this.angle) });
  }

  update(): void {
    const { hello, frame } = this.model;
    const { looked } = this.view;
    element("slice-controls").hidden = hello?.selections === false;
    element("spectrum-more").hidden = hello?.content !== undefined;
    const unit = this.chart.scaling();
    const ends = looked.slice?.map(unit.fromNs).sort((a, b) => a - b);
    setField(this.from, ends ? short(ends[0]) : "");
    setField(this.to, ends ? (Number.isFinite(ends[1]) ? short(ends[1]) : "") : "");
    write("slice-unit", unit.symbol);
    element("clear-slice").hidden = looked.slice === null;
    element("slice-zoom").hidden = looked.slice === null;
    element("whole-spectrum").hidden = looked.zoom === null;
    press("drag-slice", !this.chart.zooms);
    press("drag-zoom", this.chart.zooms);
    press("spectrum-linear", !looked.spectrumLog);
    press("spectrum-logarithmic", looked.spectrumLog);
    setField(this.bins, String(frame?.head.bins.count ?? looked.bins ?? hello?.spectrum.bins ?? ""));
    if (hello) this.bins.max = String(hello.limits.bins);
    setField(this.unit, looked.unit);
    element("path-choice").hidden = looked.unit === "tof";
    element("angle-choice").hidden = looked.unit !== "d";
    setField(this.path, String(this.chart.flightPath() ?? ""));
    setField(this.angle, String(this.chart.twoTheta() ?? ""));
    const missing = lacks(looked.unit, this.chart.flightPath(), this.chart.twoTheta());
    write("unit-problem", missing ? `Time of flight is shown: ${missing}.` : "");
  }

  private choose(zooms: boolean): void {
    this.chart.zooms = zooms;
    this.update();
  }

  private takeSlice(): void {
    const unit = this.chart.scaling();
    // An empty field is the end of the axis.
    const [low, high] = [this.from, this.to].map((field) => (field.value === "" ? null : Number(field.value)));
    if (low === null && high === null) return this.view.change({ slice: null });
    const longest = Math.ceil(this.model.hello?.spectrum.period_ns ?? 0);
    const at = (value: number | null, none: number) =>
      value === null ? none : Math.min(0xffffffff, Math.max(0, Math.round(unit.toNs(Math.max(0, value)))));
    const [first, last] = unit.falls ? [at(high, 0), at(low, longest)] : [at(low, 0), at(high, longest)];
    if (first < last) this.view.change({ slice: [first, last] });
    write("slice-problem", first < last ? "" : "The first value must be below the second.");
  }
}

function positive(field: HTMLInputElement): number | null {
  const value = Number(field.value);
  return value > 0 && Number.isFinite(value) ? value : null;
}
