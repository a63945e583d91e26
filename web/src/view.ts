/**
 * What this page looks at: picture, part, slice, window, regions, scales. It is kept in the address, so that a link shows
 * exactly this; looked_address.ts says how. It may begin with a view, which is then in the address with what differs from it.
 */

import { fromAddress, isSame, toAddress, viewIn } from "./looked_address";
import { nothingChosen, type Looked } from "./looked";
import type { ViewState } from "./protocol";
import { lookedOf } from "./views";

/**
 * Browsers take no more than about a hundred changes of the address in half a minute: some at once, then one in half a
 * second.
 */
const [mostAtOnce, interval] = [30, 500];

export class View {
  looked: Looked = fromAddress(location.hash, nothingChosen);
  /** The view that was chosen; null for none, and until the server has said which ones there are. */
  chosen: ViewState | null = null;
  /** What can be chosen. */
  offered: ViewState[] = [];
  /** What the chosen view shows. */
  private base: Looked = nothingChosen;
  private isOffered = false;
  private readonly listeners: (() => void)[] = [];
  /** Changes of the address that may be made at once, and when that was so. */
  private left = mostAtOnce;
  private leftAt = 0;
  private timer: number | undefined;

  constructor() {
    addEventListener("hashchange", () => {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.readAddress();
      this.tell();
    });
  }

  /** Calls `listener` whenever something else is to be looked at. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Takes the views that there are: the address may name one of them. */
  offer(views: ViewState[]): void {
    if (this.isOffered && JSON.stringify(views) === JSON.stringify(this.offered)) return;
    if (this.timer !== undefined) this.write();
    this.isOffered = true;
    this.offered = views;
    this.readAddress();
    this.tell();
  }

  /** Shows a view as it is; null for what the page shows without one. */
  choose(name: string | null): void {
    this.chosen = this.offered.find((view) => view.name === name) ?? null;
    this.base = this.chosen ? lookedOf(this.chosen) : nothingChosen;
    this.change(this.base);
  }

  /** Whether something else is looked at than the view shows. */
  isChanged(): boolean {
    return !isSame(this.looked, this.base);
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
    // Before the server has said what there is, the name in the address is not forgotten.
    const name = this.isOffered ? (this.chosen?.name ?? null) : viewIn(location.hash);
    const behind = toAddress(this.looked, location.hash, name, this.base);
    return location.origin + location.pathname + location.search + behind;
  }

  private readAddress(): void {
    const name = viewIn(location.hash);
    this.chosen = this.offered.find((view) => view.name === name) ?? null;
    this.base = this.chosen ? lookedOf(this.chosen) : nothingChosen;
    this.looked = fromAddress(location.hash, this.base);
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
