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

/** How long anything is waited for: EVFORGE_PATIENCE in seconds, as in all tests. */
const patience = 1000 * Number(process.env.EVFORGE_PATIENCE ?? 120);

/** Waits until `attempt` gives something, and gives that. `last` is what there was instead, for whoever waits in vain. */
export async function waitFor(page, attempt, what, last = () => "") {
  const end = Date.now() + patience;
  for (;;) {
    // Asked from here: the page's policy forbids to hand it code that waits inside.
    const found = await attempt();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${patience / 1000} s (EVFORGE_PATIENCE): ${what}; ${last()}`);
    await page.waitForTimeout(30);
  }
}

/** Waits until `condition` holds for what `look` gives, and gives that. */
export async function waitUntil(page, look, condition, what) {
  let now = null;
  const attempt = async () => {
    now = await look();
    return now !== null && condition(now);
  };
  await waitFor(page, attempt, what, () => `it is ${JSON.stringify(now).slice(0, 400)}`);
  return now;
}

/** Waits until `condition` holds for the page's state. */
export const until = (page, condition, what) => waitFor(page, async () => condition(await state(page).catch(() => null)), what);

/** Waits until the head of the newest frame is as it should be. */
export const untilHead = (page, condition, what) => waitUntil(page, () => page.evaluate(() => window.evforge.head()), condition, what);

/** Waits until the page has drawn itself anew, after its window or its colours have changed. */
export const redrawn = (page) =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 4; frame++) await new Promise((resolve) => requestAnimationFrame(resolve));
  });
