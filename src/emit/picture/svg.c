/* Writes a static picture, for papers and comments: this file draws the frame around the boxes.
 * Colours follow the viewer's preference for light or dark, if the program that shows the picture
 * supports that. */
#include "emit/picture/svg.h"

#include <stdio.h>

#include "emit/human.h"

enum {
  WIDTH = 1000 * PIXEL,     /* for a single panel */
  PAIR_WIDTH = 760 * PIXEL, /* for each of two panels */
  HEIGHT = 600 * PIXEL,
  LEFT = 84 * PIXEL,
  RIGHT = 168 * PIXEL,
  TOP = 96 * PIXEL,
  PANEL_TITLE = 22 * PIXEL,
  TRACK = 200 * PIXEL, /* the height of the panel of a further memory, with title and axis */
  BOTTOM = 54 * PIXEL,
  MARGIN = 20 * PIXEL,
  TITLE_CHAR_WIDTH = 11 * PIXEL, /* of a wide font */
};

typedef struct Svg {
  const rh_picture *picture;
  PictureMaps maps;
  PictureGroups groups;
  SvgPanel *panels; /* one for each map */
  uint32_t num_panels;
  Centi more_height; /* for the lines of the legend but the first */
  Centi width;
  Writer *out;
  Arena *scratch;
} Svg;

/* ---- pieces ---- */

static void begin_text(Writer *out, const char *class, Centi x, Centi y) {
  write_format(out, "<text class=\"%s\"", class);
  svg_attribute(out, "x", x);
  svg_attribute(out, "y", y);
  write_text(out, ">");
}

static void write_label(Writer *out, const char *class, Centi x, Centi y, const char *text) {
  begin_text(out, class, x, y);
  svg_escaped(out, text, strlen(text));
  write_text(out, "</text>\n");
}

static void write_line(Writer *out, const char *class, Centi x1, Centi y1, Centi x2, Centi y2) {
  write_format(out, "<line class=\"%s\"", class);
  svg_attribute(out, "x1", x1);
  svg_attribute(out, "y1", y1);
  svg_attribute(out, "x2", x2);
  svg_attribute(out, "y2", y2);
  write_text(out, "/>\n");
}

static const char *bytes_text(const Svg *svg, int64_t bytes) {
  HumanBytes human = human_bytes(bytes);
  return arena_strndup(svg->scratch, human.text, human.len);
}

/* Returns the same without unnecessary decimals: `16 MiB`. */
static const char *mark_text(const Svg *svg, int64_t bytes) {
  HumanBytes human = human_bytes(bytes);
  char *decimals = strstr(human.text, ".00 ");
  if (decimals) memmove(decimals, decimals + 3, strlen(decimals + 3) + 1);
  return arena_strndup(svg->scratch, human.text, strlen(human.text));
}

static const char *count_text(const Svg *svg, int64_t count) {
  HumanBytes human = human_count((uint64_t)count);
  return arena_strndup(svg->scratch, human.text, human.len);
}

/* ---- the whole ---- */

static void write_style(const Svg *svg) {
  Writer *out = svg->out;
  write_text(out,
             "<style>\n"
             "text{font-family:system-ui,'Segoe UI',Roboto,'DejaVu Sans',Helvetica,sans-serif;"
             "font-size:12px;fill:#24292f}\n"
             "rect{shape-rendering:crispEdges}.paper{fill:#fff}.title{font-size:17px;font-weight:"
             "600}.dim,.mark{fill:#57606a}\n"
             ".mark{font-size:11px}.y{text-anchor:end}.x{text-anchor:middle}\n"
             ".strong{font-weight:600}.bytes{font-weight:400}.right{text-anchor:end}\n"
             ".in{font-size:10px;fill:#000}.in.dark{fill:#fff}\n"
             ".grid{stroke:#d0d7de;stroke-width:.75}.axis,.side{stroke:#8c959f;fill:none}\n"
             ".border{stroke:#24292f;stroke-width:.75}\n"
             ".peak{stroke:#24292f;stroke-dasharray:5 3}\n"
             ".at{stroke:#24292f;stroke-dasharray:1 3}\n"
             ".limit{stroke:#b83200;stroke-width:1.5;stroke-dasharray:9 4}.over{fill:#b83200}\n"
             ".over,.top{stroke:#fff;stroke-width:3px;paint-order:stroke}\n"
             ".halo{fill:none;stroke:#fff;stroke-width:3.5;stroke-opacity:.75}\n"
             ".curve{fill:none;stroke:#111;stroke-width:1.4}\n"
             ".again{fill:url(#again)}.stripe{stroke:#111;stroke-width:1.2}\n");
  for (uint32_t i = 0; i < svg->groups.num_groups; i++)
    write_format(out, ".c%u{fill:%s}", i, svg->groups.groups[i].color);
  write_text(out,
             "\n.s{stroke:#fff;stroke-width:.5}\n"
             "@media (prefers-color-scheme:dark){\n"
             "text{fill:#e6edf3}.paper{fill:#0d1117}.dim,.mark{fill:#9da7b3}\n"
             ".in{fill:#000}.in.dark{fill:#fff}\n"
             ".grid{stroke:#30363d}.axis,.side{stroke:#6e7681}.border{stroke:#e6edf3}\n"
             ".peak,.at{stroke:#e6edf3}.limit{stroke:#ff8a5b}.over{fill:#ff8a5b}\n"
             ".halo{stroke:#0d1117}.curve{stroke:#fff}.s,.over,.top{stroke:#0d1117}\n"
             "}\n</style>\n"
             "<defs><pattern id=\"again\" width=\"6\" height=\"6\" "
             "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
             "<line class=\"stripe\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/></pattern></defs>\n");
}

