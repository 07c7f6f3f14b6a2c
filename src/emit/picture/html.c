/* Writes a page that contains everything it needs: its own files, and the values as JSON. The JSON
 * has one array per column. Each text is in a table once, and other places refer to it by its
 * number. */
#include <math.h>

#include "emit/human.h"
#include "emit/json.h"
#include "emit/picture/groups.h"
#include "emit/label.h"
#include "emit/picture/page.h"
#include "emit/picture/picture.h"
#include "ir/hash.h"

typedef struct Page {
  const rh_picture *picture;
  VEC(rh_text) texts; /* by number */
  IdTable numbers;
  Writer *out;
  Arena *scratch;
} Page;

/* ---- texts ---- */

static uint32_t number_of(Page *page, rh_text text) {
  uint64_t hash = hash_bytes(HASH_SEED, text.data, text.length);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&page->numbers, hash); id_probe_next(&probe, &id);) {
    rh_text known = page->texts.data[id];
    bool is_same = known.length == text.length &&
                   (text.length == 0 || memcmp(known.data, text.data, text.length) == 0);
    if (is_same) return id;
  }
  id = page->texts.len;
  *vec_push(page->scratch, &page->texts) = text;
  id_table_add(&page->numbers, page->scratch, hash, id);
  return id;
}

static rh_text text_of(const char *text) {
  return (rh_text){text, strlen(text)};
}

/* ---- columns ---- */

typedef enum Column {
  COLUMN_NAME,
  COLUMN_LABEL,
  COLUMN_OPCODE,
  COLUMN_SHAPE,
  COLUMN_COMPUTATION,
  COLUMN_OP_NAME,
  COLUMN_SCOPE,
  COLUMN_FILE,
  COLUMN_LINE,
  COLUMN_ARGUMENT,
  COLUMN_INHERITED,
  COLUMN_FRAME,
  COLUMN_CATEGORY,
  COLUMN_BYTES,
  COLUMN_SPACE,
  COLUMN_OFFSET,
  COLUMN_BEGIN,
  COLUMN_END,
  COLUMN_POSITION,
  COLUMN_AGAIN,
  COLUMN_NUM_READS,
  NUM_COLUMNS,
} Column;

/* ORDER Column */
static const char *const column_names[NUM_COLUMNS] = {
    "name",  "label",  "opcode",   "shape",     "computation", "op_name",  "scope",
    "file",  "line",   "argument", "inherited", "frame",       "category", "bytes",
    "space", "offset", "begin",    "end",       "position",    "again",    "num_reads"};

static int64_t field_of(Page *page, const rh_placed_value *placed, Column column) {
  const rh_live_value *value = placed->value;
  switch (column) {
    case COLUMN_NAME: return number_of(page, value->name);
    case COLUMN_LABEL: return number_of(page, value_label(value, page->scratch));
    case COLUMN_OPCODE: return number_of(page, value->opcode);
    case COLUMN_SHAPE: return number_of(page, value->shape);
    case COLUMN_COMPUTATION: return number_of(page, value->computation);
    case COLUMN_OP_NAME: return number_of(page, value->op_name);
    case COLUMN_SCOPE: return number_of(page, placed->scope);
    case COLUMN_FILE: return number_of(page, value->source_file);
    case COLUMN_LINE: return value->source_line;
    case COLUMN_ARGUMENT: return number_of(page, value->argument);
    case COLUMN_INHERITED: return value->is_inherited;
    case COLUMN_FRAME: return value->frame;
    case COLUMN_CATEGORY: return picture_category(value);
    case COLUMN_BYTES: return value->bytes;
    case COLUMN_SPACE: return (int64_t)placed->space;
    case COLUMN_OFFSET: return placed->offset;
    case COLUMN_BEGIN: return placed->begin;
    case COLUMN_END: return placed->end;
    case COLUMN_POSITION: return placed->position;
    case COLUMN_AGAIN: return placed->is_rematerialized;
    case COLUMN_NUM_READS: return (int64_t)placed->num_reads;
    case NUM_COLUMNS: break;
  }
  return 0;
}

static void separate(Writer *out, size_t index) {
  if (index) write_text(out, ",");
}

