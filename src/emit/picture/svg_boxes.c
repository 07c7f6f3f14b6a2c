/* Draws the inside of the frame: boxes, the names in them, and the line of live bytes. */
#include <stdio.h>

#include "emit/human.h"
#include "emit/label.h"
#include "emit/picture/svg.h"
#include "ir/chars.h"

/* ---- from bytes and positions to pixels ---- */

Centi svg_x(const SvgPanel *panel, int64_t position) {
  int64_t count = panel->num_positions > 0 ? panel->num_positions : 1;
  return panel->left + position * (panel->right - panel->left) / count;
}

/* Sizes are first rounded to 2^-40 of the total, so that no product overflows. */
Centi svg_y(const SvgPanel *panel, int64_t height_bytes) {
  int64_t bytes = panel->bytes > 0 ? panel->bytes : 1;
  while (bytes >> 40) {
    bytes >>= 1;
    height_bytes >>= 1;
  }
  return panel->bottom - height_bytes * (panel->bottom - panel->top) / bytes;
}

void svg_length(Writer *out, Centi length) {
  char room[DECIMAL_CHARS];
  if (length < 0) write_text(out, "-");
  if (length < 0) length = -length;
  write_str(out, decimal_text(length / PIXEL, room));
  if (length % PIXEL == 0) return;
  char digits[3] = {'.', (char)('0' + length / 10 % 10), (char)('0' + length % 10)};
  write_bytes(out, digits, digits[2] == '0' ? 2 : 3);
}

void svg_attribute(Writer *out, const char *name, Centi length) {
  write_text(out, " ");
  write_text(out, name);
  write_text(out, "=\"");
  svg_length(out, length);
  write_text(out, "\"");
}

static const char *entity_of(char c) {
  switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    default: return (unsigned char)c < 0x20 ? "\xef\xbf\xbd" : NULL; /* not in XML: U+FFFD */
  }
}

rh_text svg_beginning(rh_text text, size_t most_bytes) {
  if (most_bytes >= text.length) return text;
  while (most_bytes > 0 && ((unsigned char)text.data[most_bytes] & 0xc0) == 0x80)
    most_bytes--;
  return (rh_text){text.data, most_bytes};
}

void svg_escaped(Writer *out, const char *text, size_t length) {
  size_t begin = 0;
  for (size_t i = 0; i < length; i++) {
    const char *entity = entity_of(text[i]);
    /* XML does not allow U+FFFE and U+FFFF either. */
    bool is_none = length - i >= 3 && (memcmp(text + i, "\xef\xbf\xbe", 3) == 0 ||
                                       memcmp(text + i, "\xef\xbf\xbf", 3) == 0);
    if (is_none) entity = "\xef\xbf\xbd";
    if (!entity) continue;
    write_bytes(out, text + begin, i - begin);
    write_text(out, entity);
    i += is_none ? 2 : 0;
    begin = i + 1;
  }
  write_bytes(out, text + begin, length - begin);
}

/* ---- boxes ---- */

static Rect rect_of(const SvgPanel *panel, const int64_t *bases, const rh_placed_value *value) {
  int64_t bottom = bases[value->space] + value->offset;
  Rect rect = {.x = svg_x(panel, value->begin), .y = svg_y(panel, bottom + value->value->bytes)};
  rect.width = svg_x(panel, value->end) - rect.x;
  rect.height = svg_y(panel, bottom) - rect.y;
  return rect;
}

/* A grid with cells of a quarter of a square pixel, which records the cells that small boxes
 * cover. */
typedef struct Grid {
  uint8_t *is_covered;
  int64_t num_columns, num_rows;
} Grid;

enum { CELL = PIXEL / 2 };

static Grid grid_new(const SvgPanel *panel, Arena *scratch) {
  Grid grid = {.num_columns = (panel->right - panel->left) / CELL + 1,
               .num_rows = (panel->bottom - panel->top) / CELL + 1};
  grid.is_covered = arena_zarray(scratch, uint8_t, (size_t)(grid.num_columns * grid.num_rows));
  return grid;
}

