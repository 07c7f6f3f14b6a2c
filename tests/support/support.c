#include "support.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/memory/remat_memory.h"
#include "analysis/flow/side_effect.h"
#include "ir/module_check.h"
#include "remat/job/clone_callees.h"
#include "analysis/flow/copy_stage.h"
#include "remat/legality/collection.h"
#include "remat/rewrite/dce.h"
#include "schedule/scheduler.h"
#include "text/parse.h"

static Module *parse_text_or_fail(const char *text, size_t length, const char *what) {
  rh_diags *diags = rh_diags_new();
  Module *module = NULL;
  if (text_parse(text, length, NULL, &module, diags) != RH_OK) {
    rh_diag diag = *rh_diags_get(diags, rh_diags_len(diags) - 1);
    size_t line = 0, column = 0;
    rh_locate(text, length, diag.offset, &line, &column);
    ck_abort_msg("%s:%zu:%zu: %s", what, line, column, diag.message);
  }
  rh_diags_free(diags);
  return module;
}

Module *parse_or_fail(const char *text) {
  return parse_text_or_fail(text, strlen(text), "text");
}

/* The bytes of a file; free() them. */
static char *read_file_or_fail(const char *path, size_t *length) {
  char full[4096];
  bool is_absolute = path[0] == '/';
  snprintf(full, sizeof full, "%s%s%s", is_absolute ? "" : TEST_SOURCE_DIR, is_absolute ? "" : "/",
           path);
  FILE *file = fopen(full, "rb");
  ck_assert_msg(file != NULL, "cannot open %s", full);
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*length + 1);
  ck_assert_uint_eq(fread(text, 1, *length, file), *length);
  fclose(file);
  return text;
}

InstId find_inst(const Module *module, const char *name) {
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!(inst_get(module, id)->flags & INST_DEAD) && str_is(inst_name(module, id), name)) {
      return id;
    }
  }
  ck_abort_msg("no instruction '%s'", name);
  return NO_ID;
}

CompId find_comp(const Module *module, const char *name) {
  for (CompId id = 0; id < module->comps.len; id++) {
    if (!(comp_get(module, id)->flags & COMP_DEAD) && str_is(comp_name(module, id), name)) {
      return id;
    }
  }
  ck_abort_msg("no computation '%s'", name);
  return NO_ID;
}

Module *parse_bytes_or_fail(const char *text, size_t length) {
  return parse_text_or_fail(text, length, "text");
}

/* Bytes that grow as they come. */
typedef struct Bytes {
  char *data;
  size_t len, cap;
} Bytes;

static int append(void *context, const char *data, size_t length) {
  Bytes *bytes = context;
  if (bytes->len + length + 1 > bytes->cap) {
    bytes->cap = (bytes->len + length + 1) * 2;
    bytes->data = realloc(bytes->data, bytes->cap);
    ck_assert_ptr_nonnull(bytes->data);
  }
  memcpy(bytes->data + bytes->len, data, length);
  bytes->len += length;
  bytes->data[bytes->len] = '\0';
  return 0;
}

char *print_or_fail(const Module *module, const Schedule *schedule, PrintOrder order,
                    size_t *length) {
  Bytes bytes = {0};
  append(&bytes, "", 0);
  Arena *scratch = arena_new(NULL);
  Writer *writer = arena_alloc(scratch, sizeof *writer);
  writer_init(writer, append, &bytes);
  text_print(module, schedule, order, writer, scratch);
  ck_assert_int_eq(writer_finish(writer), RH_OK);
  arena_free(scratch);
  if (length) *length = bytes.len;
  return bytes.data;
}

char *diags_as_text(const rh_diags *diags, const char *text, size_t length) {
  static const char *const severities[] = {"error", "warning", "note"};
  Bytes bytes = {0};
  append(&bytes, "", 0);
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    rh_diag diag = *rh_diags_get(diags, i);
    char place[64] = "";
    if (diag.offset != RH_NO_OFFSET) {
      size_t line = 0, column = 0;
      rh_locate(text, length, diag.offset, &line, &column);
      snprintf(place, sizeof place, "%zu:%zu: ", line, column);
    }
    append(&bytes, place, strlen(place));
    append(&bytes, severities[diag.severity], strlen(severities[diag.severity]));
    append(&bytes, ": ", 2);
    append(&bytes, diag.message, strlen(diag.message));
    append(&bytes, "\n", 1);
  }
  return bytes.data;
}

