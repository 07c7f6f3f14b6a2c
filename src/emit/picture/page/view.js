/* Which part of the schedule and of the memory is seen: one for all panels of the device's memory, so
 * that they stay in one scale. */

const MARGIN = { left: 76, right: 158, top: 10, bottom: 44 };
const LEAST_POSITIONS = 4;
const LEAST_BYTES = 16;

function makeView(panels) {
  const width = Math.max(1, ...panels.map((panel) => panel.numPositions));
  const most = Math.max(1, ...panels.map((panel) => panel.totalBytes));
  const limits = panels.map((panel) => panel.limit).filter((limit) => limit > most && limit < 2 * most);
  const height = Math.max(most, ...limits) * 1.09;
  return { width, height, x0: 0, x1: width, y0: 0, y1: height };
}

/* A further memory is seen whole, in a scale of its own, for the same part of the schedule. */
function makeTrackView(view, panels) {
  const height = Math.max(1, ...panels.map((panel) => panel.totalBytes)) * 1.09;
  return { get x0() { return view.x0; }, get x1() { return view.x1; }, y0: 0, y1: height };
}

function clampSpan(low, high, least, size) {
  const span = Math.min(Math.max(high - low, Math.min(least, size)), size);
  const middle = (low + high) / 2;
  const begin = Math.min(Math.max(middle - span / 2, 0), size - span);
  return [begin, begin + span];
}

function setView(view, x0, x1, y0, y1) {
  [view.x0, view.x1] = clampSpan(x0, x1, LEAST_POSITIONS, view.width);
  [view.y0, view.y1] = clampSpan(y0, y1, LEAST_BYTES, view.height);
}

/* The plot moves on the screen as s -> s * k + b, in both directions; sizes in pixels. */
function moveView(view, plot, kx, bx, ky, by) {
  const spanX = (view.x1 - view.x0) / kx;
  const spanY = (view.y1 - view.y0) / ky;
  const x0 = view.x0 - (bx / kx / plot.width) * (view.x1 - view.x0);
  const y1 = view.y1 + (by / ky / plot.height) * (view.y1 - view.y0);
  setView(view, x0, x0 + spanX, y1 - spanY, y1);
}

/* Zooms around the middle. */
function zoomView(view, kx, ky) {
  const x = (view.x0 + view.x1) / 2;
  const y = (view.y0 + view.y1) / 2;
  const dx = (view.x1 - view.x0) / kx / 2;
  const dy = (view.y1 - view.y0) / ky / 2;
  setView(view, x - dx, x + dx, y - dy, y + dy);
}

function temporariesOf(panels) {
  const bases = panels.map((panel) => panel.spaces.find((space) => space.kind === "temporaries")?.base);
  const low = Math.min(...bases.filter((base) => base !== undefined));
  const high = Math.max(...panels.map((panel) => panel.totalBytes));
  return Number.isFinite(low) ? [low, high] : null;
}

/* ---- axes ---- */

/* A power of two. */
function byteStep(span, maxMarks) {
  return Math.max(1, 2 ** Math.ceil(Math.log2(span / Math.max(1, maxMarks))));
}

/* 1, 2 or 5 times a power of ten. */
function countStep(span, maxMarks) {
  const least = Math.max(1, span / Math.max(1, maxMarks));
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999999);
}

function marksOf(low, high, step) {
  const marks = [];
  for (let i = Math.ceil(low / step); i * step <= high; i++) marks.push(i * step);
  return marks;
}
