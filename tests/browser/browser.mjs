// A headless browser that talks to nobody but the page under test.

import { chromium } from "playwright-core";

const executable = process.env.EVFORGE_BROWSER ?? "/usr/bin/chromium";

const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  // Letters look the same wherever and however often they are drawn.
  "--font-render-hinting=none",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-default-apps",
  "--disable-domain-reliability",
  "--disable-extensions",
  "--disable-sync",
  "--metrics-recording-only",
  "--no-default-browser-check",
  "--no-first-run",
  "--no-pings",
  // Nothing but this host can be reached, even by name.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
];

/** A browser without a page. */
export const launch = () =>
  chromium.launch({ executablePath: executable, args: quiet }).catch((error) => {
    throw new Error(
      `no browser could be started from ${executable}: ${error.message.split("\n")[0]}\n` +
        "Install it (apt-get install -y chromium) or name another one in EVFORGE_BROWSER.",
    );
  });

/** Opens `url` in a browser of its own. Returns the browser, the page and the page's complaints. */
export async function open(url, window = {}) {
  const browser = await launch();
  return { browser, ...(await openIn(browser, url, window)) };
}

/** Opens `url` in a window of 1280 x 800, with `scale` points for each of its pixels. Returns the page and its complaints. */
export async function openIn(browser, url, { dark = false, width = 1280, height = 800, scale = 1 } = {}) {
  const colorScheme = dark ? "dark" : "light";
  const page = await browser.newPage({ viewport: { width, height }, deviceScaleFactor: scale, colorScheme });
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`exception: ${error.stack}`));
  page.on("response", (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
  });
  await page.goto(url);
  return { page, complaints };
}

/** The page's own account of itself. */
export const state = (page) => page.evaluate(() => window.evforge.state());

/** The image as the page shows it: { nx, ny, counts }, row by row from y = 0. */
export const image = (page) => page.evaluate(() => window.evforge.image());

/** Waits until `condition` holds for the page's state. */
export async function until(page, condition, what, timeout = 20_000) {
  const end = Date.now() + timeout;
  // Asked from here: the page's policy forbids to hand it code that waits inside.
  while (!condition(await state(page).catch(() => null))) {
    if (Date.now() > end) throw new Error(`waited ${timeout / 1000} s in vain for: ${what}`);
    await page.waitForTimeout(50);
  }
}

/** Waits until the head of the newest frame is as it should be. */
export async function untilHead(page, condition, what, timeout = 20_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const head = await page.evaluate(() => window.evforge.head());
    if (head && condition(head)) return head;
    if (Date.now() > end) throw new Error(`waited ${timeout / 1000} s in vain for: ${what}; the frame says ${JSON.stringify(head)}`);
    await page.waitForTimeout(50);
  }
}