static int64_t clamp(int64_t value, int64_t end) {
  return value < 0 ? 0 : value < end ? value : end - 1;
}

/* Covers the cells of a box. Returns true if at least one of them was free. */
static bool cover(const Grid *grid, const SvgPanel *panel, const Rect *rect) {
  int64_t left = clamp((rect->x - panel->left) / CELL, grid->num_columns);
  int64_t right = clamp((rect->x + rect->width - panel->left) / CELL, grid->num_columns);
  int64_t top = clamp((rect->y - panel->top) / CELL, grid->num_rows);
  int64_t bottom = clamp((rect->y + rect->height - panel->top) / CELL, grid->num_rows);
  bool was_free = false;
  for (int64_t row = top; row <= bottom; row++) {
    uint8_t *cells = grid->is_covered + row * grid->num_columns + left;
    size_t count = (size_t)(right - left) + 1;
    if (!memchr(cells, 0, count)) continue;
    was_free = true;
    memset(cells, 1, count);
  }
  return was_free;
}

static void write_title(Writer *out, const rh_placed_value *value) {
  HumanBytes bytes = human_bytes(value->value->bytes);
  write_text(out, "><title>");
  svg_escaped(out, value->value->name.data, value->value->name.length);
  write_text(out, "\n");
  write_bytes(out, bytes.text, bytes.len);
  write_text(out, "  ");
  svg_escaped(out, value->value->shape.data, value->value->shape.length);
  if (value->value->op_name.length) {
    write_text(out, "\n");
    svg_escaped(out, value->value->op_name.data, value->value->op_name.length);
  }
  if (value->value->source_file.length) {
    write_text(out, "\n");
    svg_escaped(out, value->value->source_file.data, value->value->source_file.length);
    if (value->value->source_line > 0) {
      char room[DECIMAL_CHARS];
      write_text(out, ":");
      write_str(out, decimal_text(value->value->source_line, room));
    }
  }
  write_text(out, "</title></rect>\n");
}

static void write_rect(Writer *out, const Rect *rect, const char *class) {
  write_text(out, "<rect");
  if (class) write_format(out, " class=\"%s\"", class);
  svg_attribute(out, "x", rect->x);
  svg_attribute(out, "y", rect->y);
  svg_attribute(out, "width", rect->width > PIXEL ? rect->width : PIXEL);
  svg_attribute(out, "height", rect->height > PIXEL ? rect->height : PIXEL);
}

/* ---- labels ---- */

enum { CHAR_WIDTH = 62 * PIXEL / 10, LABEL_MARGIN = 4 * PIXEL, LABEL_HALF = 6 * PIXEL };

static Centi text_width(rh_text text) {
  Centi width = 0;
  for (size_t i = 0; i < text.length; i++)
    width += ((unsigned char)text.data[i] & 0xc0) == 0x80 ? 0 : CHAR_WIDTH;
  return width;
}

/* By column of one pixel: the highest and lowest place of the line of live bytes, with its steps
 * and with the dotted line below the peak. */
typedef struct Columns {
  Centi *high, *low;
  int64_t num;
} Columns;

static void widen(const Columns *columns, int64_t column, Centi y) {
  if (y < columns->high[column]) columns->high[column] = y;
  if (y > columns->low[column]) columns->low[column] = y;
}

static Columns columns_new(const SvgPanel *panel, Arena *scratch) {
  const rh_memory_map *map = panel->map;
  Columns columns = {.num = (panel->right - panel->left) / PIXEL + 1};
  columns.high = arena_array(scratch, Centi, (size_t)columns.num);
  columns.low = arena_array(scratch, Centi, (size_t)columns.num);
  for (int64_t i = 0; i < columns.num; i++) {
    columns.high[i] = INT64_MAX;
    columns.low[i] = INT64_MIN;
  }
  Centi last = panel->bottom;
  for (int64_t position = 0; position < map->num_positions; position++) {
    Centi y = svg_y(panel, map->live_bytes[position]);
    int64_t column = (svg_x(panel, position) - panel->left) / PIXEL;
    int64_t end = (svg_x(panel, position + 1) - panel->left) / PIXEL;
    widen(&columns, column, position ? last : y);
    for (; column <= end; column++)
      widen(&columns, column, y);
    if (position == map->peak_position) {
      widen(&columns, (svg_x(panel, position) - panel->left) / PIXEL, panel->bottom);
    }
    last = y;
  }
  return columns;
}

