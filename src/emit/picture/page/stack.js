/* The other view: what lives at each position, by groups, one on the other. Addresses play no part. */

/* The order from the bottom: what stays is below what comes and goes. */
function stackOrder(state) {
  const order = state.groups.map((_, group) => group);
  return state.kind === "category" || state.kind === "scope" ? order.reverse() : order;
}

/* Bytes by group and position: what begins and ends is added up from left to right. */
function sumGroups(panel, numGroups) {
  const sums = Array.from({ length: numGroups }, () => new Float64Array(panel.numPositions + 1));
  for (let i = 0; i < panel.count; i++) {
    const sum = sums[panel.group[i]];
    sum[panel.begin[i]] += panel.bytes[i];
    sum[panel.end[i]] -= panel.bytes[i];
  }
  for (const sum of sums) {
    for (let position = 1; position < sum.length; position++) sum[position] += sum[position - 1];
  }
  return sums;
}

function stackValues(state) {
  for (const panel of state.panels) {
    panel.sums = sumGroups(panel, state.groups.length);
    panel.stacked = new Float64Array(panel.numPositions);
    for (let position = 0; position < panel.numPositions; position++) {
      panel.stacked[position] = panel.sums.reduce((total, sum) => total + sum[position], 0);
    }
  }
}

/* Of the positions that fall into a column the one at which the most lives. */
function fullestPosition(panel, from, to) {
  let best = from;
  for (let position = from + 1; position < to; position++) {
    if (panel.stacked[position] > panel.stacked[best]) best = position;
  }
  return best;
}

function drawStack(panel, state, plot, ratio) {
  const { theme } = state;
  const { view } = panel;
  const { width, height } = makeImage(panel, plot, ratio);
  const pixels = panel.pixels;
  const paper = rgbOf(theme.paper);
  const colors = state.groups.map(({ color }, group) => {
    const isPale = state.isolated !== null && state.isolated !== group;
    return pixelOf(isPale ? mix(rgbOf(color), paper, 0.82) : rgbOf(color));
  });
  const perByte = height / (view.y1 - view.y0);
  const perColumn = (view.x1 - view.x0) / width;
  const order = stackOrder(state);
  pixels.fill(pixelOf(paper));
  drawGrid(pixels, width, height, view, plot, theme);
  for (let x = 0; x < width; x++) {
    const from = Math.floor(view.x0 + x * perColumn);
    if (from >= panel.numPositions) break;
    const to = Math.min(panel.numPositions, Math.floor(view.x0 + (x + 1) * perColumn));
    const position = fullestPosition(panel, from, to);
    let bytes = 0;
    let low = Math.min(height, Math.round(view.y1 * perByte));
    for (const group of order) {
      bytes += panel.sums[group][position];
      const top = Math.max(0, Math.round((view.y1 - bytes) * perByte));
      for (let y = low - 1; y >= top; y--) pixels[y * width + x] = colors[group];
      low = Math.min(low, top);
    }
  }
  return order.length;
}

/* The group at a place of the stack, -1 = none. */
function findGroup(panel, state, position, height) {
  let bytes = 0;
  for (const group of stackOrder(state)) {
    bytes += panel.sums[group][position];
    if (height < bytes) return group;
  }
  return -1;
}

function countLive(panel, group, position) {
  let count = 0;
  for (let i = 0; i < panel.count; i++) {
    if (panel.group[i] === group && panel.begin[i] <= position && position < panel.end[i]) count++;
  }
  return count;
}