/* What a failed check shows of a text. */
static int shown_len(size_t length) {
  return length < 2000 ? (int)length : 2000;
}

static void check_prints_back(const Module *module, const char *text, size_t length,
                              const char *what) {
  size_t printed_len;
  char *printed = print_or_fail(module, NULL, PRINT_AS_READ, &printed_len);
  ck_assert_msg(printed_len == length && memcmp(printed, text, length) == 0,
                "%s prints\n%.*s\nnot\n%.*s", what, shown_len(printed_len), printed,
                shown_len(length), text);
  free(printed);
}

/* The scheduled form is another text, so it may differ; it must mean as many instructions. */
static void check_prints_scheduled(const Module *module) {
  Arena *arena = arena_new(NULL);
  Schedule schedule = schedule_in_text_order(module, arena);
  size_t length;
  char *printed = print_or_fail(module, &schedule, PRINT_SCHEDULED, &length);
  Module *again = parse_bytes_or_fail(printed, length);
  ck_assert_msg(again->source->header.is_scheduled, "not scheduled:\n%.*s", shown_len(length),
                printed);
  ck_assert_msg(module_num_instructions(again) == module_num_instructions(module),
                "%llu instructions, not %llu, in\n%.*s",
                (unsigned long long)module_num_instructions(again),
                (unsigned long long)module_num_instructions(module), shown_len(length), printed);
  module_free(again);
  free(printed);
  arena_free(arena);
}

void check_accepted(const char *text, size_t length, size_t num_warnings) {
  rh_diags *diags = rh_diags_new();
  Module *module = NULL;
  rh_status status = text_parse(text, length, NULL, &module, diags);
  char *messages = diags_as_text(diags, text, length);
  ck_assert_msg(status == RH_OK, "refused:\n%.*s\n%s", shown_len(length), text, messages);
  ck_assert_msg(rh_diags_len(diags) == num_warnings, "%zu warnings for\n%.*s\n%s",
                rh_diags_len(diags), shown_len(length), text, messages);
  check_prints_back(module, text, length, "the module");
  check_prints_scheduled(module);
  Module *copy = module_copy(module);
  module_free(module);
  check_prints_back(copy, text, length, "its copy");
  module_free(copy);
  free(messages);
  rh_diags_free(diags);
}

void check_refused(const char *text, size_t length, const char *why) {
  rh_diags *diags = rh_diags_new();
  Module *module = NULL;
  rh_status status = text_parse(text, length, NULL, &module, diags);
  ck_assert_msg(status == RH_ERR_INPUT, "accepted:\n%.*s", shown_len(length), text);
  ck_assert_ptr_null(module);
  char *messages = diags_as_text(diags, text, length);
  size_t num_errors = 0;
  for (size_t i = 0; i < rh_diags_len(diags); i++) {
    num_errors += rh_diags_get(diags, i)->severity == RH_SEVERITY_ERROR;
  }
  ck_assert_msg(num_errors == 1, "not one error for\n%.*s\n%s", shown_len(length), text, messages);
  const char *message = rh_diags_get(diags, rh_diags_len(diags) - 1)->message;
  ck_assert_msg(strstr(message, why) != NULL, "'%s' is not said of\n%.*s\n%s", why,
                shown_len(length), text, messages);
  free(messages);
  rh_diags_free(diags);
}

/* ---- modules to analyse ---- */

static Fixture check_fixture(Fixture fixture) {
  rh_diags *diags = rh_diags_new();
  if (module_check(fixture.module, diags) != RH_OK) {
    ck_abort_msg("inconsistent: %s", rh_diags_get(diags, 0)->message);
  }
  rh_diags_free(diags);
  return fixture;
}

static Fixture fixture_make(void) {
  return (Fixture){.out = arena_new(NULL), .scratch = arena_new(NULL)};
}

