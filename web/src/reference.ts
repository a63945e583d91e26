/** A picture that is kept in this page, to be compared with what comes later. */

import { area, pixelsOf, sumLike, type Sums } from "./cells";
import { decode, type Frame } from "./frame";
import type { Per } from "./looked";
import type { Look } from "./protocol";
import { shownAs } from "./values";

export class Reference {
  frame: Frame | null = null;
  /** When it was kept, in Unix milliseconds. */
  keptAt = 0;
  /** What was made last: it is asked for with every move of the mouse. */
  private made: { of: Frame; like: Sums; per: Per; values: Float64Array } | null = null;

  /** Keeps what `look` shows now, every pixel of it. Throws with a reason if the server does not give it. */
  async keep(look: Look, size: [number, number]): Promise<void> {
    const { part: _, regions: __, ...rest } = look;
    const whole: Look = { ...rest, points: size };
    const response = await fetch(`/api/look.bin?look=${encodeURIComponent(JSON.stringify(whole))}`, { cache: "no-store" });
    if (!response.ok) throw new Error(`the server says ${response.status}: ${(await response.text()).slice(0, 200)}`);
    this.frame = await decode(await response.arrayBuffer());
    this.keptAt = Date.now();
  }

  forget(): void {
    this.frame = null;
  }

  /** Whether it is of this picture, and has all its pixels. */
  fits(picture: string, like: Sums): boolean {
    const { frame } = this;
    if (!frame || frame.head.picture !== picture) return false;
    const { block, part } = frame.image;
    const isWhole = block.x === 1 && block.y === 1 && part.x0 === 0 && part.y0 === 0;
    return isWhole && like.part.x1 <= part.x1 && like.part.y1 <= part.y1;
  }

  /** Values per pixel in the cells of `like`, in their order; null if it does not fit. */
  valuesLike(picture: string, like: Sums, per: Per): Float64Array | null {
    const { frame, made } = this;
    if (!frame || !this.fits(picture, like)) return null;
    if (made?.of === frame && made.like === like && made.per === per) return made.values;
    const { columns, counts } = frame.image;
    const { factor } = shownAs(frame.head, per, false, null);
    const values = sumLike(counts, columns, like).map((sum, at) => {
      const pixels = pixelsOf(like, at % like.columns, Math.floor(at / like.columns));
      return (sum * factor) / area(pixels);
    });
    this.made = { of: frame, like, per, values };
    return values;
  }
}
