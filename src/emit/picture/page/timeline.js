/* The page itself: what is clicked, typed and pointed at. */

const byId = (id) => document.getElementById(id);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key in made && key !== "style") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function loadData() {
  const raw = JSON.parse(byId("data").textContent);
  const panels = raw.panels.map((panel, index) => makePanel(panel, raw.texts, index));
  for (const panel of panels) {
    const indices = new Map();
    for (let i = panel.count; i-- > 0;) indices.set(panel.text("name", i), i);
    panel.indexOf = (name) => indices.get(name) ?? -1;
  }
  return { ...raw, panels };
}

const started = performance.now();
const data = loadData();
const mains = data.panels.filter((panel) => panel.row === 0); /* of the device's memory */
const state = {
  data,
  panels: data.panels,
  view: makeView(mains),
  theme: readTheme(),
  groups: [],
  kind: data.color_by,
  layout: "boxes",
  isolated: null,
  selected: null,
  hovered: null,
  pointer: null,
  match: null,
  listed: 0, /* the panel of the list of what lives at the peak */
};

for (const panel of state.panels) {
  panel.view = panel.row === 0 ? state.view
    : makeTrackView(state.view, state.panels.filter(({ row }) => row === panel.row));
}

/* ---- drawing when there is something new ---- */

let pending = 0;
const timing = { loadMs: 0, drawMs: 0, numFrames: 0, numDrawn: 0 };

function drawNow() {
  pending = 0;
  const begin = performance.now();
  for (const panel of state.panels) drawPanel(panel, state);
  timing.drawMs = performance.now() - begin;
  timing.numDrawn = state.panels.reduce((sum, panel) => sum + panel.numDrawn, 0);
  timing.numFrames++;
  lookAgain();
}

function draw() {
  pending ||= requestAnimationFrame(drawNow);
}

let flight = 0;

/* Moves to a part of the picture, not at once unless people prefer so. */
function flyTo(x0, x1, y0, y1) {
  const { view } = state;
  const target = { ...view };
  setView(target, x0, x1, y0, y1);
  const from = [view.x0, view.x1, view.y0, view.y1];
  const to = [target.x0, target.x1, target.y0, target.y1];
  const length = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 220;
  const begin = performance.now();
  cancelAnimationFrame(flight);
  const step = () => {
    const time = length ? Math.min(1, (performance.now() - begin) / length) : 1;
    const share = time * time * (3 - 2 * time);
    [view.x0, view.x1, view.y0, view.y1] = from.map((value, k) => value + share * (to[k] - value));
    draw();
    if (time < 1) flight = requestAnimationFrame(step);
  };
  step();
}

function showAll() {
  flyTo(0, state.view.width, 0, state.view.height);
}

function showTemporaries() {
  const range = temporariesOf(mains);
  if (range) flyTo(0, state.view.width, range[0], range[0] + (range[1] - range[0]) * 1.09);
}

function showPeak() {
  const panel = state.selected?.panel ?? state.panels[0];
  const span = Math.max(20, state.view.width / 20);
  if (panel.peakPosition >= 0) {
    flyTo(panel.peakPosition - span / 2, panel.peakPosition + span / 2, 0, state.view.height);
  }
}

function showValue(panel, i) {
  const margin = Math.max(2, 0.6 * (panel.end[i] - panel.begin[i]));
  const above = Math.max(8 * panel.bytes[i], state.view.height / 40);
  const { y0, y1 } = state.view;
  const [low, high] = panel.row ? [y0, y1] : [panel.bottom[i] - above, panel.bottom[i] + above];
  flyTo(panel.begin[i] - margin, panel.end[i] + margin, low, high);
}

/* ---- head and legend ---- */

function strong(text) {
  return element("b", {}, text);
}

