/**
 * The history: rates of events and packets as they come, and every series that the server keeps, over the last minute up to the
 * last 48 hours. What is chosen is in the address.
 */

import "./history.css";
import { fromAddress, intoAddress } from "./address";
import { HistoryChart, mostLines, type Drawn } from "./history_chart";
import { tableOf, tableOfPoints, type Table, type Value } from "./history_data";
import { HistoryFeed, type HistoryAnswer, type SeriesInfo } from "./history_feed";
import type { Model } from "./model";
import { clock, scaled } from "./numbers";
import { SeriesChoice } from "./series_choice";

/** Shortest span of time that is shown unless somebody zooms, in seconds. */
const shortest = 60;
/** Seconds of rates that the page has without asking. */
const known = 600;
/** The spans that are offered, in seconds. */
const ranges: [number, string][] = [[60, "1 min"], [600, "10 min"], [3600, "1 h"], [21_600, "6 h"], [172_800, "48 h"]];

const eventSeries = "evforge_view_events_total";
const packetSeries = "evforge_run_packets_total";
const lostSeries = "evforge_loss_known_packets";

type What = "events" | "packets";

/** What is shown: events, packets, or series by their ids. */
type Choice = What | string[];

const element = (id: string) => document.getElementById(id)!;

export class HistoryPanel {
  private readonly holder = element("rate");
  private readonly value = element("rate-value");
  private readonly legend = document.createElement("ul");
  private readonly said = document.createElement("p");
  private readonly span = document.createElement("select");
  private readonly whole = document.createElement("button");
  private readonly feed: HistoryFeed;
  private readonly series: SeriesChoice;
  private readonly chart: HistoryChart;
  private choice: Choice = "events";
  private range = known;
  private zoom: { from: number; to: number } | null = null;
  private answer: HistoryAnswer | null = null;
  private drawn: Drawn | null = null;
  private drawnOf: unknown = null;
  private instance = "";

  constructor(private readonly model: Model) {
    this.makeControls();
    this.feed = new HistoryFeed((answer) => this.take(answer));
    this.chart = new HistoryChart(this.holder, {
      moved: () => this.tell(),
      zoomed: (from, to) => this.setZoom({ from: from * 1000, to: to * 1000 }),
      all: () => this.setZoom(null),
    });
    this.series = new SeriesChoice(
      element("rate-panel"),
      async () => (await this.feed.renew())?.series ?? [],
      (id) => Array.isArray(this.choice) && this.choice.includes(id),
      (series) => this.toggle(series),
    );
    element("rate-panel").querySelector(".controls")!.append(this.series.button, this.span, this.whole);
    this.fromAddress();
    addEventListener("hashchange", () => this.fromAddress());
  }

  /** Another run has another history. */
  greet(): void {
    const { instance = "" } = this.model.hello ?? {};
    if (instance === this.instance) return;
    this.instance = instance;
    this.answer = null;
    this.feed.forget();
    this.update();
  }

  update(): void {
    this.name();
    const newest = this.isKnown() ? this.model.points : this.answer;
    if (newest !== this.drawnOf) {
      this.drawnOf = newest;
      this.drawn = this.isKnown() ? this.ofPoints() : this.ofAnswer();
      this.chart.show(this.drawn);
    }
    this.tell();
  }

  /** What is drawn, for tests. */
  table(): Table & { step_s: number } {
    const { times = [], lines = [], lost = [] } = this.drawn ?? {};
    return { times, lines, lost, step_s: this.isKnown() ? 1 : (this.answer?.step_ms ?? 0) / 1000 };
  }

  /** Says the values now, or at the cursor. What does not come in has none. */
  tell(): void {
    if (!this.drawn) return;
    const place = this.chart.cursor();
    const at = place ?? this.drawn.times.length - 1;
    const isNow = place !== null || !isOver();
    const text = Array.isArray(this.choice) ? this.time(place) : isNow ? this.words(at, place !== null) : `– ${this.word()}/s`;
    if (this.value.textContent !== text) this.value.textContent = text;
    this.fillLegend(at, isNow);
  }

