/* What the page shows: columns of numbers, an entry a value, and what follows from them. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/* `1.50 KiB`, as the tool writes it; without decimals where they say nothing if `isShort`. */
function formatBytes(bytes, isShort) {
  let unit = 0;
  let value = Math.abs(bytes);
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  let text = unit ? value.toFixed(2) : String(Math.round(value));
  if (isShort && unit) text = text.replace(/\.?0+$/, "");
  return `${bytes < 0 ? "\u2212" : ""}${text} ${UNITS[unit]}`;
}

function formatCount(count) {
  return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

function plural(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/* One module: what the JSON has of it, as arrays with types. */
function makePanel(raw, texts, index) {
  const count = raw.bytes.length;
  const panel = {
    index,
    count,
    title: raw.title,
    module: raw.module,
    numPositions: raw.num_positions,
    peakPosition: raw.peak_position,
    totalBytes: raw.total_bytes,
    limit: raw.limit,
    spaces: raw.spaces,
    live: Float64Array.from(raw.live_bytes),
    instructions: raw.instructions,
    reads: Int32Array.from(raw.reads),
    firstRead: new Int32Array(count + 1),
    bottom: new Float64Array(count),
  };
  for (const key of ["name", "opcode", "shape", "computation", "op_name", "scope", "file", "line", "category",
                     "space", "begin", "end", "position", "again"]) {
    panel[key] = Int32Array.from(raw[key]);
  }
  panel.bytes = Float64Array.from(raw.bytes);
  panel.offset = Float64Array.from(raw.offset);
  let base = 0;
  for (const space of panel.spaces) {
    space.base = base;
    base += space.bytes;
  }
  for (let i = 0; i < count; i++) {
    panel.bottom[i] = panel.spaces[panel.space[i]].base + panel.offset[i];
    panel.firstRead[i + 1] = panel.firstRead[i] + raw.num_reads[i];
  }
  panel.text = (key, i) => texts[panel[key][i]];
  panel.color = new Uint32Array(count); /* of large boxes */
  panel.flat = new Uint32Array(count); /* of small ones */
  panel.ink = new Uint8Array(count);
  panel.small = new Int32Array(5 * count);
  panel.group = new Int32Array(count);
  panel.matches = null;
  linkValues(panel);
  return panel;
}

/* By position: which values are made there, and which are read there. */
function linkValues(panel) {
  panel.made = Array.from({ length: panel.numPositions }, () => null);
  panel.readAt = Array.from({ length: panel.numPositions }, () => null);
  const add = (lists, position, i) => {
    if (position >= 0) (lists[position] ??= []).push(i);
  };
  for (let i = 0; i < panel.count; i++) {
    add(panel.made, panel.position[i], i);
    for (let k = panel.firstRead[i]; k < panel.firstRead[i + 1]; k++) add(panel.readAt, panel.reads[k], i);
  }
}

/* Values that the instruction of this one reads. */
function producersOf(panel, i) {
  const position = panel.position[i];
  return position < 0 ? [] : panel.readAt[position] ?? [];
}

/* Values that instructions make which read this one. */
function usersOf(panel, i) {
  const users = [];
  for (let k = panel.firstRead[i]; k < panel.firstRead[i + 1]; k++) {
    users.push(...(panel.made[panel.reads[k]] ?? []));
  }
  return users;
}

function placeOf(panel, i) {
  const file = panel.text("file", i);
  return file && panel.line[i] > 0 ? `${file}:${panel.line[i]}` : file;
}

/* ---- groups ---- */

/* Okabe and Ito's colours; what is left over is grey. */
const GROUP_COLORS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#0072b2", "#d55e00", "#f0e442"];
const OTHER_COLOR = "#999999";

function scopeAt(scope, depth) {
  return scope.split("/").slice(0, depth).join("/");
}

function keyOf(panel, i, kind, depth) {
  switch (kind) {
    case "scope": return scopeAt(panel.text("scope", i), depth);
    case "file": return placeOf(panel, i) || "(no source line)";
    default: return panel.text(kind, i);
  }
}

/* Byte-positions by key, the largest first. */
function weighGroups(panels, kind, depth) {
  const weights = new Map();
  for (const panel of panels) {
    for (let i = 0; i < panel.count; i++) {
      const key = keyOf(panel, i, kind, depth);
      weights.set(key, (weights.get(key) ?? 0) + panel.bytes[i] * (panel.end[i] - panel.begin[i]));
    }
  }
  return [...weights].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}

/* The first depth at which scopes say something: the largest has not nearly everything. */
function usefulDepth(panels) {
  for (let depth = 1; depth < 8; depth++) {
    const weights = weighGroups(panels, "scope", depth);
    const sum = weights.reduce((total, [, weight]) => total + weight, 0);
    if (weights.length > 1 && weights[0][1] < 0.8 * sum) return depth;
  }
  return 1;
}

/* Gives each value its group; returns the groups, in the order of the legend. */
function groupValues(data, kind, depth) {
  const { panels, categories } = data;
  if (kind === "category") {
    for (const panel of panels) panel.group.set(panel.category);
    return categories.map(({ name, color }) => ({ name, color }));
  }
  const largest = weighGroups(panels, kind, depth).slice(0, GROUP_COLORS.length);
  const groups = largest.map(([name], index) => ({ name, color: GROUP_COLORS[index] }));
  const indices = new Map(largest.map(([name], index) => [name, index]));
  groups.push({ name: "all others", color: OTHER_COLOR });
  for (const panel of panels) {
    for (let i = 0; i < panel.count; i++) {
      panel.group[i] = indices.get(keyOf(panel, i, kind, depth)) ?? GROUP_COLORS.length;
    }
  }
  return groups;
}

/* Bytes by group that are live at a position. */
function groupBytes(panel, groups, position) {
  const sums = groups.map(() => 0);
  for (let i = 0; i < panel.count; i++) {
    if (panel.begin[i] <= position && position < panel.end[i]) sums[panel.group[i]] += panel.bytes[i];
  }
  return sums;
}

/* ---- search ---- */

/* Marks the values of which some text has all of the words; returns how many there are. */
function searchValues(data, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  let bytes = 0;
  const hits = new Map(); /* text -> bits of the words that are in it */
  const bitsOf = (text) => {
    if (!hits.has(text)) {
      const lower = text.toLowerCase();
      hits.set(text, words.reduce((bits, word, k) => bits | (lower.includes(word) ? 1 << k : 0), 0));
    }
    return hits.get(text);
  };
  const all = (1 << words.length) - 1;
  for (const panel of data.panels) {
    panel.matches = words.length ? new Uint8Array(panel.count) : null;
    for (let i = 0; words.length && i < panel.count; i++) {
      let bits = bitsOf(placeOf(panel, i)) | bitsOf(data.categories[panel.category[i]].name);
      for (const key of ["name", "opcode", "shape", "op_name", "computation"]) bits |= bitsOf(panel.text(key, i));
      if (bits !== all) continue;
      panel.matches[i] = 1;
      count++;
      bytes += panel.bytes[i];
    }
  }
  return { count, bytes, isEmpty: words.length === 0 };
}