/* The module's name, cut at the end where it is longer than the picture is wide: names that
 * TensorFlow makes are. */
static void write_title(const Svg *svg, rh_text name) {
  size_t most_chars = (size_t)((svg->width - 2 * MARGIN) / TITLE_CHAR_WIDTH);
  bool is_cut = name.length > most_chars;
  if (is_cut) name = svg_beginning(name, most_chars - 1);
  begin_text(svg->out, "title", MARGIN, 30 * PIXEL);
  svg_escaped(svg->out, name.data, name.length);
  write_text(svg->out, is_cut ? "…</text>\n" : "</text>\n");
}

static void write_head(const Svg *svg) {
  const rh_memory_map *map = svg->picture->before;
  Writer *out = svg->out;
  write_title(svg, map->module);
  begin_text(out, "dim", MARGIN, 50 * PIXEL);
  if (svg->picture->after) {
    write_format(out, "memory before and after: %s, then %s", bytes_text(svg, map->total_bytes),
                 bytes_text(svg, svg->picture->after->total_bytes));
  } else {
    write_format(out, "%s of memory for %s values", bytes_text(svg, map->total_bytes),
                 count_text(svg, (int64_t)map->num_values));
    write_format(out, " over %s positions", count_text(svg, map->num_positions));
    if (map->peak_position >= 0) {
      write_format(out, "; at most %s live at once",
                   bytes_text(svg, map->live_bytes[map->peak_position]));
    }
  }
  write_text(out, "</text>\n");
}

static bool has_rematerialized(const Svg *svg) {
  for (uint32_t i = 0; i < svg->num_panels; i++) {
    const rh_memory_map *map = svg->panels[i].map;
    for (size_t k = 0; k < map->num_values; k++) {
      if (map->values[k]->is_rematerialized) return true;
    }
  }
  return false;
}

enum {
  LEGEND_X = MARGIN,
  LEGEND_Y = 73 * PIXEL,
  LEGEND_LINE = 19 * PIXEL,
  LEGEND_CHAR = 68 * PIXEL / 10,
  SWATCH = 11 * PIXEL,
};

/* Where the next entry of the legend goes. */
typedef struct LegendPen {
  Writer *out; /* NULL if the legend is only measured */
  Centi x, y, width;
} LegendPen;

/* Writes a swatch; the second class is drawn over it. */
static void write_swatch(const LegendPen *pen, const char *class, const char *over) {
  const char *const classes[] = {class, over};
  for (int i = 0; i < 2 && classes[i]; i++) {
    write_format(pen->out, "<rect class=\"%s\"", classes[i]);
    svg_attribute(pen->out, "x", pen->x);
    svg_attribute(pen->out, "y", pen->y - 10 * PIXEL);
    svg_attribute(pen->out, "width", SWATCH);
    svg_attribute(pen->out, "height", SWATCH);
    write_text(pen->out, "/>");
  }
}

/* Makes an entry, in the next line if this one is full. Without a class, it is the line of live
 * bytes. */
