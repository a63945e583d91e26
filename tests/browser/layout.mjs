// Whether everything on the page can be read: at the widths of a telephone, a notebook and a wall.

import { redrawn } from "./browser.mjs";

/** How long the page may take to lay itself out, in ms. */
const settling = 10_000;

export const widths = [
  { width: 390, height: 844 },
  { width: 1280, height: 800 },
  { width: 1920, height: 1080 },
];

/** What does not fit, in words: empty if the page is as it should be. */
export const problems = (page) =>
  page.evaluate(() => {
    const found = [];
    const name = (element) => `${element.tagName.toLowerCase()}${element.id ? `#${element.id}` : ""}`;
    const { scrollWidth } = document.documentElement;
    if (scrollWidth > innerWidth) found.push(`the page is ${scrollWidth} wide in a window of ${innerWidth}`);
    // Text: inside the window, and inside everything that would cut it off.
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const holder = node.parentElement;
      if (node.textContent.trim() === "" || ["SCRIPT", "NOSCRIPT", "OPTION"].includes(holder.tagName)) continue;
      if (!holder.checkVisibility({ visibilityProperty: true }) || holder.classList.contains("unseen")) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const text = range.getBoundingClientRect();
      if (text.width === 0) continue;
      const what = `"${node.textContent.trim().slice(0, 40)}" in ${name(holder)}`;
      if (text.left < -1 || text.right > innerWidth + 1) found.push(`${what} is outside the window`);
      for (let outer = holder; outer && outer !== document.body; outer = outer.parentElement) {
        const { overflowX, overflowY } = getComputedStyle(outer);
        const box = outer.getBoundingClientRect();
        if (overflowX !== "visible" && (text.left < box.left - 1 || text.right > box.right + 1)) {
          found.push(`${what} is cut at the side by ${name(outer)}`);
        }
        if (overflowY === "hidden" && (text.top < box.top - 1 || text.bottom > box.bottom + 1)) {
          found.push(`${what} is cut above or below by ${name(outer)}`);
        }
      }
    }
    const visible = (selector) => [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
    // Pictures and charts: inside their panels, as are their headings.
    for (const inner of visible("section canvas, section .heading, section .plot, .part canvas, #banner")) {
      const panel = inner.closest(".plot:has(#banner)") && inner.id === "banner" ? inner.closest(".plot") : inner.closest("section, .part");
      const [box, outer] = [inner.getBoundingClientRect(), panel.getBoundingClientRect()];
      const isInside =
        box.left >= outer.left - 1 && box.right <= outer.right + 1 && box.top >= outer.top - 1 && box.bottom <= outer.bottom + 1;
      if (!isInside) found.push(`${name(inner)} is not inside ${name(panel)}`);
    }
    // Panels: beside or below one another.
    const panels = visible("section");
    panels.forEach((one, at) => {
      for (const other of panels.slice(at + 1)) {
        const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
        const overlaps = a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
        if (overlaps) found.push(`${name(one)} and ${name(other)} overlap`);
      }
    });
    return found;
  });

/** Looks at the page at all widths; gives what does not fit. With `folder` it keeps pictures, in light and dark. */
export async function atAllWidths(page, folder, label) {
  const found = [];
  for (const size of widths) {
    await page.setViewportSize(size);
    await redrawn(page);
    // A table is laid out anew with the next frame of the server, which comes some time after the window has changed.
    const end = Date.now() + settling;
    let now = await problems(page);
    while (now.length > 0 && Date.now() < end) {
      await page.waitForTimeout(50);
      now = await problems(page);
    }
    found.push(...now.map((problem) => `${size.width}: ${problem}`));
    if (!folder) continue;
    await page.screenshot({ path: `${folder}/${label}-${size.width}.png`, fullPage: size.width < 1000 });
    if (size.width === 1280) {
      await page.emulateMedia({ colorScheme: "dark" });
      await redrawn(page);
      await page.screenshot({ path: `${folder}/${label}-dark.png` });
      await page.emulateMedia({ colorScheme: "light" });
    }
  }
  await page.setViewportSize(widths[1]);
  return found;
}
