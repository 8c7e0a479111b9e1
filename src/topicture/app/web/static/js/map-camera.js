// Where one looks at the map from, and the gestures that change it: drag, wheel, pinch, keys.

export class Camera {
  constructor() {
    Object.assign(this, { x: 0, y: 0, zoom: 1, width: 1, height: 1, ratio: 1, least: 1, smallest: 2.6, most: 400, stretch: 1 });
  }

  /** The size of the screen in pixels; the first time all of the map is shown. */
  resize(width, height, ratio) {
    const first = this.width === 1;
    const stretch = Math.max(0.7, Math.min(1.7, width / height)); // the plane has no width of its own: fill the screen
    Object.assign(this, { width, height, ratio, stretch, least: 0.46 * Math.min(height, width / stretch) });
    if (first) this.fit();
    this.zoom = Math.max(this.zoom, 0.5 * this.least);
  }

  fit() {
    Object.assign(this, { x: 0, y: 0, zoom: this.least });
  }

  get pointSize() {
    return Math.min(12, this.smallest + 1.1 * Math.log2(Math.max(1, this.zoom / this.least)));
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.zoom * this.stretch, this.height / 2 - (y - this.y) * this.zoom];
  }

  toWorld(x, y) {
    return [this.x + (x - this.width / 2) / this.zoom / this.stretch, this.y - (y - this.height / 2) / this.zoom];
  }

  pan(dx, dy) {
    this.x = Math.max(-1.2, Math.min(1.2, this.x - dx / this.zoom / this.stretch));
    this.y = Math.max(-1.2, Math.min(1.2, this.y + dy / this.zoom));
  }

  /** Zoom by a factor, so that what is at a place of the screen stays there. */
  zoomAt(factor, x = this.width / 2, y = this.height / 2) {
    const [wx, wy] = this.toWorld(x, y);
    this.zoom = Math.max(0.5 * this.least, Math.min(this.most * this.least, this.zoom * factor));
    const [sx, sy] = this.toScreen(wx, wy);
    this.pan(x - sx, y - sy);
  }
}

/** Listen to an element; `on` has changed(), hover(x, y), click(x, y), lasso(points of the screen, done), isLasso(event). */
export function listen(element, camera, on) {
  const fingers = new Map();
  let line = null, moved = 0;
  const place = (event) => {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  element.addEventListener("wheel", (event) => {
    event.preventDefault();
    camera.zoomAt(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...place(event));
    on.changed();
  }, { passive: false });
  element.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    moved = 0;
    line = fingers.size === 1 && on.isLasso(event) ? [place(event)] : null;
  });
  element.addEventListener("pointermove", (event) => {
    const now = place(event), before = fingers.get(event.pointerId);
    if (!before) return on.hover(...now);
    const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
    moved += Math.abs(dx) + Math.abs(dy);
    if (line) {
      line.push(now);
      on.lasso(line, false);
    } else if (fingers.size === 1) {
      camera.pan(dx, dy);
      on.changed();
    } else {
      const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, each]) => each);
      const far = (each) => Math.hypot(each[0] - other[0], each[1] - other[1]) || 1;
      camera.zoomAt(far(now) / far(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      camera.pan(dx / 2, dy / 2);
      on.changed();
    }
    fingers.set(event.pointerId, now);
  });
  const up = (event) => {
    if (!fingers.delete(event.pointerId)) return;
    if (line) on.lasso(line, true);
    else if (event.type === "pointerup" && moved < 6) on.click(...place(event));
    line = null;
  };
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("pointerleave", () => on.hover(-1, -1));
}
