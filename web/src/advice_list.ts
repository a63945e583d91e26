/** What `evforge doctor` finds at the host, while nothing comes. */

import type { Advice } from "./protocol";
import { text } from "./rows";

export class AdviceList {
  private readonly holder = document.createElement("div");
  private shown = "";

  /** Its place is before `next`. */
  constructor(next: HTMLElement) {
    this.holder.id = "advice";
    this.holder.hidden = true;
    next.before(this.holder);
  }

  update(advice: Advice[]): void {
    const now = JSON.stringify(advice);
    if (now === this.shown) return;
    this.shown = now;
    this.holder.hidden = advice.length === 0;
    const list = document.createElement("ul");
    for (const { subject, found, wanted, fix } of advice) {
      const line = text("li", "", `${subject}: ${found}${wanted ? `, wanted: ${wanted}` : ""}`);
      if (fix) line.append(text("code", "", fix));
      list.append(line);
    }
    const title = "While nothing comes: evforge doctor finds on this host";
    this.holder.replaceChildren(text("h3", "", title), list);
  }
}
