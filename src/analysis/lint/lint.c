#include "analysis/lint/lint.h"

#include <stdio.h>

#include "analysis/flow/guess_target.h"
#include "ir/chars.h"
#include "ir/module_check.h"

static const char *const rule_names[NUM_LINT_RULES] = {
#define RULE(id, name, summary) [LINT_##id] = name,
#include "analysis/lint/rules.def"
};

const char *lint_rule_name(LintRule rule) {
  return rule_names[rule];
}

/* ---- findings ---- */

enum { MAX_SHOWN_NAME = 100 };

static bool is_wanted(Lint *lint) {
  lint->num_findings++;
  return lint->max_findings == 0 || lint->num_findings <= lint->max_findings;
}

static void add(Lint *lint, LintRule rule, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void add(Lint *lint, LintRule rule, DiagPlace place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  place.code = RH_CODE_FINDING;
  diag_add(lint->diags, lint->severity, place, format, args);
  va_end(args);
  diag_set_rule(lint->diags, rule_names[rule]);
}

static char *format_message(Lint *lint, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  size_t room = (size_t)vsnprintf(NULL, 0, format, again) + 1;
  va_end(again);
  char *text = arena_alloc(lint->scratch, room);
  vsnprintf(text, room, format, args);
  return text;
}

bool lint_find(Lint *lint, LintRule rule, DiagPlace place, const char *format, ...) {
  if (!is_wanted(lint)) return false;
  va_list args;
  va_start(args, format);
  add(lint, rule, place, "%s", format_message(lint, format, args));
  va_end(args);
  return false;
}

static void add_inst(Lint *lint, LintRule rule, InstId id, DiagPlace place, const char *message) {
  Str name = inst_name(lint->module, id);
  bool is_cut = name.len > MAX_SHOWN_NAME;
  add(lint, rule, place, "'%.*s%s': %s", (int)(is_cut ? MAX_SHOWN_NAME : name.len), name.data,
      is_cut ? "..." : "", message);
}

bool lint_find_inst(Lint *lint, LintRule rule, InstId id, const char *format, ...) {
  if (!is_wanted(lint)) return false;
  va_list args;
  va_start(args, format);
  add_inst(lint, rule, id, lint_place(lint, id), format_message(lint, format, args));
  va_end(args);
  return false;
}

bool lint_find_at(Lint *lint, LintRule rule, InstId id, DiagPlace place, const char *format, ...) {
  if (!is_wanted(lint)) return false;
  va_list args;
  va_start(args, format);
  add_inst(lint, rule, id, place, format_message(lint, format, args));
  va_end(args);
  return false;
}

/* ---- places ---- */

DiagPlace lint_place(const Lint *lint, InstId id) {
  uint32_t offset = inst_offset(lint->module, id);
  while (offset == NO_OFFSET) {
    id = lint->callers[inst_get(lint->module, id)->parent];
    if (id == NO_ID) break;
    offset = inst_offset(lint->module, id);
  }
  return DIAG_AT(offset);
}

DiagPlace lint_place_attr(const Lint *lint, InstId id, AttrId attr) {
  const Attr *found = inst_attr(lint->module, id, attr);
  return found && found->text.end ? DIAG_AT(found->text.begin) : lint_place(lint, id);
}

DiagPlace lint_place_operand(const Lint *lint, InstId id, uint32_t index) {
  const Instruction *inst = inst_get(lint->module, id);
  DiagPlace place = lint_place(lint, id);
  if (inst_offset(lint->module, id) == NO_OFFSET || (inst->flags & INST_CHANGED)) return place;
  const ModuleSource *source = lint->module->source;
  uint32_t first = source->insts.data[inst->origin].operand_offsets;
  return DIAG_AT(source->operand_offsets.data[first + index]);
}

DiagPlace lint_place_callee(const Lint *lint, InstId id, CompId callee) {
  const Computation *comp = comp_get(lint->module, callee);
  DiagPlace place = lint_place(lint, id);
  if (comp->origin == NO_ID || (comp->flags & (COMP_IMPLIED | COMP_NESTED))) return place;
  place.opener = lint->module->source->comps.data[comp->origin].name;
  return place;
}

const char *lint_shown(const Lint *lint, ShapeId shape) {
  return infer_shape_shown(&lint->module->shapes, shape, lint->scratch);
}

bool lint_fits(const Lint *lint, ShapeId a, ShapeId b) {
  const ShapeTable *shapes = &lint->module->shapes;
  return shape_compatible(shapes, a, b) &&
         shape_get(shapes, a)->num_parts == shape_get(shapes, b)->num_parts;
}

Inference lint_inference(Lint *lint, InstId id, InferSpec *spec) {
  Module *module = lint->module;
  const Instruction *inst = inst_get(module, id);
  AttrSlice attrs = inst_attrs(module, id);
  *spec = (InferSpec){.opcode = (Opcode)inst->opcode,
                      .operands = inst_operands(module, id),
                      .num_operands = inst->num_operands,
                      .attrs = attrs.data,
                      .num_attrs = attrs.len,
                      .callees = inst_callees(module, id),
                      .num_callees = inst->num_callees};
  return (Inference){
      .module = module, .shapes = &module->shapes, .spec = spec, .scratch = lint->scratch};
}

bool lint_is_oversized(const Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  const Shape *shape = inst_shape(lint->module, id);
  if (!shape_is_tuple(shape) && shape->rank > MAX_RANK) return true;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    shape = inst_shape(lint->module, inst_operand(lint->module, id, i));
    if (!shape_is_tuple(shape) && shape->rank > MAX_RANK) return true;
  }
  AttrSlice attrs = inst_attrs(lint->module, id);
  for (uint32_t i = 0; i < attrs.len; i++) {
    const Attr *attr = &attrs.data[i];
    bool is_list = attribute_info((AttrId)attr->id)->kind == ATTR_KIND_INT_LIST;
    if (is_list && attr->num_ints > MAX_RANK) return true;
  }
  return false;
}