static void write_values(Page *page, const rh_memory_map *map) {
  Writer *out = page->out;
  for (int column = 0; column < NUM_COLUMNS; column++) {
    write_format(out, ",\"%s\":[", column_names[column]);
    for (size_t i = 0; i < map->num_values; i++) {
      separate(out, i);
      json_int(out, field_of(page, map->values[i], (Column)column));
    }
    write_text(out, "]\n");
  }
  size_t num_written = 0;
  write_text(out, ",\"reads\":[");
  for (size_t i = 0; i < map->num_values; i++) {
    for (size_t k = 0; k < map->values[i]->num_reads; k++) {
      separate(out, num_written++);
      json_int(out, map->values[i]->reads[k]);
    }
  }
  write_text(out, "]\n");
}

/* ---- the data ---- */

static void write_spaces(const Page *page, const rh_memory_map *map) {
  Writer *out = page->out;
  write_text(out, ",\"spaces\":[");
  for (size_t i = 0; i < map->num_spaces; i++) {
    separate(out, i);
    write_format(out, "{\"kind\":\"%s\"", map->spaces[i]->kind);
    json_int_field(out, "color", map->spaces[i]->color);
    json_int_field(out, "bytes", map->spaces[i]->bytes);
    write_text(out, "}");
  }
  write_text(out, "]\n");
}

/* Writes the frames of stacks as columns, too. */
static void write_frames(Page *page, const rh_memory_map *map) {
  Writer *out = page->out;
  static const char *const names[] = {"file", "line", "function", "library", "caller"};
  write_text(out, ",\"frames\":{");
  for (size_t column = 0; column < sizeof names / sizeof *names; column++) {
    write_format(out, "%s\"%s\":[", column ? "]\n," : "", names[column]);
    for (size_t i = 0; i < map->num_frames; i++) {
      const rh_frame *frame = map->frames[i];
      int64_t fields[] = {number_of(page, frame->file), frame->line,
                          number_of(page, frame->function), frame->is_library, frame->parent};
      separate(out, i);
      json_int(out, fields[column]);
    }
  }
  write_text(out, "]}\n");
}

static void write_panel(Page *page, const PictureMap *drawn) {
  Writer *out = page->out;
  const rh_memory_map *map = drawn->map;
  const char *title = drawn->title;
  Str shown = title ? human_utf8(str_make(title, strlen(title)), page->scratch) : STR("");
  write_text(out, "{\"title\":");
  json_string(out, shown.data, shown.len);
  json_string_field(out, "module", map->module);
  json_int_field(out, "side", drawn->side);
  json_int_field(out, "row", drawn->row);
  json_int_field(out, "num_positions", map->num_positions);
  json_int_field(out, "peak_position", map->peak_position);
  json_int_field(out, "total_bytes", map->total_bytes);
  json_int_field(out, "limit", drawn->row ? -1 : picture_limit(page->picture, map));
  write_spaces(page, map);
  write_text(out, ",\"live_bytes\":[");
  for (int64_t i = 0; i < map->num_positions; i++) {
    separate(out, (size_t)i);
    json_int(out, map->live_bytes[i]);
  }
  write_text(out, "]\n,\"instructions\":[");
  for (int64_t i = 0; i < map->num_positions; i++) {
    separate(out, (size_t)i);
    json_int(out, number_of(page, map->instructions[i]));
  }
  write_text(out, "]\n");
  write_values(page, map);
  write_frames(page, map);
  write_text(out, "}");
}

/* The page groups values itself, because people change how; here is how it begins. */
static void write_groups(const Page *page) {
  ArenaMark mark = arena_mark(page->scratch);
  PictureMaps maps = picture_maps(page->picture, page->scratch);
  PictureGroups groups = picture_groups(&maps, page->scratch);
  write_format(page->out, "\"color_by\":\"%s\"", groups.by_scope ? "scope" : "category");
  json_int_field(page->out, "depth", groups.depth);
  json_int_field(page->out, "argument_depth", groups.argument_depth);
  arena_reset(page->scratch, mark);
  write_format(page->out, ",\"num_computed_groups\":%d,\"scope_colors\":[", NUM_COMPUTED_GROUPS);
  for (size_t i = 0; i < NUM_SCOPE_GROUPS; i++) {
    separate(page->out, i);
    write_format(page->out, "\"%s\"", group_colors[i].color);
  }
  write_text(page->out, "]");
}

