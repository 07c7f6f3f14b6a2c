/* The public function that writes a plan, by the tables of remat/plan/fields.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "emit/human.h"
#include "emit/json.h"
#include "ir/handle.h"
#include "api/call.h"
#include "api/measure.h"
#include "remat/plan/fields.h"

typedef struct Emit {
  const Plan *plan;
  const Module *module; /* the result, in which made instructions are found by name */
  const DeviceProfile *profile;
  CostTable costs;
  double *runs; /* by CompId */
  IdTable names;
  Writer *out;
  Arena *arena;
} Emit;

static void write_object(Emit *emit, const PlanObject *object, const void *place);
static void write_objects(Emit *emit, const PlanField *field, const void *place);

/* ---- pieces ---- */

static void write_string(Emit *emit, Str text) {
  Str shown = human_utf8(text, emit->arena);
  json_string(emit->out, shown.data, shown.len);
}

static void write_key(Emit *emit, const char *key) {
  write_format(emit->out, ", \"%s\": ", key);
}

static void write_int(Emit *emit, const char *key, int64_t value) {
  write_key(emit, key);
  json_int(emit->out, value);
}

/* Writes the shortest text that reads back as the same value, independent of the locale. */
static void write_double(Emit *emit, const char *key, double value) {
  char text[40];
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    if (strtod(text, NULL) == value) break;
  }
  for (char *p = text; *p; p++) {
    if (*p == ',') *p = '.';
  }
  write_key(emit, key);
  write_text(emit->out, text);
}

/* ---- the cost of a step's instruction ---- */

static InstId find_made(const Emit *emit, const PlanStep *step) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&emit->names, hash_str(step->made.name));
       id_probe_next(&probe, &id);) {
    if (str_equal(inst_name(emit->module, id), step->made.name)) return id;
  }
  return NO_ID;
}

/* Writes the cost of one run of a step's instruction, how often it runs, and where it comes
 * from. */
static void write_made(Emit *emit, const PlanStep *step) {
  InstId id = find_made(emit, step);
  if (id == NO_ID) return;
  const Module *module = emit->module;
  Cost cost = emit->costs.of[id];
  int64_t bytes = target_bytes(module->backend.target, inst_shape(module, id));
  if (bytes >= 0) write_int(emit, "bytes", bytes);
  write_int(emit, "flops", cost.flops);
  if (cost.transcendentals) {
    write_int(emit, "transcendentals", cost.transcendentals);
  }
  write_int(emit, "bytes_accessed", cost.bytes);
  double runs = emit->runs[inst_get(module, id)->parent];
  if (runs != 1) write_double(emit, "runs", runs);
  if (emit->profile) {
    double seconds = cost_seconds(module, &emit->costs, emit->profile, id) * runs;
    write_double(emit, "seconds", seconds);
  }
  SourcePlace place = human_source_place(module, id, emit->arena);
  if (place.op_name.len) {
    write_key(emit, "op_name");
    write_string(emit, place.op_name);
  }
  if (place.file.len == 0) return;
  write_key(emit, "source");
  const char *source =
      arena_printf(emit->arena, "%.*s:%" PRId32, (int)place.file.len, place.file.data, place.line);
  json_string(emit->out, source, strlen(source));
}

/* ---- writing by the tables ---- */

static bool is_empty(const PlanField *field, const void *place) {
  AnyList list;
  switch (field->kind) {
    case FIELD_TEXT: return ((const Str *)place)->len == 0;
    case FIELD_C_TEXT: return *(const char *const *)place == NULL;
    case FIELD_COMP:
    case FIELD_INST:
    case FIELD_NEW_COMP:
    case FIELD_NEW_NAME:
    case FIELD_NEW_INST: return ((const PlanRef *)place)->name.len == 0;
    case FIELD_COUNT: return *(const int64_t *)place < 0;
    case FIELD_BOOL: return !*(const bool *)place;
    case FIELD_INSTS:
    case FIELD_POSITIONS:
    case FIELD_OBJECTS: memcpy(&list, place, sizeof list); return list.len == 0;
    case FIELD_NOTE: return true;
    default: return false;
  }
}

static void write_refs(Emit *emit, const PlanRefs *refs) {
  write_text(emit->out, "[");
  for (uint32_t i = 0; i < refs->list.len; i++) {
    write_text(emit->out, i ? ", " : "");
    write_string(emit, refs->list.data[i].name);
  }
  write_text(emit->out, "]");
}

static void write_positions(Emit *emit, const IdVec *positions) {
  for (uint32_t i = 0; i < positions->len; i++)
    write_format(emit->out, "%s%" PRIu32, i ? ", " : "[", positions->data[i]);
  write_text(emit->out, "]");
}

static void write_words(Emit *emit, const char *const *words, unsigned bits) {
  write_text(emit->out, "[");
  const char *comma = "";
  for (int i = 0; words[i]; i++) {
    if (!(bits & 1u << i)) continue;
    write_format(emit->out, "%s\"%s\"", comma, words[i]);
    comma = ", ";
  }
  write_text(emit->out, "]");
}