static void put_entry(LegendPen *pen, const char *class, const char *over, rh_text text) {
  Centi width = SWATCH + 22 * PIXEL + LEGEND_CHAR * (Centi)text.length;
  if (pen->x > LEGEND_X && pen->x + width > pen->width) {
    pen->x = LEGEND_X;
    pen->y += LEGEND_LINE;
  }
  if (pen->out) {
    Centi middle = pen->y - 4 * PIXEL;
    if (class) write_swatch(pen, class, over);
    if (!class) write_line(pen->out, "curve", pen->x, middle, pen->x + SWATCH, middle);
    begin_text(pen->out, "dim", pen->x + SWATCH + 5 * PIXEL, pen->y);
    svg_escaped(pen->out, text.data, text.length);
    write_text(pen->out, "</text>\n");
  }
  pen->x += width;
}

/* Returns the end of a long path, which says the most. */
static rh_text end_of_path(const Svg *svg, rh_text path) {
  enum { MAX_CHARS = 30 };
  if (path.length <= MAX_CHARS) return path;
  const char *at = path.data + path.length - MAX_CHARS, *end = path.data + path.length;
  const char *part = at;
  while (part < end && !strchr("/[.", *part))
    part++;
  if (part < end) at = part + (*part == '.');
  while (at < end && ((unsigned char)*at & 0xc0) == 0x80)
    at++;
  char *text = arena_printf(svg->scratch, "…%.*s", (int)(end - at), at);
  return (rh_text){text, strlen(text)};
}

/* Returns the length of what all names of computed groups begin with, up to a slash: it says
 * nothing. */
static size_t common_beginning(const PictureGroups *groups) {
  const PictureGroup *first = NULL;
  size_t length = 0, num = 0;
  for (uint32_t i = 0; groups->by_scope && i + 1 < NUM_COMPUTED_GROUPS; i++) {
    const PictureGroup *group = &groups->groups[i];
    if (!group->is_used || group->name.length == 0) continue;
    size_t common = 0, slash = 0;
    if (!first) length = group->name.length;
    if (!first) first = group;
    for (; common < length && common < group->name.length; common++) {
      if (group->name.data[common] != first->name.data[common]) break;
      if (group->name.data[common] == '/') slash = common + 1;
    }
    length = slash;
    num++;
  }
  return num > 1 ? length : 0;
}

static void put_legend(const Svg *svg, LegendPen *pen) {
  size_t common = common_beginning(&svg->groups);
  for (uint32_t i = 0; i < svg->groups.num_groups; i++) {
    const PictureGroup *group = &svg->groups.groups[i];
    char class[16];
    if (!group->is_used) continue;
    snprintf(class, sizeof class, "c%u", i);
    rh_text name = group->name;
    bool is_scope = svg->groups.by_scope && i + 1 < NUM_COMPUTED_GROUPS;
    if (is_scope && name.length > common) {
      name = (rh_text){name.data + common, name.length - common};
    }
    static const rh_text none = {"(none)", 6};
    put_entry(pen, class, NULL, name.length ? end_of_path(svg, name) : none);
  }
  static const rh_text again = {"rematerialized", 14}, live = {"live bytes", 10};
  if (has_rematerialized(svg)) put_entry(pen, "c0", "again", again);
  put_entry(pen, NULL, NULL, live);
}

static LegendPen pen_new(const Svg *svg, Writer *out) {
  return (LegendPen){.out = out, .x = LEGEND_X, .y = LEGEND_Y, .width = svg->width};
}

/* ---- a panel ---- */

static void write_y_axis(const Svg *svg, const SvgPanel *panel) {
  int64_t step = picture_byte_step(panel->bytes, panel->row ? 3 : 8);
  for (int64_t i = 0; i <= panel->bytes / step; i++) {
    int64_t bytes = i * step;
    Centi y = svg_y(panel, bytes);
    write_line(svg->out, "grid", panel->left, y, panel->right, y);
    write_label(svg->out, "mark y", panel->left - 7 * PIXEL, y + 4 * PIXEL,
                bytes ? mark_text(svg, bytes) : "0");
  }
}

static void write_x_axis(const Svg *svg, const SvgPanel *panel) {
  enum { DISTANCE = 54 * PIXEL };
  const rh_memory_map *map = panel->map;
  Writer *out = svg->out;
  Centi peak = map->peak_position < 0 ? -10 * DISTANCE : svg_x(panel, map->peak_position);
  int64_t step = picture_count_step(panel->num_positions, (panel->right - panel->left) / 8000);
  write_line(out, "axis", panel->left, panel->bottom, panel->right, panel->bottom);
  for (int64_t position = 0; position <= panel->num_positions; position += step) {
    Centi x = svg_x(panel, position);
    write_line(out, "axis", x, panel->bottom, x, panel->bottom + 4 * PIXEL);
    if (x > peak - DISTANCE && x < peak + DISTANCE) continue;
    write_label(out, "mark x", x, panel->bottom + 17 * PIXEL, count_text(svg, position));
  }
  if (map->peak_position >= 0) {
    begin_text(out, "mark x strong", peak, panel->bottom + 17 * PIXEL);
    write_format(out, "peak %s</text>\n", count_text(svg, map->peak_position));
  }
  write_label(out, "dim x", (panel->left + panel->right) / 2, panel->bottom + 38 * PIXEL,
              "position in the schedule");
}

