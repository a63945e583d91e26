/** The monitor: what the detector shows of its inside, while it is switched on. Parts without data are hidden. */

import { AmplitudeMap } from "./amplitude_map";
import { BarChart } from "./bar_chart";
import { onThemeChange } from "./canvas";
import { ChannelList } from "./channel_list";
import { Heatmap, pixelAxis } from "./heatmap";
import { sumOfSpectra, thresholdsOf, total, type Channel, type MonitorData, type Plane, type Thresholds, type TrackHit } from "./monitor_data";
import { MonitorFeed } from "./monitor_feed";
import type { Model } from "./model";
import { grouped, scaled } from "./numbers";
import { onToken, token, withoutToken } from "./token";
import { TrackChart } from "./track_chart";

export class MonitorPanel {
  readonly feed = new MonitorFeed((answer) => this.take(answer === null ? undefined : (answer.data ?? null)));
  data: MonitorData | null = null;
  readonly channels = new BarChart(
    element<HTMLCanvasElement>("channels"),
    (index) => this.tellChannel(index),
    (index) => this.choose(index),
  );
  private readonly noticed = new ChannelList((index) => this.choose(index));
  private readonly panel = element<HTMLDetailsElement>("monitor-panel");
  readonly amplitudes = new BarChart(element<HTMLCanvasElement>("amplitudes"));
  readonly maps = [0, 1].map((plane) => new AmplitudeMap(element<HTMLCanvasElement>(`map-${plane}`)));
  private readonly sizes = [0, 1].map((plane) => new BarChart(element<HTMLCanvasElement>(`sizes-${plane}`)));
  private readonly correlation = new Heatmap(element<HTMLCanvasElement>("correlation"));
  private readonly tracks = [0, 1].map((plane) => new TrackChart(element<HTMLCanvasElement>(`track-${plane}`)));
  private readonly strips = [0, 1].map((plane) => new BarChart(element<HTMLCanvasElement>(`strips-${plane}`)));
  /** The channels with readouts by their index. */
  private byIndex = new Map<number, Channel>();
  /** The channel whose amplitudes are shown; null for all together. */
  private chosen: number | null = null;
  private instance: string | null = null;

  constructor(private readonly model: Model) {
    this.panel.ontoggle = () => {
      document.body.classList.toggle("monitoring", this.panel.open);
      this.feed.setOpen(this.panel.open);
    };
    element("monitor-off").onclick = () => this.feed.switch(false);
    element("monitor-on").onclick = () => this.feed.switch(true);
    element("all-channels").onclick = () => this.choose(null);
    element("monitor-linear").onclick = () => this.setLogarithmic(false);
    element("monitor-logarithmic").onclick = () => this.setLogarithmic(true);
    onThemeChange(() => [this.correlation, ...this.maps].forEach((map) => map.draw()));
    onToken(() => this.feed.look());
    this.allow();
  }

  /** The switch works only for those who have the token. */
  private allow(): void {
    for (const id of ["monitor-on", "monitor-off"]) {
      const button = element<HTMLButtonElement>(id);
      button.disabled = token() === null;
      button.title = button.disabled ? withoutToken : "";
    }
  }

  /** Takes a greeting: another server has other monitor data, or none. */
  greet(): void {
    const { hello } = this.model;
    if (!hello || hello.instance === this.instance) return;
    this.instance = hello.instance;
    this.panel.hidden = !hello.monitor;
    this.chosen = null;
    this.feed.setOpen(hello.monitor && this.panel.open);
  }

  /** Takes an answer's data: null if there are none (yet), undefined if there was no answer. */
  private take(data: MonitorData | null | undefined): void {
    const { on, problem } = this.feed;
    this.allow();
    press("monitor-on", on);
    press("monitor-off", !on);
    const note = element("monitor-note");
    note.classList.toggle("problem", problem !== "");
    if (data !== undefined) {
      this.data = data;
      this.draw();
    }
    if (problem) note.textContent = problem;
    else if (!on && token() === null) note.textContent = `off. ${withoutToken}`;
    else if (!on) note.textContent = "off. It can be switched on while the run continues, for everybody who looks";
    else if (!this.data) note.textContent = "on, nothing collected yet";
    else note.textContent = summary(this.data);
  }

