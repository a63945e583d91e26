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

  /** Values per pixel in the cells of `like`, in their order; null if it is another picture or has too few pixels. */
  valuesLike(picture: string, like: Sums, per: Per): Float64Array | null {
    const { frame } = this;
    if (!frame || frame.head.picture !== picture) return null;
    const { block, part, columns, counts } = frame.image;
    const isWhole = block.x === 1 && block.y === 1 && part.x0 === 0 && part.y0 === 0;
    if (!isWhole || like.part.x1 > part.x1 || like.part.y1 > part.y1) return null;
    const { factor } = shownAs(frame.head, per, false, null);
    return sumLike(counts, columns, like).map((sum, at) => {
      const pixels = pixelsOf(like, at % like.columns, Math.floor(at / like.columns));
      return (sum * factor) / area(pixels);
    });
  }
}
