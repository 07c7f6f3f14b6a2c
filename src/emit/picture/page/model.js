/* What the page shows: columns of numbers, an entry a value, and what follows from them. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/* `1.50 KiB`, as the tool writes it (emit/human.c), to the last digit: parts of a KiB do not count from
 * MiB on. Without decimals where they say nothing if `isShort`. */
function formatBytes(bytes, isShort) {
  let unit = 0;
  let value = Math.abs(Math.round(bytes));
  let hundredths = value * 100;
  if (value >= 1024) {
    for (unit = 1; value >= 1 << 20; unit++) value = Math.floor(value / 1024);
    hundredths = Math.floor((value * 100 + 512) / 1024);
  }
  if (hundredths >= 102400) {
    hundredths = 100;
    unit++;
  }
  let text = unit ? (hundredths / 100).toFixed(2) : String(value);
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
    side: raw.side,
    row: raw.row, /* 0 = the device's memory; a further one has a track below it */
    module: raw.module,
    numPositions: raw.num_positions,
    peakPosition: raw.peak_position,
    totalBytes: raw.total_bytes,
    limit: raw.limit,
    spaces: raw.spaces,
    frames: raw.frames,
    live: Float64Array.from(raw.live_bytes),
    instructions: raw.instructions,
    reads: Int32Array.from(raw.reads),
    firstRead: new Int32Array(count + 1),
    bottom: new Float64Array(count),
  };
  for (const key of ["name", "label", "opcode", "shape", "computation", "op_name", "scope", "file", "line", "argument",
                     "inherited", "frame", "category", "space", "begin", "end", "position", "again"]) {
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

/* The calls that led to a value, the outermost first. */
function callsOf(panel, i, texts) {
  const calls = [];
  const { file, line, function: name, library, caller } = panel.frames;
  for (let at = panel.frame[i]; at >= 0; at = caller[at]) {
    const place = line[at] > 0 ? `${texts[file[at]]}:${line[at]}` : texts[file[at]];
    calls.push({ text: texts[name[at]] ? `${place} in ${texts[name[at]]}` : place, isLibrary: library[at] === 1 });
  }
  return calls.reverse();
}

/* The line that a value comes from, or the argument without its indices. */
function sourceKey(panel, i) {
  const argument = panel.text("argument", i);
  const index = argument.indexOf("[");
  return argument ? `${index > 0 ? argument.slice(0, index) : argument} (argument)` : placeOf(panel, i);
}

/* ---- groups ---- */

/* Okabe and Ito's colours; what is left over is grey. */
const GROUP_COLORS = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#0072b2", "#d55e00", "#f0e442"];
const OTHER_COLOR = "#999999";

/* The beginning of a scope, as picture_scope_prefix() cuts it. */
function scopeAt(scope, isArgument, depth) {
  let parts = 0;
  let open = 0;
  for (let i = 0; i < scope.length; i++) {
    const c = scope[i];
    const isEnd = isArgument ? i > 0 && (c === "[" || c === ".") : c === "/";
    if (isEnd && open <= 0 && ++parts === depth) return scope.slice(0, i);
    if (c === "(" || c === "[") open++;
    if (c === ")" || c === "]") open--;
  }
  return scope;
}

/* Whether a value is an argument, or only a form of one, such as its copy. */
function isArgument(data, panel, i) {
  return panel.text("argument", i) !== "" || data.categories[panel.category[i]].name === "parameter";
}

function scopeKey(panel, i, isOfArgument, depth) {
  const scope = panel.text(isOfArgument ? "argument" : "scope", i);
  return isOfArgument && !scope ? "arguments" : scopeAt(scope, isOfArgument, depth);
}

function keyOf(panel, i, kind) {
  return kind === "file" ? sourceKey(panel, i) || "(no source line)" : panel.text(kind, i);
}

/* How much of the picture a value is: its share of all bytes times positions, and of what lives at the peak. */
function weightsOf(panels) {
  const areaOf = (panel, i) => panel.bytes[i] * (panel.end[i] - panel.begin[i]);
  const peakOf = (panel, i) =>
    panel.begin[i] <= panel.peakPosition && panel.peakPosition < panel.end[i] ? panel.bytes[i] : 0;
  let area = 0;
  let peak = 0;
  for (const panel of panels) {
    for (let i = 0; i < panel.count; i++) {
      area += areaOf(panel, i);
      peak += peakOf(panel, i);
    }
  }
  return (panel, i) => areaOf(panel, i) / (area || 1) + peakOf(panel, i) / (peak || 1);
}

/* The largest groups, each with its colour, and one for all others. `keyFor` gives the key of a value, null
 * if the value is in none of them. */
function makeGroups(panels, keyFor, colors, others) {
  const weights = new Map();
  const weightOf = weightsOf(panels);
  for (const panel of panels) {
    for (let i = 0; i < panel.count; i++) {
      const key = keyFor(panel, i);
      if (key === null) continue;
      weights.set(key, (weights.get(key) ?? 0) + weightOf(panel, i));
    }
  }
  const sorted = [...weights].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const groups = sorted.slice(0, colors.length - 1).map(([name], index) => ({ name, color: colors[index] }));
  groups.push({ name: others, color: colors[colors.length - 1] });
  return groups;
}

/* Gives the values that have a key the numbers of their groups, from `first` on. */
function assignGroups(panels, keyFor, groups, first) {
  const indices = new Map(groups.slice(0, -1).map(({ name }, index) => [name, first + index]));
  for (const panel of panels) {
    for (let i = 0; i < panel.count; i++) {
      const key = keyFor(panel, i);
      if (key !== null) panel.group[i] = indices.get(key) ?? first + groups.length - 1;
    }
  }
}

/* What all names have in common at their beginning says nothing: `step/block_1` is shown as `block_1`. */
function shortenNames(groups) {
  const named = groups.slice(0, -1).filter(({ name }) => name);
  const paths = named.map(({ name }) => name.split("/"));
  let common = 0;
  while (named.length > 1 && paths.every((path) => path.length > common + 1 && path[common] === paths[0][common])) {
    common++;
  }
  named.forEach((group, index) => { group.shown = keepEnd(paths[index].slice(common).join("/")); });
}

/* The end of a path says the most: what is too long loses parts of its beginning. */
function keepEnd(path) {
  const MAX_CHARS = 30;
  if (path.length <= MAX_CHARS) return path;
  const end = path.slice(-MAX_CHARS);
  return `\u2026${end.slice(Math.max(0, end.search(/[/[.]/))).replace(/^\./, "")}`;
}

/* Scopes of what is computed, then paths of arguments, which have colours of their own. */
function groupByScope(data, depth) {
  const { panels } = data;
  const colors = [data.scope_colors.slice(0, data.num_computed_groups), data.scope_colors.slice(data.num_computed_groups)];
  const kinds = [{ depth, others: "all others" }, { depth: data.argument_depth, others: "other arguments" }];
  const groups = [];
  kinds.forEach((kind, index) => {
    const keyFor = (panel, i) =>
      isArgument(data, panel, i) === (index === 1) ? scopeKey(panel, i, index === 1, kind.depth) : null;
    const made = makeGroups(panels, keyFor, colors[index], kind.others);
    assignGroups(panels, keyFor, made, groups.length);
    shortenNames(made);
    groups.push(...made);
  });
  return groups;
}

/* Gives each value its group; returns the groups, in the order of the legend. */
function groupValues(data, kind, depth) {
  const { panels, categories } = data;
  if (kind === "category") {
    for (const panel of panels) panel.group.set(panel.category);
    return categories.map(({ name, color }) => ({ name, color }));
  }
  if (kind === "scope") return groupByScope(data, depth);
  const keyFor = (panel, i) => keyOf(panel, i, kind);
  const groups = makeGroups(panels, keyFor, [...GROUP_COLORS, OTHER_COLOR], "all others");
  assignGroups(panels, keyFor, groups, 0);
  return groups;
}

/* What lives at the peak, the largest first. */
function valuesAtPeak(panel) {
  const list = [];
  for (let i = 0; i < panel.count; i++) {
    if (panel.begin[i] <= panel.peakPosition && panel.peakPosition < panel.end[i]) list.push(i);
  }
  return list.sort((a, b) => panel.bytes[b] - panel.bytes[a] || a - b);
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

const SEARCHED = ["name", "label", "opcode", "shape", "op_name", "computation"];

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
      for (const key of ["name", "label", "opcode", "shape", "op_name", "computation"]) bits |= bitsOf(panel.text(key, i));
      if (bits !== all) continue;
      panel.matches[i] = 1;
      count++;
      bytes += panel.bytes[i];
    }
  }
  return { count, bytes, isEmpty: words.length === 0 };
}