function fillHead() {
  const [before, after] = mains;
  byId("title").textContent = before.module || "module";
  document.title = `${before.module || "module"} \u2013 memory`;
  const figures = byId("figures");
  if (after) {
    const share = before.totalBytes ? (100 * (after.totalBytes - before.totalBytes)) / before.totalBytes : 0;
    const sign = share < 0 ? "\u2212" : "+";
    figures.append(strong(formatBytes(before.totalBytes)), " of memory before, ",
                   strong(formatBytes(after.totalBytes)), ` after (${sign}${Math.abs(share).toFixed(1)} %)`);
  } else {
    figures.append(strong(formatBytes(before.totalBytes)), ` of memory for ${plural(before.count, "value")} over `,
                   plural(before.numPositions, "position"));
    const live = before.peakPosition >= 0 ? before.live[before.peakPosition] : 0;
    const lost = before.totalBytes - live;
    figures.append(`; at most ${formatBytes(live)} live at once`);
    if (lost > 0) figures.append(`, ${formatBytes(lost)} lost to gaps`);
  }
  if (data.limit >= 0) figures.append(", budget ", strong(formatBytes(data.limit)), data.limit_words);
}

/* What may be changed in the program, as `remat-hlo advise` says it. */
function remedyItem(remedy) {
  const sign = remedy.permille < 0 ? "\u2212" : "+";
  const time = `${sign}${(Math.abs(remedy.permille) / 10).toFixed(1)} % of modelled time`;
  return element("li", {}, remedy.title, ": ", strong(formatBytes(remedy.bytes)), `, ${time}`,
                 element("pre", {}, remedy.code));
}

function fillAdvice() {
  const advice = data.advice;
  const box = byId("advice");
  if (!advice || advice.plan.length === 0) return;
  box.append(element("summary", {}, "What to change in the program: ", strong(advice.line)),
             element("ol", {}, ...advice.plan.map(remedyItem)));
  if (advice.others.length > 1)
    box.append("Each change alone:", element("ul", {}, ...advice.others.map(remedyItem)));
  box.hidden = false;
}

function swatch(color, extra) {
  return element("span", { className: `swatch ${extra ?? ""}`, style: color ? `background:${color}` : "" });
}

/* Bytes by group at the position that is pointed at, else at the peak. */
function fillLegendBytes() {
  const hovered = state.hovered?.position ?? null;
  const panel = state.hovered?.panel ?? state.panels[0];
  const position = hovered === null ? panel.peakPosition : hovered;
  const sums = groupBytes(panel, state.groups, position);
  byId("when").textContent = hovered === null ? "at the peak:" : `at position ${formatCount(position)}:`;
  for (const button of byId("legend").querySelectorAll("button")) {
    const bytes = sums[Number(button.dataset.group)];
    button.querySelector(".bytes").textContent = bytes ? formatBytes(bytes, true) : "";
  }
}

function fillLegend() {
  const used = new Set();
  let hasAgain = false;
  for (const panel of state.panels) {
    for (let i = 0; i < panel.count; i++) {
      used.add(panel.group[i]);
      hasAgain ||= panel.again[i] === 1;
    }
  }
  const entries = state.groups.map(({ name, shown, color }, group) => {
    if (!used.has(group)) return null;
    const button = element("button", { type: "button", title: name }, swatch(color),
                           element("span", { className: "name" }, shown || name || "(none)"),
                           element("span", { className: "bytes" }));
    button.dataset.group = group;
    button.setAttribute("aria-pressed", String(state.isolated === null || state.isolated === group));
    button.addEventListener("click", () => isolate(state.isolated === group ? null : group));
    return element("li", {}, button);
  });
  const still = (className, text) => element("li", {}, element("button",
    { type: "button", className: "still", tabIndex: -1, disabled: true }, swatch("", className),
    element("span", { className: "name" }, text), element("span", { className: "bytes" })));
  if (hasAgain) entries.push(still("again", "rematerialized"));
  entries.push(still("line", "live bytes"));
  entries.unshift(element("li", { id: "when", className: "when" }));
  byId("legend").replaceChildren(...entries.filter(Boolean));
  fillLegendBytes();
}

function isolate(group) {
  state.isolated = group;
  refresh();
}

function refresh() {
  paintValues(state);
  fillLegend();
  fillList();
  draw();
}

function regroup() {
  const depth = Number(byId("depth").value) || 1;
  byId("depth-label").hidden = state.kind !== "scope";
  state.groups = groupValues(data, state.kind, depth);
  state.isolated = null;
  if (state.layout === "stack") stackValues(state);
  refresh();
}

function changeKind(kind) {
  state.kind = kind;
  if (kind === "scope") byId("depth").value = data.depth;
  regroup();
}

function changeLayout(layout) {
  state.layout = layout;
  select(null, -1);
  regroup();
}

