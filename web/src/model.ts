/** What the page knows: the newest of everything that the server said. What to look at is in view.ts. */

import type { Frame } from "./frame";
import type { Hello, PicturePlan, RatePoint, Status } from "./protocol";

/** Points of the rate that are kept: as many as the server keeps. */
const mostPoints = 600;

export class Model {
  hello: Hello | null = null;
  status: Status | null = null;
  /** When `status` came, by `performance.now()`. */
  statusAt = 0;
  frame: Frame | null = null;
  /** Number of the looks that `frame` is one of. */
  frameOf = 0;
  /** The newest frames of pictures next to the large one, by their names. */
  further = new Map<string, Frame>();
  points: RatePoint[] = [];
  /** How often the server has been restarted while this page watched, and when last (Unix milliseconds). */
  restarts = 0;
  restartedAt = 0;
  /** Frames since the page was loaded. */
  pictures = 0;
  /** When the newest frame came, in Unix milliseconds; null before the first. */
  pictureAt: number | null = null;
  private arrivals: number[] = [];

  /** Takes a greeting. A server that is not the one from before makes the page forget; true if so. */
  greet(hello: Hello): boolean {
    const restarted = this.hello !== null && this.hello.instance !== hello.instance;
    if (restarted) {
      this.restarts += 1;
      this.restartedAt = Date.now();
      this.frame = null;
      this.further.clear();
      this.pictureAt = null;
      this.status = null;
    }
    this.hello = hello;
    this.points = hello.points;
    return restarted;
  }

  update(status: Status, frames: Map<number, Frame>): void {
    this.status = status;
    this.statusAt = performance.now();
    this.arrivals.push(this.statusAt);
    while (this.arrivals.length > 1 && this.arrivals[0] < this.statusAt - 3000) this.arrivals.shift();
    // Number 0 is what a browser has that has said nothing yet: not what this page wants to see.
    if (status.wanted > 0) {
      for (const [place, frame] of frames) if (place > 0) this.further.set(frame.head.picture, frame);
    }
    const frame = frames.get(0);
    if (frame && status.wanted > 0) {
      this.frame = frame;
      this.frameOf = status.wanted;
      this.pictures += 1;
      this.pictureAt = Date.now();
    }
    if (status.points.length > 0) this.points = [...this.points, ...status.points].slice(-mostPoints);
  }

  /** Updates per second over the last three seconds. */
  updatesPerSecond(): number {
    const first = this.arrivals[0];
    const span = this.statusAt - first;
    return span > 0 ? ((this.arrivals.length - 1) * 1000) / span : 0;
  }

  /** The time now by the server's clock, in Unix milliseconds. */
  serverTime(): number {
    return this.status ? Math.round(this.status.time_ms + performance.now() - this.statusAt) : Date.now();
  }

  /** The picture that the newest frame shows. */
  framePlan(): PicturePlan | null {
    return this.hello?.pictures.find(({ name }) => name === this.frame?.head.picture) ?? null;
  }

  /** Events in the window, whatever the slice. */
  shownEvents(): number {
    return this.frame?.head.all ?? 0;
  }

  /** The share of the packets that has come since the start; null where nobody can know it. */
  liveFraction(): number | null {
    const packets = this.status?.ledger?.packets;
    if (!packets || packets.lost === null || packets.received === 0) return null;
    return packets.received / (packets.received + packets.lost);
  }
}
