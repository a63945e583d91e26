/** The elements of the page by their id, and what is often done to them. */

export function element<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** Writes text where it is not there already: what is written again would be read aloud again, and loses a selection. */
export function write(id: string, text: string): void {
  const target = element(id);
  if (target.textContent !== text) target.textContent = text;
}

export function press(id: string, pressed: boolean): void {
  element(id).setAttribute("aria-pressed", String(pressed));
}

export function option(value: string, name: string, title = ""): HTMLOptionElement {
  const made = document.createElement("option");
  [made.value, made.textContent, made.title] = [value, name, title];
  return made;
}

/** Sets the value of a field, unless somebody is writing in it. */
export function setField(field: HTMLInputElement | HTMLSelectElement, value: string): void {
  if (document.activeElement !== field && field.value !== value) field.value = value;
}