/* ---- what is known of a value ---- */

function livesText(panel, i) {
  const last = panel.end[i] - 1;
  const length = panel.end[i] - panel.begin[i];
  const place = length === 1 ? `position ${formatCount(last)}`
    : `positions ${formatCount(panel.begin[i])} to ${formatCount(last)} (${formatCount(length)})`;
  return place;
}

function sourceText(panel, i) {
  const place = placeOf(panel, i);
  return place && panel.inherited[i] ? `(from ${place})` : place;
}

/* XLA's name, where the label is another. */
function nameUnlessLabel(panel, i, tag, className) {
  return panel.name[i] === panel.label[i] ? [] : [element(tag, { className }, panel.text("name", i))];
}

function factsOf(panel, i) {
  const space = panel.spaces[panel.space[i]];
  return [
    ["name", panel.name[i] === panel.label[i] ? "" : panel.text("name", i)],
    ["bytes", `${formatBytes(panel.bytes[i])} (${formatCount(panel.bytes[i])})`],
    ["shape", panel.text("shape", i)],
    ["opcode", panel.text("opcode", i)],
    ["category", data.categories[panel.category[i]].name + (panel.again[i] ? ", rematerialized" : "")],
    ["lives", livesText(panel, i)],
    ["offset", `${formatBytes(panel.offset[i])} in ${space.kind}${space.color ? ` S(${space.color})` : ""}`],
    ["op_name", panel.text("op_name", i)],
    ["source", sourceText(panel, i)],
    ["computation", panel.text("computation", i)],
  ].filter(([, text]) => text);
}

function groupTip(panel, group, position) {
  const bytes = panel.sums[group][position];
  const share = ((100 * bytes) / panel.stacked[position]).toFixed(1);
  return [
    element("div", { className: "head" }, swatch(state.groups[group].color), state.groups[group].name || "(none)"),
    element("div", { className: "size" }, `${formatBytes(bytes)}, ${share} % of what lives`),
    element("div", {}, plural(countLive(panel, group, position), "value")),
    element("div", { className: "more" },
            `position ${formatCount(position)}, ${data.texts[panel.instructions[position]]}`),
  ];
}

function showTip(event, panel, found) {
  const tip = byId("tip");
  const { index: i, position, group } = found;
  if (group >= 0) {
    tip.replaceChildren(...groupTip(panel, group, position));
  } else if (i >= 0) {
    const more = [panel.text("op_name", i), sourceText(panel, i)].filter(Boolean);
    const kind = `${panel.text("opcode", i)}, ${data.categories[panel.category[i]].name}`;
    tip.replaceChildren(
      element("div", { className: "head" }, swatch(state.groups[panel.group[i]].color), panel.text("label", i)),
      ...nameUnlessLabel(panel, i, "div", "more"),
      element("div", { className: "size" }, `${formatBytes(panel.bytes[i])}  ${panel.text("shape", i)}`),
      element("div", {}, kind + (panel.again[i] ? ", rematerialized" : "")),
      element("div", {}, livesText(panel, i)),
      ...more.map((text) => element("div", { className: "more" }, text)));
  } else {
    const name = data.texts[panel.instructions[position]];
    tip.replaceChildren(
      element("div", { className: "head" }, `position ${formatCount(position)}`),
      element("div", {}, name),
      element("div", { className: "size" }, `${formatBytes(panel.live[position])} live`));
  }
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const x = event.clientX + 16 + width > innerWidth ? event.clientX - 16 - width : event.clientX + 16;
  const y = event.clientY + 16 + height > innerHeight ? event.clientY - 16 - height : event.clientY + 16;
  tip.style.left = `${Math.max(4, x)}px`;
  tip.style.top = `${Math.max(4, y)}px`;
}

function listValues(title, panel, list) {
  const MAX_SHOWN = 50;
  const shown = [...list].sort((a, b) => panel.bytes[b] - panel.bytes[a]).slice(0, MAX_SHOWN);
  const rows = shown.map((i) => {
    const button = element("button", { type: "button", title: panel.text("name", i) }, element("span", {}, panel.text("label", i)),
                           element("span", { className: "bytes" }, formatBytes(panel.bytes[i])));
    button.addEventListener("click", () => select(panel, i, true));
    return element("li", {}, button);
  });
  const more = list.length > MAX_SHOWN ? ` (the largest ${MAX_SHOWN})` : "";
  return [element("h3", {}, `${title}: ${formatCount(list.length)}${more}`),
          element("ul", { className: "values" }, ...rows)];
}

