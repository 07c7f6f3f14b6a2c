/* The values that live at the peak, with what people want to know of each. */
#include "analysis/remat_memory.h"
#include "emit/human.h"
#include "emit/report.h"
#include "ir/handle.h"

/* What else is in the memory of a value: bits by HloBuffer. */
enum {
  HOLDS_PARAMETER = 1 << 0,
  HOLDS_OUTPUT = 1 << 1,
  HOLDS_DONATED = 1 << 2,
  HOLDS_CARRY = 1 << 3,
};

typedef struct Builder {
  const ReportInput *input;
  uint8_t *holds;   /* by BufferId */
  Str *shape_texts; /* by ShapeId, no data until somebody asks */
  Places places;
  SourcePlace *sources; /* by InstId that is a place, {0} until somebody asks */
  VEC(LiveBuffer) buffers;
  Arena *out;
  Arena *scratch;
} Builder;

/* ---- categories ---- */

static void mark_parts(Builder *builder, InstId id, uint8_t bit) {
  const ValueAnalysis *values = builder->input->values;
  if (!dataflow_covers(&values->flow, id)) return;
  uint32_t num_parts = inst_shape(builder->input->module, id)->num_parts;
  for (uint32_t part = 0; part < num_parts; part++) {
    builder->holds[values->buffers.of[dataflow_value(&values->flow, id, part)]] |= bit;
  }
}

static void mark_donated(Builder *builder) {
  const Module *module = builder->input->module;
  const ValueAnalysis *values = builder->input->values;
  const ModuleHeader *header = &module->source->header;
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    const OutputAlias *alias = &header->aliases.data[i];
    if (alias->param_part == NO_ID) continue;
    InstId param = id_list(module, entry->params)[alias->param];
    ValueId value = dataflow_value(&values->flow, param, alias->param_part);
    builder->holds[values->buffers.of[value]] |= HOLDS_DONATED;
  }
}

static void mark_buffers(Builder *builder) {
  const Module *module = builder->input->module;
  const Computation *entry = comp_get(module, module->entry);
  for (uint32_t i = 0; i < entry->params.len; i++)
    mark_parts(builder, id_list(module, entry->params)[i], HOLDS_PARAMETER);
  mark_parts(builder, entry->root, HOLDS_OUTPUT);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->opcode == OPCODE_WHILE) mark_parts(builder, id, HOLDS_CARRY);
  }
  mark_donated(builder);
}

static const char *category_of(const Builder *builder, InstId id, uint32_t part) {
  const ValueAnalysis *values = builder->input->values;
  uint8_t holds = 0;
  if (dataflow_covers(&values->flow, id)) {
    holds = builder->holds[values->buffers.of[dataflow_value(&values->flow, id, part)]];
  }
  if (holds & HOLDS_DONATED) return "donated";
  if (holds & HOLDS_PARAMETER) return "parameter";
  if (holds & HOLDS_OUTPUT) return "output";
  if (holds & HOLDS_CARRY) return "while carry";
  switch (inst_get(builder->input->module, id)->opcode) {
    case OPCODE_CONSTANT: return "constant";
    case OPCODE_COPY:
    case OPCODE_COPY_START:
    case OPCODE_COPY_DONE: return "copy";
    default: return "temporary";
  }
}

static uint64_t num_aliases(const Builder *builder, InstId id, uint32_t part) {
  const ValueAnalysis *values = builder->input->values;
  if (!dataflow_covers(&values->flow, id)) return 1;
  BufferId buffer = values->buffers.of[dataflow_value(&values->flow, id, part)];
  return values->buffers.first_value[buffer + 1] - values->buffers.first_value[buffer];
}

/* ---- rows ---- */

static Str value_name(const Builder *builder, InstId id, uint32_t part) {
  const Module *module = builder->input->module;
  Str name = inst_name(module, id);
  Str index = human_part(&module->shapes, inst_get(module, id)->shape, part, builder->scratch);
  if (index.len == 0) return human_utf8(name, builder->out);
  char *text = arena_array(builder->out, char, (size_t)name.len + index.len);
  memcpy(text, name.data, name.len);
  memcpy(text + name.len, index.data, index.len);
  return human_utf8((Str){text, name.len + index.len}, builder->out);
}

static Str shape_of(Builder *builder, InstId id, uint32_t part) {
  const ShapeTable *shapes = &builder->input->module->shapes;
  ShapeId shape = shape_part(shapes, inst_get(builder->input->module, id)->shape, part);
  Str *text = &builder->shape_texts[shape];
  if (!text->data) *text = shape_text(shapes, shape, false, builder->out);
  return *text;
}

