/** Chooses series out of hundreds: a field to search in, and what was found below it. By mouse and by keyboard. */

import type { SeriesInfo } from "./history_feed";

/** More would not be read: who wants another one searches. */
const mostShown = 80;

export class SeriesChoice {
  readonly button = document.createElement("button");
  private readonly box = document.createElement("div");
  private readonly field = document.createElement("input");
  private readonly list = document.createElement("ul");
  private readonly note = document.createElement("p");
  private found: SeriesInfo[] = [];
  private active = 0;

  /** `offer` has the series, `isChosen` says which are chosen, `toggle` chooses one or no longer. */
  constructor(
    holder: HTMLElement,
    private readonly offer: () => Promise<SeriesInfo[]>,
    private readonly isChosen: (id: string) => boolean,
    private readonly toggle: (series: SeriesInfo) => void,
  ) {
    this.button.type = "button";
    this.button.id = "series";
    this.button.textContent = "series…";
    this.button.title = "Choose other series";
    this.button.setAttribute("aria-haspopup", "listbox");
    this.button.setAttribute("aria-expanded", "false");
    this.box.id = "series-box";
    this.box.hidden = true;
    this.field.type = "search";
    this.field.placeholder = "search: lost FEC 1";
    this.field.setAttribute("role", "combobox");
    this.field.setAttribute("aria-label", "Search for series");
    this.field.setAttribute("aria-controls", "series-list");
    this.field.setAttribute("aria-expanded", "true");
    this.field.setAttribute("aria-autocomplete", "list");
    this.list.id = "series-list";
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-label", "Series");
    this.list.setAttribute("aria-multiselectable", "true");
    this.box.append(this.field, this.list, this.note);
    holder.append(this.box);
    this.button.onclick = () => void this.open(this.box.hidden === true);
    this.field.oninput = () => void this.search();
    this.field.onkeydown = (event) => this.key(event);
    this.list.onclick = (event) => {
      const option = (event.target as HTMLElement).closest("li");
      if (option) this.choose(Array.from(this.list.children).indexOf(option));
      this.field.focus();
    };
    document.addEventListener("pointerdown", (event) => {
      const inside = event.composedPath().some((part) => part === this.box || part === this.button);
      if (!inside && !this.box.hidden) void this.open(false);
    });
  }

  /** Shows again what is chosen. */
  update(): void {
    if (this.box.hidden) return;
    this.found.forEach(({ id }, place) => this.list.children[place]?.setAttribute("aria-selected", String(this.isChosen(id))));
  }

  private async open(isOpen: boolean): Promise<void> {
    this.box.hidden = !isOpen;
    this.button.setAttribute("aria-expanded", String(isOpen));
    if (!isOpen) return;
    this.box.style.top = `${this.button.offsetTop + this.button.offsetHeight + 6}px`;
    this.field.value = "";
    this.field.focus();
    await this.search();
  }

  private async search(): Promise<void> {
    const all = await this.offer();
    // Read last: whichever answer comes last, what is typed by then counts.
    const words = this.field.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const fits = ({ title, id, help }: SeriesInfo) => {
      const text = `${title} ${id} ${help}`.toLowerCase();
      return words.every((word) => text.includes(word));
    };
    const fitting = all.filter(fits);
    this.found = fitting.slice(0, mostShown);
    this.active = 0;
    const options = this.found.map(({ id, title, unit, help }, place) => {
      const option = document.createElement("li");
      option.id = `series-option-${place}`;
      option.textContent = unit === "" ? title : `${title} (${unit})`;
      option.title = help;
      option.setAttribute("role", "option");
      option.setAttribute("aria-selected", String(this.isChosen(id)));
      return option;
    });
    this.list.replaceChildren(...options);
    const more = fitting.length - this.found.length;
    this.note.textContent = fitting.length === 0 ? "none has these words" : more > 0 ? `and ${more} more: search for them` : "";
    this.mark();
  }

  private key(event: KeyboardEvent): void {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in moves) {
      this.active = Math.min(this.found.length - 1, Math.max(0, this.active + moves[event.key]));
      this.mark();
    } else if (event.key === "Enter") this.choose(this.active);
    else if (event.key === "Escape") {
      void this.open(false);
      this.button.focus();
    } else return;
    event.preventDefault();
  }

  private choose(place: number): void {
    const series = this.found[place];
    if (!series) return;
    this.active = place;
    this.toggle(series);
    this.update();
    this.mark();
  }

  private mark(): void {
    Array.from(this.list.children).forEach((option, place) => option.classList.toggle("active", place === this.active));
    const option = this.list.children[this.active];
    if (option) this.field.setAttribute("aria-activedescendant", option.id);
    else this.field.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  }
}
