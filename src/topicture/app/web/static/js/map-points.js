// The points of the map: columns as the server sends them, drawn by WebGL2 from one buffer, found again by a grid.

export const TAGGED = 1, SUGGESTED = 2, GONE = 4;

/** ids, x, y and flags of n photos: views of the bytes that came. */
export function columns(bytes) {
  const n = bytes.byteLength / 13;
  return { n, bytes, ids: new Int32Array(bytes, 0, n), x: new Float32Array(bytes, 4 * n, n), y: new Float32Array(bytes, 8 * n, n), flags: new Uint8Array(bytes, 12 * n, n) };
}

const VERTEX = `#version 300 es
in float x; in float y; in float flags; in float chosen;
uniform vec2 centre; uniform vec2 scale; uniform float size; uniform vec3 plain; uniform vec3 tagged; uniform vec3 picked;
out vec3 colour; out float alpha;
void main() {
  bool gone = mod(floor(flags / 4.0), 2.0) > 0.5;
  gl_Position = gone ? vec4(9.0) : vec4((vec2(x, y) - centre) * scale, 0.0, 1.0);
  gl_PointSize = chosen > 0.5 ? size + 3.0 : size;
  colour = chosen > 0.5 ? picked : mod(flags, 2.0) > 0.5 ? tagged : plain;
  alpha = chosen > 0.5 ? 1.0 : 0.78;
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec3 colour; in float alpha; out vec4 shade;
void main() {
  float distance = length(gl_PointCoord - 0.5);
  if (distance > 0.5) discard;
  shade = vec4(colour * alpha, alpha);
}`;

/** Draws points on a canvas; throws where there is no WebGL2. */
export class PointLayer {
  constructor(canvas) {
    this.gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!this.gl) throw new Error("no WebGL2");
  }

  load(points) {
    const { gl } = this;
    this.points = points;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    this.uniforms = Object.fromEntries(["centre", "scale", "size", "plain", "tagged", "picked"].map((name) => [name, gl.getUniformLocation(program, name)]));
    // The bytes as they came are the buffer: x, y and flags are columns of it.
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, points.bytes, gl.STATIC_DRAW);
    const column = (name, type, offset) => {
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, 1, type, false, 0, offset);
    };
    column("x", gl.FLOAT, 4 * points.n);
    column("y", gl.FLOAT, 8 * points.n);
    column("flags", gl.UNSIGNED_BYTE, 12 * points.n);
    this.chosenBuffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.chosenBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, points.n, gl.DYNAMIC_DRAW);
    column("chosen", gl.UNSIGNED_BYTE, 0);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  choose(marks) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.chosenBuffer);
    this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, marks);
  }

  /** The first `count` points are drawn: they come in no order, so that some of them stand for all. */
  draw(camera, colours, count) {
    const { gl, uniforms } = this;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(uniforms.centre, camera.x, camera.y);
    gl.uniform2f(uniforms.scale, (2 * camera.zoom * camera.stretch) / camera.width, (2 * camera.zoom) / camera.height);
    gl.uniform1f(uniforms.size, camera.pointSize * camera.ratio);
    for (const name of ["plain", "tagged", "picked"]) gl.uniform3fv(uniforms[name], colours[name]);
    gl.drawArrays(gl.POINTS, 0, count);
  }
}

/** Points by square, so that those near a place are found without looking at all of them. */
export class PointGrid {
  constructor({ n, x, y, flags }, side = Math.max(1, Math.min(512, Math.ceil(Math.sqrt(n / 4))))) {
    Object.assign(this, { n, x, y, side });
    const cells = new Int32Array(n);
    this.starts = new Int32Array(side * side + 1);
    for (let i = 0; i < n; i++) {
      cells[i] = flags[i] & GONE ? -1 : this.row(y[i]) * side + this.row(x[i]);
      if (cells[i] >= 0) this.starts[cells[i] + 1]++;
    }
    for (let cell = 0; cell < side * side; cell++) this.starts[cell + 1] += this.starts[cell];
    const next = this.starts.slice();
    this.order = new Int32Array(this.starts[side * side]);
    for (let i = 0; i < n; i++) if (cells[i] >= 0) this.order[next[cells[i]]++] = i;
  }

  row(value) {
    return Math.max(0, Math.min(this.side - 1, Math.floor(((value + 1) / 2) * this.side)));
  }

  /** Calls `visit(i)` for the points of a rectangle; stops where it returns false. */
  within(left, bottom, right, top, visit) {
    for (let row = this.row(bottom); row <= this.row(top); row++) {
      for (let column = this.row(left); column <= this.row(right); column++) {
        const cell = row * this.side + column;
        for (let k = this.starts[cell]; k < this.starts[cell + 1]; k++) {
          const i = this.order[k];
          if (this.x[i] >= left && this.x[i] <= right && this.y[i] >= bottom && this.y[i] <= top && visit(i) === false) return;
        }
      }
    }
  }

  /** The point nearest to a place, at most `radius` away; -1 where there is none. */
  nearest(x, y, radius) {
    let best = -1, least = radius * radius;
    this.within(x - radius, y - radius, x + radius, y + radius, (i) => {
      const distance = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
      if (distance <= least) [best, least] = [i, distance];
    });
    return best;
  }

  /** The points inside a closed line of [x, y]. */
  inside(line) {
    const [xs, ys] = [line.map((each) => each[0]), line.map((each) => each[1])];
    const found = [];
    this.within(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (i) => {
      if (isInside(this.x[i], this.y[i], line)) found.push(i);
    });
    return found;
  }
}

export function isInside(x, y, line) {
  let inside = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [xi, yi] = line[i], [xj, yj] = line[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}
