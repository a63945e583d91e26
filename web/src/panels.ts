/** Where the panels of a detector are in a picture. */

import type { Part } from "./cells";
import type { PicturePlan } from "./protocol";

/** The pixels of each panel. */
export function panelsOf(plan: PicturePlan): Part[] {
  const [width, height] = plan.panel;
  const columns = plan.panel_columns ?? 1;
  return Array.from({ length: plan.panels }, (_, panel) => {
    const [x0, y0] = plan.corners?.[panel] ?? [(panel % columns) * width, Math.floor(panel / columns) * height];
    return { x0, y0, x1: x0 + width, y1: y0 + height };
  });
}

/** True if panels stand side by side, panel 0 at the left. */
export function isOneRow({ panels, panel_columns }: PicturePlan): boolean {
  return panel_columns !== undefined && panel_columns >= panels;
}

/** The panel that has this pixel; null between panels that stand apart. */
export function panelAt(plan: PicturePlan, x: number, y: number): { panel: number; box: Part } | null {
  const boxes = panelsOf(plan);
  const panel = boxes.findIndex(({ x0, y0, x1, y1 }) => x >= x0 && x < x1 && y >= y0 && y < y1);
  return panel < 0 ? null : { panel, box: boxes[panel] };
}