static bool is_reserved(const SvgPanel *panel, const Rect *rect) {
  for (size_t i = 0; i < sizeof panel->reserved / sizeof *panel->reserved; i++) {
    const Rect *other = &panel->reserved[i];
    if (rect->x < other->x + other->width && other->x < rect->x + rect->width &&
        rect->y < other->y + other->height && other->y < rect->y + rect->height) {
      return true;
    }
  }
  return false;
}

/* Returns the middle of a label: that of its box, or beside the line of the budget if that is
 * there. */
static Centi middle_of(const SvgPanel *panel, const Rect *box) {
  enum { BESIDE = LABEL_HALF + 3 * PIXEL };
  Centi middle = box->y + box->height / 2, bottom = box->y + box->height;
  if (panel->limit < 0 || panel->limit > panel->bytes) return middle;
  Centi line = svg_y(panel, panel->limit);
  if (line < middle - BESIDE || line > middle + BESIDE) return middle;
  if (line + BESIDE + LABEL_HALF <= bottom) return line + BESIDE;
  return line - BESIDE - LABEL_HALF >= box->y ? line - BESIDE : middle;
}

/* Finds the first place from the left of a box where a text of this width has room. Returns false
 * if there is none. */
static bool find_room(const SvgPanel *panel, const Columns *columns, const Rect *box, Centi width,
                      Rect *room) {
  Centi middle = middle_of(panel, box), end = box->x + box->width - LABEL_MARGIN;
  *room = (Rect){box->x + LABEL_MARGIN, middle - LABEL_HALF, width, 2 * LABEL_HALF};
  for (Centi x = room->x; x <= end; x += PIXEL) {
    int64_t column = (x - panel->left) / PIXEL;
    bool is_crossed =
        columns->high[column] < room->y + room->height && columns->low[column] > room->y;
    if (is_crossed) room->x = x + 4 * PIXEL;
    if (is_crossed || x - room->x < width) continue;
    if (!is_reserved(panel, room)) return true;
    room->x = x + PIXEL;
  }
  return false;
}

/* Returns the beginning of a text that fits, without cutting a character, or nothing if too little
 * of it fits. */
static rh_text cut(rh_text text, Centi width) {
  enum { LEAST_CHARS = 4 };
  rh_text begin = svg_beginning(text, width > 0 ? (size_t)(width / CHAR_WIDTH) : 0);
  if (begin.length < LEAST_CHARS) begin.length = 0;
  return begin;
}

static void write_text_at(const Rect *room, const PictureGroup *group, rh_text text, bool is_cut,
                          Writer *out) {
  write_format(out, "<text class=\"%s\"", group->is_dark ? "in dark" : "in");
  svg_attribute(out, "x", room->x);
  svg_attribute(out, "y", room->y + LABEL_HALF + 35 * PIXEL / 10);
  write_text(out, ">");
  svg_escaped(out, text.data, text.length);
  write_text(out, is_cut ? "…</text>\n" : "</text>\n");
}