Fixture fixture_parse(const char *text) {
  Fixture fixture = fixture_make();
  fixture.module = parse_or_fail(text);
  return check_fixture(fixture);
}

Fixture fixture_parse_format(const char *format, ...) {
  Fixture fixture = fixture_make();
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t length = (size_t)vsnprintf(NULL, 0, format, args);
  char *text = arena_alloc(fixture.out, length + 1);
  vsnprintf(text, length + 1, format, again);
  va_end(again);
  va_end(args);
  fixture.module = parse_or_fail(text);
  return check_fixture(fixture);
}

Fixture fixture_parse_body(const char *comps, const char *body) {
  return fixture_parse_format("HloModule m\n\n%s\nENTRY e {\n%s}\n", comps, body);
}

Fixture fixture_parse_file(const char *path) {
  Fixture fixture = fixture_make();
  size_t length;
  char *text = read_file_or_fail(path, &length);
  char *kept = arena_strndup(fixture.out, text, length);
  free(text);
  fixture.module = parse_text_or_fail(kept, length, path);
  return check_fixture(fixture);
}

void fixture_free(Fixture *fixture) {
  module_free(fixture->module);
  arena_free(fixture->out);
  arena_free(fixture->scratch);
}

void text_add(Arena *out, const char **text, const char *format, ...) {
  char word[512];
  va_list args;
  va_start(args, format);
  int len = vsnprintf(word, sizeof word, format, args);
  va_end(args);
  ck_assert(len >= 0 && (size_t)len < sizeof word);
  bool is_first = !*text || !**text;
  *text = arena_printf(out, "%s%s%s", is_first ? "" : *text, is_first ? "" : " ", word);
}

const char *names_of(const Module *module, const InstId *ids, uint32_t len, Arena *out) {
  const char *text = "";
  for (uint32_t i = 0; i < len; i++) {
    Str name = inst_name(module, ids[i]);
    bool is_root = inst_is_root(module, ids[i]);
    text_add(out, &text, "%s%.*s", is_root ? "ROOT " : "", (int)name.len, name.data);
  }
  return text;
}

const char *scheduled_names(const Fixture *fixture, const Schedule *schedule, const char *comp) {
  Sequence sequence = schedule->of[find_comp(fixture->module, comp)];
  return names_of(fixture->module, sequence.ids, sequence.len, fixture->out);
}

static void add_operands(const Module *module, InstId id, Arena *out, const char **text) {
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    Str name = inst_name(module, inst_operand(module, id, i));
    *text = arena_printf(out, "%s%c%.*s", *text, i ? ',' : '(', (int)name.len, name.data);
  }
  if (inst_get(module, id)->num_operands) *text = arena_printf(out, "%s)", *text);
}

const char *listing_of(const Module *module, Arena *out) {
  const char *text = "";
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (comp_get(module, comp)->flags & COMP_DEAD) continue;
    Str name = comp_name(module, comp);
    const char *insts = "";
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      const Instruction *inst = inst_get(module, id);
      text_add(out, &insts, "%s", names_of(module, &id, 1, out));
      add_operands(module, id, out, &insts);
      bool has_index = inst->opcode == OPCODE_PARAMETER || inst->opcode == OPCODE_GET_TUPLE_ELEMENT;
      if (has_index) insts = arena_printf(out, "%s#%lld", insts, (long long)inst->index);
    }
    text_add(out, &text, "%.*s{", (int)name.len, name.data);
    text = arena_printf(out, "%s%s}", text, insts);
  }
  return text;
}

void check_text(const char *got, const char *wanted, const char *what) {
  ck_assert_msg(strcmp(got, wanted) == 0, "%s\n is:     %s\n not:    %s", what, got, wanted);
}

size_t count_other_bytes(const void *data, size_t length, unsigned char value) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++)
    count += ((const unsigned char *)data)[i] != value;
  return count;
}

/* ---- what a module computes ---- */

typedef struct Meaning {
  const Module *module;
  uint64_t **parts;  /* by InstId: the value of each part, NULL until it is known */
  uint64_t *of_comp; /* by CompId: what it computes of its parameters, 0 until it is known */
  uint64_t ran;      /* sum over what ran for its side effect */
  SideEffects effects;
  Arena *arena;
} Meaning;

