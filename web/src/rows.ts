/** Rows of a name and a number, in groups with a title. */

export type Tone = "" | "bad" | "good" | "minor";

export function group(rows: DocumentFragment, title: string): HTMLElement {
  rows.append(text("h3", "", title));
  const table = document.createElement("dl");
  rows.append(table);
  return table;
}

export function row(table: HTMLElement, name: string, value: string, tone: Tone = ""): HTMLElement {
  const line = document.createElement("div");
  line.className = tone;
  line.append(text("dt", "", name), text("dd", "", value));
  table.append(line);
  return line;
}

export function note(table: HTMLElement, content: string): void {
  const line = document.createElement("div");
  line.className = "note";
  line.append(text("dd", "", content));
  table.append(line);
}

export function text(tag: string, className: string, content: string): HTMLElement {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.textContent = content;
  return made;
}