static void write_value(Emit *emit, const PlanField *field, const void *place) {
  const char *const *words = field->of;
  switch (field->kind) {
    case FIELD_TEXT: write_string(emit, *(const Str *)place); break;
    case FIELD_C_TEXT:
    case FIELD_TARGET:
    case FIELD_SCHEDULER: write_format(emit->out, "\"%s\"", *(const char *const *)place); break;
    case FIELD_COMP:
    case FIELD_INST:
    case FIELD_NEW_COMP:
    case FIELD_NEW_NAME:
    case FIELD_NEW_INST: write_string(emit, ((const PlanRef *)place)->name); break;
    case FIELD_COUNT: json_int(emit->out, *(const int64_t *)place); break;
    case FIELD_BOOL: write_text(emit->out, *(const bool *)place ? "true" : "false"); break;
    case FIELD_HASH: write_format(emit->out, "\"%016" PRIx64 "\"", *(const uint64_t *)place); break;
    case FIELD_VERSION: json_int(emit->out, PLAN_VERSION); break;
    case FIELD_WORD: write_format(emit->out, "\"%s\"", words[*(const unsigned *)place]); break;
    case FIELD_WORDS: write_words(emit, words, *(const unsigned *)place); break;
    case FIELD_INSTS: write_refs(emit, place); break;
    case FIELD_POSITIONS: write_positions(emit, place); break;
    case FIELD_OBJECT: write_object(emit, field->of, place); break;
    case FIELD_OBJECTS: write_objects(emit, field, place); break;
    case FIELD_NOTE: break;
  }
}

/* Writes an object. The plan has one line per member, and a step has two lines: the action and
 * then, for human readers, its reason and its cost. */
static void write_object(Emit *emit, const PlanObject *object, const void *place) {
  bool is_plan = object == &plan_object;
  const char *before = is_plan ? "{\n  " : "{";
  for (const PlanField *field = object->fields; field->name; field++) {
    const void *value = (const char *)place + field->offset;
    if (is_empty(field, value) && !(field->flags & FIELD_ALWAYS)) continue;
    write_text(emit->out, field->flags & FIELD_BREAK ? ",\n     " : before);
    write_format(emit->out, "\"%s\": ", field->name);
    write_value(emit, field, value);
    before = is_plan ? ",\n  " : ", ";
  }
  if (object == &plan_step_object) write_made(emit, place);
  write_text(emit->out, is_plan ? "\n}\n" : "}");
}

/* Returns the field that can replace an object, if all other fields are empty. */
static const PlanField *short_form(const PlanObject *object, const void *place) {
  const PlanField *found = NULL;
  for (const PlanField *field = object->fields; field->name; field++) {
    if (field->flags & FIELD_SHORT) {
      found = field;
    } else if (!is_empty(field, (const char *)place + field->offset)) {
      return NULL;
    }
  }
  return found;
}

static void write_objects(Emit *emit, const PlanField *field, const void *place) {
  const PlanObject *object = field->of;
  bool is_in_lines = field->flags & FIELD_LINES;
  AnyList list;
  memcpy(&list, place, sizeof list);
  write_text(emit->out, "[");
  for (uint32_t i = 0; i < list.len; i++) {
    ArenaMark mark = arena_mark(emit->arena);
    const char *element = (const char *)list.data + i * object->size;
    const PlanField *alone = short_form(object, element);
    write_text(emit->out, is_in_lines ? (i ? ",\n    " : "\n    ") : i ? ", " : "");
    if (alone) {
      write_value(emit, alone, element + alone->offset);
    } else {
      write_object(emit, object, element);
    }
    arena_reset(emit->arena, mark);
  }
  write_text(emit->out, is_in_lines && list.len ? "\n  ]" : "]");
}

static rh_status emit_plan(const rh_module *result, const rh_profile *profile,
                           int64_t default_trip_count, rh_write_fn write, void *context) {
  const Module *module = result->module;
  Arena *arena = arena_new(arena_options(result->arena));
  Arena *scratch = arena_new(arena_options(result->arena));
  Writer *writer = arena_alloc(scratch, sizeof *writer);
  writer_init(writer, write, context);
  Emit emit = {.plan = result->plan,
               .module = module,
               .profile = profile ? profile_of(profile) : NULL,
               .costs = cost_analyze(module, arena, scratch),
               .out = writer,
               .arena = arena};
  emit.runs = cost_runs(module, &emit.costs, emit.profile, default_trip_count, arena, scratch);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!(inst_get(module, id)->flags & INST_DEAD))
      id_table_add(&emit.names, arena, hash_str(inst_name(module, id)), id);
  }
  write_object(&emit, &plan_object, emit.plan);
  rh_status status = writer_finish(writer);
  arena_free(scratch);
  arena_free(arena);
  return status;
}

rh_status rh_emit_plan(const rh_module *result, const rh_settings *settings,
                       const rh_profile *profile, int64_t default_trip_count, rh_write_fn write,
                       void *context, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken;
  rh_status status = call_take(call, result, settings, &taken);
  if (status == RH_OK && !result->plan) {
    status = diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_NO_PLAN, NO_OFFSET),
                       "no plan was kept of the module");
  }
  if (status == RH_OK) status = emit_plan(taken, profile, default_trip_count, write, context);
  return call_close(call, status);
}
