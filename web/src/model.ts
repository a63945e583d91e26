/** What the page knows: the newest of everything, and what to leave out since the last "Clear". */

import type { Counts, Image, Picture } from "./frame";
import type { Hello, RatePoint, Status } from "./protocol";

/** Points of the rate that are kept: as many as the server keeps. */
const mostPoints = 600;

interface Baseline {
  images: Image[];
  spectrum: Counts;
  events: number;
  /** By this page's clock, milliseconds since the Unix epoch. */
  at: number;
}

export class Model {
  hello: Hello | null = null;
  status: Status | null = null;
  /** When `status` came, by `performance.now()`. */
  statusAt = 0;
  picture: Picture | null = null;
  points: RatePoint[] = [];
  /** How often the server has been restarted while this page watched, and when last (Unix milliseconds). */
  restarts = 0;
  restartedAt = 0;
  pictures = 0;
  /** When the newest picture came, in Unix milliseconds; null before the first. */
  pictureAt: number | null = null;
  private baseline: Baseline | null = null;
  private difference: Float64Array = new Float64Array(0);
  /** The images whose difference it is. */
  private differenceOf: [Image, Image] | null = null;
  private arrivals: number[] = [];

  /** Takes a greeting. A server that is not the one from before makes the page forget. */
  greet(hello: Hello): void {
    if (this.hello && this.hello.instance !== hello.instance) {
      this.restarts += 1;
      this.restartedAt = Date.now();
      this.picture = null;
      this.pictureAt = null;
      this.status = null;
      this.baseline = null;
    }
    this.hello = hello;
    this.points = hello.points;
  }

  update(status: Status, picture: Picture | null): void {
    this.status = status;
    this.statusAt = performance.now();
    this.arrivals.push(this.statusAt);
    while (this.arrivals.length > 1 && this.arrivals[0] < this.statusAt - 3000) this.arrivals.shift();
    if (picture) {
      this.picture = picture;
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

  /** Counts afresh from now on, in this page only: what has been counted is subtracted from here on. */
  clear(): void {
    if (!this.picture || !this.status) return;
    const { images, spectrum } = this.picture;
    this.baseline = { images, spectrum, events: this.status.events, at: Date.now() };
  }

  showAll(): void {
    this.baseline = null;
  }

  /** When "Clear" was pressed, in Unix milliseconds, or null if everything is shown. */
  clearedAt(): number | null {
    return this.baseline?.at ?? null;
  }

  /** The picture `which` of the greeting's list as it is to be shown. */
  shownImage(which: number): Image | null {
    const image = this.picture?.images[which];
    const before = this.baseline?.images[which];
    if (!image) return null;
    if (!before) return image;
    if (this.differenceOf?.[0] !== image || this.differenceOf[1] !== before) {
      this.difference = this.since(image.counts, before.counts);
      this.differenceOf = [image, before];
    }
    return { ...image, counts: this.difference };
  }

  private since(counts: Counts, before: Counts): Float64Array {
    return Float64Array.from(counts, (count, at) => count - before[at]);
  }

  shownSpectrum(): number[] {
    if (!this.picture) return [];
    const before = this.baseline?.spectrum;
    return Array.from(this.picture.spectrum, (count, bin) => count - (before ? before[bin] : 0));
  }

  shownEvents(): number {
    return (this.status?.events ?? 0) - (this.baseline?.events ?? 0);
  }
}
