/** One sampled track on one plane: time against strip, larger squares for larger amplitudes. */

import { begin, boxWithin, drawAxes, type AxisScale } from "./axes";
import { onResize, onThemeChange, themeColour } from "./canvas";
import type { TrackHit } from "./monitor_data";
import { roundStep } from "./numbers";

export class TrackChart {
  private hits: TrackHit[] = [];
  private strips = "strip";
  private latest = 1;

  constructor(readonly canvas: HTMLCanvasElement) {
    onResize(canvas, () => this.draw());
    onThemeChange(() => this.draw());
  }

  /** `latest` is the time of the track's last hit on any plane, so that both planes have the same scale. */
  show(hits: TrackHit[], plane: string, latest: number): void {
    this.hits = hits;
    this.strips = `strip of ${plane}`;
    this.latest = latest;
    this.draw();
  }

  draw(): void {
    const { hits } = this;
    const { context, width, height } = begin(this.canvas);
    if (hits.length === 0) return;
    const box = boxWithin(width, height);
    const strips = hits.map(({ strip }) => strip);
    const x = axisOf(Math.min(...strips) - 1, Math.max(...strips) + 2, box.width / 50, this.strips, true);
    const y = axisOf(0, Math.max(1, this.latest) * 1.08, box.height / 34, "time (ns)", false);
    const largest = Math.max(1, ...hits.map(({ amplitude }) => amplitude));
    context.fillStyle = themeColour("--line");
    for (const { strip, time_ns, amplitude } of hits) {
      const size = 4 + 8 * Math.sqrt(amplitude / largest);
      const left = box.left + x.place(strip) * box.width;
      const top = box.top + (1 - y.place(time_ns)) * box.height;
      context.fillRect(left - size / 2, top - size / 2, size, size);
    }
    drawAxes(context, box, x, y);
  }
}

function axisOf(from: number, to: number, most: number, label: string, whole: boolean): AxisScale {
  const step = Math.max(whole ? 1 : 0, roundStep(to - from, most));
  const values: number[] = [];
  for (let value = Math.ceil(from / step) * step; value <= to; value += step) values.push(value);
  return { ticks: values, place: (value) => (value - from) / (to - from), label };
}