/* Writes the longest form of the label that has room, or the beginning of the shortest one. */
static void write_label(const SvgPanel *panel, const Columns *columns, const Rect *box,
                        size_t value, Writer *out, Arena *scratch) {
  enum { LEAST_WIDTH = 36 * PIXEL, LEAST_HEIGHT = 13 * PIXEL };
  if (box->width < LEAST_WIDTH || box->height < LEAST_HEIGHT) return;
  const PictureGroup *group = &panel->groups[panel->group_of[value]];
  rh_text label = value_label(panel->map->values[value]->value, scratch), form, shortest = label;
  Rect room;
  for (uint32_t i = 0; value_label_form(label, i, scratch, &form); i++) {
    if (find_room(panel, columns, box, text_width(form), &room)) {
      write_text_at(&room, group, form, false, out);
      return;
    }
    shortest = form;
  }
  for (int tenths = 9; tenths >= 3; tenths -= 2) {
    rh_text begin = cut(shortest, (box->width - 2 * LABEL_MARGIN) * tenths / 10 - CHAR_WIDTH);
    if (begin.length == 0) return;
    if (!find_room(panel, columns, box, text_width(begin) + CHAR_WIDTH, &room)) continue;
    write_text_at(&room, group, begin, true, out);
    return;
  }
}

static void write_boxes(const SvgPanel *panel, const int64_t *bases, uint32_t group,
                        const Grid *grid, Writer *out) {
  enum { BORDERED = 3 * PIXEL };
  const rh_memory_map *map = panel->map;
  for (size_t i = 0; i < map->num_values; i++) {
    const rh_placed_value *value = map->values[i];
    if (panel->group_of[i] != group) continue;
    Rect rect = rect_of(panel, bases, value);
    bool is_small = rect.width < PIXEL || rect.height < PIXEL;
    if (is_small && !cover(grid, panel, &rect)) continue;
    bool has_border = rect.width >= BORDERED && rect.height >= BORDERED;
    char class[16];
    snprintf(class, sizeof class, "c%u%s", group, has_border ? " s" : "");
    write_rect(out, &rect, class);
    if (rect.width >= 2 * PIXEL && rect.height >= 2 * PIXEL) {
      write_title(out, value);
    } else {
      write_text(out, "/>\n");
    }
  }
}

void svg_boxes(const SvgPanel *panel, Writer *out, Arena *scratch) {
  const rh_memory_map *map = panel->map;
  int64_t *bases = arena_array(scratch, int64_t, map->num_spaces);
  for (size_t i = 0; i < map->num_spaces; i++)
    bases[i] = picture_space_base(map, i);
  Grid grid = grid_new(panel, scratch);
  for (uint32_t group = 0; group < panel->num_groups; group++)
    write_boxes(panel, bases, group, &grid, out);
  Columns columns = columns_new(panel, scratch);
  for (size_t i = 0; i < map->num_values; i++) {
    Rect rect = rect_of(panel, bases, map->values[i]);
    if (map->values[i]->is_rematerialized && rect.width >= CELL) {
      write_rect(out, &rect, "again");
      write_text(out, "/>\n");
    }
    write_label(panel, &columns, &rect, i, out, scratch);
  }
}

/* ---- live bytes ---- */

/* Draws at most one point per column: the largest value of the positions in it. */
static void write_points(const SvgPanel *panel, Writer *out) {
  const rh_memory_map *map = panel->map;
  Centi last_y = -1;
  for (int64_t position = 0; position < map->num_positions;) {
    Centi x = svg_x(panel, position);
    int64_t most = 0;
    for (; position < map->num_positions && svg_x(panel, position) < x + CELL; position++) {
      if (map->live_bytes[position] > most) most = map->live_bytes[position];
    }
    Centi y = svg_y(panel, most), end = svg_x(panel, position);
    if (y != last_y) {
      write_text(out, last_y < 0 ? "M" : "H");
      svg_length(out, x);
      write_text(out, last_y < 0 ? " " : "V");
      svg_length(out, y);
    }
    last_y = y;
    if (position == map->num_positions) {
      write_text(out, "H");
      svg_length(out, end);
    }
  }
}

void svg_curve(const SvgPanel *panel, Writer *out) {
  static const char *const classes[] = {"halo", "curve"};
  if (panel->map->num_positions == 0) return;
  for (int i = 0; i < 2; i++) {
    write_format(out, "<path class=\"%s\" d=\"", classes[i]);
    write_points(panel, out);
    write_text(out, "\"/>\n");
  }
}
