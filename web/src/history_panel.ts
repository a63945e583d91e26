/**
 * The history: rates of events and packets as they come, and every series that the server keeps, over the last minute up to the
 * last 48 hours.
 */

import "./history.css";
import { HistoryChart, type Drawn } from "./history_chart";
import { HistoryChoice, mostSeries, ranges, type What, type Zoom } from "./history_choice";
import { tableOf, tableOfPoints, type Table } from "./history_data";
import { HistoryFeed, type HistoryAnswer, type SeriesInfo } from "./history_feed";
import { HistoryLegend, colourOf, spread } from "./history_legend";
import type { Model } from "./model";
import { clock, scaled } from "./numbers";
import { SeriesChoice } from "./series_choice";

/** Shortest span of time that is shown unless somebody zooms, in seconds. */
const shortest = 60;

const eventSeries = "evforge_view_events_total";
const packetSeries = "evforge_run_packets_total";
const lostSeries = "evforge_loss_known_packets";

const element = (id: string) => document.getElementById(id)!;

export class HistoryPanel {
  private readonly holder = element("rate");
  private readonly value = element("rate-value");
  private readonly said = document.createElement("p");
  private readonly span = document.createElement("select");
  private readonly whole = document.createElement("button");
  private readonly choice = new HistoryChoice();
  private readonly legend: HistoryLegend;
  private readonly feed: HistoryFeed;
  private readonly series: SeriesChoice;
  private readonly chart: HistoryChart;
  private answer: HistoryAnswer | null = null;
  private drawn: Drawn | null = null;
  private drawnOf: unknown = null;
  private instance = "";

