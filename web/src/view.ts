/**
 * What this page looks at: picture, part, slice, window, regions, scales. It is kept in the address, so that a link shows
 * exactly this; address.ts says how.
 */

import { fromAddress, toAddress } from "./address";
import type { Looked } from "./looked";

/** Milliseconds between two changes of the address: browsers do not take more than a few a second. */
const interval = 300;

export class View {
  looked: Looked = fromAddress(location.hash);
  private readonly listeners: (() => void)[] = [];
  private writtenAt = -interval;
  private timer: number | undefined;

  constructor() {
    addEventListener("hashchange", () => {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.looked = fromAddress(location.hash);
      this.tell();
    });
  }

  /** Calls `listener` whenever something else is to be looked at. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  change(some: Partial<Looked>): void {
    this.looked = { ...this.looked, ...some };
    const wait = this.writtenAt + interval - performance.now();
    if (wait <= 0) this.write();
    else this.timer ??= setTimeout(() => this.write(), wait);
    this.tell();
  }

  /** The address of a page that shows exactly this. */
  link(): string {
    return location.origin + location.pathname + location.search + toAddress(this.looked);
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.writtenAt = performance.now();
    // Replaced, not added: "back" leaves the page and does not go through everything that was looked at.
    history.replaceState(null, "", this.link());
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