static uint64_t hash_shape(const Meaning *meaning, ShapeId shape) {
  return hash_str(shape_text(&meaning->module->shapes, shape, true, meaning->arena));
}

static uint64_t hash_literal(const Module *module, InstId id) {
  const InstSource *source = &module->source->insts.data[inst_get(module, id)->origin];
  return hash_str(module_span(module, (Span){source->paren, source->close}));
}

static uint64_t comp_meaning(Meaning *meaning, CompId comp);

/* An operation on the values of its operands. */
static uint64_t hash_operation(Meaning *meaning, InstId id) {
  const Module *module = meaning->module;
  const Instruction *inst = inst_get(module, id);
  uint64_t hash = hash_mix(hash_shape(meaning, inst->shape), inst->opcode);
  if (inst->opcode == OPCODE_CONSTANT) hash = hash_mix(hash, hash_literal(module, id));
  AttrSlice attrs = inst_attrs(module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    if (attr->num_callees || attr->id == ATTR_CHANNEL_ID) continue;
    if (attribute_is_annotation((AttrId)attr->id)) continue;
    hash = hash_mix(hash_mix(hash, attr->id), hash_str(module_span(module, attr->text)));
  }
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    for (uint32_t part = 0; part < inst_shape(module, operand)->num_parts; part++) {
      hash = hash_mix(hash, meaning->parts[operand][part]);
    }
  }
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    hash = hash_mix(hash, comp_meaning(meaning, inst_callees(module, id)[i]));
  }
  return hash;
}

static const uint64_t *run_comp(Meaning *meaning, CompId comp, const uint64_t *const *args);

/* What a copy and a copy back were made of. */
static InstId behind_copies(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_COPY) {
    InstId copied = inst_operand(module, id, 0);
    if (inst_get(module, copied)->opcode != OPCODE_COPY) return id;
    InstId source = inst_operand(module, copied, 0);
    if (inst_get(module, source)->shape != inst_get(module, id)->shape) return id;
    id = source;
  }
  return id;
}

bool is_exact_conversion(const Module *module, InstId id) {
  Str name = inst_name(module, id);
  return inst_get(module, id)->opcode == OPCODE_CONVERT &&
         (str_contains(name, ".remat_compressed") || str_contains(name, ".remat_uncompressed"));
}

static uint64_t *value_of(Meaning *meaning, InstId id, const uint64_t *const *args) {
  const Module *module = meaning->module;
  const Instruction *inst = inst_get(module, id);
  const Shape *shape = inst_shape(module, id);
  uint64_t *parts = arena_zarray(meaning->arena, uint64_t, shape->num_parts);
  InstId operand = inst->num_operands ? inst_operand(module, id, 0) : NO_ID;
  size_t size = shape->num_parts * sizeof *parts;
  switch (inst->opcode) {
    case OPCODE_PARAMETER:
      if (args) return memcpy(parts, args[inst->index], size);
      break;
    case OPCODE_TUPLE:
      for (uint32_t i = 0; i < inst->num_operands; i++) {
        operand = inst_operand(module, id, i);
        memcpy(parts + shape->element_offsets[i], meaning->parts[operand],
               inst_shape(module, operand)->num_parts * sizeof *parts);
      }
      return parts;
    case OPCODE_GET_TUPLE_ELEMENT: {
      uint32_t from = inst_shape(module, operand)->element_offsets[inst->index];
      return memcpy(parts, meaning->parts[operand] + from, size);
    }
    case OPCODE_FUSION: {
      const uint64_t **values = arena_array(meaning->arena, const uint64_t *, inst->num_operands);
      for (uint32_t i = 0; i < inst->num_operands; i++) {
        values[i] = meaning->parts[inst_operand(module, id, i)];
      }
      return memcpy(parts, run_comp(meaning, inst_callees(module, id)[0], values), size);
    }
    case OPCODE_COPY: return memcpy(parts, meaning->parts[operand], size);
    case OPCODE_COPY_DONE:
      return memcpy(parts, meaning->parts[inst_operand(module, operand, 0)], size);
    case OPCODE_CONVERT: /* that it is exact is tested by itself */
      if (!is_exact_conversion(module, id)) break;
      return memcpy(parts, meaning->parts[operand], size);
    case OPCODE_BITCAST: /* of bitcasts: only the last shape matters */
      operand = behind_copies(module, operand);
      while (inst_get(module, operand)->opcode == OPCODE_BITCAST) {
        operand = behind_copies(module, inst_operand(module, operand, 0));
      }
      parts[0] = meaning->parts[operand][0];
      if (hash_shape(meaning, inst->shape) !=
          hash_shape(meaning, inst_get(module, operand)->shape)) {
        parts[0] = hash_mix(hash_mix(parts[0], OPCODE_BITCAST), hash_shape(meaning, inst->shape));
      }
      return parts;
    default: break;
  }
  uint64_t hash = hash_operation(meaning, id);
  if (inst->opcode == OPCODE_PARAMETER) hash = hash_mix(hash, (uint64_t)inst->index);
  for (uint32_t part = 0; part < shape->num_parts; part++)
    parts[part] = hash_mix(hash, part);
  return parts;
}

