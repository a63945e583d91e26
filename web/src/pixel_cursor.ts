/** A cursor on the picture that the arrow keys move: what a mouse does by pointing. */

import type { Block, Part } from "./cells";
import type { Heatmap } from "./heatmap";
import { placeOf, type Box } from "./plot_area";
import type { View } from "./view";

const steps: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};
/** With the shift key it moves by this many cells. */
const stride = 10;

export class PixelCursor {
  /** The pixel it is on; null while it is not used. */
  pixel: { x: number; y: number } | null = null;

  /** `onMove` is called when it has been moved, and should say what is there. */
  constructor(
    private readonly heatmap: Heatmap,
    private readonly view: View,
    private readonly block: () => Block,
    private readonly onMove: () => void,
  ) {
    heatmap.canvas.addEventListener("keydown", (event) => {
      if (!event.ctrlKey && !event.altKey && !event.metaKey && this.key(event)) event.preventDefault();
    });
    heatmap.canvas.addEventListener("blur", () => this.hide());
  }

  hide(): void {
    if (!this.pixel) return;
    this.pixel = null;
    this.heatmap.draw();
  }

  draw(context: CanvasRenderingContext2D, plot: Box, part: Part): void {
    if (!this.pixel) return;
    const { x, y } = this.block();
    const [x0, y0] = [part.x0 + Math.floor((this.pixel.x - part.x0) / x) * x, part.y0 + Math.floor((this.pixel.y - part.y0) / y) * y];
    const low = placeOf(plot, part, x0, y0);
    const high = placeOf(plot, part, x0 + x, y0 + y);
    const grown = Math.max(0, (9 - (high.left - low.left)) / 2);
    const box = [low.left - grown, high.top - grown, high.left - low.left + 2 * grown, low.top - high.top + 2 * grown] as const;
    context.lineWidth = 4;
    context.strokeStyle = "#000";
    context.strokeRect(...box);
    context.lineWidth = 2;
    context.strokeStyle = "#fff";
    context.strokeRect(...box);
    context.lineWidth = 1;
  }

  /** True if the key means something here. */
  private key(event: KeyboardEvent): boolean {
    const part = this.heatmap.part();
    if (!part) return false;
    const step = steps[event.key];
    if (step) this.move(part, step, event.shiftKey ? stride : 1);
    else if (event.key === "Home") this.set(part, middle(part));
    else if (event.key === "+") this.zoom(part, 0.5);
    else if (event.key === "-") this.zoom(part, 2);
    else if (event.key === "0") this.view.change({ part: null });
    else if (event.key === "Escape") this.hide();
    else return false;
    return true;
  }

  private move(part: Part, [right, up]: [number, number], by: number): void {
    const { x, y } = this.pixel ?? middle(part);
    const block = this.block();
    this.set(part, this.pixel ? { x: x + right * by * block.x, y: y + up * by * block.y } : { x, y });
  }

  private set(part: Part, { x, y }: { x: number; y: number }): void {
    this.pixel = { x: Math.min(part.x1 - 1, Math.max(part.x0, x)), y: Math.min(part.y1 - 1, Math.max(part.y0, y)) };
    this.heatmap.draw();
    this.onMove();
  }

  /** Shows a part `by` times as large, around the cursor. */
  private zoom(part: Part, by: number): void {
    const at = this.pixel ?? middle(part);
    const whole = this.heatmap.whole();
    if (!whole) return;
    const side = (low: number, high: number, centre: number, most: number): [number, number] => {
      const length = Math.min(most, Math.max(2, Math.round((high - low) * by)));
      const from = Math.min(most - length, Math.max(0, Math.round(centre - length / 2)));
      return [from, from + length];
    };
    const [x0, x1] = side(part.x0, part.x1, at.x, whole.x1);
    const [y0, y1] = side(part.y0, part.y1, at.y, whole.y1);
    const isWhole = x1 - x0 === whole.x1 && y1 - y0 === whole.y1;
    this.view.change({ part: isWhole ? null : { x0, y0, x1, y1 } });
  }
}

function middle({ x0, y0, x1, y1 }: Part): { x: number; y: number } {
  return { x: Math.floor((x0 + x1) / 2), y: Math.floor((y0 + y1) / 2) };
}
