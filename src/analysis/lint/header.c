/* Compares the module's first line with its entry computation. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/lint/lint.h"

/* ---- entry_computation_layout ---- */

static InstId entry_param(const Lint *lint, uint32_t number) {
  return id_list(lint->module, comp_get(lint->module, lint->module->entry)->params)[number];
}

static void lint_entry_layout(Lint *lint) {
  const Module *module = lint->module;
  const ModuleHeader *header = &module->source->header;
  const Computation *entry = comp_get(module, module->entry);
  if (!header->has_entry_layout) return;
  ShapeId result = inst_get(module, entry->root)->shape;
  if (!lint_fits(lint, header->entry_result, result)) {
    lint_find_inst(lint, LINT_ENTRY_LAYOUT, entry->root,
                   "the entry returns %s, entry_computation_layout says %s",
                   lint_shown(lint, result), lint_shown(lint, header->entry_result));
  }
  if (header->entry_params.len != entry->params.len) {
    DiagPlace place =
        DIAG_FROM_TO(header->entry_layout_offset, module->source->comps.data[entry->origin].name);
    lint_find(lint, LINT_ENTRY_LAYOUT, place,
              "entry_computation_layout has %u parameters, the entry computation %u",
              header->entry_params.len, entry->params.len);
    return;
  }
  for (uint32_t i = 0; i < entry->params.len; i++) {
    ShapeId wanted = header->entry_params.data[i];
    InstId param = entry_param(lint, i);
    if (lint_fits(lint, wanted, inst_get(module, param)->shape)) continue;
    lint_find_inst(lint, LINT_ENTRY_LAYOUT, param,
                   "parameter %u is %s, entry_computation_layout says %s", i,
                   lint_shown(lint, inst_get(module, param)->shape), lint_shown(lint, wanted));
  }
}

/* ---- input_output_alias, buffer_donor ---- */

/* A part of a parameter that an attribute of the module's header names. */
typedef struct NamedPart {
  int64_t param;
  uint32_t part;
  uint32_t offset;
  bool is_donor;
} NamedPart;