/* Whether an instruction counts as run by itself: collectives may run again, fusions are looked
 * into. */
static bool runs_once(const Meaning *meaning, InstId id) {
  Opcode opcode = (Opcode)inst_get(meaning->module, id)->opcode;
  return opcode != OPCODE_FUSION && !opcode_has(opcode, OPF_COLLECTIVE) &&
         inst_has_side_effect(meaning->module, &meaning->effects, id);
}

/* Computes all instructions of a computation; the value of its root. Without arguments its
 * parameters stand for themselves. */
static const uint64_t *run_comp(Meaning *meaning, CompId comp, const uint64_t *const *args) {
  const Module *module = meaning->module;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    meaning->parts[comp_inst(module, comp, i)] = NULL;
  }
  VEC(InstId) stack = {0};
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    *vec_push(meaning->arena, &stack) = comp_inst(module, comp, i);
    while (stack.len) { /* operands first */
      InstId id = stack.data[stack.len - 1];
      uint32_t before = stack.len;
      for (uint32_t k = 0; k < inst_get(module, id)->num_operands; k++) {
        InstId operand = inst_operand(module, id, k);
        if (!meaning->parts[operand]) *vec_push(meaning->arena, &stack) = operand;
      }
      if (stack.len > before) continue;
      stack.len--;
      if (meaning->parts[id]) continue;
      meaning->parts[id] = value_of(meaning, id, args);
      if (runs_once(meaning, id)) meaning->ran += hash_operation(meaning, id);
    }
  }
  return meaning->parts[comp_get(module, comp)->root];
}

static uint64_t comp_meaning(Meaning *meaning, CompId comp) {
  uint64_t *hash = &meaning->of_comp[comp];
  if (*hash) return *hash;
  uint64_t ran_before = meaning->ran;
  meaning->ran = 0;
  const uint64_t *result = run_comp(meaning, comp, NULL);
  InstId root = comp_get(meaning->module, comp)->root;
  *hash = meaning->ran + 1;
  for (uint32_t part = 0; part < inst_shape(meaning->module, root)->num_parts; part++) {
    *hash = hash_mix(*hash, result[part]);
  }
  meaning->ran = ran_before;
  return *hash;
}

uint64_t module_meaning(const Module *module) {
  Arena *arena = arena_new(NULL), *scratch = arena_new(NULL);
  Meaning meaning = {.module = module,
                     .parts = arena_zarray(arena, uint64_t *, module->insts.len),
                     .of_comp = arena_zarray(arena, uint64_t, module->comps.len),
                     .effects = side_effects_build(module, arena, scratch),
                     .arena = arena};
  uint64_t hash = comp_meaning(&meaning, module->entry);
  arena_free(arena);
  arena_free(scratch);
  return hash;
}

/* ---- printing and parsing again ---- */

