/** The line at the top: who, whether data come in, how old they are; and what needs attention. */

import { Banner } from "./banner";
import type { Connection } from "./connection";
import { feedOf, type ShownFeed } from "./feed";
import type { Model } from "./model";
import { clock, duration } from "./numbers";
import { Signs } from "./signs";

/** How long a restart of the server is shown, in milliseconds. */
const toldFor = 20_000;

export class Header {
  private readonly banner = new Banner();
  private readonly signs: Signs;
  private notices = "";
  private announced = "";

  constructor(private readonly model: Model, private readonly connection: Connection) {
    this.signs = new Signs(model);
  }

  update(): void {
    const { hello } = this.model;
    const feed = this.feed();
    if (hello) {
      set("title", hello.title);
      const title = feed.tone === "bad" ? `${feed.name}: ${hello.title}` : hello.title;
      if (document.title !== `${title} · evforge`) document.title = `${title} · evforge`;
    }
    set("connection", feed.text);
    document.getElementById("connection")!.dataset.tone = feed.tone;
    // Read aloud when it becomes another state, and not every second because it counts.
    if (feed.name !== this.announced) set("announcement", feed.text);
    this.announced = feed.name;
    const age = document.getElementById("age")!;
    set("age", this.ages(feed));
    age.classList.toggle("old", feed.old);
    this.banner.show(feed, this.model.pictureAt === null ? null : clock(this.model.pictureAt));
    this.showNotices(feed);
    this.signs.update(feed);
  }

  /** What comes in, as the page says it. */
  feed(): ShownFeed {
    return feedOf(this.model, this.connection);
  }

  /** How old the data are: counted on while nothing comes. */
  private ages(feed: ShownFeed): string {
    const { status, statusAt } = this.model;
    if (!status || feed.name === "ended") return "";
    const { content } = this.model.hello ?? {};
    if (status.last_event_ms === undefined) return content ? `no ${content.things} yet` : "no event yet";
    return `newest ${content?.things ?? "event"} ${duration(status.last_event_ms + performance.now() - statusAt)} ago`;
  }

  private showNotices(feed: ShownFeed): void {
    // Why packets are rejected lies over the picture already.
    const alarms = (this.model.status?.alarms ?? []).filter((text) => text !== feed.reason);
    const notices = alarms.map((text) => ({ text, tone: "bad" }));
    if (this.model.restarts > 0 && Date.now() - this.model.restartedAt < toldFor) {
      const at = clock(this.model.restartedAt);
      notices.push({ text: `The server was restarted; this page started over at ${at}.`, tone: "wait" });
    }
    const shown = JSON.stringify(notices);
    // An alert that is written again would be read aloud again.
    if (shown === this.notices) return;
    this.notices = shown;
    const lines = notices.map(({ text, tone }) => {
      const line = document.createElement("p");
      line.dataset.tone = tone;
      line.textContent = text;
      return line;
    });
    document.getElementById("notices")!.replaceChildren(...lines);
  }
}

function set(id: string, text: string): void {
  const target = document.getElementById(id)!;
  if (target.textContent !== text) target.textContent = text;
}