/* ---- texts ---- */

bool lint_next_number(const char *text, uint32_t *at, uint32_t end, int64_t *number) {
  while (*at < end && text[*at] != '-' && !char_is_digit(text[*at]))
    (*at)++;
  if (*at == end) return false;
  bool is_negative = text[*at] == '-';
  *at += is_negative;
  *number = 0;
  for (; *at < end && char_is_digit(text[*at]); (*at)++) {
    if (*number < INT64_MAX / 20) *number = *number * 10 + (text[*at] - '0');
  }
  if (is_negative) *number = -*number;
  return true;
}

/* ---- frontend_attributes={key="value",key={…}}, which the parser has checked ---- */

/* Returns the place after a value: a quoted string, or braces with any content. */
static uint32_t skip_value(const char *text, uint32_t at, uint32_t end) {
  uint32_t depth = 0;
  bool is_quoted = false;
  for (; at < end; at++) {
    if (is_quoted) {
      if (text[at] == '\\') at++;
      is_quoted = at < end && text[at] != '"';
    } else if (text[at] == '"') {
      is_quoted = true;
    } else if (text[at] == '{') {
      depth++;
    } else if (depth == 0 && (text[at] == ',' || text[at] == '}')) {
      break;
    } else if (text[at] == '}') {
      depth--;
    }
  }
  return at < end ? at : end;
}

static Str trimmed(const char *text, uint32_t begin, uint32_t end) {
  while (begin < end && strchr(" \t\r\n", text[begin]))
    begin++;
  while (begin < end && strchr(" \t\r\n", text[end - 1]))
    end--;
  return str_make(text + begin, end - begin);
}