  /** "12.3 k events/s at 14:03:27 (0 … 25 k), 3 lost" */
  private words(at: number, isChosen: boolean): string {
    const { drawn } = this;
    if (!drawn || at < 0) return "";
    const value = drawn.lines[0]?.[at] ?? null;
    const when = isChosen ? ` at ${clock(drawn.times[at] * 1000)}` : "";
    const lost = drawn.lost[at] > 0 ? `, ${scaled(Math.round(drawn.lost[at]))} lost` : "";
    const point = this.isKnown() ? this.model.points[at + this.skipped()] : undefined;
    const unknown = this.choice === "packets" && point && point.packets_lost === null ? ", lost –" : "";
    const mean = value === null ? "–" : scaled(Math.round(value.mean));
    return `${mean} ${this.word()}/s${when}${spread(value)}${lost}${unknown}`;
  }

  private time(place: number | null): string {
    const zoomed = this.zoom ? `${clock(this.zoom.from)} to ${clock(this.zoom.to)}` : "";
    return place === null ? zoomed : `at ${clock((this.drawn?.times[place] ?? 0) * 1000)}`;
  }

  /** A line for each series, with its colour, its value, and a way to leave it out. */
  private fillLegend(at: number, isNow: boolean): void {
    const ids = Array.isArray(this.choice) ? this.choice : [];
    this.legend.hidden = ids.length === 0;
    if (this.legend.children.length !== ids.length || ids.some((id, place) => (this.legend.children[place] as HTMLElement).dataset.series !== id)) {
      this.legend.replaceChildren(...ids.map((id, place) => this.entry(id, place)));
    }
    ids.forEach((id, place) => {
      const info = this.feed.list?.series.find((series) => series.id === id);
      const value = isNow ? (this.drawn?.lines[place]?.[at] ?? null) : null;
      const unit = info?.unit ? `\u202f${info.unit}` : "";
      const text = value === null ? (info || !this.feed.list ? "–" : "not here") : `${scaled(value.mean)}${unit}${spread(value)}`;
      const [, title, shown] = this.legend.children[place].children;
      if (title.textContent !== (info?.title ?? id)) title.textContent = info?.title ?? id;
      (title as HTMLElement).title = info?.help ?? "";
      if (shown.textContent !== text) shown.textContent = text;
    });
  }

  private entry(id: string, place: number): HTMLElement {
    const entry = document.createElement("li");
    entry.dataset.series = id;
    const [colour, title, value] = ["colour", "title", "value"].map((name) => {
      const part = document.createElement("span");
      part.className = name;
      return part;
    });
    colour.style.background = `var(${colourOf(place)})`;
    const away = document.createElement("button");
    away.type = "button";
    away.textContent = "×";
    away.setAttribute("aria-label", `Leave out ${id}`);
    away.onclick = () => this.choose((this.choice as string[]).filter((other) => other !== id));
    entry.append(colour, title, value, away);
    return entry;
  }

  /** True if the page has what is to be shown without asking. */
  private isKnown(): boolean {
    return !Array.isArray(this.choice) && this.range <= known && this.zoom === null;
  }

  /** Points at the beginning that are older than what is shown. */
  private skipped(): number {
    const { points } = this.model;
    const from = (points.at(-1)?.time_ms ?? 0) - this.range * 1000;
    const first = points.findIndex(({ time_ms }) => time_ms >= from);
    return Math.max(0, first);
  }

  private ofPoints(): Drawn {
    const what = this.choice as What;
    const table = tableOfPoints(this.model.points.slice(this.skipped()), what);
    const to = table.times.at(-1) ?? Date.now() / 1000;
    const from = Math.min(table.times[0] ?? to, to - shortest);
    return { ...table, colours: [colourOf(0), "--muted"], unit: `${what}/s`, from, to, filled: true };
  }

