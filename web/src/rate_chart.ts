/** Events, or packets, per second over the last ten minutes. Seconds in which packets were lost are marked in red. */

import uPlot from "uplot";
import { themeColour } from "./canvas";
import { axis, makeChart, stroke } from "./chart";
import type { Model } from "./model";
import { clock, scaled } from "./numbers";
import type { RatePoint } from "./protocol";

/** Shortest span of time that is shown, in seconds. */
const shortest = 60;

type What = "events" | "packets";

export class RateChart {
  private readonly chart: uPlot;
  private readonly value = document.getElementById("rate-value")!;
  private readonly title = document.getElementById("rate-title")!;
  private what: What = "events";
  private lost: number[] = [];
  private drawn: unknown = null;

  constructor(private readonly model: Model) {
    const line = (colour: string, fill?: string) =>
      ({ stroke: stroke(colour), width: 1.5, points: { show: false }, ...(fill ? { fill: stroke(fill) } : {}) });
    this.chart = makeChart(
      document.getElementById("rate")!,
      {
        scales: {
          x: { time: true, range: (_, low, high) => [Math.min(low, high - shortest), high] },
          y: { range: (_, __, high) => [0, high > 0 ? high * 1.08 : 1] },
        },
        axes: [axis("time of day", { values: timeLabels, space: 70, size: 24 }), axis("per second", { size: 46 })],
        series: [{}, line("--line", "--line-fill"), line("--muted")],
        cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
        hooks: { draw: [(chart) => this.markLosses(chart)], setCursor: [() => this.tell()] },
      },
      [[], [], []],
    );
    for (const what of ["events", "packets"] as const) {
      document.getElementById(`rate-${what}`)!.onclick = () => this.choose(what);
    }
  }

  update(): void {
    const { points } = this.model;
    this.name();
    if (points !== this.drawn) {
      this.drawn = points;
      this.lost = points.map((point) => point.packets_lost ?? 0);
      // Of packets those received, and above them those sent, where that is known.
      const values = points.map((p) => (this.what === "events" ? p.events_per_second : p.packets_received));
      const sent = points.map((p) => (this.what === "events" ? null : sentIn(p)));
      this.chart.setData([points.map((p) => p.time_ms / 1000), values, sent]);
    }
    this.tell();
  }

  /** Says the rate now, or at the cursor. What does not come in has none. */
  tell(): void {
    const { points } = this.model;
    // uPlot calls while it is being made.
    const index = this.chart?.cursor.idx;
    const chosen = index !== null && index !== undefined ? points[index] : undefined;
    const point = chosen ?? points.at(-1);
    const text = !chosen && !isNow() ? `– ${this.word()}/s` : point ? this.words(point, chosen !== undefined) : "";
    if (this.value.textContent !== text) this.value.textContent = text;
  }

  private words(point: RatePoint, isChosen: boolean): string {
    const rate = this.what === "events" ? point.events_per_second : point.packets_received;
    const at = isChosen ? ` at ${clock(point.time_ms)}` : "";
    const lost = point.packets_lost ? `, ${scaled(point.packets_lost)} lost` : "";
    const unknown = this.what === "packets" && point.packets_lost === null ? ", lost –" : "";
    return `${rate === null ? "–" : scaled(Math.round(rate))} ${this.word()}/s${at}${lost}${unknown}`;
  }

  /** What it shows, in the words of the run. */
  private word(): string {
    return this.what === "events" ? (this.model.hello?.content?.things ?? "events") : this.what;
  }

  private name(): void {
    const { content } = this.model.hello ?? {};
    const ofEvents = content ? `Rate of ${content.things}` : "Event rate";
    this.title.textContent = this.what === "events" ? ofEvents : "Packet rate";
    document.getElementById("rate-events")!.textContent = content?.things ?? "events";
  }

  private choose(what: What): void {
    this.what = what;
    for (const other of ["events", "packets"]) {
      document.getElementById(`rate-${other}`)!.setAttribute("aria-pressed", String(other === what));
    }
    this.drawn = null;
    this.update();
  }

  private markLosses(chart: uPlot): void {
    const { ctx, bbox } = chart;
    ctx.save();
    ctx.fillStyle = themeColour("--bad");
    const width = Math.max(2, Math.round(2 * devicePixelRatio));
    this.lost.forEach((count, index) => {
      if (count === 0) return;
      const at = chart.valToPos(chart.data[0][index], "x", true);
      ctx.fillRect(Math.round(at - width / 2), bbox.top + bbox.height - 8 * devicePixelRatio, width, 8 * devicePixelRatio);
    });
    ctx.restore();
  }
}

/** True while the newest point is one of now: a page without a connection, and a run that is over, have no rate. */
function isNow(): boolean {
  return !["disconnected", "ended", "connecting"].includes(document.body.dataset.feed ?? "");
}

/** Packets sent in the second of a point; null where nobody knows. */
function sentIn({ packets_received, packets_lost }: RatePoint): number | null {
  return packets_received === null || packets_lost === null ? null : packets_received + packets_lost;
}

function timeLabels(_: uPlot, values: number[]): string[] {
  const seconds = values.length > 1 && values[1] - values[0] < 60;
  return values.map((value) => clock(value * 1000).slice(0, seconds ? 8 : 5));
}
