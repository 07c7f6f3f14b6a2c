/* Describes a value: its name, its source position, and its category. */
#include "emit/report/describe.h"

#include "ir/handle.h"

/* Which other values share the memory of a value: one set of bits for each HloBuffer. */
enum {
  HOLDS_PARAMETER = 1 << 0,
  HOLDS_OUTPUT = 1 << 1,
  HOLDS_DONATED = 1 << 2,
  HOLDS_CARRY = 1 << 3,
};

/* ---- categories ---- */

static void mark_parts(Describer *describer, InstId id, uint8_t bit) {
  const ValueAnalysis *values = describer->values;
  if (!dataflow_covers(&values->flow, id)) return;
  uint32_t num_parts = inst_shape(describer->module, id)->num_parts;
  for (uint32_t part = 0; part < num_parts; part++) {
    describer->holds[values->buffers.of[dataflow_value(&values->flow, id, part)]] |= bit;
  }
}

static void mark_donated(Describer *describer) {
  const Module *module = describer->module;
  const ValueAnalysis *values = describer->values;
  const ModuleHeader *header = &module->source->header;
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID) continue;
    InstId param = id_list(module, entry->params)[alias->param];
    ValueId value = dataflow_value(&values->flow, param, alias->param_part);
    describer->holds[values->buffers.of[value]] |= HOLDS_DONATED;
  }
}

static void mark_buffers(Describer *describer) {
  const Module *module = describer->module;
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < entry->params.len; i++)
    mark_parts(describer, id_list(module, entry->params)[i], HOLDS_PARAMETER);
  mark_parts(describer, entry->root, HOLDS_OUTPUT);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->opcode == OPCODE_WHILE) mark_parts(describer, id, HOLDS_CARRY);
  }
  mark_donated(describer);
}

static const char *category_of(const Describer *describer, InstId id, uint32_t part) {
  const ValueAnalysis *values = describer->values;
  uint8_t holds = 0;
  if (dataflow_covers(&values->flow, id)) {
    holds = describer->holds[values->buffers.of[dataflow_value(&values->flow, id, part)]];
  }
  if (holds & HOLDS_DONATED) return "donated";
  if (holds & HOLDS_PARAMETER) return "parameter";
  if (holds & HOLDS_OUTPUT) return "output";
  if (holds & HOLDS_CARRY) return "while carry";
  Opcode opcode = (Opcode)inst_get(describer->module, id)->opcode;
  if (opcode == OPCODE_CONSTANT) return "constant";
  return opcode_is_copy(opcode) ? "copy" : "temporary";
}

static uint64_t num_aliases(const Describer *describer, InstId id, uint32_t part) {
  const ValueAnalysis *values = describer->values;
  if (!dataflow_covers(&values->flow, id)) return 1;
  BufferId buffer = values->buffers.of[dataflow_value(&values->flow, id, part)];
  return values->buffers.first_value[buffer + 1] - values->buffers.first_value[buffer];
}

/* ---- texts ---- */

static Str value_name(const Describer *describer, InstId id, uint32_t part) {
  const Module *module = describer->module;
  Str name = inst_name(module, id);
  Str index = human_part(&module->shapes, inst_get(module, id)->shape, part, describer->scratch);
  if (index.len == 0) return human_utf8(name, describer->out);
  char *text = arena_array(describer->out, char, (size_t)name.len + index.len);
  memcpy(text, name.data, name.len);
  memcpy(text + name.len, index.data, index.len);
  return human_utf8((Str){text, name.len + index.len}, describer->out);
}

static Str shape_of(Describer *describer, InstId id, uint32_t part) {
  const ShapeTable *shapes = &describer->module->shapes;
  ShapeId shape = shape_part(shapes, inst_get(describer->module, id)->shape, part);
  Str *text = &describer->shape_texts[shape];
  if (!text->data) *text = shape_text(shapes, shape, false, describer->out);
  return *text;
}

static SourcePlace source_of(Describer *describer, InstId placed) {
  SourcePlace *source = &describer->sources[placed];
  if (!source->op_name.data) {
    *source = human_source_place(describer->module, placed, describer->out);
    InstId position = report_position(&describer->places, placed);
    if (position != placed) {
      SourcePlace other = human_source_place(describer->module, position, describer->out);
      source->file = other.file;
      source->line = other.line;
    }
  }
  return *source;
}

static int64_t frame_of(Describer *describer, InstId position) {
  const Metadata *metadata = inst_metadata(describer->module, position);
  return metadata ? frame_table_add(&describer->frames, metadata->stack_frame_id) : -1;
}

SourcePlace describe_place(Describer *describer, InstId id, uint32_t part) {
  return source_of(describer, report_place(&describer->places, id, part));
}

rh_live_value describe_value(Describer *describer, InstId id, uint32_t part) {
  const Module *module = describer->module;
  const char *opcode = opcode_text((Opcode)inst_get(module, id)->opcode);
  InstId placed = report_place(&describer->places, id, part);
  InstId position = report_position(&describer->places, placed);
  SourcePlace place = source_of(describer, placed);
  bool is_argument = place.file.len == 0 && report_is_argument(module, placed);
  CompId comp = inst_get(module, id)->parent;
  return (rh_live_value){
      .name = text_of_str(value_name(describer, id, part)),
      .opcode = {opcode, strlen(opcode)},
      .shape = text_of_str(shape_of(describer, id, part)),
      .computation = text_of_str(human_utf8(comp_name(module, comp), describer->out)),
      .op_name = text_of_str(place.op_name),
      .source_file = text_of_str(place.file),
      .source_line = place.line > 0 ? place.line : 0,
      .is_inherited = placed != id || position != id,
      .category = category_of(describer, id, part),
      .num_aliases = num_aliases(describer, id, part),
      .frame = frame_of(describer, position),
      .argument = is_argument ? text_of_str(place.op_name) : (rh_text){"", 0},
  };
}

Describer describer_new(const Module *module, const ValueAnalysis *values, Arena *out,
                        Arena *scratch) {
  Describer describer = {
      .module = module,
      .values = values,
      .holds = arena_zarray(scratch, uint8_t, values->buffers.num_buffers),
      .shape_texts = arena_zarray(scratch, Str, module->shapes.shapes.len),
      .places = places_new(module, values, scratch),
      .sources = arena_zarray(scratch, SourcePlace, module->insts.len),
      .frames = frame_table_new(module, out, scratch),
      .out = out,
      .scratch = scratch,
  };
  mark_buffers(&describer);
  return describer;
}
