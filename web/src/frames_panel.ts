/** Frames: how many are good and complete, the charge, periods and vetoes; and which of them are looked at. */

import "./frames.css";
import { fromAddress, intoAddress } from "./address";
import type { Looked } from "./looked";
import type { Model } from "./model";
import { grouped, scaled } from "./numbers";
import { element, option, setField, write } from "./page_elements";
import type { Frames } from "./protocol";
import { text } from "./rows";
import { fill } from "./table_lines";
import type { View } from "./view";

export class FramesPanel {
  private readonly panel = element<HTMLDetailsElement>("frames-panel");
  private readonly period = element<HTMLSelectElement>("frame-period");
  private readonly kind = element<HTMLSelectElement>("frame-kind");
  private readonly complete = element<HTMLInputElement>("frame-complete");

  constructor(private readonly model: Model, private readonly view: View) {
    this.panel.open = fromAddress("frame-panel") === "open";
    this.panel.ontoggle = () => {
      if (this.panel.open !== (fromAddress("frame-panel") === "open")) intoAddress("frame-panel", this.panel.open ? "open" : null);
      this.update();
    };
    this.period.onchange = () => view.change({ period: this.period.value === "" ? null : Number(this.period.value) });
    this.kind.onchange = () => view.change({ frames: this.kind.value as Looked["frames"] });
    this.complete.onchange = () => view.change({ complete: this.complete.checked });
    view.onChange(() => this.update());
  }

  /** Draws what is known now. */
  update(): void {
    const frames = this.model.status?.ledger?.frames;
    this.panel.hidden = frames === undefined;
    element("frame-choice").hidden = frames === undefined || this.model.hello?.selections !== true;
    document.body.classList.toggle("frames-open", frames !== undefined && this.panel.open);
    if (!frames) return;
    this.offer(frames);
    write("frames-summary", summary(frames));
    if (!this.panel.open) return;
    write("frames-now", now(frames));
    fill("frame-table", [line("all", frames), ...periodLines(frames)]);
    fill("frame-veto-table", frames.vetoes.map(({ bit, name, counts, frames, now }) => ({
      key: `${bit} ${name}`,
      head: () => text("th", "", name),
      cells: [grouped(frames), counts ? "yes" : "no", now ? "present" : ""],
      title: `bit ${bit}${counts ? "" : ": a frame with it is good all the same"}`,
    })));
    element("frame-vetoes-part").hidden = frames.vetoes.length === 0;
  }

  /** The periods that there are, and the one that is looked at. */
  private offer(frames: Frames): void {
    const { period, frames: kind, complete } = this.view.looked;
    const count = Math.max(frames.periods.length, period ?? 0);
    if (this.period.options.length !== count + 1) {
      const periods = Array.from({ length: count }, (_, at) => option(String(at + 1), `period ${at + 1}`));
      this.period.replaceChildren(option("", "all periods"), ...periods);
    }
    setField(this.period, period === null ? "" : String(period));
    setField(this.kind, kind);
    this.complete.checked = complete;
  }
}

function summary({ raw, good, charge_good_uah, period, live_fraction }: Frames): string {
  const said = [
    `${grouped(good)} good of ${grouped(raw)}`,
    charge_good_uah > 0 ? `${charge(charge_good_uah)}\u202fµAh` : "",
    period === null ? "" : `period ${period}`,
    live_fraction === null ? "" : `live ${share(live_fraction)}`,
  ];
  return said.filter((part) => part !== "").join(", ");
}

function now({ complete, incomplete, late, unknown, live_fraction, period, is_good, vetoes }: Frames): string {
  const compared = live_fraction === null
    ? "Not known whether frames are complete"
    : `${grouped(complete)} complete, ${grouped(incomplete)} incomplete, ${grouped(late)} late: live ${share(live_fraction)}`;
  const present = vetoes.filter((veto) => veto.now).map(({ name }) => name);
  const newest = is_good === null ? "" : `newest frame: ${period === null ? "no period told" : `period ${period}`}, ${
    present.length > 0 ? `vetoes ${present.join(", ")}` : "no veto"}${present.length > 0 && is_good ? " (good all the same)" : ""}`;
  const more = live_fraction !== null && unknown > 0 ? `${grouped(unknown)} not compared` : "";
  return [compared, more, newest].filter((part) => part !== "").join(" · ");
}

interface Sums {
  raw: number;
  good: number;
  charge_good_uah: number;
  events_good: number;
}

function line(name: string, { raw, good, charge_good_uah, events_good }: Sums) {
  return {
    key: name,
    head: () => text("th", "", name),
    cells: [grouped(raw), grouped(good), charge(charge_good_uah), scaled(events_good)],
  };
}

/** Nothing of a single period: it is all there is. */
function periodLines({ periods }: Frames) {
  return periods.length > 1 ? periods.map((sums, at) => line(`period ${at + 1}`, sums)) : [];
}

function charge(uah: number): string {
  return Number(uah.toPrecision(6)).toString();
}

function share(live: number): string {
  return `${(live * 100).toFixed(live > 0.9999 && live < 1 ? 4 : 2)}\u202f%`;
}
