/**
 * What this page looks at: picture, part, slice, window, regions, scales. It is kept in the address, so that a link shows
 * exactly this; looked_address.ts says how.
 */

import { fromAddress, toAddress } from "./looked_address";
import type { Looked } from "./looked";

/**
 * Browsers take no more than about a hundred changes of the address in half a minute: some at once, then one in half a
 * second.
 */
const [mostAtOnce, interval] = [30, 500];

export class View {
  looked: Looked = fromAddress(location.hash);
  private readonly listeners: (() => void)[] = [];
  /** Changes of the address that may be made at once, and when that was so. */
  private left = mostAtOnce;
  private leftAt = 0;
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
    const now = performance.now();
    this.left = Math.min(mostAtOnce, this.left + (now - this.leftAt) / interval);
    this.leftAt = now;
    if (this.left >= 1) this.write();
    else this.timer ??= setTimeout(() => this.write(), interval);
    this.tell();
  }

  /** The address of a page that shows exactly this. */
  link(): string {
    return location.origin + location.pathname + location.search + toAddress(this.looked, location.hash);
  }

  private write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.left -= 1;
    // Replaced, not added: "back" leaves the page and does not go through everything that was looked at.
    history.replaceState(null, "", this.link());
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
