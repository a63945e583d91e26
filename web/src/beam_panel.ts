/** Beam and values: pulses and their charge, the newest value of each log, the spectra of beam monitors. */

import "./beam.css";
import { fromAddress, intoAddress } from "./address";
import type { MonitorSpectrum, SpectrumState, Value } from "./beam_data";
import { BeamFeed } from "./beam_feed";
import type { Model } from "./model";
import { MonitorSpectrumChart } from "./monitor_spectrum";
import { duration, grouped, known, scaled } from "./numbers";
import { element, option, press, setField, write } from "./page_elements";
import { text } from "./rows";
import { fill } from "./table_lines";

export class BeamPanel {
  readonly feed = new BeamFeed(() => this.draw());
  private readonly panel = element<HTMLDetailsElement>("beam-panel");
  private readonly choice = element<HTMLSelectElement>("monitor-spectrum-choice");
  private readonly chart: MonitorSpectrumChart;
  /** What the drawn spectrum was made of, and whether one is on the way. */
  private spectrumOf = "";
  private isAsking = false;

  /** `openChart` shows a series in the history. */
  constructor(private readonly model: Model, private readonly openChart: (series: string) => void) {
    this.chart = new MonitorSpectrumChart(element("monitor-spectrum"), () => this.tell());
    this.panel.open = fromAddress("beam") === "open";
    this.panel.ontoggle = () => this.toggled();
    this.toggled();
    this.choice.onchange = () => {
      intoAddress("beam-monitor", this.choice.value);
      void this.drawSpectrum();
    };
    for (const isLog of [false, true]) {
      element(isLog ? "monitor-spectrum-log" : "monitor-spectrum-linear").onclick = () => {
        this.chart.isLog = isLog;
        press("monitor-spectrum-linear", !isLog);
        press("monitor-spectrum-log", isLog);
        this.chart.draw();
      };
    }
  }

  /** Looks whether there is anything. */
  update(): void {
    this.feed.setThere(this.model.status?.beam === true);
  }

  /** The spectrum that is drawn, for tests. */
  spectrum(): MonitorSpectrum | null {
    return this.chart.shown;
  }

  private toggled(): void {
    const { open } = this.panel;
    document.body.classList.toggle("beam-open", open);
    if (open !== (fromAddress("beam") === "open")) intoAddress("beam", open ? "open" : null);
    this.feed.setOpen(open);
  }

  private draw(): void {
    const { beam } = this.feed;
    const isAny = beam !== null && beam.values.length + beam.pulses.length + beam.spectra.length > 0;
    this.panel.hidden = !isAny;
    document.body.classList.toggle("beam-open", isAny && this.panel.open);
    if (!beam || !isAny) return;
    write("beam-summary", this.summary());
    if (!this.panel.open) return;
    element("pulses-part").hidden = beam.pulses.length === 0;
    element("log-values-part").hidden = beam.values.length === 0;
    element("monitor-spectrum-part").hidden = beam.spectra.length === 0;
    this.drawPulses();
    this.drawValues(beam.values);
    write("log-values-note", beam.left_out > 0 ? `${grouped(beam.left_out)} messages are left out: there are too many names` : "");
    this.offer(beam.spectra);
    void this.drawSpectrum();
  }

  private summary(): string {
    const { values, pulses, spectra } = this.feed.beam!;
    const charges = pulses.flatMap(({ charge_uah }) => (charge_uah === null ? [] : [charge_uah]));
    const said = [
      count(pulses.reduce((sum, source) => sum + source.pulses, 0), "pulse"),
      charges.length > 0 ? `${scaled(charges.reduce((sum, charge) => sum + charge, 0))}\u202fµAh` : "",
      count(values.length, "value"),
      spectra.length > 0 ? `${spectra.length} ${spectra.length === 1 ? "spectrum" : "spectra"}` : "",
    ];
    return said.filter((part) => part !== "").join(", ");
  }

  private age(time: number | undefined): string {
    if (time === undefined) return "–";
    const age = this.model.serverTime() - time;
    // Of what is days old the day says more.
    return age < 2 * 86_400_000 ? duration(age, true) : new Date(time).toISOString().slice(0, 10);
  }

  private drawPulses(): void {
    const charge = (uah: number | null) => (uah === null ? "–" : Number(uah.toPrecision(6)).toString());
    fill("pulse-table", this.feed.beam!.pulses.map((pulses) => ({
      key: pulses.source,
      head: () => text("th", "", pulses.source),
      cells: [
        grouped(pulses.pulses), known(pulses.pulses_good), charge(pulses.charge_uah), charge(pulses.charge_good_uah),
        pulses.period === null ? "–" : String(pulses.period), this.age(pulses.time_ms),
      ],
    })));
  }

  private drawValues(values: Value[]): void {
    fill("log-value-table", values.map((value) => ({
      key: `${value.series} ${value.name}`,
      head: () => {
        const head = document.createElement("th");
        const button = document.createElement("button");
        [button.type, button.textContent] = ["button", value.name];
        button.title = `Show ${value.name} in the history`;
        button.onclick = () => this.openChart(value.series);
        head.append(button);
        return head;
      },
      cells: [number(value), value.unit, this.age(value.time_ms)],
      title: about(value),
    })));
  }

  /** The names of the spectra, one of them chosen. */
  private offer(spectra: SpectrumState[]): void {
    const names = spectra.map(({ name }) => name);
    if (Array.from(this.choice.options, ({ value }) => value).join("\n") !== names.join("\n")) {
      const before = this.choice.value || (fromAddress("beam-monitor") ?? "");
      this.choice.replaceChildren(...names.map((name) => option(name, name)));
      setField(this.choice, names.includes(before) ? before : (names[0] ?? ""));
    }
  }

  private async drawSpectrum(): Promise<void> {
    const state = this.feed.beam?.spectra.find(({ name }) => name === this.choice.value);
    const key = JSON.stringify(state ?? null);
    if (key === this.spectrumOf || this.isAsking) return this.tell();
    this.isAsking = true;
    const spectrum = state && state.problem === undefined ? await this.feed.spectrum(state.name) : null;
    this.isAsking = false;
    this.spectrumOf = key;
    this.chart.show(spectrum);
    this.tell();
    // Another one was chosen meanwhile.
    if (state?.name !== this.choice.value) void this.drawSpectrum();
  }

  private tell(): void {
    const state = this.feed.beam?.spectra.find(({ name }) => name === this.choice.value);
    const block = state && state.block > 1 ? `, ${state.block} bins are added up in each` : "";
    const from = state && state.from !== "run" ? `, ${state.kind === "sum" ? "sum" : "newest"} of ${grouped(state.messages)} ${state.from}` : "";
    write("monitor-spectrum-note", state?.problem ?? `${this.chart.words()}${from}${block}`);
  }
}

function count(number: number, what: string): string {
  return number === 0 ? "" : `${grouped(number)} ${what}${number === 1 ? "" : "s"}`;
}

function number({ value }: Value): string {
  return value === null ? "–" : Number(value.toPrecision(7)).toString();
}

function about({ kind, messages, stamps_ms }: Value): string {
  const what = { value: "the newest value", sum: "the sum of all messages; its chart shows how fast it grows", rate: "per second" }[kind];
  const newest = stamps_ms?.at(-1);
  const stamp = newest === undefined ? "" : `; the newest time stamp is ${new Date(newest).toISOString()}`;
  return `${what}, of ${grouped(messages)} messages${stamp}`;
}