bool lint_frontend(const Lint *lint, InstId id, const char *key, Str *value) {
  const Attr *attr = inst_attr(lint->module, id, ATTR_FRONTEND_ATTRIBUTES);
  if (!attr) return false;
  const char *text = lint->module->source->text;
  uint32_t end = attr->text.end;
  for (uint32_t at = attr->text.begin + 1; at < end; at++) {
    uint32_t equals = at;
    while (equals < end && text[equals] != '=')
      equals++;
    if (equals == end) return false;
    Str name = trimmed(text, at, equals);
    at = skip_value(text, equals + 1, end);
    if (!str_is(name, key)) continue;
    *value = trimmed(text, equals + 1, at);
    bool is_string = value->len >= 2 && value->data[0] == '"';
    if (is_string) *value = str_make(value->data + 1, value->len - 2);
    return true;
  }
  return false;
}

/* ---- layouts ---- */

static const char NO_FAULT[] = "";

/* A shape is checked once, however many instructions have it. The parser has checked the layouts
 * inside tuples. */
static void lint_layout(Lint *lint, InstId id) {
  ShapeId shape = inst_get(lint->module, id)->shape;
  const char **fault = &lint->shape_faults[shape];
  if (shape_is_tuple(inst_shape(lint->module, id)) || lint_is_oversized(lint, id)) return;
  if (!*fault) {
    const char *why = NULL;
    *fault = infer_shape_is_valid(lint->module, shape, &why, lint->scratch)
                 ? NO_FAULT
                 : arena_strndup(lint->tables, why, strlen(why));
  }
  if (*fault != NO_FAULT) lint_find_inst(lint, LINT_LAYOUT, id, "%s", *fault);
}

/* ---- schedules ---- */

static bool come_first(Lint *lint, InstId id, const uint8_t *is_placed, const InstId *ids,
                       uint32_t count, const char *what) {
  for (uint32_t i = 0; i < count; i++) {
    if (is_placed[ids[i]]) continue;
    Str name = inst_name(lint->module, ids[i]);
    return lint_find_inst(lint, LINT_SCHEDULE, id, "it is scheduled before its %s '%.*s'", what,
                          (int)(name.len > MAX_SHOWN_NAME ? MAX_SHOWN_NAME : name.len), name.data);
  }
  return true;
}

static void lint_schedule(Lint *lint, CompId comp, uint8_t *is_placed) {
  Sequence sequence = lint->schedule->of[comp];
  for (uint32_t i = 0; i < sequence.len; i++) {
    InstId id = sequence.ids[i];
    IdList before = inst_control(lint->module, id)->predecessors;
    if (come_first(lint, id, is_placed, inst_operands(lint->module, id),
                   inst_get(lint->module, id)->num_operands, "operand")) {
      come_first(lint, id, is_placed, id_list(lint->module, before), before.len,
                 "control predecessor");
    }
    is_placed[id] = 1;
  }
}

/* ---- the pass ---- */

static void find_callers(Lint *lint) {
  const Module *module = lint->module;
  InstId *callers = arena_array(lint->tables, InstId, module->comps.len);
  for (CompId comp = 0; comp < module->comps.len; comp++)
    callers[comp] = NO_ID;
  for (InstId id = 0; id < module->insts.len; id++) {
    const Instruction *inst = inst_get(module, id);
    if (inst->flags & INST_DEAD) continue;
    for (uint32_t i = 0; i < inst->num_callees; i++) {
      CompId callee = inst_callees(module, id)[i];
      if (callers[callee] == NO_ID) callers[callee] = id;
    }
  }
  lint->callers = callers;
}

static void find_starts(Lint *lint) {
  const Module *module = lint->module;
  InstId *starts = arena_array(lint->tables, InstId, module->insts.len);
  for (InstId id = 0; id < module->insts.len; id++) {
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    starts[id] = opcode == OPCODE_ASYNC_START ? id : NO_ID;
    if (opcode_takes_async_state(opcode) && inst_operand(module, id, 0) < id)
      starts[id] = starts[inst_operand(module, id, 0)];
  }
  lint->starts = starts;
}

