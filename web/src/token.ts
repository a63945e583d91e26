/**
 * The token of the run: what changes something needs it. It comes in the part of the address behind the #, which a browser sends to
 * nobody, is kept as long as the tab is open, and does not stay in the address bar, which others see.
 */

const key = "evforge-token";

function take(): void {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found === null) return;
  try {
    sessionStorage.setItem(key, found);
  } catch {
    // Without storage it is known until the page is loaded again.
  }
  kept = found;
  // What else the address says is what to look at.
  const rest = location.hash.slice(1).split("&").filter((part) => !part.startsWith("token=")).join("&");
  history.replaceState(null, "", location.pathname + location.search + (rest ? `#${rest}` : ""));
}

let kept: string | null = null;
try {
  kept = sessionStorage.getItem(key);
} catch {
  // As above.
}
take();

/** The token; null if the address had none. */
export function token(): string | null {
  return kept;
}

/** The server says that this is not its token. */
export function forgetToken(): void {
  kept = null;
  try {
    sessionStorage.removeItem(key);
  } catch {
    // Then it is not there.
  }
}

/** Calls `changed` when somebody puts an address with a token into the address bar of the open page. */
export function onToken(changed: () => void): void {
  addEventListener("hashchange", () => {
    take();
    changed();
  });
}

/** Why nothing can be changed without it. */
export const withoutToken =
  "To switch it, use evforge ctl on the host of the run, or open this page with #token=TOKEN behind its address. " +
  "The token is in the file control.token_file, or in the address that the run says when it starts";