static const char *space_name(const Svg *svg, const rh_memory_space *space) {
  if (space->color == 0) return space->kind;
  return arena_printf(svg->scratch, "temp. S(%lld)", (long long)space->color);
}

/* Writes the name and size of each space at its right side. A label is moved up if the one below
 * needs the room. */
static void write_spaces(const Svg *svg, const SvgPanel *panel) {
  enum { LINE = 15 * PIXEL };
  const rh_memory_map *map = panel->map;
  Writer *out = svg->out;
  Centi highest = panel->bottom + 4 * PIXEL, x = panel->right + 6 * PIXEL;
  for (size_t i = 0; i < map->num_spaces; i++) {
    const rh_memory_space *space = map->spaces[i];
    if (space->bytes == 0) continue;
    int64_t base = picture_space_base(map, i);
    Centi low = svg_y(panel, base), high = svg_y(panel, base + space->bytes);
    if (i) write_line(out, "border", panel->left, low, panel->right, low);
    write_line(out, "side", x, high + PIXEL / 2, x, low - PIXEL / 2);
    Centi y = (low + high) / 2 + 4 * PIXEL;
    if (y > highest) y = highest;
    highest = y - LINE;
    begin_text(out, "mark strong", x + 6 * PIXEL, y);
    write_format(out, "%s<tspan class=\"bytes\" dx=\"5\">%s</tspan></text>\n",
                 space_name(svg, space), bytes_text(svg, space->bytes));
  }
}

static const char *peak_text(const Svg *svg, const SvgPanel *panel) {
  return arena_printf(svg->scratch, "peak %s", bytes_text(svg, panel->map->total_bytes));
}

static const char *limit_text(const Svg *svg) {
  return arena_printf(svg->scratch, "budget %s%s", bytes_text(svg, svg->picture->limit_bytes),
                      picture_limit_words(svg->picture));
}

static bool has_limit(const SvgPanel *panel) {
  return panel->limit >= 0 && panel->limit <= panel->bytes;
}

/* Places the texts at the lines of the peak and of the budget. */
static void place_limits(const Svg *svg, SvgPanel *panel) {
  enum { LABEL_HEIGHT = 18 * PIXEL, LABEL_CHAR = 76 * PIXEL / 10 };
  Centi y = svg_y(panel, panel->map->total_bytes);
  Centi limit_y = has_limit(panel) ? svg_y(panel, panel->limit) : y;
  /* The line of the budget crosses the label. */
  bool is_crossed = limit_y < y && limit_y > y - LABEL_HEIGHT;
  panel->reserved[0] = (Rect){.x = panel->left,
                              .y = (is_crossed ? limit_y : y) - LABEL_HEIGHT,
                              .width = LABEL_CHAR * (Centi)strlen(peak_text(svg, panel)),
                              .height = LABEL_HEIGHT};
  if (!has_limit(panel)) return;
  Centi width = LABEL_CHAR * (Centi)strlen(limit_text(svg));
  panel->reserved[1] = (Rect){.x = panel->right - width,
                              .y = limit_y - LABEL_HEIGHT,
                              .width = width,
                              .height = LABEL_HEIGHT};
}

static void write_peak(const Svg *svg, const SvgPanel *panel) {
  const rh_memory_map *map = panel->map;
  Writer *out = svg->out;
  Centi y = svg_y(panel, map->total_bytes);
  const Rect *peak = &panel->reserved[0], *limit = &panel->reserved[1];
  write_line(out, "peak", panel->left, y, panel->right, y);
  write_label(out, "strong top", panel->left + 4 * PIXEL, peak->y + peak->height - 5 * PIXEL,
              peak_text(svg, panel));
  if (map->peak_position >= 0) {
    Centi x = svg_x(panel, map->peak_position);
    write_line(out, "at", x, svg_y(panel, map->live_bytes[map->peak_position]), x, panel->bottom);
  }
  if (!has_limit(panel)) return;
  Centi limit_y = limit->y + limit->height;
  write_line(out, "limit", panel->left, limit_y, panel->right, limit_y);
  write_label(out, "strong over right", panel->right - 4 * PIXEL, limit_y - 5 * PIXEL,
              limit_text(svg));
}