  private ofAnswer(): Drawn {
    const list = this.feed.list?.series ?? [];
    const lines = this.lines(list);
    const isOwn = Array.isArray(this.choice);
    const unit = isOwn ? (list.find(({ id }) => id === this.choice[0])?.unit ?? "") : `${this.choice as What}/s`;
    const colours = isOwn ? lines.map((_, place) => colourOf(place)) : [colourOf(0), "--muted"];
    const answer = this.answer ?? { step_ms: 1000, from_ms: Date.now() - shortest * 1000, to_ms: Date.now(), series: [] };
    const table = tableOf(answer, lines, named(list, lostSeries));
    const to = answer.to_ms / 1000;
    const first = table.times.length > 0 ? table.times[0] - answer.step_ms / 2000 : to;
    const from = this.zoom ? answer.from_ms / 1000 : Math.max(answer.from_ms / 1000, Math.min(first, to - shortest));
    return { ...table, colours, unit, from, to, filled: lines.length === 1 };
  }

  /** The lines, each as the series whose sum it is. */
  private lines(list: SeriesInfo[]): string[][] {
    if (Array.isArray(this.choice)) return this.choice.map((id) => (list.some((series) => series.id === id) ? [id] : []));
    if (this.choice === "events") return [named(list, eventSeries)];
    const [received, lost] = [named(list, packetSeries), named(list, lostSeries)];
    return lost.length === 0 ? [received] : [received, [...received, ...lost]];
  }

  private take(answer: HistoryAnswer | null): void {
    if (this.isKnown()) return;
    if (answer) this.answer = answer;
    this.drawnOf = null;
    this.update();
  }

  private look(): void {
    this.drawnOf = null;
    this.whole.hidden = this.zoom === null;
    this.legend.hidden = !Array.isArray(this.choice);
    const span = this.zoom ?? { last: this.range * 1000 };
    const points = Math.round(Math.min(1500, Math.max(300, 2 * this.holder.clientWidth)));
    const wanted = (list: SeriesInfo[]) => [...new Set([...this.lines(list).flat(), ...named(list, lostSeries)])];
    this.answer = null;
    this.feed.ask(this.isKnown() ? null : { wanted, span, points });
    for (const what of ["events", "packets"]) element(`rate-${what}`).setAttribute("aria-pressed", String(this.choice === what));
    this.span.value = String(this.range);
    this.series.update();
    this.update();
  }

  private choose(choice: Choice): void {
    this.choice = Array.isArray(choice) && choice.length === 0 ? "events" : choice;
    const ids = Array.isArray(this.choice) ? this.choice.map(encodeURIComponent).join(" ") : this.choice;
    intoAddress("history", ids === "events" ? null : ids);
    this.look();
  }

  /** Chooses a series as well, or no longer. Those of another unit have another axis: they take the place of the others. */
  private toggle({ id, unit }: SeriesInfo): void {
    const before = Array.isArray(this.choice) ? this.choice : [];
    if (before.includes(id)) return this.choose(before.filter((other) => other !== id));
    const units = new Map(this.feed.list?.series.map((series) => [series.id, series.unit]));
    const same = before.filter((other) => units.get(other) === unit);
    this.choose([...same, id].slice(-mostLines));
  }

  private setRange(range: number): void {
    [this.range, this.zoom] = [range, null];
    intoAddress("zoom", null);
    intoAddress("range", range === known ? null : String(range));
    this.look();
  }

  private setZoom(zoom: { from: number; to: number } | null): void {
    // A second is the finest that there is.
    if (zoom && zoom.to - zoom.from < 4000) {
      const middle = (zoom.from + zoom.to) / 2;
      zoom = { from: middle - 2000, to: middle + 2000 };
    }
    this.zoom = zoom && { from: Math.round(zoom.from), to: Math.round(zoom.to) };
    intoAddress("zoom", this.zoom && `${this.zoom.from}-${this.zoom.to}`);
    this.look();
  }