function listCalls(panel, i) {
  const calls = callsOf(panel, i, data.texts);
  if (!calls.length) return [];
  const rows = calls.map(({ text, isLibrary }) => element("li", { className: isLibrary ? "library" : "" }, text));
  return [element("h3", {}, `called from: ${plural(calls.length, "frame")}`),
          element("ol", { className: "calls" }, ...rows)];
}

function fillDetails() {
  const details = byId("details");
  details.hidden = !state.selected;
  if (!state.selected) return;
  const { panel, index } = state.selected;
  const box = boxOf(panel, index, panel.scale);
  const middle = panel.canvas.getBoundingClientRect().left + box.left + box.width / 2;
  details.classList.toggle("at-left", middle > innerWidth / 2);
  const close = element("button", { type: "button", className: "close", title: "Esc" }, "\u00d7");
  close.addEventListener("click", () => select(null, -1));
  const facts = factsOf(panel, index).flatMap(([key, text]) => [element("dt", {}, key), element("dd", {}, text)]);
  details.replaceChildren(element("h2", {}, panel.text("label", index)), close, element("dl", {}, ...facts),
                          ...listCalls(panel, index),
                          ...listValues("made from", panel, producersOf(panel, index)),
                          ...listValues("read by", panel, usersOf(panel, index)));
}

function select(panel, index, moves) {
  state.selected = panel ? { panel, index } : null;
  fillDetails();
  markInList();
  if (panel && moves && !isInView(panel, index)) showValue(panel, index);
  draw();
}

function isInView(panel, i) {
  const { view } = panel;
  return panel.begin[i] >= view.x0 && panel.begin[i] < view.x1 && panel.bottom[i] >= view.y0 &&
    panel.bottom[i] + panel.bytes[i] <= view.y1 &&
    (panel.end[i] - panel.begin[i]) * panel.plot.width > 3 * (view.x1 - view.x0);
}

/* ---- what lives at the peak ---- */

const MAX_LISTED = 200;

function listRow(panel, i) {
  const label = panel.text("label", i);
  const place = placeOf(panel, i).split("/").at(-1);
  const from = [panel.text("name", i), label.includes(place) ? "" : place, panel.text("shape", i)];
  const button = element("button", { type: "button", title: panel.text("op_name", i) },
                         swatch(state.groups[panel.group[i]].color),
                         element("span", { className: "label" }, label),
                         element("span", { className: "bytes" }, formatBytes(panel.bytes[i])),
                         element("span", { className: "from" }, from.filter((text) => text && text !== label).join(" \u00b7 ")));
  button.dataset.index = i;
  button.addEventListener("click", () => select(panel, i, true));
  const point = (index) => {
    state.hovered = index < 0 ? null : { panel, position: null, index, group: -1 };
    draw();
  };
  button.addEventListener("pointerenter", () => point(i));
  button.addEventListener("pointerleave", () => point(-1));
  return element("li", {}, button);
}

/* What a panel shows: the module, the memory or both. */
function sideOf(panel) {
  if (panel.row === 0) return panel.title || (mains.length > 1 ? plural(panel.index + 1, "module") : "memory");
  return mains.length > 1 && mains[panel.side].title ? `${mains[panel.side].title}: ${panel.title}` : panel.title;
}

/* Where several modules or memories are shown, one of them is chosen. */
function listSides(shown) {
  if (state.panels.length < 2) return null;
  const buttons = state.panels.map((panel) => {
    const button = element("button", { type: "button" }, sideOf(panel));
    button.setAttribute("aria-pressed", String(panel === shown));
    button.addEventListener("click", () => {
      state.listed = panel.index;
      fillList();
    });
    return button;
  });
  return element("div", { className: "sides" }, ...buttons);
}