static void write_panel(const Svg *svg, const SvgPanel *panel) {
  Writer *out = svg->out;
  if (panel->title) {
    Str title = human_utf8(str_make(panel->title, strlen(panel->title)), svg->scratch);
    begin_text(out, "strong", panel->left, panel->top - 8 * PIXEL);
    svg_escaped(out, title.data, title.len);
    write_text(out, "</text>\n");
  }
  write_y_axis(svg, panel);
  svg_boxes(panel, out, svg->scratch);
  svg_curve(panel, out);
  write_spaces(svg, panel);
  write_peak(svg, panel);
  write_x_axis(svg, panel);
}

/* The bytes that the height of the panels of a row stands for. */
static int64_t bytes_of_row(const Svg *svg, uint32_t row) {
  int64_t bytes = 1;
  for (uint32_t i = 0; i < svg->num_panels; i++) {
    const PictureMap *drawn = &svg->maps.list.data[i];
    int64_t most = drawn->map->total_bytes;
    int64_t limit = row ? -1 : picture_limit(svg->picture, drawn->map);
    if (drawn->row != row) continue;
    if (limit > most && limit / 2 < most) most = limit; /* a limit far above is not drawn */
    if (most > bytes) bytes = most;
  }
  return bytes < INT64_MAX / 2 ? bytes + bytes / 12 : bytes;
}

static SvgPanel make_panel(const Svg *svg, uint32_t index, Centi panel_width) {
  const PictureMap *drawn = &svg->maps.list.data[index];
  Centi top = TOP, bottom = HEIGHT - BOTTOM;
  if (drawn->row) bottom += TRACK * (Centi)drawn->row;
  if (drawn->row) top = bottom + BOTTOM - TRACK;
  if (drawn->title) top += PANEL_TITLE;
  return (SvgPanel){.map = drawn->map,
                    .title = drawn->title,
                    .row = drawn->row,
                    .left = drawn->side * panel_width + LEFT,
                    .right = (drawn->side + 1) * panel_width - RIGHT,
                    .top = top + svg->more_height,
                    .bottom = bottom + svg->more_height,
                    .bytes = bytes_of_row(svg, drawn->row),
                    .limit = drawn->row ? -1 : picture_limit(svg->picture, drawn->map),
                    .groups = svg->groups.groups,
                    .group_of = svg->groups.of[index],
                    .num_groups = svg->groups.num_groups};
}

/* Gives all panels the same scale of positions, and those of a row the same scale of bytes. */
static void lay_out(Svg *svg) {
  Centi panel_width = svg->picture->after ? PAIR_WIDTH : WIDTH;
  int64_t num_positions = 1;
  svg->width = (svg->picture->after ? 2 : 1) * panel_width;
  svg->panels = arena_zarray(svg->scratch, SvgPanel, svg->num_panels);
  for (uint32_t i = 0; i < svg->num_panels; i++) {
    svg->panels[i].map = svg->maps.list.data[i].map;
    if (svg->panels[i].map->num_positions > num_positions)
      num_positions = svg->panels[i].map->num_positions;
  }
  LegendPen pen = pen_new(svg, NULL);
  put_legend(svg, &pen);
  svg->more_height = pen.y - LEGEND_Y;
  for (uint32_t i = 0; i < svg->num_panels; i++) {
    svg->panels[i] = make_panel(svg, i, panel_width);
    svg->panels[i].num_positions = num_positions;
    place_limits(svg, &svg->panels[i]);
  }
}

void picture_svg(const rh_picture *picture, Writer *out, Arena *scratch) {
  Svg svg = {.picture = picture, .out = out, .scratch = scratch};
  svg.maps = picture_maps(picture, scratch);
  svg.groups = picture_groups(&svg.maps, scratch);
  svg.num_panels = svg.maps.list.len;
  lay_out(&svg);
  Centi height = HEIGHT + svg.more_height + TRACK * (Centi)(svg.maps.num_rows - 1);
  write_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ");
  svg_length(out, svg.width);
  write_text(out, " ");
  svg_length(out, height);
  write_text(out, "\"");
  svg_attribute(out, "width", svg.width);
  svg_attribute(out, "height", height);
  write_text(out, " role=\"img\">\n");
  write_style(&svg);
  write_text(out, "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
  write_head(&svg);
  LegendPen pen = pen_new(&svg, out);
  put_legend(&svg, &pen);
  for (uint32_t i = 0; i < svg.num_panels; i++)
    write_panel(&svg, &svg.panels[i]);
  write_text(out, "</svg>\n");
}