static int64_t position_of(const Builder *builder, InstId id) {
  LogicalTime time = builder->input->ranges->time_of[id];
  return time == NO_TIME ? -1 : (int64_t)time;
}

/* One text for all values that come from an instruction. */
static SourcePlace source_of(Builder *builder, InstId placed) {
  SourcePlace *source = &builder->sources[placed];
  if (!source->op_name.data) {
    *source = human_source_place(builder->input->module, placed, builder->out);
  }
  return *source;
}

static rh_live_value describe(Builder *builder, const LiveBuffer *buffer) {
  const Module *module = builder->input->module;
  const char *opcode = opcode_text((Opcode)inst_get(module, buffer->inst)->opcode);
  InstId placed = report_place(&builder->places, buffer->inst, buffer->part);
  SourcePlace place = source_of(builder, placed);
  CompId comp = inst_get(module, buffer->inst)->parent;
  return (rh_live_value){
      .name = text_of_str(value_name(builder, buffer->inst, buffer->part)),
      .opcode = {opcode, strlen(opcode)},
      .shape = text_of_str(shape_of(builder, buffer->inst, buffer->part)),
      .computation = text_of_str(human_utf8(comp_name(module, comp), builder->out)),
      .op_name = text_of_str(place.op_name),
      .source_file = text_of_str(place.file),
      .source_line = place.line > 0 ? place.line : 0,
      .is_inherited = placed != buffer->inst,
      .category = category_of(builder, buffer->inst, buffer->part),
      .bytes = buffer->bytes,
      .begin = position_of(builder, buffer->first),
      .end = buffer->last == NO_ID ? (int64_t)builder->input->ranges->num_times
                                   : position_of(builder, buffer->last),
      .num_aliases = num_aliases(builder, buffer->inst, buffer->part),
  };
}

static void describe_peak(Builder *builder, rh_report *report) {
  InstId id = builder->input->profile->peak_inst;
  if (id == NO_ID) return;
  SourcePlace place = source_of(builder, report_place(&builder->places, id, NO_ID));
  report->peak_op_name = text_of_str(place.op_name);
  report->peak_source_file = text_of_str(place.file);
  report->peak_source_line = place.line > 0 ? place.line : 0;
}

/* The parts of the result, each with the instruction that makes it, as often as it is returned. */
static void add_outputs(Builder *builder) {
  const Module *module = builder->input->module;
  InstId root = comp_get(module, module->entry)->root;
  ShapeId shape = inst_get(module, root)->shape;
  uint32_t num_parts = inst_shape(module, root)->num_parts;
  ShapeId *parts = arena_array(builder->scratch, ShapeId, num_parts);
  shape_list_parts(&module->shapes, shape, parts);
  Arena *inner = arena_new(arena_options(builder->scratch));
  PointsTo points_to = points_to_build(module, builder->scratch, inner);
  arena_free(inner);
  for (uint32_t part = 0; part < num_parts; part++) {
    const LogicalBuffer *made = &points_to.buffers.data[points_to_part(&points_to, root, part)];
    int64_t bytes = shape_get(&module->shapes, parts[part])->bytes;
    if (bytes <= 0) continue;
    *vec_push(builder->scratch, &builder->buffers) = (LiveBuffer){
        .inst = made->inst, .part = made->part, .bytes = bytes, .first = made->inst, .last = NO_ID};
  }
}

void report_live(const ReportInput *input, rh_report *report, Arena *out, Arena *scratch) {
  const Module *module = input->module;
  ArenaMark mark = arena_mark(scratch);
  Arena *inner = arena_new(arena_options(scratch));
  LiveSet live = input->model->live_at_peak(module, input->schedule, scratch, inner);
  Builder builder = {.input = input, .out = out, .scratch = scratch};
  if (live.len) {
    memcpy(vec_extend(scratch, &builder.buffers, live.len), live.list,
           live.len * sizeof *live.list);
  }
  if (!input->profile->counts_params) add_outputs(&builder);
  live = (LiveSet){builder.buffers.data, builder.buffers.len};
  live_set_sort(&live);
  builder.holds = arena_zarray(scratch, uint8_t, input->values->buffers.num_buffers);
  builder.shape_texts = arena_zarray(scratch, Str, module->shapes.shapes.len);
  builder.places = places_new(module, input->values, scratch);
  builder.sources = arena_zarray(scratch, SourcePlace, module->insts.len);
  mark_buffers(&builder);
  rh_live_value *list = arena_array(out, rh_live_value, live.len);
  for (uint32_t i = 0; i < live.len; i++)
    list[i] = describe(&builder, &live.list[i]);
  describe_peak(&builder, report);
  report->live = list;
  report->num_live = live.len;
  arena_free(inner);
  arena_reset(scratch, mark);
}
