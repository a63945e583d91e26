/** Canvases as sharp as the screen, and the page's colours for drawing. */

import { onTheme } from "./theme";

/** Calls `draw` when the size of `canvas` on the screen changes, after fitting its pixels to it. */
export function onResize(canvas: HTMLCanvasElement, draw: () => void): void {
  const fit = () => {
    const ratio = devicePixelRatio || 1;
    const { width, height } = canvas.getBoundingClientRect();
    canvas.width = Math.max(1, Math.round(width * ratio));
    canvas.height = Math.max(1, Math.round(height * ratio));
    draw();
  };
  new ResizeObserver(fit).observe(canvas);
}

/** A colour of style.css by its name, e.g. "--text". */
export function themeColour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Calls `redraw` when the page changes between light and dark, until what it gives is called. */
export function onThemeChange(redraw: () => void): () => void {
  return onTheme(redraw);
}
