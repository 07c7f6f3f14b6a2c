/* Writes a static picture, for papers and comments: this file draws the frame around the boxes.
 * Colours follow the viewer's preference for light or dark, if the program that shows the picture
 * supports that. */
#include "emit/picture/svg.h"

#include "emit/human.h"

enum {
  WIDTH = 1000 * PIXEL,     /* for a single panel */
  PAIR_WIDTH = 760 * PIXEL, /* for each of two panels */
  HEIGHT = 600 * PIXEL,
  LEFT = 84 * PIXEL,
  RIGHT = 168 * PIXEL,
  TOP = 96 * PIXEL,
  PANEL_TITLE = 22 * PIXEL,
  BOTTOM = 54 * PIXEL,
};

typedef struct Svg {
  const rh_picture *picture;
  SvgPanel panels[2];
  int num_panels;
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

static void write_style(Writer *out) {
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
  for (int i = 0; i < NUM_PICTURE_CATEGORIES; i++)
    write_format(out, ".c%d{fill:%s}", i, picture_categories[i].color);
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

static void write_head(const Svg *svg) {
  const rh_memory_map *map = svg->picture->before;
  Writer *out = svg->out;
  begin_text(out, "title", 20 * PIXEL, 30 * PIXEL);
  svg_escaped(out, map->module.data, map->module.length);
  write_text(out, "</text>\n");
  begin_text(out, "dim", 20 * PIXEL, 50 * PIXEL);
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

static bool has_category(const Svg *svg, uint32_t category) {
  for (int i = 0; i < svg->num_panels; i++) {
    const rh_memory_map *map = svg->panels[i].map;
    for (size_t k = 0; k < map->num_values; k++) {
      if (picture_category(map->values[k]->value) == category) return true;
    }
  }
  return false;
}

static bool has_rematerialized(const Svg *svg) {
  for (int i = 0; i < svg->num_panels; i++) {
    const rh_memory_map *map = svg->panels[i].map;
    for (size_t k = 0; k < map->num_values; k++) {
      if (map->values[k]->is_rematerialized) return true;
    }
  }
  return false;
}

enum { LEGEND_Y = 73 * PIXEL, SWATCH = 11 * PIXEL, LEGEND_CHAR = 68 * PIXEL / 10 };

static void write_swatch(Writer *out, const char *class, Centi x) {
  write_format(out, "<rect class=\"%s\"", class);
  svg_attribute(out, "x", x);
  svg_attribute(out, "y", LEGEND_Y - 10 * PIXEL);
  svg_attribute(out, "width", SWATCH);
  svg_attribute(out, "height", SWATCH);
  write_text(out, "/>");
}

static Centi write_legend_text(Writer *out, Centi x, const char *text) {
  write_label(out, "dim", x + SWATCH + 5 * PIXEL, LEGEND_Y, text);
  return x + SWATCH + 22 * PIXEL + LEGEND_CHAR * (Centi)strlen(text);
}

static void write_legend(const Svg *svg) {
  Writer *out = svg->out;
  Centi x = 20 * PIXEL;
  for (uint32_t i = 0; i < NUM_PICTURE_CATEGORIES; i++) {
    char class[3] = {'c', (char)('0' + i), 0};
    if (!has_category(svg, i)) continue;
    write_swatch(out, class, x);
    x = write_legend_text(out, x, picture_categories[i].name);
  }
  if (has_rematerialized(svg)) {
    write_swatch(out, "c0", x);
    write_swatch(out, "again", x);
    x = write_legend_text(out, x, "rematerialized");
  }
  write_line(out, "curve", x, LEGEND_Y - 4 * PIXEL, x + SWATCH, LEGEND_Y - 4 * PIXEL);
  write_legend_text(out, x, "live bytes");
}

/* ---- a panel ---- */

static void write_y_axis(const Svg *svg, const SvgPanel *panel) {
  int64_t step = picture_byte_step(panel->bytes, 8);
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

static void write_peak(const Svg *svg, const SvgPanel *panel) {
  enum { LABEL_HEIGHT = 18 * PIXEL };
  const rh_memory_map *map = panel->map;
  Writer *out = svg->out;
  bool has_limit = panel->limit >= 0 && panel->limit <= panel->bytes;
  Centi y = svg_y(panel, map->total_bytes);
  Centi limit_y = has_limit ? svg_y(panel, panel->limit) : y;
  /* The line of the budget crosses the label. */
  bool is_crossed = limit_y < y && limit_y > y - LABEL_HEIGHT;
  write_line(out, "peak", panel->left, y, panel->right, y);
  begin_text(out, "strong top", panel->left + 4 * PIXEL, (is_crossed ? limit_y : y) - 5 * PIXEL);
  write_format(out, "peak %s</text>\n", bytes_text(svg, map->total_bytes));
  if (map->peak_position >= 0) {
    Centi x = svg_x(panel, map->peak_position);
    write_line(out, "at", x, svg_y(panel, map->live_bytes[map->peak_position]), x, panel->bottom);
  }
  if (!has_limit) return;
  write_line(out, "limit", panel->left, limit_y, panel->right, limit_y);
  begin_text(out, "strong over right", panel->right - 4 * PIXEL, limit_y - 5 * PIXEL);
  write_format(out, "budget %s%s</text>\n", bytes_text(svg, svg->picture->limit_bytes),
               picture_limit_words(svg->picture));
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

/* Gives all panels the same scale. */
static void lay_out(Svg *svg) {
  const rh_picture *picture = svg->picture;
  const rh_memory_map *maps[] = {picture->before, picture->after};
  const char *titles[] = {picture->before_title, picture->after_title};
  svg->num_panels = picture->after ? 2 : 1;
  Centi panel_width = picture->after ? PAIR_WIDTH : WIDTH;
  int64_t num_positions = 1, bytes = 1;
  for (int i = 0; i < svg->num_panels; i++) {
    int64_t limit = picture_limit(picture, maps[i]), most = maps[i]->total_bytes;
    if (limit > most && limit / 2 < most) most = limit; /* a limit far above is not drawn */
    if (maps[i]->num_positions > num_positions) num_positions = maps[i]->num_positions;
    if (most > bytes) bytes = most;
  }
  for (int i = 0; i < svg->num_panels; i++) {
    svg->panels[i] = (SvgPanel){.map = maps[i],
                                .title = titles[i],
                                .left = i * panel_width + LEFT,
                                .right = (i + 1) * panel_width - RIGHT,
                                .top = TOP + (titles[i] ? PANEL_TITLE : 0),
                                .bottom = HEIGHT - BOTTOM,
                                .num_positions = num_positions,
                                .bytes = bytes < INT64_MAX / 2 ? bytes + bytes / 12 : bytes,
                                .limit = picture_limit(picture, maps[i])};
  }
  svg->width = svg->num_panels * panel_width;
}

void picture_svg(const rh_picture *picture, Writer *out, Arena *scratch) {
  Svg svg = {.picture = picture, .out = out, .scratch = scratch};
  lay_out(&svg);
  write_text(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ");
  svg_length(out, svg.width);
  write_text(out, " ");
  svg_length(out, HEIGHT);
  write_text(out, "\"");
  svg_attribute(out, "width", svg.width);
  svg_attribute(out, "height", HEIGHT);
  write_text(out, " role=\"img\">\n");
  write_style(out);
  write_text(out, "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
  write_head(&svg);
  write_legend(&svg);
  for (int i = 0; i < svg.num_panels; i++)
    write_panel(&svg, &svg.panels[i]);
  write_text(out, "</svg>\n");
}
