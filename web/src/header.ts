/** The line at the top: who, whether the data are live, how old they are; and what needs attention. */

import type { Connection } from "./connection";
import type { Model } from "./model";
import { clock, duration } from "./numbers";
import type { Status } from "./protocol";

/** Without an update for this long, in milliseconds, the page shows that its data are old. */
const stale = 3000;
/** No event for so long, in milliseconds, while the input runs, and the page stresses it. */
const quiet = 5000;
/** How long a restart of the server is shown, in milliseconds. */
const toldFor = 20_000;

interface State {
  text: string;
  tone: "good" | "wait" | "bad" | "";
}

const inputs: Record<Status["input"], State> = {
  waiting: { text: "Connected, waiting for data", tone: "wait" },
  running: { text: "Live", tone: "good" },
  ended: { text: "Input ended", tone: "" },
  failed: { text: "Input failed", tone: "bad" },
};

export class Header {
  private notices = "";

  constructor(private readonly model: Model, private readonly connection: Connection) {}

  update(): void {
    const { hello, status } = this.model;
    if (hello) {
      set("title", hello.title);
      document.title = `${hello.title} · evforge`;
    }
    const state = this.state();
    set("connection", state.text);
    const pill = document.getElementById("connection")!;
    pill.dataset.tone = state.tone;
    const age = document.getElementById("age")!;
    age.textContent = status ? this.ages(status) : "";
    age.classList.toggle("old", this.isOld());
    // What is no longer true must not look as if it were.
    document.body.classList.toggle("stale", this.sinceUpdate() > stale);
    const cleared = this.model.clearedAt();
    set("since", cleared !== null ? `counts since ${clock(cleared)}` : hello ? `since ${clock(hello.started_ms)}` : "");
    document.getElementById("show-all")!.hidden = cleared === null;
    this.showNotices();
  }

  private state(): State {
    const { phase } = this.connection;
    if (phase === "connecting") return { text: "Connecting", tone: "wait" };
    if (phase === "reconnecting") {
      const wait = Math.max(0, this.connection.retryAt - performance.now());
      const next = wait > 900 ? `, next attempt in ${Math.round(wait / 1000)}\u202fs` : "";
      return { text: `No connection, reconnecting${next}`, tone: "bad" };
    }
    if (this.sinceUpdate() > stale) return { text: "Connected, but the server is silent", tone: "bad" };
    return this.model.status ? inputs[this.model.status.input] : { text: "Connected", tone: "wait" };
  }

  private sinceUpdate(): number {
    return this.model.status ? performance.now() - this.model.statusAt : 0;
  }

  private ages(status: Status): string {
    const since = this.sinceUpdate();
    if (since > stale) return `data are ${duration(since)} old`;
    if (status.last_event_ms === undefined) return "no event yet";
    return `newest event ${duration(status.last_event_ms + since)} ago`;
  }

  private isOld(): boolean {
    const { status } = this.model;
    if (!status) return false;
    if (this.sinceUpdate() > stale) return true;
    return status.input === "running" && (status.last_event_ms ?? 0) > quiet;
  }

  private showNotices(): void {
    const notices = [...(this.model.status?.alarms ?? [])].map((text) => ({ text, tone: "bad" }));
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
