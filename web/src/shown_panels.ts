/** Which panels are shown: what a view leaves out is hidden, and what is left takes its place. */

import { panelNames, type PanelName } from "./looked";
import { element } from "./page_elements";
import type { View } from "./view";

export class ShownPanels {
  private panels: PanelName[] | null = null;
  /** Whether the monitor was opened for these panels. */
  private isOpened = false;
  private readonly monitor = element<HTMLDetailsElement>("monitor-panel");

  constructor(private readonly view: View) {
    view.onChange(() => this.update());
  }

  /** Shows what the view says; the monitor only where there is one, which the server says. */
  update(): void {
    const { panels } = this.view.looked;
    const isWanted = panels?.includes("monitor") ?? false;
    if (panels?.join() !== this.panels?.join()) {
      this.panels = panels;
      for (const name of panelNames) {
        document.body.classList.toggle(`without-${name}`, panels !== null && !panels.includes(name));
      }
      document.body.classList.toggle("with-monitor", isWanted);
      // What was opened for a view is closed with it; what somebody opened is not, unless the view hides it.
      if (!isWanted && (this.isOpened || panels !== null)) this.monitor.open = false;
      this.isOpened &&= isWanted;
    }
    // Opened once: then it is as somebody wants it.
    if (isWanted && !this.isOpened && !this.monitor.hidden) this.monitor.open = this.isOpened = true;
  }
}