/* One instruction with everything that it refers to by name. */
static const char *inst_in_names(const Module *module, InstId id, Arena *out) {
  const Instruction *inst = inst_get(module, id);
  Str shape = shape_text(&module->shapes, inst->shape, true, out);
  const char *text = names_of(module, &id, 1, out);
  text = arena_printf(out, "%s %.*s %s %lld (", text, (int)shape.len, shape.data,
                      opcode_text((Opcode)inst->opcode), (long long)inst->index);
  text = arena_printf(out, "%s%s) [", text,
                      names_of(module, inst_operands(module, id), inst->num_operands, out));
  IdList before = inst_control(module, id)->predecessors;
  text =
      arena_printf(out, "%s%s]", text, names_of(module, id_list(module, before), before.len, out));
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    CompId callee = inst_callees(module, id)[i];
    if (comp_get(module, callee)->flags & (COMP_NESTED | COMP_IMPLIED)) continue;
    Str name = comp_name(module, callee);
    text_add(out, &text, "%.*s", (int)name.len, name.data);
  }
  return text;
}

/* The next instruction with a line of its own, NO_ID at the end. */
static InstId next_line(const Module *module, Sequence sequence, uint32_t *pos) {
  while (*pos < sequence.len) {
    InstId id = sequence.ids[(*pos)++];
    if (!(inst_get(module, id)->flags & (INST_COMPACT_GTE | INST_IMPLIED))) return id;
  }
  return NO_ID;
}

static void check_same_lines(const Module *module, Sequence sequence, const Module *again,
                             const char *name) {
  Arena *arena = arena_new(NULL);
  CompId comp = find_comp(again, name);
  Sequence lines = {again->ids.data + comp_get(again, comp)->insts.begin,
                    comp_num_insts(again, comp)};
  uint32_t a = 0, b = 0;
  for (;;) {
    InstId wanted = next_line(module, sequence, &a), got = next_line(again, lines, &b);
    if (wanted == NO_ID && got == NO_ID) break;
    check_text(got == NO_ID ? "nothing" : inst_in_names(again, got, arena),
               wanted == NO_ID ? "nothing" : inst_in_names(module, wanted, arena), name);
  }
  arena_free(arena);
}

void check_prints_and_parses(const Module *module, const Schedule *schedule) {
  static const PrintOrder orders[] = {PRINT_SCHEDULED, PRINT_UNSCHEDULED};
  Arena *arena = arena_new(NULL);
  for (int i = 0; i < 2; i++) {
    size_t length;
    char *text = print_or_fail(module, schedule, orders[i], &length);
    Module *again = parse_bytes_or_fail(text, length);
    ck_assert(again->source->header.is_scheduled == (orders[i] == PRINT_SCHEDULED));
    for (CompId comp = 0; comp < module->comps.len; comp++) {
      if (comp_get(module, comp)->flags & (COMP_DEAD | COMP_NESTED | COMP_IMPLIED)) continue;
      Str name = comp_name(module, comp);
      check_same_lines(module, schedule->of[comp], again,
                       arena_strndup(arena, name.data, name.len));
    }
    ck_assert_msg(module_meaning(again) == module_meaning(module), "it means something else:\n%s",
                  text);
    module_free(again);
    free(text);
  }
  arena_free(arena);
}

/* ---- rematerialization ---- */

void check_schedule(const Module *module, const Schedule *schedule) {
  Arena *scratch = arena_new(NULL);
  InstId bad = 0;
  bool is_valid = schedule_is_valid(module, schedule, &bad, scratch);
  ck_assert_msg(is_valid, "%s stands at the wrong place", names_of(module, &bad, 1, scratch));
  arena_free(scratch);
}

Schedule fixture_schedule(const Fixture *fixture, const char *scheduler) {
  Schedule schedule;
  const Scheduler *found = scheduler_find(scheduler);
  ck_assert_msg(found != NULL, "no scheduler '%s'", scheduler);
  ScheduleContext context = schedule_context_build(fixture->module, fixture->out, fixture->scratch);
  found->run(&context, &schedule, fixture->out, fixture->scratch);
  check_schedule(fixture->module, &schedule);
  return schedule;
}