/* The implied computation of a start that is not bound completely has invented parameters and
 * results. */
static bool is_made_up(const Lint *lint, InstId id) {
  const Instruction *inst = inst_get(lint->module, id);
  if (!(inst->flags & INST_IMPLIED)) return false;
  InstId start = lint->callers[inst->parent];
  if (start == NO_ID) return true;
  const Shape *result = inst_shape(lint->module, id);
  return inst_get(lint->module, start)->num_operands !=
             comp_get(lint->module, inst->parent)->params.len ||
         (shape_is_tuple(result) && result->rank == 0);
}

static void lint_inst(Lint *lint, InstId id) {
  if (is_made_up(lint, id)) return;
  lint_layout(lint, id);
  lint_frame_of_inst(lint, id);
  uint64_t num_before = lint->num_findings;
  if (lint_calls(lint, id)) {
    lint_shapes(lint, id);
    lint_collective(lint, id);
  }
  lint_groups(lint, id, lint->num_findings == num_before);
  lint_fusion(lint, id);
  lint_aliasing(lint, id);
  lint_buffers(lint, id);
  lint_sharding(lint, id);
  lint_origin(lint, id);
  lint_pairs(lint, id);
  lint_async(lint, id);
}

static void lint_all(Lint *lint) {
  lint_header(lint);
  lint_stack_frames(lint);
  for (InstId id = 0; id < lint->module->insts.len; id++) {
    if ((inst_get(lint->module, id)->flags & INST_DEAD) || lint->is_broken[id]) continue;
    ArenaMark mark = arena_mark(lint->scratch);
    lint_inst(lint, id);
    arena_reset(lint->scratch, mark);
  }
  lint_channels(lint);
  if (!lint->schedule) return;
  uint8_t *is_placed = arena_zarray(lint->tables, uint8_t, lint->module->insts.len);
  for (CompId comp = 0; comp < lint->schedule->num_comps; comp++)
    lint_schedule(lint, comp, is_placed);
}

rh_status lint_module(const LintInput *input, uint64_t *num_findings, rh_diags *diags) {
  const Module *module = input->module;
  const ArenaOptions *memory = arena_options(module->arena);
  Arena *tables = arena_new(memory), *scratch = arena_new(memory);
  Module view = {.arena = tables,
                 .source = module->source,
                 .shapes = shape_table_copy(&module->shapes, tables),
                 .insts = module->insts,
                 .comps = module->comps,
                 .ids = module->ids,
                 .control = module->control,
                 .entry = module->entry};
  bool *is_broken = arena_zarray(tables, bool, module->insts.len);
  Lint lint = {.module = &view,
               .schedule = input->schedule,
               .tables = tables,
               .scratch = scratch,
               .diags = diags,
               .severity = input->severity,
               .is_for_tpu = guess_target(module)->pads_tiles,
               .max_findings = input->max_findings,
               .is_broken = is_broken,
               .has_buffers = lint_shapes_with_buffers(&module->shapes, tables),
               .shape_faults = arena_zarray(tables, const char *, module->shapes.shapes.len),
               .first_all_reduce = NO_ID};
  Str name = module->source->header.name;
  lint.is_extracted = lint.is_for_tpu && str_is(name, "extracted");
  uint32_t max_errors = input->max_findings < UINT32_MAX ? (uint32_t)input->max_findings : 0;
  uint32_t num_errors = module_check_all(module, max_errors, is_broken, diags);
  lint.num_findings = num_errors;
  find_callers(&lint);
  find_starts(&lint);
  lint_all(&lint);
  *num_findings = lint.num_findings;
  arena_free(scratch);
  arena_free(tables);
  bool is_error = num_errors || (lint.num_findings && input->severity == RH_SEVERITY_ERROR);
  return is_error ? RH_ERR_INPUT : RH_OK;
}