static void write_remedy(Writer *out, const rh_remedy *remedy) {
  write_text(out, "{\"title\":");
  json_string(out, remedy->title.data, remedy->title.length);
  json_string_field(out, "code", remedy->code);
  json_int_field(out, "bytes", remedy->counted_bytes);
  json_int_field(out, "permille", llround(remedy->added_fraction * 1000));
  write_text(out, "}");
}

/* What may be changed in the program: the plan, and each change alone. */
static void write_advice(Writer *out, const rh_advice *advice) {
  const char *end = memchr(advice->summary.data, '\n', advice->summary.length);
  size_t length = end ? (size_t)(end - advice->summary.data) : advice->summary.length;
  write_text(out, ",\n\"advice\":{\"line\":");
  json_string(out, advice->summary.data, length);
  write_text(out, ",\"plan\":[");
  for (size_t i = 0; i < advice->num_plan; i++) {
    separate(out, i);
    write_remedy(out, advice->plan[i]);
  }
  write_text(out, "],\"others\":[");
  for (size_t i = 0; i < advice->num_remedies; i++) {
    separate(out, i);
    write_remedy(out, advice->remedies[i]);
  }
  write_text(out, "]}");
}

static void write_data(Page *page) {
  const rh_picture *picture = page->picture;
  Writer *out = page->out;
  write_text(out, "{\"categories\":[");
  for (size_t i = 0; i < NUM_PICTURE_CATEGORIES; i++) {
    separate(out, i);
    write_format(out, "{\"name\":\"%s\",\"color\":\"%s\"}", picture_categories[i].name,
                 picture_categories[i].color);
  }
  write_text(out, "],");
  write_groups(page);
  write_text(out, ",\"limit\":");
  json_int(out, picture->limit_bytes);
  write_format(out, ",\"limit_words\":\"%s\",\"panels\":[\n", picture_limit_words(picture));
  PictureMaps maps = picture_maps(picture, page->scratch);
  for (uint32_t i = 0; i < maps.list.len; i++) {
    if (i) write_text(out, ",\n");
    write_panel(page, &maps.list.data[i]);
  }
  write_text(out, "],\n\"texts\":[");
  for (uint32_t i = 0; i < page->texts.len; i++) {
    separate(out, i);
    json_string(out, page->texts.data[i].data, page->texts.data[i].length);
  }
  write_text(out, "]");
  if (picture->advice) write_advice(out, picture->advice);
  write_text(out, "}\n");
}

/* ---- the page ---- */

static const PagePart *find_part(const unsigned char *name, size_t length) {
  const PagePart *part = page_parts;
  while (part->name && !(strlen(part->name) == length && memcmp(part->name, name, length) == 0)) {
    part++;
  }
  return part->name ? part : NULL;
}

static void write_part(Writer *out, const PagePart *part) {
  write_bytes(out, (const char *)part->bytes, part->length);
}

/* Writes the part `page` and replaces the names of other parts and of the data by their
 * contents. */
void picture_html(const rh_picture *picture, Writer *out, Arena *scratch) {
  Page page = {.picture = picture, .out = out, .scratch = scratch};
  number_of(&page, text_of(""));
  const PagePart *whole = find_part((const unsigned char *)"page", 4);
  const unsigned char *at = whole->bytes, *end = whole->bytes + whole->length;
  while (at < end) {
    const unsigned char *mark = memchr(at, '@', (size_t)(end - at));
    const unsigned char *close = mark ? memchr(mark + 1, '@', (size_t)(end - mark - 1)) : NULL;
    if (!close) break;
    size_t length = (size_t)(close - mark - 1);
    const PagePart *part = find_part(mark + 1, length);
    write_bytes(out, (const char *)at, (size_t)(mark - at));
    if (part) {
      write_part(out, part);
    } else if (length == 4 && memcmp(mark + 1, "data", 4) == 0) {
      write_data(&page);
    }
    at = close + 1;
  }
  write_bytes(out, (const char *)at, (size_t)(end - at));
}
