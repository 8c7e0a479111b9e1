// Small plots as SVG: they scale, print, and take the colours of the theme.
import { percent } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element with attributes. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const SIDE = 240;
const EDGE = 34;
const at = (share) => EDGE + share * SIDE;
const up = (share) => EDGE + (1 - share) * SIDE - 22;

/** What was promised against what came true, one dot per bin, larger for more suggestions; the diagonal is perfect. */
export function calibrationPlot(bins) {
  const most = Math.max(...bins.map((bin) => bin.n), 1);
  const said = bins.map((bin) => `${percent(bin.promised)} promised, ${percent(bin.observed)} came true, of ${bin.n}`).join("; ");
  const plot = svg("svg", { viewBox: `0 0 ${SIDE + EDGE + 14} ${SIDE + EDGE + 18}`, class: "calibration", role: "img", "aria-label": `Calibration: ${said}` });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    plot.append(
      svg("path", { class: "grid", d: `M${at(0)} ${up(share)}H${at(1)}M${at(share)} ${up(0)}V${up(1)}` }),
      svg("text", { x: at(0) - 6, y: up(share) + 4, "text-anchor": "end" }, percent(share)),
      svg("text", { x: at(share), y: up(0) + 16, "text-anchor": "middle" }, percent(share)));
  }
  plot.append(svg("path", { class: "perfect", d: `M${at(0)} ${up(0)}L${at(1)} ${up(1)}` }));
  plot.append(svg("path", { class: "curve", d: bins.map((bin, i) => `${i ? "L" : "M"}${at(bin.promised)} ${up(bin.observed)}`).join("") }));
  for (const bin of bins) {
    const dot = svg("circle", { cx: at(bin.promised), cy: up(bin.observed), r: 3 + 6 * Math.sqrt(bin.n / most) });
    dot.append(svg("title", {}, `${percent(bin.promised)} promised, ${percent(bin.observed)} came true, of ${bin.n}`));
    plot.append(dot);
  }
  plot.append(
    svg("text", { class: "axis", x: at(1), y: up(0) - 6, "text-anchor": "end" }, "promised"),
    svg("text", { class: "axis", x: at(0) + 6, y: up(1) + 12 }, "came true"));
  return plot;
}

/** A line through values, as wide as its place. */
export function sparkline(values) {
  const low = Math.min(...values);
  const range = Math.max(...values) - low || 1;
  const path = values.map((value, i) => `${i ? "L" : "M"}${(100 * i / (values.length - 1)).toFixed(2)} ${(28 - 26 * (value - low) / range).toFixed(2)}`).join("");
  return svg("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", class: "sparkline", "aria-hidden": "true" }, svg("path", { d: path, "vector-effect": "non-scaling-stroke" }));
}