static int by_part(const void *a, const void *b) {
  const NamedPart *x = a, *y = b;
  if (x->param != y->param) return x->param < y->param ? -1 : 1;
  if (x->part != y->part) return x->part < y->part ? -1 : 1;
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static LintRule rule_of(bool is_donor) {
  return is_donor ? LINT_BUFFER_DONOR : LINT_INPUT_OUTPUT_ALIAS;
}

/* The shape of a named part; NO_ID, after a finding, when it does not exist. */
static ShapeId named_shape(Lint *lint, const NamedPart *named) {
  const Module *module = lint->module;
  uint32_t num_params = comp_get(module, module->entry)->params.len;
  LintRule rule = rule_of(named->is_donor);
  if (named->param >= num_params) {
    lint_find(lint, rule, DIAG_AT(named->offset),
              "the entry has %u parameters, none of number %" PRId64, num_params, named->param);
    return NO_ID;
  }
  InstId param = entry_param(lint, (uint32_t)named->param);
  ShapeId shape = inst_get(module, param)->shape;
  DiagPlace place = DIAG_FROM_TO(named->offset, lint_place(lint, param).offset);
  if (named->part == NO_ID) {
    lint_find(lint, rule, place, "parameter %" PRId64 " has no element of this index, it is %s",
              named->param, lint_shown(lint, shape));
    return NO_ID;
  }
  ShapeId part = shape_part(&module->shapes, shape, named->part);
  if (!shape_is_tuple(shape_get(&module->shapes, part))) return part;
  lint_find(lint, rule, place, "a tuple, %s, is named where an array is wanted",
            lint_shown(lint, part));
  return NO_ID;
}

static bool has_known_size(const Shape *shape) {
  return shape_is_array(shape) && !shape->has_unbounded && !shape->has_dynamic && shape->bytes >= 0;
}

static ShapeId layout_of_param(const Lint *lint, const NamedPart *named, ShapeId input) {
  const ModuleHeader *header = &lint->module->source->header;
  if (!header->has_entry_layout || named->param >= header->entry_params.len) return input;
  ShapeId shape = header->entry_params.data[named->param];
  bool is_same = shape_get(&lint->module->shapes, shape)->num_parts > named->part;
  return is_same ? shape_part(&lint->module->shapes, shape, named->part) : input;
}

/* Memory that must be shared has one layout, including the memory space. */
static bool lint_must_alias(Lint *lint, const OutputAlias *alias, const NamedPart *named,
                            ShapeId input, ShapeId output) {
  const ShapeTable *shapes = &lint->module->shapes;
  input = layout_of_param(lint, named, input);
  const Shape *in = shape_get(shapes, input), *out = shape_get(shapes, output);
  if (!shape_is_array(in) || !shape_is_array(out) || shape_same_layout(in, out)) return true;
  Str from = shape_text(shapes, input, true, lint->scratch);
  Str to = shape_text(shapes, output, true, lint->scratch);
  return lint_find(lint, LINT_INPUT_OUTPUT_ALIAS, DIAG_AT(alias->offset),
                   "an output, %.*s, must be in the memory of a parameter, %.*s", (int)to.len,
                   to.data, (int)from.len, from.data);
}

static void lint_alias(Lint *lint, const OutputAlias *alias, const NamedPart *named) {
  const Module *module = lint->module;
  ShapeId result = inst_get(module, comp_get(module, module->entry)->root)->shape;
  ShapeId input = named_shape(lint, named);
  ShapeId output = shape_part(&module->shapes, result, alias->output_part);
  if (shape_is_tuple(shape_get(&module->shapes, output))) {
    lint_find(lint, LINT_INPUT_OUTPUT_ALIAS, DIAG_AT(alias->offset),
              "a tuple, %s, is named where an array is wanted", lint_shown(lint, output));
    return;
  }
  if (input == NO_ID) return;
  const Shape *in = shape_get(&module->shapes, input), *out = shape_get(&module->shapes, output);
  bool fits = alias->is_must_alias
                  ? lint_fits(lint, input, output)
                  : !has_known_size(in) || !has_known_size(out) || in->bytes == out->bytes;
  if (fits) {
    if (alias->is_must_alias) lint_must_alias(lint, alias, named, input, output);
    return;
  }
  lint_find(lint, LINT_INPUT_OUTPUT_ALIAS, DIAG_AT(alias->offset),
            alias->is_must_alias ? "an output, %s, must be in the memory of a parameter, %s"
                                 : "an output, %s, and a parameter, %s, are not of the same size",
            lint_shown(lint, output), lint_shown(lint, input));
}

/* Checks that a part is named only once. */
static void lint_repeated(Lint *lint, NamedPart *parts, uint32_t count) {
  if (count) qsort(parts, count, sizeof *parts, by_part);
  for (uint32_t i = 1; i < count; i++) {
    const NamedPart *one = &parts[i - 1], *other = &parts[i];
    if (one->param != other->param || one->part != other->part || one->part == NO_ID) continue;
    if (one->is_donor && other->is_donor) continue; /* donors are a set */
    DiagPlace place = DIAG_FROM_TO(other->offset, one->offset);
    lint_find(lint, rule_of(one->is_donor || other->is_donor), place,
              one->is_donor != other->is_donor ? "this parameter is both aliased and donated"
                                               : "this parameter is aliased twice");
  }
}

void lint_header(Lint *lint) {
  const ModuleHeader *header = &lint->module->source->header;
  ArenaMark mark = arena_mark(lint->scratch);
  if (!lint->is_extracted) lint_entry_layout(lint);
  uint32_t count = 0;
  NamedPart *parts =
      arena_array(lint->scratch, NamedPart, (size_t)header->aliases.len + header->donors.len);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    parts[count++] = (NamedPart){alias->param, alias->param_part, alias->offset, false};
    lint_alias(lint, alias, &parts[count - 1]);
  }
  for (uint32_t i = 0; i < header->donors.len; i++) {
    const BufferDonor *donor = &header->donors.data[i];
    parts[count++] = (NamedPart){donor->param, donor->param_part, donor->offset, true};
    named_shape(lint, &parts[count - 1]);
  }
  lint_repeated(lint, parts, count);
  arena_reset(lint->scratch, mark);
}
