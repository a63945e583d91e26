/** Asks the server for what is known besides the events, while there is anything and somebody looks. */

import type { Beam, MonitorSpectrum } from "./beam_data";

/** Milliseconds between questions, with the panel open and closed. */
const [soon, seldom] = [1000, 3000];

export class BeamFeed {
  beam: Beam | null = null;
  private isThere = false;
  private isOpen = false;
  private timer: number | undefined;
  /** Answers to questions before this one come too late. */
  private asked = 0;

  constructor(private readonly take: () => void) {
    document.addEventListener("visibilitychange", () => this.look());
  }

  /** Whether the server has anything. */
  setThere(isThere: boolean): void {
    if (isThere === this.isThere) return;
    this.isThere = isThere;
    if (!isThere) this.beam = null;
    this.look();
  }

  setOpen(isOpen: boolean): void {
    this.isOpen = isOpen;
    this.look();
  }

  /** A spectrum; null if there is none, or no answer. */
  async spectrum(name: string): Promise<MonitorSpectrum | null> {
    return ask<MonitorSpectrum>(`/api/monitor-spectrum.json?${new URLSearchParams({ name })}`);
  }

  private look(): void {
    clearTimeout(this.timer);
    const number = ++this.asked;
    if (this.isThere && !document.hidden) void this.lookOnce(number);
    else this.take();
  }

  private async lookOnce(number: number): Promise<void> {
    const beam = await ask<Beam>("/api/beam.json");
    if (number !== this.asked) return;
    if (beam) this.beam = beam;
    this.take();
    this.timer = setTimeout(() => this.look(), this.isOpen ? soon : seldom);
  }
}

async function ask<T>(path: string): Promise<T | null> {
  try {
    const response = await fetch(path, { cache: "no-store" });
    return response.ok ? ((await response.json()) as T) : null;
  } catch {
    // The top of the page says that there is no connection.
    return null;
  }
}
