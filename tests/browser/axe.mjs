// What keeps people from using a page, as axe finds it.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { redrawn } from "./browser.mjs";
import { check } from "./checks.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Checks that axe finds nothing serious on the page as it is: `how`, in words. */
export async function checkAxe(page, how) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run());
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  const text = serious.map(({ id, nodes }) => `\n      ${id}: ${nodes.slice(0, 3).map(({ target, failureSummary }) => `${target} ${failureSummary}`).join("; ")}`).join("");
  check(serious.length === 0, `axe finds nothing serious ${how}, and ${violations.length} lesser things${text}`);
}

/** The same in light and in dark, which the page then is. */
export async function checkAxeInThemes(page) {
  for (const theme of ["light", "dark"]) {
    await page.selectOption("#theme", theme);
    await redrawn(page);
    await checkAxe(page, `in ${theme}`);
  }
}