  private draw(): void {
    const { data } = this;
    this.byIndex = new Map(data?.channels.map((channel) => [channel.index, channel]));
    if (show("channels-part", data !== null && data.channels.length > 0)) this.drawChannels(data!);
    if (show("noticed-part", data !== null && data.channels.length > 0)) this.noticed.update(data!);
    this.drawAmplitudes();
    this.drawMaps();
    this.sizes.forEach((chart, plane) => {
      const clusters = data?.planes[plane];
      const any = clusters !== undefined && total(clusters.multiplicity) + total(clusters.lone_multiplicity) > 0;
      if (show(`sizes-${plane}-part`, any)) drawSizes(chart, clusters!, plane);
    });
    if (show("correlation-part", data !== null && data.correlation.some((count) => count > 0))) {
      this.drawCorrelation(data!);
    }
    this.drawTrack();
  }

  private drawChannels(data: MonitorData): void {
    const counts = new Float64Array(data.channel_count);
    for (const { index, readouts } of data.channels) counts[index] = readouts;
    this.channels.show({ counts, first: -0.5, step: 1, label: "channel, through all groups", marked: this.chosen });
  }

  private drawAmplitudes(): void {
    const { data } = this;
    const channel = this.chosen === null ? undefined : this.byIndex.get(this.chosen);
    const bins = data?.spectrum_bins ?? 0;
    const counts = channel ? channel.spectrum : sumOfSpectra(data?.channels ?? [], bins);
    // Detectors without amplitudes have no spectrum; a chosen channel keeps its place even if it is empty.
    if (!show("amplitudes-part", total(counts) > 0 || (this.chosen !== null && data !== null))) return;
    const step = 2 ** data!.amplitude_bits / bins;
    const silent = this.chosen !== null && !channel;
    const thresholds = thresholdsOf(channel ? [channel] : silent ? [] : (data?.channels ?? []));
    this.amplitudes.show({
      counts: silent ? new Float64Array(bins) : counts,
      first: 0,
      step,
      label: "amplitude (ADC)",
      lines: linesAt(thresholds),
    });
    element("amplitudes-threshold").textContent = told(thresholds);
    element("amplitudes-note").textContent =
      this.chosen === null ? "all channels" : (channel?.name ?? `channel at index ${this.chosen}`);
    element("all-channels").hidden = this.chosen === null;
  }

  /** A map for each plane; one of all channels for detectors that have none. */
  private drawMaps(): void {
    const { data } = this;
    const channels = data?.channels ?? [];
    const hasPlanes = channels.some(({ plane }) => plane !== undefined);
    this.maps.forEach((map, plane) => {
      const onPlane = hasPlanes ? channels.filter((channel) => channel.plane === plane) : plane === 0 ? channels : [];
      const shown = onPlane.some(({ spectrum }) => total(spectrum) > 0);
      if (!show(`map-${plane}-part`, shown)) return map.hide();
      const name = hasPlanes ? `, ${data!.planes[plane]?.name ?? `plane ${plane}`}` : "";
      element(`map-${plane}-title`).textContent = `Amplitude against channel${name}`;
      element(`map-${plane}-note`).textContent = told(thresholdsOf(onPlane));
      map.show(onPlane, data!);
    });
  }

  private drawCorrelation(data: MonitorData): void {
    const bins = Math.round(Math.sqrt(data.correlation.length));
    const step = 2 ** data.cluster_amplitude_bits / bins;
    const [first, second] = [0, 1].map((plane) => data.planes[plane]?.name ?? `plane ${plane}`);
    this.correlation.countsLabel = "events per bin";
    this.correlation.show({
      nx: bins,
      ny: bins,
      sums: {
        part: { x0: 0, y0: 0, x1: bins, y1: bins },
        block: { x: 1, y: 1 },
        columns: bins,
        rows: bins,
        counts: Float64Array.from(data.correlation),
      },
      factor: 1,
      panels: [],
      sideBySide: true,
      across: pixelAxis(`amplitude on ${first} (bins of ${step})`, bins),
      up: pixelAxis(`amplitude on ${second}`, bins),
    });
  }

