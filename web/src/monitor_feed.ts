/** Asks the server for monitor data, once a second while somebody looks and they are on; and switches them. */

import type { MonitorAnswer } from "./monitor_data";
import { forgetToken, token } from "./token";

/** Milliseconds between questions. */
const interval = 1000;

export class MonitorFeed {
  on = false;
  /** What went wrong with the last question, for a person; empty if nothing did. */
  problem = "";
  private open = false;
  private timer: number | undefined;
  /** Answers to questions before this one come too late. */
  private asked = 0;

  constructor(private readonly take: (answer: MonitorAnswer | null) => void) {
    document.addEventListener("visibilitychange", () => this.look());
  }

  /** Looks from now on, or no longer. */
  setOpen(open: boolean): void {
    this.open = open;
    this.look();
  }

  /** Asks now, if anybody looks. */
  look(): void {
    clearTimeout(this.timer);
    if (this.open && !document.hidden) void this.ask("/monitor.json", "GET");
  }

  switch(on: boolean): void {
    void this.ask(on ? "/monitor/on" : "/monitor/off", "POST");
  }

  private async ask(path: string, method: "GET" | "POST"): Promise<void> {
    clearTimeout(this.timer);
    const number = ++this.asked;
    let answer: MonitorAnswer | null = null;
    let problem = "";
    try {
      const known = method === "POST" ? token() : null;
      const headers: HeadersInit = known === null ? {} : { Authorization: `Bearer ${known}` };
      const response = await fetch(path, { method, headers, cache: "no-store" });
      if (response.ok) answer = (await response.json()) as MonitorAnswer;
      else problem = await reason(response);
      // Of a run that has ended since, for example.
      if (response.status === 401) forgetToken();
    } catch {
      problem = "no answer from the server";
    }
    if (number !== this.asked) return;
    this.problem = problem;
    if (answer) this.on = answer.on;
    this.take(answer);
    if (this.open && this.on && !document.hidden) this.timer = setTimeout(() => this.look(), interval);
  }
}

/** What a refusal says to a person. */
async function reason(response: Response): Promise<string> {
  const text = (await response.text()).trim();
  try {
    return (JSON.parse(text) as { error: { message: string } }).error.message;
  } catch {
    return text;
  }
}
