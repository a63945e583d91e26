/** Choices that the address keeps, behind the #: a link shows what I see. */

/** What the address has under this name; null if it has nothing. */
export function fromAddress(name: string): string | null {
  return new URLSearchParams(location.hash.slice(1)).get(name);
}

/** Puts a choice into the address; null takes it out. */
export function intoAddress(name: string, value: string | null): void {
  const parameters = new URLSearchParams(location.hash.slice(1));
  if (value === null) parameters.delete(name);
  else parameters.set(name, value);
  const hash = parameters.toString();
  // Replaced, not added: "back" leaves the page and does not go through all choices.
  history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
}
