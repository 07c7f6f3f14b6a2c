/* Writes the memory log as CSV and JSON lines, which have the same columns: ORDER memlog.h. */

#include "emit/human.h"
#include "emit/memlog/memlog_internal.h"
#include "ir/chars.h"
#include "ir/json_read.h"

typedef enum Column {
  COLUMN_COMPUTATION,
  COLUMN_POSITION,
  COLUMN_INSTRUCTION,
  COLUMN_OPCODE,
  COLUMN_BYTES,
  COLUMN_MEMORY_BYTES,
  COLUMN_PEAK_SO_FAR_BYTES,
  COLUMN_REMAT,
  COLUMN_ORIGINAL,
  COLUMN_OP_NAME,
  COLUMN_SOURCE_FILE,
  COLUMN_SOURCE_LINE,
  NUM_COLUMNS
} Column;

static const char *const column_names[NUM_COLUMNS] = {
    "computation",       "position", "instruction", "opcode",  "bytes",       "memory_bytes",
    "peak_so_far_bytes", "remat",    "original",    "op_name", "source_file", "source_line"};

/* The texts of the fields of a row. A field that is not known has no data. */
typedef struct Fields {
  Str of[NUM_COLUMNS];
  bool is_int[NUM_COLUMNS];
} Fields;

static const char *remat_name(const Memlog *log, InstId id) {
  switch (log->marks ? log->marks[id].kind : REMAT_KIND_NONE) {
    case REMAT_KIND_CLONE: return "clone";
    case REMAT_KIND_MOVED: return "moved";
    case REMAT_KIND_HELPER: return "helper";
    default: return "none";
  }
}

static void set_int(Fields *fields, Column column, int64_t value, Arena *scratch) {
  fields->of[column] = decimal_text(value, arena_alloc(scratch, DECIMAL_CHARS));
  fields->is_int[column] = true;
}

static void set_text(Fields *fields, Column column, Str text, Arena *scratch) {
  if (text.len) fields->of[column] = human_utf8(text, scratch);
}

static Fields make_fields(const Memlog *log, const MemlogRow *row) {
  const Module *module = log->module;
  Arena *scratch = log->scratch;
  Fields fields = {0};
  const char *opcode = opcode_text((Opcode)inst_get(module, row->inst)->opcode);
  const char *remat = remat_name(log, row->inst);
  set_text(&fields, COLUMN_COMPUTATION, comp_name(module, row->comp), scratch);
  set_int(&fields, COLUMN_POSITION, row->pos, scratch);
  set_text(&fields, COLUMN_INSTRUCTION, inst_name(module, row->inst), scratch);
  set_text(&fields, COLUMN_OPCODE, str_make(opcode, strlen(opcode)), scratch);
  set_int(&fields, COLUMN_BYTES, row->result_bytes, scratch);
  if (row->memory_bytes >= 0) {
    set_int(&fields, COLUMN_MEMORY_BYTES, row->memory_bytes, scratch);
  }
  set_int(&fields, COLUMN_PEAK_SO_FAR_BYTES, row->peak_so_far_bytes, scratch);
  set_text(&fields, COLUMN_REMAT, str_make(remat, strlen(remat)), scratch);
  if (log->marks) set_text(&fields, COLUMN_ORIGINAL, log->marks[row->inst].original, scratch);
  SourcePlace place = human_source_place(module, row->inst, scratch);
  set_text(&fields, COLUMN_OP_NAME, place.op_name, scratch);
  set_text(&fields, COLUMN_SOURCE_FILE, place.file, scratch);
  if (place.line > 0) set_int(&fields, COLUMN_SOURCE_LINE, place.line, scratch);
  return fields;
}

/* ---- CSV ---- */

static bool needs_quotes(Str text) {
  static const char specials[] = {',', '"', '\n', '\r'};
  for (size_t i = 0; text.len && i < sizeof specials; i++) {
    if (memchr(text.data, specials[i], text.len)) return true;
  }
  return false;
}

static void write_csv_field(Writer *out, Str text) {
  if (!needs_quotes(text)) {
    write_str(out, text);
    return;
  }
  write_text(out, "\"");
  /* Each piece ends with a quote, which is then doubled. */
  for (uint32_t begin = 0; begin < text.len;) {
    const char *quote = memchr(text.data + begin, '"', text.len - begin);
    uint32_t end = quote ? (uint32_t)(quote - text.data) + 1 : text.len;
    write_bytes(out, text.data + begin, end - begin);
    if (quote) write_text(out, "\"");
    begin = end;
  }
  write_text(out, "\"");
}

void memlog_csv_header(const Memlog *log) {
  for (int i = 0; i < NUM_COLUMNS; i++) {
    if (i) write_text(log->out, ",");
    write_text(log->out, column_names[i]);
  }
  write_text(log->out, "\n");
}

void memlog_csv_row(const Memlog *log, const MemlogRow *row) {
  Fields fields = make_fields(log, row);
  for (int i = 0; i < NUM_COLUMNS; i++) {
    if (i) write_text(log->out, ",");
    write_csv_field(log->out, fields.of[i]);
  }
  write_text(log->out, "\n");
}

/* ---- JSON lines ---- */

/* One object is used for all rows. Its items refer to the texts of the row instead of copies. */
struct MemlogJson {
  cJSON *object;
  cJSON *items[NUM_COLUMNS];
};

MemlogJson *memlog_json_begin(const Memlog *log) {
  MemlogJson *json = arena_zalloc(log->scratch, sizeof *json);
  json->object = json_new_object(log->scratch);
  for (int i = 0; i < NUM_COLUMNS; i++) {
    json->items[i] = cJSON_CreateStringReference("");
    if (!cJSON_AddItemToObjectCS(json->object, column_names[i], json->items[i])) {
      cJSON_Delete(json->items[i]);
      arena_fail(log->scratch, sizeof(cJSON));
    }
  }
  return json;
}

/* Every byte can become \u0000. The names, the quotes and the room that cJSON keeps free are
 * added. */
static size_t json_room(const Fields *fields) {
  size_t room = 64;
  for (int i = 0; i < NUM_COLUMNS; i++) {
    room += 6 * (size_t)fields->of[i].len + strlen(column_names[i]) + 16;
  }
  return room;
}

void memlog_json_row(const Memlog *log, MemlogJson *json, const MemlogRow *row) {
  Fields fields = make_fields(log, row);
  for (int i = 0; i < NUM_COLUMNS; i++) {
    Str text = fields.of[i];
    int type = !text.data ? cJSON_NULL : fields.is_int[i] ? cJSON_Raw : cJSON_String;
    json->items[i]->type = type | cJSON_IsReference | cJSON_StringIsConst;
    json->items[i]->valuestring =
        text.data ? arena_strndup(log->scratch, text.data, text.len) : NULL;
  }
  size_t room = json_room(&fields);
  char *line = arena_alloc(log->scratch, room);
  if (room > INT32_MAX || !cJSON_PrintPreallocated(json->object, line, (int)room, false)) {
    log->out->has_failed = true;
    return;
  }
  write_text(log->out, line);
  write_text(log->out, "\n");
}
