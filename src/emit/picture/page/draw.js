/* Drawing. Boxes are filled into an image byte by byte: they do not overlap, so that takes as long as
 * there are pixels, however many boxes there are. Names, lines and axes are drawn over it. */

const FONT = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', Helvetica, Arial, sans-serif";
const MAX_NAMES = 400;
const MAX_LINKS = 200;

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const theme = {};
  for (const name of ["paper", "ink", "dim", "faint", "grid", "accent", "over", "muted"]) {
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  }
  return theme;
}

function rgbOf(color) {
  const value = parseInt(color.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/* As an element of an image's data, which is in the order of the machine's bytes: all that browsers
 * run on have the lowest first. */
function pixelOf([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function mix(a, b, share) {
  return a.map((value, k) => Math.round(value * (1 - share) + b[k] * share));
}

/* Whether what is written on a colour is white: 1, or black: 0. */
function inkOn([red, green, blue]) {
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 110 ? 1 : 0;
}

/* ---- colours of values ---- */

/* Large neighbours differ a little, so that they can be told apart. */
function paintValues(state) {
  const paper = rgbOf(state.theme.paper);
  const paints = state.groups.map(({ color }) => {
    const full = rgbOf(color);
    const shades = [full, mix(full, [0, 0, 0], 0.07), mix(full, [255, 255, 255], 0.1)];
    const pale = mix(full, paper, 0.82);
    return { full: shades.map(pixelOf), pale: pixelOf(pale), ink: inkOn(full), paleInk: inkOn(pale) };
  });
  for (const panel of state.panels) {
    for (let i = 0; i < panel.count; i++) {
      const paint = paints[panel.group[i]];
      const isPale = (panel.matches && !panel.matches[i]) ||
        (state.isolated !== null && state.isolated !== panel.group[i]);
      panel.flat[i] = isPale ? paint.pale : paint.full[0];
      panel.color[i] = isPale ? paint.pale : paint.full[(Math.imul(i, 0x9e3779b1) >>> 16) % 3];
      panel.ink[i] = isPale ? paint.paleInk : paint.ink;
    }
  }
}

/* ---- the image of the boxes ---- */

function makeImage(panel, plot, ratio) {
  const width = Math.max(1, Math.round(plot.width * ratio));
  const height = Math.max(1, Math.round(plot.height * ratio));
  if (!panel.image || panel.image.width !== width || panel.image.height !== height) {
    panel.image = new ImageData(width, height);
    panel.pixels = new Uint32Array(panel.image.data.buffer);
  }
  return panel.image;
}

function fillBox(pixels, stride, left, top, right, bottom, color) {
  for (let y = top; y < bottom; y++) {
    if (right - left === 1) pixels[y * stride + left] = color;
    else pixels.fill(color, y * stride + left, y * stride + right);
  }
}

function stripeBox(pixels, stride, left, top, right, bottom, ratio) {
  const period = Math.round(7 * ratio);
  const black = pixelOf([20, 20, 20]);
  for (let y = top; y < bottom; y++) {
    for (let x = left; x < right; x++) {
      if ((x + y) % period < 1.6 * ratio) pixels[y * stride + x] = black;
    }
  }
}

function drawGrid(pixels, width, height, view, plot, theme) {
  const perByte = height / (view.y1 - view.y0);
  for (const mark of marksOf(view.y0, view.y1, byteStep(view.y1 - view.y0, plot.height / 48))) {
    const y = Math.floor((view.y1 - mark) * perByte);
    if (y >= 0 && y < height) pixels.fill(pixelOf(rgbOf(theme.grid)), y * width, (y + 1) * width);
  }
}

/* Boxes that cross the edge of a pixel in both directions are drawn at once. Those within a pixel are
 * drawn in the end where nothing else is: there can be any number of them. */
function drawBoxes(panel, view, plot, ratio, theme) {
  const { width, height } = makeImage(panel, plot, ratio);
  const pixels = panel.pixels;
  const paper = pixelOf(rgbOf(theme.paper));
  pixels.fill(paper);
  const perPosition = width / (view.x1 - view.x0);
  const perByte = height / (view.y1 - view.y0);
  drawGrid(pixels, width, height, view, plot, theme);
  const { begin, end, bottom, bytes, color, flat, again, small } = panel;
  let numSmall = 0;
  let numDrawn = 0;
  for (let i = 0; i < panel.count; i++) {
    if (end[i] <= view.x0 || begin[i] >= view.x1) continue;
    if (bottom[i] + bytes[i] <= view.y0 || bottom[i] >= view.y1) continue;
    const left = Math.max(0, Math.floor((begin[i] - view.x0) * perPosition));
    let right = Math.min(width, Math.floor((end[i] - view.x0) * perPosition));
    let top = Math.max(0, Math.floor((view.y1 - bottom[i] - bytes[i]) * perByte));
    const low = Math.min(height, Math.floor((view.y1 - bottom[i]) * perByte));
    if (left >= right || top >= low) {
      small[numSmall++] = i;
      small[numSmall++] = Math.min(left, width - 1);
      small[numSmall++] = Math.min(top, height - 1);
      small[numSmall++] = right;
      small[numSmall++] = low;
      continue;
    }
    numDrawn++;
    const isLarge = right - left > 3 * ratio && low - top > 3 * ratio;
    if (right - left > 3 * ratio && right < width) right -= Math.round(ratio);
    if (low - top > 3 * ratio && top > 0) top += Math.round(ratio);
    fillBox(pixels, width, left, top, right, low, isLarge ? color[i] : flat[i]);
    if (again[i]) stripeBox(pixels, width, left, top, right, low, ratio);
  }
  for (let k = 0; k < numSmall; k += 5) {
    const left = small[k + 1];
    const top = small[k + 2];
    const right = Math.max(small[k + 3], left + 1);
    const low = Math.max(small[k + 4], top + 1);
    if (pixels[((top + low) >> 1) * width + ((left + right) >> 1)] !== paper) continue;
    fillBox(pixels, width, left, top, right, low, flat[small[k]]);
    numDrawn++;
  }
  if (panel.matches) numDrawn += drawMatches(panel, view, width, height, ratio);
  return numDrawn;
}

/* What was searched for is seen however small it is. */
function drawMatches(panel, view, width, height, ratio) {
  const { begin, end, bottom, bytes, flat, matches, pixels } = panel;
  const perPosition = width / (view.x1 - view.x0);
  const perByte = height / (view.y1 - view.y0);
  const least = Math.round(2 * ratio);
  let numDrawn = 0;
  for (let i = 0; i < panel.count; i++) {
    if (!matches[i] || end[i] <= view.x0 || begin[i] >= view.x1) continue;
    if (bottom[i] + bytes[i] <= view.y0 || bottom[i] >= view.y1) continue;
    const left = Math.max(0, Math.floor((begin[i] - view.x0) * perPosition));
    const right = Math.min(width, Math.floor((end[i] - view.x0) * perPosition));
    const top = Math.max(0, Math.floor((view.y1 - bottom[i] - bytes[i]) * perByte));
    const low = Math.min(height, Math.floor((view.y1 - bottom[i]) * perByte));
    if (right - left >= least && low - top >= least) continue;
    fillBox(pixels, width, left, top, Math.min(width, Math.max(right, left + least)),
            Math.min(height, Math.max(low, top + least)), flat[i]);
    numDrawn++;
  }
  return numDrawn;
}

/* ---- what is drawn over it ---- */

function makeScale(view, plot) {
  return {
    x: (position) => plot.left + ((position - view.x0) / (view.x1 - view.x0)) * plot.width,
    y: (height) => plot.top + ((view.y1 - height) / (view.y1 - view.y0)) * plot.height,
    position: (x) => view.x0 + ((x - plot.left) / plot.width) * (view.x1 - view.x0),
    height: (y) => view.y1 - ((y - plot.top) / plot.height) * (view.y1 - view.y0),
  };
}

function boxOf(panel, i, scale) {
  const left = scale.x(panel.begin[i]);
  const top = scale.y(panel.bottom[i] + panel.bytes[i]);
  return { left, top, width: scale.x(panel.end[i]) - left, height: scale.y(panel.bottom[i]) - top };
}

function shorten(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let length = Math.floor((text.length * width) / context.measureText(text).width);
  while (length > 0 && context.measureText(`${text.slice(0, length)}\u2026`).width > width) length--;
  return length > 2 ? `${text.slice(0, length)}\u2026` : "";
}

/* A label and shorter forms of it: an argument loses its beginning, `mlp/dot_general` its scope and
 * `dot_general model.py:20` its place. */
function formsOf(label) {
  const forms = [label];
  if (label.includes("[")) {
    for (let at = label.indexOf("[", 1); at >= 0; at = label.indexOf("[", at + 1)) forms.push(`\u2026${label.slice(at)}`);
  } else if (label.includes("/")) {
    forms.push(label.slice(label.lastIndexOf("/") + 1));
  } else if (label.includes(" ")) {
    forms.push(label.slice(0, label.indexOf(" ")));
  }
  return forms;
}

/* The longest form of a label that fits, or the beginning of the shortest one. */
function fitLabel(context, label, width) {
  const forms = formsOf(label);
  return forms.find((form) => context.measureText(form).width <= width) ?? shorten(context, forms.at(-1), width);
}

function overlaps(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

/* By column of pixels: the highest and lowest place of the line of live bytes, with its steps and with the
 * dotted line that goes down from the peak. */
function traceColumns(panel, view, plot, scale) {
  const count = Math.ceil(plot.width) + 1;
  const columns = { high: new Float32Array(count).fill(Infinity), low: new Float32Array(count).fill(-Infinity) };
  const perPosition = plot.width / (view.x1 - view.x0);
  let last = null;
  const first = Math.max(0, Math.floor(view.x0));
  for (let position = first; position < Math.min(panel.numPositions, view.x1); position++) {
    const y = scale.y(panel.live[position]);
    const from = Math.max(0, Math.floor((position - view.x0) * perPosition));
    const to = Math.min(count - 1, Math.floor((position + 1 - view.x0) * perPosition));
    for (let x = from; x <= to; x++) {
      columns.high[x] = Math.min(columns.high[x], y);
      columns.low[x] = Math.max(columns.low[x], y);
    }
    if (last !== null && from < count) {
      columns.high[from] = Math.min(columns.high[from], last);
      columns.low[from] = Math.max(columns.low[from], last);
    }
    last = y;
  }
  const peak = Math.floor((panel.peakPosition + 0.5 - view.x0) * perPosition);
  if (panel.peakPosition >= 0 && peak >= 0 && peak < count) columns.low[peak] = plot.top + plot.height;
  return columns;
}

/* The first place from the left of a box where a text of this width touches neither the line of live
 * bytes nor another label; null = there is none. */
function findRoom(panel, plot, columns, room, width) {
  const isFree = (rect) => !panel.labels.some((label) => overlaps(label, rect));
  let left = room.left;
  for (let x = room.left; x < room.right; x++) {
    const column = Math.floor(x - plot.left);
    const isCrossed = columns.high[column] < room.bottom && columns.low[column] > room.top;
    if (isCrossed) left = x + 3;
    else if (x - left >= width) {
      const rect = { ...room, left, right: left + width };
      if (isFree(rect)) return rect;
      left = x + 1;
    }
  }
  return null;
}

function visibleBox(panel, i, plot, scale) {
  const box = boxOf(panel, i, scale);
  return {
    left: Math.max(box.left, plot.left),
    right: Math.min(box.left + box.width, plot.left + plot.width),
    top: Math.max(box.top, plot.top),
    bottom: Math.min(box.top + box.height, plot.top + plot.height),
  };
}

/* The middle of a label: that of its box, or beside the line of the budget if that is there. */
function middleOf(panel, top, bottom, half, scale) {
  const beside = half + 3;
  const middle = (top + bottom) / 2;
  const line = panel.limit < 0 ? Infinity : scale.y(panel.limit);
  if (Math.abs(line - middle) > beside) return middle;
  if (line + beside + half <= bottom) return line + beside;
  return line - beside - half >= top ? line - beside : middle;
}

/* Where the label of a box goes and what of it has room; null = nowhere. */
function placeName(context, panel, i, plot, scale, columns) {
  const HALF = 7;
  const { left, right, top, bottom } = visibleBox(panel, i, plot, scale);
  const middle = middleOf(panel, top, bottom, HALF, scale);
  const room = { left: left + 3, right: right - 3, top: middle - HALF, bottom: middle + HALF };
  const whole = fitLabel(context, panel.text("label", i), right - left - 9);
  const forms = [whole, ...formsOf(panel.text("label", i)).filter((form) => form.length < whole.length)];
  for (const text of whole ? forms : []) {
    const rect = findRoom(panel, plot, columns, room, context.measureText(text).width + 4);
    if (rect) return { ...rect, text };
  }
  const shortest = formsOf(panel.text("label", i)).at(-1);
  for (const share of [0.7, 0.5, 0.35]) {
    const text = shorten(context, shortest, share * (right - left));
    const rect = text.length > 5 && findRoom(panel, plot, columns, room, context.measureText(text).width + 4);
    if (rect) return { ...rect, text };
  }
  return null;
}

function drawNames(context, panel, view, plot, scale) {
  const wide = [];
  const least = (40 / plot.width) * (view.x1 - view.x0);
  const leastBytes = (14 / plot.height) * (view.y1 - view.y0);
  for (let i = 0; i < panel.count; i++) {
    const width = Math.min(panel.end[i], view.x1) - Math.max(panel.begin[i], view.x0);
    const height = Math.min(panel.bottom[i] + panel.bytes[i], view.y1) - Math.max(panel.bottom[i], view.y0);
    if (width >= least && height >= leastBytes) wide.push([width * height, i]);
  }
  wide.sort((a, b) => b[0] - a[0]);
  context.font = `11px ${FONT}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  const columns = traceColumns(panel, view, plot, scale);
  for (const [, i] of wide.slice(0, MAX_NAMES)) {
    const label = placeName(context, panel, i, plot, scale, columns);
    if (!label) continue;
    panel.labels.push({ ...label, index: i });
    const middle = (label.top + label.bottom) / 2;
    if (panel.again[i]) {
      const color = panel.color[i];
      context.globalAlpha = 0.85;
      context.fillStyle = `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255})`;
      context.fillRect(label.left, label.top, label.right - label.left, label.bottom - label.top);
      context.globalAlpha = 1;
    }
    context.fillStyle = panel.ink[i] ? "#ffffff" : "#000000";
    context.fillText(label.text, label.left + 2, middle + 0.5);
  }
}

/* The most of each pixel's positions. */
function traceLive(context, panel, view, plot, scale) {
  const step = Math.max(1, Math.floor((view.x1 - view.x0) / plot.width));
  const first = Math.max(0, Math.floor(view.x0 / step) * step);
  context.beginPath();
  for (let position = first; position < Math.min(panel.numPositions, view.x1 + step); position += step) {
    let most = 0;
    const last = Math.min(position + step, panel.numPositions);
    for (let k = position; k < last; k++) most = Math.max(most, panel.live[k]);
    const y = scale.y(most);
    if (position === first) context.moveTo(scale.x(position), y);
    context.lineTo(scale.x(position), y);
    context.lineTo(scale.x(last), y);
  }
}

function drawLive(context, panel, view, plot, scale, theme) {
  context.lineJoin = "round";
  traceLive(context, panel, view, plot, scale);
  context.globalAlpha = 0.7;
  context.strokeStyle = theme.paper;
  context.lineWidth = 4;
  context.stroke();
  context.globalAlpha = 1;
  context.strokeStyle = theme.ink;
  context.lineWidth = 1.5;
  context.stroke();
}

function drawRule(context, plot, y, color, dash, width) {
  context.strokeStyle = color;
  context.setLineDash(dash);
  context.lineWidth = width;
  context.beginPath();
  context.moveTo(plot.left, y);
  context.lineTo(plot.left + plot.width, y);
  context.stroke();
  context.setLineDash([]);
}

function drawHaloed(context, text, x, y, color, paper) {
  context.strokeStyle = paper;
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.fillStyle = color;
  context.fillText(text, x, y);
}

const LIMIT_FONT = `600 12px ${FONT}`;

/* The texts at the lines of the peak and of the budget, each with the room that it takes. What has no
 * room beside the other one goes below its line, then loses words. */
function placeLimits(context, panel, state, plot, scale) {
  const { data } = state;
  const LABEL_HEIGHT = 18;
  context.font = LIMIT_FONT;
  const peak = scale.y(panel.totalBytes);
  const limit = panel.limit < 0 ? peak : scale.y(panel.limit);
  const isCrossed = limit < peak && limit > peak - LABEL_HEIGHT;
  const above = (y) => (y - LABEL_HEIGHT < plot.top ? y + LABEL_HEIGHT - 4 : y - 5);
  const place = (kind, text, y, isRight) => {
    const width = context.measureText(text).width;
    const left = isRight ? plot.left + plot.width - 6 - width : plot.left + 6;
    return { kind, text, y, left: left - 2, right: left + width + 2, top: y - 12, bottom: y + 4 };
  };
  const label = place("peak", `peak ${formatBytes(panel.totalBytes)}`, above(isCrossed ? limit : peak), false);
  if (panel.limit < 0) return [label];
  const budget = `budget ${formatBytes(data.limit)}`;
  const places = [budget + data.limit_words, budget].flatMap((text) =>
    [above(limit), limit + LABEL_HEIGHT - 4].map((y) => place("budget", text, y, true)));
  const other = places.find((rect) => !overlaps(rect, label));
  return other ? [label, other] : [label];
}

function drawLimits(context, panel, state, plot, scale) {
  const { theme } = state;
  drawRule(context, plot, scale.y(panel.totalBytes), theme.ink, [5, 3], 1);
  if (panel.limit >= 0) drawRule(context, plot, scale.y(panel.limit), theme.over, [9, 4], 1.75);
  context.font = LIMIT_FONT;
  context.textBaseline = "alphabetic";
  context.textAlign = "left";
  for (const { kind, text, left, y } of panel.labels) {
    if (kind) drawHaloed(context, text, left + 2, y, kind === "peak" ? theme.ink : theme.over, theme.paper);
  }
}

/* Where the spaces end, and beside them how large they are. */
function drawSpaces(context, panel, state, plot, scale) {
  const { theme } = state;
  const right = plot.left + plot.width;
  const bottom = plot.top + plot.height;
  context.textAlign = "left";
  context.textBaseline = "middle";
  let lowest = bottom + 8;
  for (const space of panel.spaces) {
    const low = scale.y(space.base);
    const high = scale.y(space.base + space.bytes);
    if (space.bytes === 0 || high > bottom || low < plot.top) continue;
    if (low < bottom && space.base > 0) drawRule(context, plot, Math.round(low) + 0.5, theme.dim, [], 1);
    const y0 = Math.max(high + 1, plot.top);
    const y1 = Math.min(low - 1, bottom);
    context.fillStyle = theme.dim;
    context.fillRect(right + 5, y0, 1.5, Math.max(1, y1 - y0));
    const y = Math.min((y0 + y1) / 2, lowest - 8);
    const isTall = y1 - y0 > 30;
    const name = space.color ? `temp. S(${space.color})` : space.kind;
    context.font = `600 11px ${FONT}`;
    context.fillStyle = theme.ink;
    context.fillText(name, right + 12, isTall ? y - 7 : y);
    const width = context.measureText(name).width;
    context.font = `11px ${FONT}`;
    context.fillStyle = theme.dim;
    context.fillText(formatBytes(space.bytes, true), isTall ? right + 12 : right + 17 + width, isTall ? y + 8 : y);
    lowest = (isTall ? y - 14 : y) - 7;
  }
}

function drawAxes(context, panel, state, plot, scale) {
  const { theme } = state;
  const { view } = panel;
  const bottom = plot.top + plot.height;
  context.font = `11px ${FONT}`;
  context.fillStyle = theme.dim;
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const mark of marksOf(view.y0, view.y1, byteStep(view.y1 - view.y0, plot.height / 48))) {
    context.fillText(mark ? formatBytes(mark, true) : "0", plot.left - 8, scale.y(mark));
  }
  context.strokeStyle = theme.dim;
  context.lineWidth = 1;
  context.strokeRect(plot.left - 0.5, plot.top - 0.5, plot.width + 1, plot.height + 1);
  context.textAlign = "center";
  context.textBaseline = "top";
  const peak = scale.x(panel.peakPosition + 0.5);
  const showsPeak = panel.peakPosition >= 0 && peak >= plot.left && peak <= plot.left + plot.width;
  for (const mark of marksOf(view.x0, view.x1, countStep(view.x1 - view.x0, plot.width / 80))) {
    const x = scale.x(mark);
    context.beginPath();
    context.moveTo(x, bottom);
    context.lineTo(x, bottom + 4);
    context.stroke();
    if (!showsPeak || Math.abs(x - peak) > 56) context.fillText(formatCount(mark), x, bottom + 7);
  }
  if (showsPeak) {
    context.setLineDash([1, 3]);
    context.strokeStyle = theme.ink;
    context.beginPath();
    context.moveTo(peak, Math.max(plot.top, scale.y(panel.live[panel.peakPosition])));
    context.lineTo(peak, bottom);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = theme.ink;
    context.font = `600 11px ${FONT}`;
    const x = Math.min(Math.max(peak, plot.left + 24), plot.left + plot.width - 24);
    context.fillText(`peak ${formatCount(panel.peakPosition)}`, x, bottom + 7);
  }
  context.font = `11px ${FONT}`;
  context.fillStyle = theme.dim;
  context.fillText("position in the schedule", plot.left + plot.width / 2, bottom + 25);
}

function outline(context, box, theme, dash) {
  const left = box.left - 1;
  const top = box.top - 1;
  const width = Math.max(box.width, 2) + 2;
  const height = Math.max(box.height, 2) + 2;
  context.strokeStyle = theme.paper;
  context.lineWidth = 4;
  context.strokeRect(left, top, width, height);
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.strokeRect(left, top, width, height);
  context.setLineDash([]);
}

function link(context, x0, y0, x1, y1, theme) {
  const bend = Math.max(12, Math.abs(x1 - x0) / 2);
  for (const [color, width] of [[theme.paper, 3.5], [theme.accent, 1.5]]) {
    context.strokeStyle = color;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
  }
  context.fillStyle = theme.accent;
  context.beginPath();
  context.arc(x1, y1, 3, 0, 2 * Math.PI);
  context.fill();
}

/* The value that was clicked, what it is made from, who reads it. */
function drawSelection(context, panel, state, scale) {
  const { selected, theme } = state;
  if (!selected) return;
  if (selected.panel !== panel) {
    const name = selected.panel.text("name", selected.index);
    const twin = panel.indexOf(name);
    if (twin >= 0) outline(context, boxOf(panel, twin, scale), theme, [6, 3]);
    return;
  }
  const box = boxOf(panel, selected.index, scale);
  const middle = box.top + box.height / 2;
  for (const i of producersOf(panel, selected.index).slice(0, MAX_LINKS)) {
    const from = boxOf(panel, i, scale);
    outline(context, from, theme, [3, 2]);
    link(context, Math.min(from.left + from.width, box.left), from.top + from.height / 2, box.left, middle, theme);
  }
  for (const i of usersOf(panel, selected.index).slice(0, MAX_LINKS)) {
    const to = boxOf(panel, i, scale);
    outline(context, to, theme, [3, 2]);
    link(context, Math.min(box.left + box.width, to.left), middle, to.left, to.top + to.height / 2, theme);
  }
  outline(context, box, theme, []);
}

function drawPointer(context, panel, state, plot, scale) {
  const { hovered, theme } = state;
  if (!hovered) return;
  const x = hovered.position === null ? -1 : scale.x(hovered.position + 0.5);
  if (x >= plot.left && x <= plot.left + plot.width) {
    context.strokeStyle = theme.dim;
    context.lineWidth = 1;
    context.globalAlpha = 0.6;
    context.beginPath();
    context.moveTo(x, plot.top);
    context.lineTo(x, plot.top + plot.height);
    context.stroke();
    context.globalAlpha = 1;
  }
  if (hovered.panel !== panel || hovered.index < 0 || state.layout === "stack") return;
  outline(context, boxOf(panel, hovered.index, scale), theme, []);
}

function drawPanel(panel, state) {
  const { canvas, plot } = panel;
  const ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d");
  const scale = makeScale(panel.view, plot);
  panel.scale = scale;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = state.theme.paper;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const isStack = state.layout === "stack";
  panel.numDrawn = isStack ? drawStack(panel, state, plot, ratio)
    : drawBoxes(panel, panel.view, plot, ratio, state.theme);
  context.putImageData(panel.image, Math.round(plot.left * ratio), Math.round(plot.top * ratio));
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top, plot.width, plot.height);
  context.clip();
  panel.labels = placeLimits(context, panel, state, plot, scale);
  if (!isStack) drawNames(context, panel, panel.view, plot, scale);
  drawLive(context, panel, panel.view, plot, scale, state.theme);
  drawLimits(context, panel, state, plot, scale);
  drawPointer(context, panel, state, plot, scale);
  if (!isStack) drawSelection(context, panel, state, scale);
  context.restore();
  if (!isStack) drawSpaces(context, panel, state, plot, scale);
  drawAxes(context, panel, state, plot, scale);
}
