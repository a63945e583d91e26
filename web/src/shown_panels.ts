/** Which panels are shown: what a view leaves out is hidden, and what is left takes its place. */

import { panelNames, type PanelName } from "./looked";
import { element } from "./page_elements";
import type { View } from "./view";

export class ShownPanels {
  private panels: PanelName[] | null = null;

  constructor(private readonly view: View) {
    view.onChange(() => this.update());
    this.update();
  }

  private update(): void {
    const { panels } = this.view.looked;
    if (panels?.join() === this.panels?.join()) return;
    const before = this.panels;
    this.panels = panels;
    for (const name of panelNames) {
      document.body.classList.toggle(`without-${name}`, panels !== null && !panels.includes(name));
    }
    // Opened and closed once: then it is as somebody wants it.
    const monitor = element<HTMLDetailsElement>("monitor-panel");
    const [is, was] = [panels, before].map((some) => some?.includes("monitor") ?? false);
    if (is !== was || (panels !== null && !is)) monitor.open = is;
  }
}