  private fromAddress(): void {
    const history = fromAddress("history") ?? "events";
    const range = Number(fromAddress("range"));
    const zoom = /^(\d{1,15})-(\d{1,15})$/.exec(fromAddress("zoom") ?? "");
    const before = JSON.stringify([this.choice, this.range, this.zoom]);
    this.choice = history === "events" || history === "packets" ? history : history.split(" ").map(decoded).slice(0, mostLines);
    this.range = ranges.some(([seconds]) => seconds === range) ? range : known;
    this.zoom = zoom && Number(zoom[1]) < Number(zoom[2]) ? { from: Number(zoom[1]), to: Number(zoom[2]) } : null;
    if (JSON.stringify([this.choice, this.range, this.zoom]) !== before) this.look();
  }

  /** What it shows, in the words of the run. */
  private word(): string {
    return this.choice === "events" ? (this.model.hello?.content?.things ?? "events") : String(this.choice);
  }

  private name(): void {
    const { content } = this.model.hello ?? {};
    const ofEvents = content ? `Rate of ${content.things}` : "Event rate";
    const title = Array.isArray(this.choice) ? "History" : this.choice === "events" ? ofEvents : "Packet rate";
    element("rate-title").textContent = title;
    element("rate-events").textContent = content?.things ?? "events";
  }

  private makeControls(): void {
    this.legend.id = "history-legend";
    this.legend.hidden = true;
    this.said.className = "unseen";
    this.said.setAttribute("role", "status");
    this.holder.before(this.legend);
    this.holder.after(this.said);
    this.span.id = "history-range";
    this.span.title = "Time that is shown";
    this.span.setAttribute("aria-label", "Time that is shown");
    for (const [seconds, words] of ranges) this.span.add(new Option(words, String(seconds)));
    this.span.value = String(known);
    this.span.onchange = () => this.setRange(Number(this.span.value));
    this.whole.type = "button";
    this.whole.id = "history-all";
    this.whole.textContent = "all";
    this.whole.title = "Show the whole time again (double-click)";
    this.whole.hidden = true;
    this.whole.onclick = () => this.setZoom(null);
    for (const what of ["events", "packets"] as const) element(`rate-${what}`).onclick = () => this.choose(what);
    this.holder.tabIndex = 0;
    this.holder.setAttribute("role", "application");
    this.holder.setAttribute("aria-label", "Chart over time: arrow keys read values, + and - zoom, 0 shows all");
    this.holder.onkeydown = (event) => this.key(event);
  }

  private key(event: KeyboardEvent): void {
    const drawn = this.drawn;
    if (!drawn || event.ctrlKey || event.altKey || event.metaKey) return;
    const [last, at] = [drawn.times.length - 1, this.chart.cursor()];
    const moves: Record<string, number> = {
      ArrowLeft: (at ?? last + 1) - 1,
      ArrowRight: (at ?? last - 1) + 1,
      PageUp: (at ?? last) - 10,
      PageDown: (at ?? last) + 10,
      Home: 0,
      End: last,
    };
    if (event.key in moves) {
      this.chart.point(moves[event.key]);
      this.tell();
      this.said.textContent = [this.value.textContent, ...Array.from(this.legend.children, (line) => line.textContent)].join("; ");
    } else if (event.key === "+" || event.key === "-") {
      const middle = at === null ? (drawn.from + drawn.to) / 2 : drawn.times[at];
      const half = ((drawn.to - drawn.from) / 2) * (event.key === "+" ? 0.5 : 2);
      this.setZoom({ from: (middle - half) * 1000, to: Math.min(middle + half, Date.now() / 1000) * 1000 });
    } else if (event.key === "0" || event.key === "Escape") this.setZoom(null);
    else return;
    event.preventDefault();
  }
}

/** True if nothing on the page is of now: without a connection, and when a run is over. */
function isOver(): boolean {
  return ["disconnected", "ended", "connecting"].includes(document.body.dataset.feed ?? "");
}

/** " (0 … 25 k)", where a step had more than one value. */
function spread(value: Value): string {
  return value === null || value.min === value.max ? "" : ` (${scaled(rounded(value.min))} … ${scaled(rounded(value.max))})`;
}

function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : value;
}

function named(list: SeriesInfo[], name: string): string[] {
  return list.filter((series) => series.name === name).map(({ id }) => id);
}

function colourOf(place: number): string {
  return `--series-${place}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
