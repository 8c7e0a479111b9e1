// Map: photos and words on one plane; near is alike. Drag, zoom, lasso, tag.
import { get, post } from "../js/api.js";
import { h, icon, plural, thumbnail } from "../js/dom.js";
import { shortcut } from "../js/keys.js";
import { Camera, listen } from "../js/map-camera.js";
import { LabelLayer } from "../js/map-labels.js";
import { columns, isInside, PointGrid, PointLayer, TAGGED } from "../js/map-points.js";
import { queryOf } from "../js/query.js";
import { say } from "../js/tagging.js";
import { tell } from "../js/toasts.js";

const MOST_LISTED = 200;
const main = document.querySelector("#main");
const camera = new Camera();
const map = { words: [], points: null, grid: null, chosen: [], lasso: null, lassoTool: false };

const pointCanvas = h("canvas", { class: "map-canvas", "aria-hidden": "true" });
const labelCanvas = h("canvas", { class: "map-canvas", "aria-hidden": "true" });
const stage = h("div", { class: "map-stage", tabIndex: 0, role: "group", "aria-label": "Map of the photos. Arrow keys move, plus and minus zoom, Enter opens the photo in the middle, s selects what is in view; the list has the same words." }, pointCanvas, labelCanvas);
const card = h("a", { class: "map-card", hidden: true }, h("img", { alt: "" }), h("span", { class: "small" }));
const lassoButton = tool("Select with a lasso (l, or drag with Shift)", () => setLasso(!map.lassoTool), "M12 4c5 0 9 2.500 9 6s-4 6-9 6-9-2.500-9-6 4-6 9-6z", "M8 15.500c-1 2 0 4 2 5");
lassoButton.setAttribute("aria-pressed", "false");
const tools = h("div", { class: "map-tools", role: "toolbar", "aria-label": "Map" },
  tool("Zoom in (+)", () => zoom(1.5), "M12 5v14M5 12h14"), tool("Zoom out (-)", () => zoom(1 / 1.5), "M5 12h14"),
  tool("Show everything (0)", () => (camera.fit(), redraw()), "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5"), lassoButton);
const listBox = h("section", { class: "map-list card", "aria-label": "Words of the map", hidden: true });
const listButton = h("button", { type: "button", "aria-expanded": "false", onclick: showList }, "List");
const status = h("span", { class: "soft small", role: "status" });
const makeButton = h("button", { type: "button", hidden: true, onclick: make }, "Update the map");
const selection = h("section", { class: "map-selection card", "aria-label": "Selected photos", hidden: true });
const screen = h("div", { class: "map-screen", hidden: true }, stage, card, tools, listBox, selection);
main.append(h("div", { class: "page-head" }, h("h1", {}, "Map"), status, h("span", { class: "spring" }), makeButton, listButton), screen);

function tool(title, onclick, ...drawing) {
  return h("button", { type: "button", class: "icon", title, "aria-label": title, onclick }, icon(...drawing));
}

// --- Drawing ---------------------------------------------------------------------------------------------------

let pointLayer = null, labelLayer = null, colours = null, waiting = false;
// While the view moves, as many points are drawn as this machine can in a frame; at rest, all.
const pace = { moving: false, last: 0, count: Infinity, rest: 0 };
const SLOW = 34, QUICK = 20, FEWEST_POINTS = 15_000;

function redraw() {
  if (waiting || !map.points) return;
  waiting = true;
  requestAnimationFrame(drawFrame);
}

function drawFrame(now) {
  waiting = false;
  const start = performance.now(), { n } = map.points;
  if (pace.moving && pace.last) {
    const took = now - pace.last;
    if (took > SLOW && took < 1000) pace.count = Math.max(FEWEST_POINTS, 0.6 * Math.min(pace.count, n));
    else if (took < QUICK) pace.count = Math.min(n, 1.25 * pace.count);
  }
  pace.last = pace.moving ? now : 0;
  const count = Math.round(pace.moving ? Math.min(pace.count, n) : n);
  pointLayer?.draw(camera, colours, count);
  labelLayer.draw(camera, map.words, map.points, map.grid, colours, map.lasso);
  if (stage.dataset.drawn !== String(n)) stage.dataset.drawn = n;
  stage.drawn = { milliseconds: performance.now() - start, points: count }; // what a frame costs here
}

function moved() {
  card.hidden = true;
  pace.moving = true;
  clearTimeout(pace.rest);
  pace.rest = setTimeout(() => ((pace.moving = false), redraw()), 160);
  redraw();
}

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (name) => {
    const span = h("span");
    span.style.color = `var(${name})`;
    main.append(span);
    probe.fillStyle = getComputedStyle(span).color;
    span.remove();
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const css = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;
  const part = (name) => rgb(name).map((value) => value / 255);
  colours = { plain: part("--line-strong"), tagged: part("--accent"), picked: part("--caution"), chosen: css(rgb("--caution")), ink: css(rgb("--ink")), halo: css(rgb("--paper"), 0.88), frame: css(rgb("--surface")), accent: css(rgb("--accent")), wash: css(rgb("--accent"), 0.12), font: style.getPropertyValue("--sans") };
}

