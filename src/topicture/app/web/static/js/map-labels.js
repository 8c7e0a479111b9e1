// Over the points: words that never cover each other, the more frequent first, and small pictures when close.
import { thumbnail } from "./dom.js";

const SMALLEST = 40, LARGEST = 120, GAP = 6, MOST_PICTURES = 150, MOST_SEEN = 1500;

/** Places that are taken, in squares of the screen. */
class Taken {
  constructor() {
    this.boxes = [];
  }

  take(left, top, right, bottom) {
    for (const box of this.boxes) if (left < box[2] && right > box[0] && top < box[3] && bottom > box[1]) return false;
    this.boxes.push([left, top, right, bottom]);
    return true;
  }
}

export class LabelLayer {
  constructor(canvas, redraw) {
    this.context = canvas.getContext("2d");
    this.redraw = redraw;
    this.widths = new Map();
    this.pictures = new Map();
    this.shown = []; // [i, left, top, width, height] of the pictures on the screen
  }

  draw(camera, words, points, grid, colours, lasso) {
    const { context } = this;
    context.setTransform(camera.ratio, 0, 0, camera.ratio, 0, 0);
    context.clearRect(0, 0, camera.width, camera.height);
    const taken = new Taken();
    this.drawPictures(camera, points, grid, taken, colours);
    this.drawWords(camera, words, new Taken(), colours);
    if (lasso?.length > 1) this.drawLasso(camera, lasso, colours);
  }

  /** So few photos in view that they can be told apart: show them, the larger the fewer there are. */
  drawPictures(camera, points, grid, taken, colours) {
    this.shown = [];
    const seen = [];
    const [left, top] = camera.toWorld(0, 0), [right, bottom] = camera.toWorld(camera.width, camera.height);
    grid.within(left, bottom, right, top, (i) => seen.push(i) <= MOST_SEEN);
    if (seen.length > MOST_SEEN) return;
    const size = Math.max(SMALLEST, Math.min(LARGEST, 0.8 * Math.sqrt((camera.width * camera.height) / (seen.length + 1))));
    for (const i of seen.sort((a, b) => a - b)) {
      if (this.shown.length >= MOST_PICTURES) break;
      const [x, y] = camera.toScreen(points.x[i], points.y[i]);
      const image = this.picture(points.ids[i]);
      const ratio = image.naturalWidth ? image.naturalWidth / image.naturalHeight : 1.5;
      const [width, height] = ratio > 1 ? [size, size / ratio] : [size * ratio, size];
      if (!taken.take(x - width / 2 - 3, y - height / 2 - 3, x + width / 2 + 3, y + height / 2 + 3)) continue;
      this.shown.push([i, x - width / 2, y - height / 2, width, height]);
      if (!image.naturalWidth) continue;
      this.context.fillStyle = points.chosen?.has(i) ? colours.chosen : colours.frame;
      this.context.fillRect(x - width / 2 - 2, y - height / 2 - 2, width + 4, height + 4);
      this.context.drawImage(image, x - width / 2, y - height / 2, width, height);
    }
  }

  picture(id) {
    let image = this.pictures.get(id);
    if (!image) {
      image = new Image();
      image.addEventListener("load", this.redraw);
      image.src = thumbnail(id);
      this.pictures.set(id, image);
      if (this.pictures.size > 400) this.pictures.delete(this.pictures.keys().next().value);
    }
    return image;
  }

  drawWords(camera, words, taken, colours) {
    const { context } = this;
    const most = Math.sqrt(words[0]?.photos ?? 1);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4;
    context.strokeStyle = colours.halo;
    context.fillStyle = colours.ink;
    for (const each of words) {
      const [x, y] = camera.toScreen(each.x, each.y);
      if (x < -80 || y < -20 || x > camera.width + 80 || y > camera.height + 20) continue;
      const size = Math.round(12 + 11 * (Math.sqrt(each.photos) / most));
      context.font = `600 ${size}px ${colours.font}`;
      const key = `${size} ${each.word}`;
      if (!this.widths.has(key)) this.widths.set(key, context.measureText(each.word).width);
      const half = this.widths.get(key) / 2 + GAP;
      if (!taken.take(x - half, y - size / 2 - 3, x + half, y + size / 2 + 3)) continue;
      context.strokeText(each.word, x, y);
      context.fillText(each.word, x, y);
    }
  }

  drawLasso(camera, lasso, colours) {
    const { context } = this;
    context.beginPath();
    lasso.forEach((each, i) => context[i ? "lineTo" : "moveTo"](...camera.toScreen(...each)));
    context.closePath();
    context.fillStyle = colours.wash;
    context.fill();
    context.lineWidth = 1.5;
    context.strokeStyle = colours.accent;
    context.stroke();
  }

  /** The photo whose picture is at a place of the screen; -1 where there is none. */
  pictureAt(x, y) {
    const found = this.shown.findLast(([, left, top, width, height]) => x >= left && x <= left + width && y >= top && y <= top + height);
    return found ? found[0] : -1;
  }
}
