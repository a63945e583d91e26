/** Light or dark: as the system says, or as somebody chose, which this browser keeps. */

const key = "evforge-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

/** "light", "dark", or "system". */
export function chosenTheme(): string {
  try {
    const kept = localStorage.getItem(key);
    if (kept === "light" || kept === "dark") return kept;
  } catch {
    // Without storage it is the system's.
  }
  return "system";
}

export function chooseTheme(theme: string): void {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // Then it lasts until the page is loaded again.
  }
  apply(theme);
}

/** Calls `changed` after the page has become light or dark, until what it gives is called. */
export function onTheme(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

function apply(theme: string): void {
  const dark = theme === "dark" || (theme !== "light" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  for (const changed of listeners) changed();
}

system.addEventListener("change", () => apply(chosenTheme()));
apply(chosenTheme());
