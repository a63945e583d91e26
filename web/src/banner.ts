/** What lies over pictures that do not show what happens now: nothing came, or nothing comes any more. */

import type { ShownFeed } from "./feed";

export class Banner {
  private readonly banner = document.createElement("div");
  private readonly text = document.createElement("strong");
  private readonly reason = document.createElement("span");

  constructor() {
    this.banner.id = "banner";
    this.banner.append(this.text, this.reason);
    this.banner.hidden = true;
    document.querySelector("#image-panel .plot")!.append(this.banner);
  }

  /** Shows the feed, unless data come in. `pictureAt` is the time of day of the newest picture, if there is one. */
  show(feed: ShownFeed, pictureAt: string | null): void {
    document.body.dataset.feed = feed.name;
    document.body.classList.toggle("old", feed.old);
    this.banner.hidden = feed.name === "live" || feed.name === "connecting";
    this.banner.dataset.tone = feed.tone;
    const picture = feed.old && pictureAt !== null ? `the picture is that of ${pictureAt}` : "";
    const reason = [feed.reason, picture].filter((part) => part !== "").join("; ");
    if (this.text.textContent !== feed.text) this.text.textContent = feed.text;
    if (this.reason.textContent !== reason) this.reason.textContent = reason;
  }
}