  private drawTrack(): void {
    const { data } = this;
    const track = data?.tracks.findLast(({ hits }) => hits.length > 0);
    const latest = Math.max(0, ...(track?.hits.map(({ time_ns }) => time_ns) ?? []));
    this.tracks.forEach((chart, plane) => {
      const hits = track?.hits.filter((hit) => hit.plane === plane) ?? [];
      show(`strips-${plane}-part`, hits.length > 0);
      if (!show(`track-${plane}-part`, hits.length > 0)) return;
      const name = data?.planes[plane]?.name ?? `plane ${plane}`;
      element(`track-${plane}-title`).textContent = `Latest sampled track, ${name}`;
      element(`track-${plane}-note`).textContent = `pixel id ${track!.pixel_id}, ${grouped(hits.length)} hits`;
      chart.show(hits, name, latest);
      element(`strips-${plane}-title`).textContent = `Amplitudes of this track, ${name}`;
      drawStrips(this.strips[plane], hits, name);
    });
  }

  private choose(index: number | null): void {
    this.chosen = index;
    if (this.data) this.drawChannels(this.data);
    this.drawAmplitudes();
  }

  private tellChannel(index: number | null): void {
    const note = element("channels-note");
    if (index === null) {
      note.textContent = "point at a channel to read it, click it to see its amplitudes";
      return;
    }
    const channel = this.byIndex.get(index);
    note.textContent = `${channel?.name ?? `channel at index ${index}`}: ${grouped(channel?.readouts ?? 0)} readouts`;
  }

  private setLogarithmic(logarithmic: boolean): void {
    press("monitor-linear", !logarithmic);
    press("monitor-logarithmic", logarithmic);
    for (const chart of [this.channels, this.amplitudes, ...this.sizes, this.correlation]) {
      chart.logarithmic = logarithmic;
      chart.draw();
    }
  }
}

function summary(data: MonitorData): string {
  const readouts = data.channels.reduce((sum, channel) => sum + channel.readouts, 0);
  const heard = `${grouped(data.channels.length)} of ${grouped(data.channel_count)} channels`;
  return `on. ${scaled(readouts)} readouts in ${heard}`;
}

/** Lines of thresholds: all of a few, else the lowest and the highest. */
function linesAt(thresholds: Thresholds | null): number[] {
  const values = thresholds?.values ?? [];
  return values.length > mostLines ? [values[0], values[values.length - 1]] : values;
}

const mostLines = 6;

/** Thresholds in words, with the readouts on both sides. */
function told(thresholds: Thresholds | null): string {
  if (thresholds === null) return "no threshold";
  const { values, below, above } = thresholds;
  const [first, last] = [values[0], values[values.length - 1]].map(grouped);
  const what = values.length === 1 ? `threshold ${first}` : `thresholds ${first} to ${last}`;
  return `${what}: ${grouped(below)} readouts below, ${grouped(above)} not`;
}

/** Amplitudes of a track, added up for each strip. */
function drawStrips(chart: BarChart, hits: TrackHit[], plane: string): void {
  const strips = hits.map(({ strip }) => strip);
  const first = Math.min(...strips) - 1;
  const counts = new Float64Array(Math.max(...strips) - first + 2);
  for (const { strip, amplitude } of hits) counts[strip - first] += amplitude;
  // A bar's number stands below its middle.
  chart.show({ counts, first: first - 0.5, step: 1, label: `strip of ${plane}`, up: "amplitude (ADC)" });
}

function drawSizes(chart: BarChart, clusters: Plane, plane: number): void {
  element(`sizes-${plane}-title`).textContent = `Cluster sizes, ${clusters.name}`;
  const lone = total(clusters.lone_multiplicity);
  element(`sizes-${plane}-note`).textContent =
    lone > 0 ? `${scaled(total(clusters.multiplicity))}; in front ${scaled(lone)} without partner` : "";
  const { multiplicity, lone_multiplicity } = clusters;
  // A bar's number stands below its middle.
  const label = `hits (last: ${multiplicity.length - 1} or more)`;
  chart.show({ counts: multiplicity, front: lone_multiplicity, first: -0.5, step: 1, label });
}

function press(id: string, pressed: boolean): void {
  element(id).setAttribute("aria-pressed", String(pressed));
}

/** Shows or hides a part, and says which. */
function show(id: string, shown: boolean): boolean {
  element(id).hidden = !shown;
  return shown;
}

function element<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}