function fillList() {
  const aside = byId("peak");
  if (aside.hidden) return;
  const panel = state.panels[state.listed];
  const list = valuesAtPeak(panel);
  const bytesOf = (values) => values.reduce((sum, i) => sum + panel.bytes[i], 0);
  const rest = list.slice(MAX_LISTED);
  const free = panel.peakPosition < 0 ? 0 : panel.live[panel.peakPosition] - bytesOf(list);
  const at = panel.peakPosition < 0 ? "nothing lives"
    : `${plural(list.length, "value")} at position ${formatCount(panel.peakPosition)}` +
      (free > 0 ? `; ${formatBytes(free)} is kept for outputs and arguments, and empty then` : "");
  const rows = list.slice(0, MAX_LISTED).map((i) => listRow(panel, i));
  if (rest.length) {
    rows.push(element("li", { className: "more" }, `${plural(rest.length, "smaller value")}, ${formatBytes(bytesOf(rest))}`));
  }
  const head = element("h2", {}, "Lives at the peak", element("span", {}, formatBytes(bytesOf(list))));
  aside.replaceChildren(
    element("div", { className: "top" }, ...[head, element("p", {}, at), listSides(panel)].filter(Boolean)),
    element("ul", {}, ...rows));
  markInList();
}

/* Marks the value that is selected. */
function markInList() {
  const { selected } = state;
  for (const button of byId("peak").querySelectorAll("li button")) {
    const isCurrent = selected?.panel.index === state.listed && selected.index === Number(button.dataset.index);
    if (isCurrent) button.scrollIntoView({ block: "nearest" });
    if (isCurrent) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

function showList(isShown) {
  const aside = byId("peak");
  aside.hidden = !isShown;
  byId("show-list").setAttribute("aria-pressed", String(isShown));
  fillList();
  const isBeside = isShown && innerWidth >= 900;
  document.documentElement.style.setProperty("--list", isBeside ? `${aside.getBoundingClientRect().width + 12}px` : "0px");
}

/* ---- the pointer ---- */

/* The box at a place, else the nearest one within some pixels; -1 = none. */
function findValue(panel, x, y) {
  const NEAR = 4;
  const { scale } = panel;
  const position = scale.position(x);
  const height = scale.height(y);
  const reachX = scale.position(x + NEAR) - position;
  const reachY = scale.height(y - NEAR) - height;
  let best = -1;
  let least = Infinity;
  for (let i = 0; i < panel.count; i++) {
    const dx = Math.max(panel.begin[i] - position, position - panel.end[i], 0) / reachX;
    const dy = Math.max(panel.bottom[i] - height, height - panel.bottom[i] - panel.bytes[i], 0) / reachY;
    const distance = dx * dx + dy * dy;
    if (distance < least && distance <= 1) {
      least = distance;
      best = i;
    }
  }
  return best;
}

function pointAt(panel, event) {
  const box = panel.canvas.getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  const { plot, scale } = panel;
  const isInside = x >= plot.left && x <= plot.left + plot.width && y >= plot.top && y <= plot.top + plot.height;
  const position = Math.floor(scale.position(x));
  if (!isInside || position < 0 || position >= panel.numPositions) return null;
  if (state.layout === "stack") {
    return { panel, position, index: -1, group: findGroup(panel, state, position, scale.height(y)) };
  }
  return { panel, position, index: findValue(panel, x, y), group: -1 };
}

function leave() {
  state.pointer = null;
  if (!state.hovered) return;
  state.hovered = null;
  byId("tip").hidden = true;
  fillLegendBytes();
  draw();
}

function hover(panel, event) {
  const found = pointAt(panel, event);
  if (!found) {
    leave();
    return;
  }
  state.pointer = { panel, clientX: event.clientX, clientY: event.clientY };
  state.hovered = found;
  showTip(event, panel, found);
  fillLegendBytes();
  draw();
}

/* The picture may have moved under the pointer: what is outlined is what is there now. */
function lookAgain() {
  if (!state.pointer) return;
  const { panel } = state.pointer;
  const found = pointAt(panel, state.pointer);
  const { hovered } = state;
  const isSame = found && hovered && ["index", "position", "group"].every((key) => found[key] === hovered[key]);
  if (isSame) return;
  if (found) hover(panel, state.pointer);
  else leave();
}

function click(panel, event) {
  const found = pointAt(panel, event);
  if (found && found.group >= 0) {
    isolate(state.isolated === found.group ? null : found.group);
    return;
  }
  const isSame = found && state.selected?.panel === panel && state.selected.index === found.index;
  if (found && found.index >= 0 && !isSame) select(panel, found.index);
  else select(null, -1);
}

function doubleClick(panel, event) {
  const found = pointAt(panel, event);
  if (found && found.index >= 0) showValue(panel, found.index);
  else showAll();
}

/* D3 turns wheel, drag and pinch into a scale and a shift; what changes of them moves the view. */
function listenToGestures(panel) {
  let last = d3.zoomIdentity;
  let numGestures = 0; /* a wheel's ends some time after it has stopped: a drag may have begun */
  const zoom = d3.zoom()
    .filter((given) => !(given ?? d3.event).button)
    .wheelDelta((given) => {
      const event = given ?? d3.event;
      return -(event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 0.05 : event.deltaMode ? 1 : 0.002);
    })
    .on("start", () => numGestures++)
    .on("zoom", (given) => {
      const { transform, sourceEvent } = given?.transform ? given : d3.event;
      const k = transform.k / last.k;
      const bx = transform.x - last.x * k;
      const by = transform.y - last.y * k;
      last = transform;
      cancelAnimationFrame(flight);
      const { plot } = panel;
      const isTrack = panel.row > 0; /* its bytes are always seen whole */
      const onlyX = isTrack || (k !== 1 && sourceEvent?.shiftKey);
      const onlyY = k !== 1 && sourceEvent?.altKey;
      moveView(state.view, plot, onlyY ? 1 : k, onlyY ? 0 : bx + plot.left * (k - 1),
               onlyX ? 1 : k, onlyX ? 0 : by + plot.top * (k - 1));
      byId("tip").hidden = true;
      draw();
    })
    .on("end", function end() {
      if (--numGestures > 0) return;
      this.__zoom = d3.zoomIdentity; /* else it would grow without bounds */
      last = d3.zoomIdentity;
    });
  d3.select(panel.canvas).call(zoom).on("dblclick.zoom", null);
  panel.canvas.addEventListener("pointermove", (event) => {
    if (event.buttons) leave();
    else hover(panel, event);
  });
  for (const kind of ["pointerleave", "pointercancel"]) panel.canvas.addEventListener(kind, leave);
  panel.canvas.addEventListener("click", (event) => click(panel, event));
  panel.canvas.addEventListener("dblclick", (event) => doubleClick(panel, event));
}

/* ---- search ---- */

function listMatches() {
  const list = [];
  for (const panel of state.panels) {
    for (let i = 0; panel.matches && i < panel.count; i++) {
      if (panel.matches[i]) list.push({ panel, index: i });
    }
  }
  return list.sort((a, b) => a.panel.index - b.panel.index || a.panel.begin[a.index] - b.panel.begin[b.index]);
}

function search() {
  const { count, bytes, isEmpty } = searchValues(data, byId("search").value);
  state.match = null;
  byId("found").textContent = isEmpty ? "" : `${plural(count, "value")}, ${formatBytes(bytes)}`;
  paintValues(state);
  draw();
}

function goToMatch(step) {
  const list = listMatches();
  if (list.length === 0) return;
  const next = state.match === null ? (step > 0 ? 0 : list.length - 1)
    : (state.match + step + list.length) % list.length;
  state.match = next;
  byId("found").textContent = `${formatCount(next + 1)} of ${plural(list.length, "value")}`;
  select(list[next].panel, list[next].index, true);
}

function clearAll() {
  byId("search").value = "";
  search();
  select(null, -1);
  if (state.isolated !== null) isolate(null);
}

/* ---- keys ---- */

function zoomKey(kx, ky) {
  zoomView(state.view, kx, ky);
  draw();
}

function moveKey(dx, dy) {
  const { view } = state;
  const x = (view.x1 - view.x0) * 0.1 * dx;
  const y = (view.y1 - view.y0) * 0.1 * dy;
  setView(view, view.x0 + x, view.x1 + x, view.y0 + y, view.y1 + y);
  draw();
}

const ZOOM = 1.4;

const KEYS = {
  "+": () => zoomKey(ZOOM, ZOOM),
  "=": () => zoomKey(ZOOM, ZOOM),
  "-": () => zoomKey(1 / ZOOM, 1 / ZOOM),
  x: () => zoomKey(ZOOM, 1),
  X: () => zoomKey(1 / ZOOM, 1),
  y: () => zoomKey(1, ZOOM),
  Y: () => zoomKey(1, 1 / ZOOM),
  ArrowLeft: () => moveKey(-1, 0),
  ArrowRight: () => moveKey(1, 0),
  ArrowUp: () => moveKey(0, 1),
  ArrowDown: () => moveKey(0, -1),
  0: showAll,
  Home: showAll,
  t: showTemporaries,
  p: showPeak,
  l: () => showList(byId("peak").hidden),
  "/": () => byId("search").focus(),
  "?": () => byId("help").showModal(),
  Escape: clearAll,
};

function onKey(event) {
  const inField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (byId("help").open || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === byId("search") && event.key === "Enter") {
    event.preventDefault();
    goToMatch(event.shiftKey ? -1 : 1);
    return;
  }
  if (inField && event.key !== "Escape") return;
  const action = KEYS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

/* ---- the beginning ---- */

function fitCanvas(panel) {
  const ratio = window.devicePixelRatio || 1;
  const { width, height } = panel.canvas.getBoundingClientRect();
  panel.canvas.width = Math.round(width * ratio);
  panel.canvas.height = Math.round(height * ratio);
  panel.plot = {
    left: MARGIN.left,
    top: MARGIN.top,
    width: Math.max(40, width - MARGIN.left - MARGIN.right),
    height: Math.max(40, height - MARGIN.top - MARGIN.bottom),
  };
}

function fitAll() {
  for (const panel of state.panels) fitCanvas(panel);
  drawNow();
}

function buildPanels() {
  const main = byId("panels");
  main.classList.toggle("pair", mains.length > 1);
  main.classList.toggle("tracks", state.panels.length > mains.length);
  for (const panel of state.panels) {
    const label = `Memory of ${panel.module}: ${plural(panel.count, "value")}, peak ${formatBytes(panel.totalBytes)}`;
    panel.canvas = element("canvas", { tabIndex: 0 });
    panel.canvas.setAttribute("role", "img");
    panel.canvas.setAttribute("aria-label", label);
    const figures = ` ${plural(panel.count, "value")}, ${plural(panel.numPositions, "position")}`;
    const title = panel.title
      ? element("h2", {}, panel.title, element("span", {}, figures)) : null;
    const place = { className: panel.row ? "panel track" : "panel", style: `grid-area:${panel.row + 1}/${panel.side + 1}` };
    main.append(element("section", place, ...[title].filter(Boolean),
                        element("div", { className: "canvas" }, panel.canvas)));
    listenToGestures(panel);
  }
}

function listen() {
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("input", search);
  byId("group").addEventListener("change", () => changeKind(byId("group").value));
  byId("depth").addEventListener("input", regroup);
  byId("layout").addEventListener("change", () => changeLayout(byId("layout").value));
  byId("show-all").addEventListener("click", showAll);
  byId("show-temporaries").addEventListener("click", showTemporaries);
  byId("show-peak").addEventListener("click", showPeak);
  byId("show-list").addEventListener("click", () => showList(byId("peak").hidden));
  byId("show-help").addEventListener("click", () => byId("help").showModal());
  byId("show-licence").addEventListener("click", (event) => {
    event.preventDefault();
    byId("licence-text").textContent = byId("licence").textContent;
    byId("licence-text").hidden = !byId("licence-text").hidden;
  });
  document.addEventListener("keydown", onKey);
  document.documentElement.addEventListener("pointerleave", leave);
  window.addEventListener("blur", leave);
  new ResizeObserver(fitAll).observe(byId("panels"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    state.theme = readTheme();
    refresh();
  });
}

fillHead();
fillAdvice();
buildPanels();
byId("group").value = state.kind;
byId("depth").value = data.depth;
byId("depth-label").hidden = state.kind !== "scope";
byId("layout").value = "boxes";
state.groups = groupValues(data, state.kind, data.depth);
paintValues(state);
fillLegend();
showList(innerWidth >= 1200 * mains.length);
fitAll();
listen();
timing.loadMs = performance.now() - started;

/* For tests and for consoles. */
window.memoryPage = { state, timing, drawNow, boxOf: (panel, i) => boxOf(panel, i, panel.scale) };
