/**
 * The sources: first those that have lost packets, then the others. Many of a kind of which none has lost anything are one line,
 * which opens.
 */

import { scaled } from "./numbers";
import type { Packets, Source } from "./protocol";
import { row, text } from "./rows";

/** Up to this many of a kind have a line each. */
const mostOfAKind = 6;

export class SourceList {
  private readonly holder = document.createElement("div");
  private readonly title = text("h3", "", "");
  private readonly single = document.createElement("dl");
  private readonly folds = new Map<string, Fold>();

  /** Its place is before `next`. */
  constructor(next: HTMLElement) {
    this.holder.id = "sources";
    this.holder.append(this.title, this.single);
    next.before(this.holder);
  }

  update(sources: Source[]): void {
    this.holder.hidden = sources.length === 0;
    this.title.textContent = sources.length === 1 ? "Source" : `${sources.length} sources`;
    const lossy = sources.filter(({ packets }) => lostOf(packets) > 0);
    const kinds = new Map<string, Source[]>();
    for (const source of sources.filter(({ packets }) => lostOf(packets) === 0)) {
      const kind = kindOf(source);
      kinds.set(kind, [...(kinds.get(kind) ?? []), source]);
    }
    const few = [...kinds].filter(([, members]) => members.length <= mostOfAKind).flatMap(([, members]) => members);
    this.single.replaceChildren();
    // Those with most losses first: that is what one looks for.
    for (const source of [...lossy].sort((a, b) => lostOf(b.packets) - lostOf(a.packets))) sourceRow(this.single, source);
    for (const source of few) sourceRow(this.single, source);
    const many = new Map([...kinds].filter(([, members]) => members.length > mostOfAKind));
    for (const [kind, fold] of this.folds) {
      if (many.has(kind)) continue;
      fold.remove();
      this.folds.delete(kind);
    }
    for (const [kind, members] of many) {
      if (!this.folds.has(kind)) this.folds.set(kind, new Fold(this.holder));
      this.folds.get(kind)!.update(members);
    }
  }
}

/** Sources of one kind, of which none has lost anything. It stays open while its numbers change. */
class Fold {
  private readonly details = document.createElement("details");
  private readonly summary = document.createElement("summary");
  private readonly list = document.createElement("dl");
  private members: Source[] = [];

  constructor(holder: HTMLElement) {
    this.details.append(this.summary, this.list);
    this.details.ontoggle = () => this.show();
    holder.append(this.details);
  }

  update(members: Source[]): void {
    this.members = members;
    const packets = members.reduce((sum, { packets }) => sum + packets.received, 0);
    const loss = members[0].packets.sent === null ? "lost –" : "none lost";
    const words = `${members.length} sources, ${members[0].name} … ${members.at(-1)!.name}: ${scaled(packets)}, ${loss}`;
    if (this.summary.textContent !== words) this.summary.textContent = words;
    this.show();
  }

  remove(): void {
    this.details.remove();
  }

  private show(): void {
    this.list.replaceChildren();
    if (!this.details.open) return;
    for (const source of this.members) sourceRow(this.list, source);
  }
}

function sourceRow(list: HTMLElement, source: Source): void {
  row(list, source.name, fate(source.packets), lostOf(source.packets) > 0 ? "bad" : "").title = missing(source);
}

function lostOf(packets: Packets): number {
  return packets.lost ?? packets.lost_at_least ?? 0;
}

/** What sources have in common whose names differ in numbers only: "FEC #"; and whether their loss is known. */
function kindOf({ name, packets }: Source): string {
  return `${name.replace(/\d+/g, "#")} ${packets.sent === null}`;
}

function fate(packets: Packets): string {
  const received = scaled(packets.received);
  if (packets.sent === null) return `${received}, lost –`;
  return `${received}, ${lostOf(packets) > 0 ? `lost ${scaled(lostOf(packets))}` : "none lost"}`;
}

function missing(source: Source): string {
  if (source.packets.sent === null) return "its packets have no numbers: loss cannot be seen";
  if (source.gaps.length === 0) return "no packet number is missing";
  const gaps = source.gaps.map(([first, count]) => (count === 1 ? `${first}` : `${first} to ${first + count - 1}`));
  const more = source.gaps_not_listed > 0 ? ` and ${source.gaps_not_listed} more gaps` : "";
  return `missing packet numbers: ${gaps.join(", ")}${more}`;
}