function resize() {
  const { clientWidth: width, clientHeight: height } = stage;
  const ratio = Math.min(devicePixelRatio || 1, 2);
  for (const canvas of [pointCanvas, labelCanvas]) Object.assign(canvas, { width: width * ratio, height: height * ratio });
  camera.resize(width, height, ratio);
  redraw();
}

const recolour = () => (readColours(), redraw());
new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
pointCanvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
pointCanvas.addEventListener("webglcontextrestored", () => (pointLayer.load(map.points), mark(), redraw()));

// --- Hover, click, lasso ---------------------------------------------------------------------------------------

const at = (x, y) => {
  const shown = labelLayer.pictureAt(x, y);
  return shown >= 0 ? shown : map.grid.nearest(...camera.toWorld(x, y), 9 / camera.zoom);
};

function hover(x, y) {
  const i = x < 0 ? -1 : at(x, y);
  stage.classList.toggle("over-photo", i >= 0);
  card.hidden = i < 0;
  if (i < 0) return;
  const [image, text] = card.children;
  if (card.dataset.photo !== String(map.points.ids[i])) {
    card.dataset.photo = map.points.ids[i];
    card.href = `/photo/${map.points.ids[i]}`;
    image.src = thumbnail(map.points.ids[i]);
    text.textContent = map.points.flags[i] & TAGGED ? "tagged" : "not tagged yet";
  }
  card.style.left = `${Math.min(x + 14, camera.width - 190)}px`;
  card.style.top = `${Math.min(y + 14, camera.height - 160)}px`;
}

const open = (i) => i >= 0 && location.assign(`/photo/${map.points.ids[i]}`);

function setLasso(on) {
  map.lassoTool = on;
  lassoButton.setAttribute("aria-pressed", String(on));
  stage.classList.toggle("lassoing", on);
}

function lasso(line, done) {
  map.lasso = line.map(([x, y]) => camera.toWorld(x, y));
  if (done) {
    select(line.length > 2 ? map.grid.inside(map.lasso) : [], map.words.filter((each) => isInside(each.x, each.y, map.lasso)));
    map.lasso = null;
    setLasso(false);
  }
  redraw();
}

// --- What is selected ------------------------------------------------------------------------------------------

function mark() {
  map.points.chosen = new Set(map.chosen);
  const marks = new Uint8Array(map.points.n);
  for (const i of map.chosen) marks[i] = 1;
  pointLayer?.choose(marks);
}

function select(chosen, words = []) {
  map.chosen = chosen;
  mark();
  redraw();
  selection.hidden = !chosen.length;
  if (!chosen.length) return;
  const field = h("input", { type: "text", "aria-label": "Word for the selected photos", placeholder: "A word for them", autocomplete: "off" });
  field.setAttribute("list", "map-words");
  const form = h("form", { class: "row", onsubmit: (event) => (event.preventDefault(), decide(field.value.trim(), event.submitter?.value ?? "present")) },
    field, h("datalist", { id: "map-words" }, ...map.words.map((each) => h("option", { value: each.word }))),
    h("button", { class: "primary", value: "present" }, "Tag"), h("button", { class: "danger", value: "rejected" }, "Reject"));
  selection.replaceChildren(
    h("div", { class: "row wide" }, h("h2", {}, `${plural(chosen.length, "photo")} selected`), h("button", { type: "button", class: "quiet", onclick: () => (select([]), stage.focus()) }, "Clear")),
    form,
    words.length ? h("div", { class: "row" }, h("span", { class: "soft small" }, "Search:"), ...words.slice(0, 8).map((each) => h("a", { class: "chip", href: `/search?${new URLSearchParams({ q: queryOf([{ text: each.word, wanted: true }]) })}` }, each.word))) : "",
    h("div", { class: "map-photos" }, ...chosen.slice(0, MOST_LISTED).map((i) => h("a", { href: `/photo/${map.points.ids[i]}`, "aria-label": `Photo ${map.points.ids[i]}` }, h("img", { src: thumbnail(map.points.ids[i]), alt: "", loading: "lazy" })))),
    chosen.length > MOST_LISTED ? h("p", { class: "small soft" }, `and ${plural(chosen.length - MOST_LISTED, "more photo")}`) : "");
}

async function decide(word, verdict) {
  if (word && (await say(map.chosen.map((i) => map.points.ids[i]), word, verdict))) refresh().catch(tell);
}

// --- Words as a list -------------------------------------------------------------------------------------------

function fillList() {
  const items = map.words.map((each) => h("li", {},
    h("a", { href: `/photos?${new URLSearchParams({ word: each.word })}` }, each.word), h("span", { class: "soft small number" }, plural(each.photos, "photo")),
    pointLayer ? h("button", { type: "button", class: "quiet", "aria-label": `Show ${each.word} on the map`, onclick: () => goTo(each) }, "Show") : ""));
  listBox.replaceChildren(h("h2", {}, "Words of the map"), h("ul", { class: "plain" }, ...items));
}

