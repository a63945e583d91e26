/** The choice of a view, what it is for, and the file that has what is shown now. */

import { chosenPlan } from "./looker";
import type { Model } from "./model";
import { element, option, setField, write } from "./page_elements";
import type { ViewState } from "./protocol";
import type { View } from "./view";
import { tomlOf } from "./views";

export class ViewChoice {
  private readonly choice = element<HTMLSelectElement>("view");
  private readonly dialog = element<HTMLDialogElement>("view-dialog");
  private filledFor: ViewState[] | null = null;

  constructor(private readonly model: Model, private readonly view: View) {
    this.choice.onchange = () => view.choose(this.choice.value === "" ? null : this.choice.value);
    element("reset-view").onclick = () => view.choose(view.chosen?.name ?? null);
    element("save-view").onclick = () => this.show();
    element("copy-view").onclick = () => void this.copy();
    element("close-view").onclick = () => this.dialog.close();
    view.onChange(() => this.update());
  }

  update(): void {
    const { view } = this;
    if (view.offered !== this.filledFor) {
      this.filledFor = view.offered;
      this.choice.replaceChildren(option("", "none"), ...view.offered.map(({ name, hint }) => option(name, name, hint)));
    }
    element("view-choice").hidden = view.offered.length === 0;
    element("save-view").hidden = this.model.hello?.selections === false;
    setField(this.choice, view.chosen?.name ?? "");
    element("reset-view").hidden = view.chosen === null || !view.isChanged();
    write("view-hint", view.chosen?.hint ?? "");
    element("view-hint").hidden = view.chosen === null;
  }

  /** Shows the file. */
  private show(): void {
    const { hello } = this.model;
    const picture = hello && chosenPlan(hello, this.view.looked.picture)?.name;
    if (!picture) return;
    const name = this.view.chosen?.name ?? "my view";
    write("view-file", tomlOf(this.view.looked, picture, name, this.view.chosen?.hint ?? "What I look at."));
    write("view-copied", "");
    this.dialog.showModal();
  }

  private async copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(element("view-file").textContent ?? "");
      write("view-copied", "It is copied.");
    } catch {
      write("view-copied", "The browser does not let the page copy: select the text.");
    }
  }
}
