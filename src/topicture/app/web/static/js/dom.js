// Elements without innerHTML: whatever a tag or a file name says is text.

/** An element; `on…` properties are listeners, `class`, `data-…`, `aria-…` and the like attributes, the rest properties. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !name.includes("-") && name !== "list" && name !== "form") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  if (properties.class) element.className = properties.class;
  element.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** A line drawing from path data, for buttons and tabs. */
export function icon(...paths) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  for (const data of paths) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", data);
    svg.append(path);
  }
  return svg;
}

/** 0.873 as "87%". */
export const percent = (p) => `${Math.round(100 * p)}%`;

/** 12345 as "12,345". */
export const count = (n) => n.toLocaleString("en");

/** (1, "photo") as "1 photo", (12345, "photo") as "12,345 photos". */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/** Where the suggestions of a word are reviewed. A browser takes "." and ".." out of a path, even escaped. */
export const reviewAddress = (word) =>
  word.split(/[\\/]/u).some((part) => part === "." || part === "..") ? `/review/tag/?${new URLSearchParams({ word })}` : `/review/tag/${encodeURIComponent(word)}`;

export const thumbnail = (id) => `/api/thumbnails/${id}`;
export const picture = (id) => `/api/thumbnails/${id}?size=large`;