function showList() {
  listBox.hidden = !listBox.hidden;
  listButton.setAttribute("aria-expanded", String(!listBox.hidden));
  if (!listBox.hidden) listBox.querySelector("a")?.focus();
}

function goTo({ x, y }) {
  Object.assign(camera, { x, y, zoom: 6 * camera.least });
  redraw();
  stage.focus();
}

// --- Loading ---------------------------------------------------------------------------------------------------

async function bytesOf(version) {
  const response = await fetch(`/api/map/points?version=${version}`, { credentials: "same-origin" });
  if (!response.ok) throw new Error("The map could not be loaded. Load the page again.");
  return response.arrayBuffer();
}

async function refresh() {
  const summary = await get("map");
  const points = columns(await bytesOf(summary.version));
  const chosen = new Set(map.chosen.map((i) => map.points.ids[i]));
  map.words = summary.words;
  map.points = points;
  map.grid = new PointGrid(map.points);
  camera.most = Math.max(6, 0.8 * Math.sqrt(map.points.n));
  camera.smallest = Math.max(2.4, Math.min(7, 110 / Math.sqrt(map.points.n)));
  pointLayer?.load(map.points);
  // A map that was made anew has the same photos in other places.
  if (map.version === summary.version) mark();
  else select([...points.ids.keys()].filter((i) => chosen.has(points.ids[i])));
  map.version = summary.version;
  fillList();
  status.textContent = `${plural(map.points.n, "photo")}, ${plural(map.words.length, "word")}`;
  makeButton.hidden = summary.status !== "stale";
  redraw();
}

async function make() {
  makeButton.disabled = true;
  status.textContent = "Making the map…";
  try {
    let job = await post("jobs", { kind: "map" });
    while (["waiting", "running"].includes(job.state)) {
      await new Promise((resolve) => setTimeout(resolve, 700));
      job = await get(`jobs/${job.id}`);
      status.textContent = job.total ? `Making the map: ${Math.round((100 * job.done) / job.total)}%` : "Making the map…";
    }
    if (job.state !== "done") throw new Error(job.error?.message ?? "The map was not made.");
    location.reload();
  } catch (error) {
    status.textContent = "";
    tell(error);
  }
  makeButton.disabled = false;
}

function invite() {
  main.append(h("div", { class: "empty" }, h("h2", {}, "There is no map yet"), h("p", {}, "A map puts photos that look alike next to each other, with your words among them. It takes about a minute to make."), h("button", { type: "button", class: "primary", onclick: make }, "Make the map")));
}

async function start() {
  try {
    const summary = await get("map");
    if (summary.status === "none") return invite();
    screen.hidden = false;
    try {
      pointLayer = new PointLayer(pointCanvas);
    } catch {
      screen.prepend(h("p", { class: "notice caution" }, "This browser has no WebGL2, which the map is drawn with; here are its words as a list."));
      stage.hidden = tools.hidden = true;
      showList();
    }
    readColours();
    labelLayer = new LabelLayer(labelCanvas, redraw);
    resize();
    await refresh();
    new ResizeObserver(resize).observe(stage);
    listen(stage, camera, { changed: moved, hover, click: (x, y) => open(at(x, y)), lasso, isLasso: (event) => event.shiftKey || map.lassoTool });
  } catch (error) {
    tell(error);
    main.append(h("p", { class: "notice trouble" }, [error.message, error.hint].filter(Boolean).join(" ")));
  }
}

// --- Keyboard --------------------------------------------------------------------------------------------------

const zoom = (factor) => (camera.zoomAt(factor), moved());
const pan = (dx, dy) => (camera.pan(dx * 80, dy * 80), moved());
shortcut("ArrowLeft", "Move over the map (arrow keys)", () => pan(1, 0));
for (const [key, dx, dy] of [["ArrowRight", -1, 0], ["ArrowUp", 0, 1], ["ArrowDown", 0, -1]]) shortcut(key, "", () => pan(dx, dy));
shortcut(["+", "="], "Zoom in", () => zoom(1.5));
shortcut("-", "Zoom out", () => zoom(1 / 1.5));
shortcut("0", "Show everything", () => (camera.fit(), redraw()));
shortcut("l", "Select with a lasso", () => setLasso(!map.lassoTool));
shortcut("s", "Select all photos in view", () => {
  const [left, top] = camera.toWorld(0, 0), [right, bottom] = camera.toWorld(camera.width, camera.height);
  const line = [[left, top], [right, top], [right, bottom], [left, bottom]];
  select(map.grid.inside(line), map.words.filter((each) => isInside(each.x, each.y, line)));
  selection.querySelector("input")?.focus();
});
shortcut("Enter", "Open the photo in the middle", () => open(map.grid.nearest(camera.x, camera.y, 0.1)));
shortcut("Escape", "Clear the selection", () => (setLasso(false), select([]), stage.focus()));
document.addEventListener("topicture-undone", () => map.points && refresh().catch(tell));
start();
