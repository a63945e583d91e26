/** The outputs: how many events are where they belong, wait and are lost, and what each output counts itself. */

import { grouped, scaled } from "./numbers";
import type { Output, OutputEvents } from "./protocol";
import { row, text } from "./rows";

/** The counters of any output, in the order of what happens to an event, as people read them. */
const names: [keyof OutputEvents, string][] = [
  ["offered", "offered"],
  ["committed", "committed"],
  ["pending", "taken, not yet committed"],
  ["queued", "in the queue"],
  ["left_out", "left out"],
  ["dropped", "dropped, queue full"],
  ["missed", "missed after a failure"],
  ["pulses_lost", "pulses lost, at most"],
  ["accepted", "taken"],
  ["queued_bytes", "bytes in the queue"],
  ["interruptions", "interruptions"],
  ["retries", "retries"],
];
/** Larger numbers than these, by column, are shortened in the table; their details have all digits. */
const mostShown = [99_999_999, 999_999, 999_999];

export class OutputTable {
  private readonly holder = document.getElementById("outputs")!;
  private readonly table = this.holder.querySelector("table")!;
  private lines: OutputLines[] = [];

  /** Shows these outputs. Lines of outputs that were there before stay, so that what is open stays open. */
  update(outputs: Output[]): void {
    this.holder.hidden = outputs.length === 0;
    const same = outputs.length === this.lines.length && outputs.every(({ id }, at) => id === this.lines[at].id);
    if (!same) {
      for (const { body } of this.lines) body.remove();
      this.lines = outputs.map(({ id }, at) => new OutputLines(id, `output-${at}-details`));
      this.table.append(...this.lines.map(({ body }) => body));
    }
    outputs.forEach((output, at) => this.lines[at].update(output));
  }
}

/** One output: its name, its numbers, its state, and its details once its name is clicked. */
class OutputLines {
  readonly body = document.createElement("tbody");
  private readonly button = document.createElement("button");
  private readonly name = document.createElement("th");
  private readonly numbers = [0, 1, 2].map(() => document.createElement("td"));
  /** Its state: next to the name if all is well, else on a line of its own, with the reason. */
  private readonly well = document.createElement("td");
  private readonly state = document.createElement("td");
  private readonly stateLine = line("state", this.state);
  private readonly details = document.createElement("tr");
  private readonly list = document.createElement("dl");
  private output: Output | null = null;

  constructor(
    readonly id: string,
    detailsId: string,
  ) {
    this.button.type = "button";
    this.button.setAttribute("aria-expanded", "false");
    this.button.setAttribute("aria-controls", detailsId);
    this.button.onclick = () => this.toggle();
    this.name.scope = "rowgroup";
    this.name.append(this.button);
    this.well.className = "good";
    this.well.textContent = "ok";
    this.details.id = detailsId;
    this.details.hidden = true;
    const holder = document.createElement("td");
    holder.append(this.list);
    for (const cell of [this.state, holder]) cell.colSpan = this.numbers.length;
    this.details.append(holder);
    this.details.className = "details";
    this.body.append(line("", this.name, this.well), line("", ...this.numbers), this.stateLine, this.details);
  }

  update(output: Output): void {
    this.output = output;
    const { events } = output;
    set(this.button, output.name);
    this.button.title = `${output.name} (${output.id})`;
    const lost = events.dropped + events.missed;
    const isFault = events.missed > 0 || (events.dropped > 0 && !output.may_drop);
    this.number(0, events.committed);
    this.number(1, events.queued + events.pending, "", [
      `${grouped(events.queued)} in the queue`,
      `${grouped(events.pending)} taken and not yet committed`,
    ]);
    this.number(2, lost, isFault ? "bad" : "", [
      `${grouped(events.dropped)} dropped${output.may_drop ? ", which is fine: this output only needs to be up to date" : ""}`,
      `${grouped(events.missed)} missed`,
    ]);
    const problem = problemOf(output);
    this.well.hidden = problem !== null;
    this.name.colSpan = problem ? 3 : 2;
    this.stateLine.hidden = problem === null;
    set(this.state, problem?.words ?? "");
    this.state.className = problem?.tone ?? "";
    this.showDetails();
  }

  private number(at: number, value: number, tone = "", more: string[] = []): void {
    const cell = this.numbers[at];
    set(cell, value > mostShown[at] ? scaled(value) : grouped(value));
    cell.className = tone;
    cell.title = [`${grouped(value)} events`, ...more].join("\n");
  }

  private toggle(): void {
    this.details.hidden = !this.details.hidden;
    this.button.setAttribute("aria-expanded", String(!this.details.hidden));
    this.showDetails();
  }

  private showDetails(): void {
    if (this.details.hidden || !this.output) return;
    const { events, counters } = this.output;
    this.list.replaceChildren();
    for (const [key, name] of names) row(this.list, name, grouped(events[key]));
    const own = Object.entries(counters);
    if (own.length > 0) this.list.append(text("div", "minor", "counted by itself"));
    for (const [name, count] of own) row(this.list, name.replaceAll("_", " "), grouped(count));
  }
}

/** The worst that can be said of an output; null if all is well. */
function problemOf({ failure, waiting }: Output): { words: string; tone: "wait" | "bad" } | null {
  if (failure !== undefined) return { words: `failed: ${failure}`, tone: "bad" };
  if (waiting !== undefined) return { words: `waiting: ${waiting}`, tone: "wait" };
  return null;
}

function line(className: string, ...cells: HTMLElement[]): HTMLElement {
  const made = document.createElement("tr");
  made.className = className;
  made.append(...cells);
  return made;
}

/** Sets a text unless it is the same: what does not change can be marked and copied. */
function set(target: HTMLElement, content: string): void {
  if (target.textContent !== content) target.textContent = content;
}
