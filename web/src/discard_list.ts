/** What was thrown away, by reason. Each reason opens, and then says what it means. */

import { grouped } from "./numbers";
import type { Ledger } from "./protocol";
import { text } from "./rows";

type Discard = Ledger["discarded"][number];

const kinds = ["packets", "trains", "images", "readouts", "hits", "events"];

export class DiscardList {
  private readonly holder = document.createElement("div");
  private readonly reasons = new Map<string, Reason>();
  private order = "";

  /** Its place is before `next`. */
  constructor(next: HTMLElement) {
    this.holder.id = "discards";
    next.before(this.holder);
  }

  /** Shows these. What is open stays open. */
  update(discarded: Discard[]): void {
    const key = ({ of, name }: Discard) => `${of} ${name}`;
    const known = kinds.map((kind) => discarded.filter(({ of }) => of === kind).sort((a, b) => b.count - a.count));
    const order = JSON.stringify(known.map((reasons) => reasons.map(key)));
    for (const discard of discarded) {
      if (!this.reasons.has(key(discard))) this.reasons.set(key(discard), new Reason(discard));
      this.reasons.get(key(discard))!.update(discard.count);
    }
    if (order === this.order) return;
    this.order = order;
    const parts = known.flatMap((reasons, place) => {
      if (reasons.length === 0) return [];
      const list = document.createElement("dl");
      list.append(...reasons.map((discard) => this.reasons.get(key(discard))!.row));
      return [text("h3", "", `Discarded ${kinds[place]}`), list];
    });
    // A row that is put elsewhere loses the focus.
    const focused = document.activeElement;
    this.holder.replaceChildren(...parts);
    if (focused instanceof HTMLElement && this.holder.contains(focused)) focused.focus();
  }
}

/** A reason, and the sentence that says what it means. */
class Reason {
  readonly row = document.createElement("div");
  private readonly value = document.createElement("dd");
  private readonly name = document.createElement("button");
  private readonly help: HTMLElement;

  constructor({ of, name, help }: Discard) {
    // "packets_too_short" stands under "Discarded packets": once is enough.
    const reason = name.startsWith(`${of}_`) ? name.slice(of.length + 1) : name;
    this.row.className = "minor";
    this.row.title = help;
    this.name.type = "button";
    this.name.textContent = reason.replaceAll("_", " ");
    this.name.setAttribute("aria-expanded", "false");
    this.help = text("p", "", help);
    this.help.hidden = true;
    this.name.onclick = () => {
      this.help.hidden = !this.help.hidden;
      this.name.setAttribute("aria-expanded", String(!this.help.hidden));
    };
    const term = document.createElement("dt");
    term.append(this.name, this.help);
    this.row.append(term, this.value);
  }

  update(count: number): void {
    const words = grouped(count);
    if (this.value.textContent !== words) this.value.textContent = words;
  }
}
