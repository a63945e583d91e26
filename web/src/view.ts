/**
 * What this page looks at: picture, part, slice, window, regions, scales. It is kept in the address, so that a link shows
 * exactly this; address.ts says how.
 */

import { fromAddress, toAddress } from "./address";
import type { Looked } from "./looked";

export class View {
  looked: Looked = fromAddress(location.hash);
  private readonly listeners: (() => void)[] = [];

  constructor() {
    addEventListener("hashchange", () => {
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
    // Replaced, not added: "back" leaves the page and does not go through everything that was looked at.
    history.replaceState(null, "", toAddress(this.looked) || location.pathname + location.search);
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}