  constructor(private readonly model: Model) {
    this.legend = new HistoryLegend(this.holder, (id) => this.show(this.choice.ids().filter((other) => other !== id)));
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
      (id) => this.choice.ids().includes(id),
      (series) => this.toggle(series),
    );
    element("rate-panel").querySelector(".controls")!.append(this.series.button, this.span, this.whole);
    this.look();
    addEventListener("hashchange", () => {
      if (this.choice.read()) this.look();
    });
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
    const isKnown = this.choice.isKnown();
    const newest = isKnown ? this.model.points : this.answer;
    if (newest !== this.drawnOf) {
      this.drawnOf = newest;
      this.drawn = isKnown ? this.ofPoints() : this.ofAnswer();
      this.chart.show(this.drawn);
    }
    this.tell();
  }

  /** Shows this series alone, and brings the chart into sight. */
  async open(id: string): Promise<void> {
    // It may have come after the list was asked for.
    await this.feed.renew();
    this.show([id]);
    element("rate-panel").scrollIntoView({ block: "nearest" });
  }

  /** What is drawn, for tests. */
  table(): Table & { step_s: number } {
    const { times = [], lines = [], lost = [] } = this.drawn ?? {};
    return { times, lines, lost, step_s: this.choice.isKnown() ? 1 : (this.answer?.step_ms ?? 0) / 1000 };
  }

  /** Says the values now, or at the cursor. What does not come in has none. */
  tell(): void {
    const { drawn } = this;
    if (!drawn) return;
    const place = this.chart.cursor();
    const at = place ?? drawn.times.length - 1;
    const isNow = place !== null || !isOver();
    const ids = this.choice.ids();
    const text = ids.length > 0 ? this.time(place) : isNow ? this.words(at, place !== null) : `– ${this.word()}/s`;
    if (this.value.textContent !== text) this.value.textContent = text;
    const values = ids.map((_, line) => (isNow ? (drawn.lines[line]?.[at] ?? null) : null));
    this.legend.update(ids, this.feed.list?.series ?? null, values);
  }

  /** "12.3 k events/s at 14:03:27 (0 … 25 k), 3 lost" */
  private words(at: number, isChosen: boolean): string {
    const { drawn } = this;
    if (!drawn || at < 0) return "";
    const value = drawn.lines[0]?.[at] ?? null;
    const when = isChosen ? ` at ${clock(drawn.times[at] * 1000)}` : "";
    const lost = drawn.lost[at] > 0 ? `, ${scaled(Math.ceil(drawn.lost[at]))} lost` : "";
    const point = this.choice.isKnown() ? this.model.points[at + this.skipped()] : undefined;
    const unknown = this.choice.what === "packets" && point && point.packets_lost === null ? ", lost –" : "";
    const mean = value === null ? "–" : scaled(Math.round(value.mean));
    return `${mean} ${this.word()}/s${when}${spread(value)}${lost}${unknown}`;
  }

  private time(place: number | null): string {
    const { zoom } = this.choice;
    if (place !== null) return `at ${clock((this.drawn?.times[place] ?? 0) * 1000)}`;
    return zoom ? `${clock(zoom.from)} to ${clock(zoom.to)}` : "";
  }

  /** Points at the beginning that are older than what is shown. */
  private skipped(): number {
    const { points } = this.model;
    const from = (points.at(-1)?.time_ms ?? 0) - this.choice.range * 1000;
    return Math.max(0, points.findIndex(({ time_ms }) => time_ms >= from));
  }

  private ofPoints(): Drawn {
    const what = this.choice.what as What;
    const table = tableOfPoints(this.model.points.slice(this.skipped()), what);
    const to = table.times.at(-1) ?? Date.now() / 1000;
    const from = Math.min(table.times[0] ?? to, to - shortest);
    return { ...table, colours: [colourOf(0), "--muted"], unit: `${what}/s`, from, to, filled: true };
  }

  private ofAnswer(): Drawn {
    const list = this.feed.list?.series ?? [];
    const lines = this.lines(list);
    const [first] = this.choice.ids();
    const isOwn = first !== undefined;
    const unit = isOwn ? (list.find(({ id }) => id === first)?.unit ?? "") : `${this.choice.what as What}/s`;
    const colours = isOwn ? lines.map((_, place) => colourOf(place)) : [colourOf(0), "--muted"];
    const answer = this.answer ?? { step_ms: 1000, from_ms: Date.now() - shortest * 1000, to_ms: Date.now(), series: [] };
    const table = tableOf(answer, lines, named(list, lostSeries));
    const [begin, to] = [answer.from_ms / 1000, answer.to_ms / 1000];
    const earliest = table.times.length > 0 ? table.times[0] - answer.step_ms / 2000 : to;
    const from = this.choice.zoom ? begin : Math.max(begin, Math.min(earliest, to - shortest));
    return { ...table, colours, unit, from, to, filled: lines.length === 1 };
  }

  /** The lines, each as the series whose sum it is. */
  private lines(list: SeriesInfo[]): string[][] {
    const { what } = this.choice;
    if (Array.isArray(what)) return what.map((id) => (list.some((series) => series.id === id) ? [id] : []));
    if (what === "events") return [named(list, eventSeries)];
    const [received, lost] = [named(list, packetSeries), named(list, lostSeries)];
    return lost.length === 0 ? [received] : [received, [...received, ...lost]];
  }

  private take(answer: HistoryAnswer | null): void {
    if (this.choice.isKnown()) return;
    if (answer) this.answer = answer;
    this.drawnOf = null;
    this.update();
  }

  /** Looks at what is chosen now. */
  private look(): void {
    const { what, range, zoom } = this.choice;
    this.answer = this.drawnOf = null;
    const points = Math.round(Math.min(1500, Math.max(300, 2 * this.holder.clientWidth)));
    const wanted = (list: SeriesInfo[]) => [...new Set([...this.lines(list).flat(), ...named(list, lostSeries)])];
    this.feed.ask(this.choice.isKnown() ? null : { wanted, span: zoom ?? { last: range * 1000 }, points });
    for (const other of ["events", "packets"]) element(`rate-${other}`).setAttribute("aria-pressed", String(what === other));
    this.span.value = String(range);
    this.whole.hidden = zoom === null;
    this.series.update();
    this.update();
  }

  private show(what: What | string[]): void {
    this.choice.show(what);
    this.look();
  }

  /** Chooses a series as well, or no longer. Those of another unit have another axis: they take the place of the others. */
  private toggle({ id, unit }: SeriesInfo): void {
    const before = this.choice.ids();
    if (before.includes(id)) return this.show(before.filter((other) => other !== id));
    const units = new Map(this.feed.list?.series.map((series) => [series.id, series.unit]));
    const same = before.filter((other) => units.get(other) === unit);
    this.show([...same, id].slice(-mostSeries));
  }

  private setZoom(zoom: Zoom | null): void {
    this.choice.setZoom(zoom);
    this.look();
  }

  /** What it shows, in the words of the run. */
  private word(): string {
    const { what } = this.choice;
    return what === "events" ? (this.model.hello?.content?.things ?? "events") : String(what);
  }

  private name(): void {
    const { content } = this.model.hello ?? {};
    const ofEvents = content ? `Rate of ${content.things}` : "Event rate";
    const { what } = this.choice;
    const title = Array.isArray(what) ? "History" : what === "events" ? ofEvents : "Packet rate";
    element("rate-title").textContent = title;
    element("rate-events").textContent = content?.things ?? "events";
  }

  private makeControls(): void {
    this.said.className = "unseen";
    this.said.setAttribute("role", "status");
    this.holder.after(this.said);
    this.span.id = "history-range";
    this.span.title = "Time that is shown";
    this.span.setAttribute("aria-label", "Time that is shown");
    for (const [seconds, words] of ranges) this.span.add(new Option(words, String(seconds)));
    this.span.onchange = () => {
      this.choice.setRange(Number(this.span.value));
      this.look();
    };
    this.whole.type = "button";
    this.whole.id = "history-all";
    this.whole.textContent = "all";
    this.whole.title = "Show the whole time again (double-click)";
    this.whole.onclick = () => this.setZoom(null);
    for (const what of ["events", "packets"] as const) element(`rate-${what}`).onclick = () => this.show(what);
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
      this.said.textContent = [this.value.textContent, this.legend.words()].filter((words) => words !== "").join("; ");
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

function named(list: SeriesInfo[], name: string): string[] {
  return list.filter((series) => series.name === name).map(({ id }) => id);
}
