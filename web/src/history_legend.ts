/** A line for each series that is shown: its colour, its name, its value at the cursor, and a way to leave it out. */

import type { Value } from "./history_data";
import type { SeriesInfo } from "./history_feed";
import { scaled } from "./numbers";

export class HistoryLegend {
  private readonly list = document.createElement("ul");
  private ids: string[] = [];

  /** Its place is before `next`. */
  constructor(next: HTMLElement, private readonly leaveOut: (id: string) => void) {
    this.list.id = "history-legend";
    this.list.hidden = true;
    next.before(this.list);
  }

  /** Shows these series, of those that there are (null: not known yet), with their values. */
  update(ids: string[], there: SeriesInfo[] | null, values: Value[]): void {
    if (JSON.stringify(ids) !== JSON.stringify(this.ids)) {
      this.ids = ids;
      this.list.hidden = ids.length === 0;
      this.list.replaceChildren(...ids.map((id, place) => this.entry(id, place)));
    }
    ids.forEach((id, place) => {
      const info = there?.find((series) => series.id === id);
      const [, title, value] = this.list.children[place].children;
      set(title as HTMLElement, info?.title ?? id, info?.help ?? "");
      set(value as HTMLElement, there && !info ? "not here" : inWords(values[place] ?? null, info?.unit ?? ""));
    });
  }

  /** What it says, as a sentence. */
  words(): string {
    return Array.from(this.list.children, ({ children: [, title, value] }) => `${title.textContent} ${value.textContent}`).join("; ");
  }

  private entry(id: string, place: number): HTMLElement {
    const entry = document.createElement("li");
    const [colour, title, value] = ["colour", "title", "value"].map((name) => {
      const part = document.createElement("span");
      part.className = name;
      return part;
    });
    colour.style.background = `var(${colourOf(place)})`;
    const away = document.createElement("button");
    away.type = "button";
    away.textContent = "×";
    away.setAttribute("aria-label", `Leave out ${id}`);
    away.onclick = () => this.leaveOut(id);
    entry.append(colour, title, value, away);
    return entry;
  }
}

/** The colour of a line, by its name in the style sheet. */
export function colourOf(place: number): string {
  return `--series-${place}`;
}

/** " (0 … 25 k)", where a step had more than one value. */
export function spread(value: Value): string {
  return value === null || value.min === value.max ? "" : ` (${scaled(rounded(value.min))} … ${scaled(rounded(value.max))})`;
}

function inWords(value: Value, unit: string): string {
  if (value === null) return "–";
  return `${scaled(rounded(value.mean))}${unit === "" ? "" : `\u202f${unit}`}${spread(value)}`;
}

function rounded(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : value;
}

function set(target: HTMLElement, words: string, title = ""): void {
  if (target.textContent !== words) target.textContent = words;
  if (target.title !== title) target.title = title;
}