RematResult fixture_remat(Fixture *fixture, const RematSetup *setup) {
  Module *module = fixture->module;
  Arena *out = fixture->out, *scratch = fixture->scratch;
  const char *scheduler = setup->scheduler ? setup->scheduler : "input";
  RematResult result = {.schedule = fixture_schedule(fixture, scheduler)};
  uint64_t meaning = module_meaning(module);
  result.before_bytes = remat_memory(module, &result.schedule, out, scratch).peak_bytes;

  const RematAlgorithm *algorithm =
      remat_algorithm_find(setup->algorithm ? setup->algorithm : "standard");
  unsigned modes = setup->modes ? setup->modes : algorithm->modes;
  rh_remat_options options = RH_REMAT_OPTIONS_INIT;
  options.min_remat_bytes = setup->min_remat_bytes;
  options.block_size_limit = setup->block_size_limit ? setup->block_size_limit : 1;
  options.block_factor = setup->block_factor > 0 ? setup->block_factor : 1;
  options.small_node_bytes = 0;
  if (setup->path_depth) options.path_depth = setup->path_depth;
  Collection collection;
  ck_assert_int_eq(collection_parse(setup->collection, &collection, NULL, out), RH_OK);
  Legality legality = {.module = module,
                       .effects = side_effects_build(module, out, scratch),
                       .allow_collectives = true};
  Rewrite rewrite = rewrite_begin(module);
  CostTable costs = cost_analyze(module, out, scratch);
  RematParameters parameters = parameters_default();
  RematJob job = {
      .rewrite = &rewrite,
      .schedule = &result.schedule,
      .options = &options,
      .parameters = &parameters,
      .peak_limit.bytes = setup->limit_bytes,
      .memory_model = memory_model_find(setup->memory_model ? setup->memory_model : "xla-remat"),
      .modes = modes ? modes : RH_REMAT_RECOMPUTE,
      .is_per_caller = setup->is_per_caller,
      .device = setup->profile,
      .legality = &legality,
      .costs = &costs,
      .collection = &collection};
  CalleeClones clones = {0};
  if (setup->clones_callees) clones = clone_callees(&job, out, scratch);
  algorithm->run(&job, &result.stats, out, scratch);
  dce_run(&rewrite, scratch);
  dce_update_schedule(module, &result.schedule, out);
  share_callees(&job, &clones, out, scratch);

  check_schedule(module, &result.schedule);
  ck_assert_msg(module_meaning(module) == meaning, "%s changed what the module computes",
                algorithm->name);
  check_prints_and_parses(module, &result.schedule);
  result.after_bytes = remat_memory(module, &result.schedule, out, scratch).peak_bytes;
  return result;
}

void check_remat_bytes(const RematResult *result, int64_t before, int64_t reported, int64_t after,
                       const char *name) {
  int64_t is_reported = result->stats.xla_reported_after_bytes;
  ck_assert_msg(
      result->before_bytes == before && is_reported == reported && result->after_bytes == after,
      "%s: %lld, reported %lld, after %lld bytes, not %lld, %lld, %lld", name,
      (long long)result->before_bytes, (long long)is_reported, (long long)result->after_bytes,
      (long long)before, (long long)reported, (long long)after);
}

static int run(Suite *suite, bool is_forked) {
  SRunner *runner = srunner_create(suite);
  if (is_forked) srunner_set_fork_status(runner, CK_FORK);
  srunner_run_all(runner, CK_ENV);
  int num_run = srunner_ntests_run(runner), num_failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  if (num_failed) return EXIT_FAILURE;
  if (num_run) return EXIT_SUCCESS;
  printf("skipped: there is no case that can run here\n");
  return EXIT_SKIPPED;
}

int run_suite(Suite *suite) {
  return run(suite, false);
}

int run_suite_forked(Suite *suite) {
  return run(suite, true);
}

void take_copies_as(rh_module *module, rh_copies copies) {
  module->module->backend.copies = (CopyStage)copies;
  bool is_inserted = copies_are_inserted(module->module);
  module->info.copies = is_inserted ? RH_COPIES_INSERTED : RH_COPIES_PENDING;
}
