/** Channels that stand out, and the mask of them, to be copied into a configuration. */

import type { MonitorData, Noticed } from "./monitor_data";
import { grouped } from "./numbers";
import { element, write } from "./page_elements";

/** More are not listed: then it is no matter of single channels. */
const most = 100;

export class ChannelList {
  private readonly table = element<HTMLTableElement>("noticed-table");
  private shown = "";

  /** `onChoose` gets the index of a channel that is clicked. */
  constructor(private readonly onChoose: (index: number) => void) {
    element("copy-mask").onclick = () => void this.copy();
  }

  update({ noticed, mask }: MonitorData): void {
    const count = (fault: string) => noticed.filter((channel) => channel.fault === fault).length;
    const text = noticed.length === 0 ? "none stands out among its neighbours" : `${count("hot")} hot, ${count("dead")} dead`;
    write("noticed-note", noticed.length > most ? `${text}; the first ${most} are listed` : text);
    this.table.hidden = noticed.length === 0;
    element("mask-part").hidden = noticed.length === 0 || mask === undefined;
    write("mask", mask ?? "");
    const listed = noticed.slice(0, most);
    const now = JSON.stringify(listed);
    // A row that is made again loses the focus.
    if (now === this.shown) return;
    this.shown = now;
    this.table.tBodies[0].replaceChildren(...listed.map((channel) => this.row(channel)));
  }

  private row({ index, name, fault, readouts, expected }: Noticed): HTMLTableRowElement {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    const button = document.createElement("button");
    [button.type, button.textContent, button.title] = ["button", name, "Show its amplitudes"];
    button.onclick = () => this.onChoose(index);
    head.append(button);
    const cells = [fault, grouped(readouts), grouped(expected)].map((text) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      return cell;
    });
    row.append(head, ...cells);
    return row;
  }

  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(element("mask").textContent ?? "");
      write("mask-said", "copied");
    } catch {
      write("mask-said", "The browser does not let the page copy: select the text.");
    }
  }
}
