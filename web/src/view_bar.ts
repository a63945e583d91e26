/** The line below the top: of which time counts are, what they are divided by, the reference; link, picture to keep, light and dark. */

import type { Looker } from "./looker";
import type { Looked, Per } from "./looked";
import type { Model } from "./model";
import { clock, grouped } from "./numbers";
import { element, option, setField, write } from "./page_elements";
import type { Span } from "./protocol";
import type { Reference } from "./reference";
import { chooseTheme, chosenTheme } from "./theme";
import type { Shown } from "./values";
import type { View } from "./view";

/** Windows that are offered; others are written in the field. */
const offered = [10, 60, 600];
/** Milliseconds by which counts may begin later than asked before the page says so. */
const tolerance = 2000;

export class ViewBar {
  private readonly window = element<HTMLSelectElement>("window");
  private readonly seconds = element<HTMLInputElement>("window-seconds");
  private readonly per = element<HTMLSelectElement>("per");
  private readonly corrected = element<HTMLInputElement>("corrected");
  private readonly compare = element<HTMLSelectElement>("compare");
  private readonly theme = element<HTMLSelectElement>("theme");
  private names = "";
  private refused: string | null = null;
  /** What went wrong when a picture was to be kept. */
  private problem = "";

  constructor(
    private readonly model: Model,
    private readonly view: View,
    private readonly reference: Reference,
    private readonly looker: Looker,
    private readonly shown: () => Shown | null,
    private readonly drawAll: () => void,
  ) {
    view.onChange(() => this.update());
    this.listen();
  }

  /** Says that the server does not take what it was asked for, or takes it. */
  refuse(message: string | null): void {
    this.refused = message;
    this.update();
  }

  update(): void {
    const { hello, frame } = this.model;
    const { looked } = this.view;
    const isSelected = hello?.selections !== false;
    for (const id of ["window-choice", "clear"]) element(id).hidden = !isSelected || hello?.content !== undefined;
    for (const id of ["per-choice", "corrected-choice", "reference-choice"]) element(id).hidden = hello?.content !== undefined;
    this.showWindow(looked.window);
    const names = Object.keys(frame?.head.monitors ?? {});
    const isCharged = frame?.head.charge_uah !== undefined;
    const offered = [isCharged ? "µAh" : "", ...names].join("\n");
    if (offered !== this.names) {
      this.names = offered;
      const charge = isCharged ? [option("charge", "per µAh", "Per proton charge that came in the window")] : [];
      const monitors = names.map((name) => option(`monitor:${name}`, `per count of ${name}`));
      this.per.replaceChildren(option("counts", "counts"), option("second", "per second"), option("pulse", "per pulse"), ...charge, ...monitors);
    }
    setField(this.per, looked.per);
    const live = this.model.liveFraction();
    this.corrected.checked = looked.corrected;
    element("corrected-choice").title =
      live === null
        ? "Divide by the live fraction: the share of the packets that has come. Nobody knows how many were lost here."
        : `Divide by the live fraction, ${live.toFixed(6)} since the start: the share of the packets that has come`;
    setField(this.compare, looked.compare);
    element("compare-choice").hidden = this.reference.frame === null && looked.compare === "none";
    element("forget-reference").hidden = this.reference.frame === null;
    write("since", this.since());
    element("show-all").hidden = looked.window.kind === "all" || !isSelected;
    const problems = this.problems();
    write("view-problem", problems);
    element("view-problem").hidden = problems === "";
  }

  /** Of which time the counts are, in words. */
  since(): string {
    const { hello, frame } = this.model;
    if (!hello) return "";
    const { window } = this.view.looked;
    if (window.kind === "last") return `counts of the last ${grouped(window.seconds)}\u202fs`;
    if (window.kind === "since") return `counts since ${clock(window.ms)}`;
    return `since ${clock(frame && hello.selections ? Math.min(frame.head.since_ms, hello.started_ms) : hello.started_ms)}`;
  }

