/** Tables whose lines come and go while somebody reads them. */

import { element } from "./page_elements";

export interface Line {
  key: string;
  head: () => HTMLElement;
  cells: string[];
  title?: string;
}

/** Lines of a table; those that are there stay, so that a button keeps the keyboard. */
export function fill(id: string, lines: Line[]): void {
  const body = element(id).querySelector("tbody")!;
  lines.forEach((line, at) => {
    let row = body.rows[at] as HTMLTableRowElement | undefined;
    if (row?.dataset.key !== line.key) {
      const made = document.createElement("tr");
      made.dataset.key = line.key;
      const head = line.head();
      head.setAttribute("scope", "row");
      made.append(head, ...line.cells.map(() => document.createElement("td")));
      if (row) row.replaceWith(made);
      else body.append(made);
      row = made;
    }
    if (line.title !== undefined && row.title !== line.title) row.title = line.title;
    line.cells.forEach((content, cell) => {
      const target = row!.cells[cell + 1];
      if (target.textContent !== content) target.textContent = content;
    });
  });
  while (body.rows.length > lines.length) body.deleteRow(-1);
}
