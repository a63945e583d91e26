/** Further pictures below the large one: each with its own scale, and a button that makes it the large one. */

import { onThemeChange, themeColour } from "./canvas";
import { makeCells } from "./cells";
import { colours, steps } from "./colours";
import type { Frame } from "./frame";
import { chosenPlan, withBins } from "./looker";
import type { Model } from "./model";
import { scaled } from "./numbers";
import { element } from "./page_elements";
import { fitted, type Box } from "./plot_area";
import { makeScale, paint, quantile } from "./scale";
import type { PicturePlan } from "./protocol";
import type { View } from "./view";
import { withMain } from "./views";

/** Of the colour bar at the right, and what is left free next to it. */
const bar = { width: 6, gap: 4 };

interface Side {
  button: HTMLButtonElement;
  canvas: HTMLCanvasElement;
  words: HTMLElement;
}

export class SidePictures {
  private readonly holder = element("further");
  private sides: Side[] = [];
  private readonly cells = document.createElement("canvas");

  /** `onLayout` is called when they have got another size. */
  constructor(private readonly model: Model, private readonly view: View, private readonly onLayout: () => void) {
    view.onChange(() => this.update());
    onThemeChange(() => this.update());
    new ResizeObserver(() => {
      this.onLayout();
      this.update();
    }).observe(this.holder);
  }

  /** Points of the screen that one of them has, for the server. */
  points(): [number, number] {
    const ratio = devicePixelRatio || 1;
    const { width, height } = this.sides[0]?.canvas.getBoundingClientRect() ?? { width: 0, height: 0 };
    return [width * ratio, height * ratio];
  }

  /** The canvases, to be kept in a picture. */
  canvases(): HTMLCanvasElement[] {
    return this.holder.hidden ? [] : this.sides.map(({ canvas }) => canvas);
  }

  update(): void {
    const { hello } = this.model;
    const names = hello ? besideOf(this.view, hello) : [];
    this.holder.hidden = names.length === 0;
    // Buttons stay where they are: the focus stays, too.
    while (this.sides.length > names.length) this.sides.pop()!.button.remove();
    while (this.sides.length < names.length) this.sides.push(this.add(this.sides.length));
    names.forEach((plan, at) => this.draw(this.sides[at], plan));
  }

  private add(at: number): Side {
    const [button, canvas, words] = [document.createElement("button"), document.createElement("canvas"), document.createElement("span")];
    button.type = "button";
    button.append(canvas, words);
    button.onclick = () => {
      const { hello } = this.model;
      const plan = hello && besideOf(this.view, hello)[at];
      const main = hello && chosenPlan(hello, this.view.looked.picture);
      if (plan) this.view.change(withMain(this.view.looked, main?.name ?? null, plan.name));
    };
    this.holder.append(button);
    return { button, canvas, words };
  }

  private draw({ button, canvas, words }: Side, plan: PicturePlan): void {
    const { hello } = this.model;
    const frame = this.model.further.get(plan.name);
    button.title = `${plan.title}: make it the large picture`;
    button.dataset.picture = plan.name;
    const ratio = devicePixelRatio || 1;
    const { clientWidth, clientHeight } = canvas;
    const [width, height] = [clientWidth * ratio, clientHeight * ratio].map(Math.round);
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const context = canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, clientWidth, clientHeight);
    const top = frame && hello ? this.drawFrame(context, frame, withBins(plan, hello, frame.head.bins), [clientWidth, clientHeight]) : null;
    words.textContent = top === null ? plan.name : `${plan.name}, up to ${scaled(Number(top.toPrecision(3)))}`;
  }

  /** Returns the value at the top of the scale, in counts per pixel. */
  private drawFrame(context: CanvasRenderingContext2D, { image }: Frame, plan: PicturePlan, [width, height]: [number, number]): number {
    const { log, map, top } = this.view.looked;
    const cells = makeCells(image, 1);
    const isLogarithmic = log ?? this.model.hello?.content === undefined;
    const highest = top.kind === "quantile" ? quantile(cells.values, 0.999) : cells.largest;
    const scale = makeScale(isLogarithmic, highest, 1 / (image.block.x * image.block.y));
    const words = new Uint32Array(image.columns * image.rows);
    paint(scale, map, cells.values, words);
    const room: Box = { left: 0, top: 0, width: Math.max(8, width - bar.width - bar.gap), height: Math.max(8, height) };
    const { across, up } = plan;
    const wider = across.pitch_m && up.pitch_m ? across.pitch_m / up.pitch_m : 1;
    const size = fitted(room, image.part, wider).size;
    const [left, above] = [(room.width - size.width) / 2, (room.height - size.height) / 2];
    context.imageSmoothingEnabled = false;
    this.put(words, image.columns, image.rows);
    // Blocks at the right and the top may reach beyond the picture: cut them there.
    const [columns, rows] = [(image.part.x1 - image.part.x0) / image.block.x, (image.part.y1 - image.part.y0) / image.block.y];
    context.drawImage(this.cells, 0, image.rows - rows, columns, rows, left, above, size.width, size.height);
    context.strokeStyle = themeColour("--axis");
    context.lineWidth = 1;
    context.strokeRect(left + 0.5, above + 0.5, size.width - 1, size.height - 1);
    const table = colours(map);
    this.put(new Uint32Array(steps).map((_, step) => table[steps - 1 - step]), 1, steps);
    context.drawImage(this.cells, left + size.width + bar.gap, above, bar.width, size.height);
    return scale.top;
  }

  private put(words: Uint32Array<ArrayBuffer>, width: number, height: number): void {
    [this.cells.width, this.cells.height] = [width, height];
    this.cells.getContext("2d")!.putImageData(new ImageData(new Uint8ClampedArray(words.buffer), width, height), 0, 0);
  }
}

/** The pictures that are to be next to the large one, as far as there are any. */
export function besideOf(view: View, hello: NonNullable<Model["hello"]>): PicturePlan[] {
  const main = chosenPlan(hello, view.looked.picture)?.name;
  const plans = view.looked.further.map((name) => hello.pictures.find((plan) => plan.name === name && name !== main));
  return plans.filter((plan) => plan !== undefined);
}