  /** What keeps the page from showing what was asked for, in words. */
  private problems(): string {
    const { hello, frame } = this.model;
    const { looked } = this.view;
    const said: string[] = [];
    if (this.refused) said.push(`The server does not take this: ${this.refused}`);
    const looks = this.model.status?.looks?.find(({ problem }) => problem !== undefined);
    if (looks) said.push(`This cannot be shown: ${looks.problem}`);
    if (frame && hello?.selections) said.push(...this.missing(frame.head.since_ms, frame.head.missed));
    const problem = this.shown()?.problem;
    if (problem) said.push(`${problem[0].toUpperCase()}${problem.slice(1)}.`);
    if (looked.compare !== "none" && frame) {
      if (!this.reference.frame) said.push("No reference is kept in this page: press “Keep as reference”.");
      else if (!this.reference.fits(frame.head.picture, frame.image)) said.push("The reference is of another picture: counts are shown.");
    }
    if (this.problem) said.push(this.problem);
    return said.join(" ");
  }

  /** Events that are not counted though they belong to what was asked for. */
  private missing(since: number, missed: number): string[] {
    const { window } = this.view.looked;
    const started = this.model.hello!.started_ms;
    const asked = window.kind === "all" ? started : window.kind === "since" ? window.ms : this.model.serverTime() - 1000 * window.seconds;
    const said: string[] = [];
    if (since > Math.max(asked, started) + tolerance) {
      said.push(`Counted only since ${clock(since)}: earlier events are no longer in the server's memory.`);
    }
    if (missed > 0) {
      said.push(`${grouped(missed)} events are missing in these counts: they came faster than they could be counted.`);
    }
    return said;
  }

  private showWindow(window: Span): void {
    const isOther = window.kind === "last" && !offered.includes(window.seconds);
    const value = window.kind === "last" ? (isOther ? "other" : `last:${window.seconds}`) : window.kind;
    this.window.querySelector<HTMLOptionElement>("[value=since]")!.hidden = window.kind !== "since";
    // Somebody who is about to write the seconds has chosen "other" already.
    if (!(this.window.value === "other" && window.kind === "last")) setField(this.window, value);
    this.seconds.hidden = this.window.value !== "other";
    if (window.kind === "last") setField(this.seconds, String(window.seconds));
  }

  private listen(): void {
    const { view } = this;
    this.window.onchange = () => {
      const [kind, seconds] = this.window.value.split(":");
      if (kind === "all") view.change({ window: { kind } });
      else if (kind === "last") view.change({ window: { kind, seconds: Number(seconds) } });
      else if (kind === "other") this.takeSeconds();
    };
    this.seconds.onchange = () => this.takeSeconds();
    this.per.onchange = () => view.change({ per: this.per.value as Per });
    this.corrected.onchange = () => view.change({ corrected: this.corrected.checked });
    this.compare.onchange = () => view.change({ compare: this.compare.value as Looked["compare"] });
    element("clear").onclick = () => view.change({ window: { kind: "since", ms: this.model.serverTime() } });
    element("show-all").onclick = () => view.change({ window: { kind: "all" } });
    element("keep-reference").onclick = () => void this.keep();
    element("forget-reference").onclick = () => {
      this.reference.forget();
      view.change({ compare: "none" });
    };
    element("copy-link").onclick = () => void this.copy();
    setField(this.theme, chosenTheme());
    this.theme.onchange = () => chooseTheme(this.theme.value);
  }

  private takeSeconds(): void {
    const seconds = Math.min(3600, Math.max(1, Math.round(Number(this.seconds.value) || 30)));
    this.view.change({ window: { kind: "last", seconds } });
  }

  private async keep(): Promise<void> {
    const look = this.looker.look();
    const most = this.model.hello?.limits.points ?? 4096;
    if (!look) return;
    try {
      await this.reference.keep(look, [most, most]);
      this.problem = "";
      this.say(`Kept at ${clock(this.reference.keptAt)}.`);
      const { looked } = this.view;
      this.view.change({ compare: looked.compare === "none" ? "difference" : looked.compare });
    } catch (error) {
      this.problem = `No reference could be kept: ${(error as Error).message}`;
    }
    this.drawAll();
  }

  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(this.view.link());
      this.say("The link is copied.");
    } catch {
      this.say("The browser does not let the page copy: take the link from the address bar.");
    }
  }

  /** Says what was done, for a while. */
  private say(text: string): void {
    write("said", text);
    setTimeout(() => write("said", ""), 6000);
  }
}
