/* Describes the values that are live at the peak. */
#include "analysis/memory/remat_memory.h"
#include "emit/report/describe.h"
#include "emit/human.h"
#include "ir/handle.h"
#include "ir/pointers.h"

typedef struct Builder {
  const ReportInput *input;
  Describer describer;
  VEC(LiveBuffer) buffers;
  Arena *out;
  Arena *scratch;
} Builder;

static int64_t position_of(const Builder *builder, InstId id) {
  LogicalTime time = builder->input->ranges->time_of[id];
  return time == NO_TIME ? -1 : (int64_t)time;
}

static rh_live_value describe(Builder *builder, const LiveBuffer *buffer) {
  rh_live_value value = describe_value(&builder->describer, buffer->inst, buffer->part);
  value.bytes = buffer->bytes;
  value.begin = position_of(builder, buffer->first);
  value.end = buffer->last == NO_ID ? (int64_t)builder->input->ranges->num_times
                                    : position_of(builder, buffer->last);
  return value;
}

static void describe_peak(Builder *builder, rh_report *report) {
  InstId id = builder->input->profile->peak_inst;
  if (id == NO_ID) return;
  SourcePlace place = describe_place(&builder->describer, id, NO_ID);
  report->peak_op_name = text_of_str(place.op_name);
  report->peak_source_file = text_of_str(place.file);
  report->peak_source_line = place.line > 0 ? place.line : 0;
}

/* Adds the parts of the result, each with the instruction that makes it. A part that is returned
 * several times is added several times. */
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
    int64_t bytes = remat_sizes(module)->of_part(module, parts[part]);
    if (bytes <= 0) continue;
    *vec_push(builder->scratch, &builder->buffers) = (LiveBuffer){
        .inst = made->inst, .part = made->part, .bytes = bytes, .first = made->inst, .last = NO_ID};
  }
}

static LiveSet live_with_outputs(Builder *builder) {
  const LiveSet *live = builder->input->live;
  if (live->len) {
    memcpy(vec_extend(builder->scratch, &builder->buffers, live->len), live->list,
           live->len * sizeof *live->list);
  }
  add_outputs(builder);
  LiveSet all = {builder->buffers.data, builder->buffers.len};
  live_set_sort(&all);
  return all;
}

void report_live(const ReportInput *input, rh_report *report, Arena *out, Arena *scratch) {
  const Module *module = input->module;
  ArenaMark mark = arena_mark(scratch);
  Builder builder = {.input = input, .out = out, .scratch = scratch};
  LiveSet live = *input->live;
  if (!input->profile->counts_params) live = live_with_outputs(&builder);
  builder.describer = describer_new(module, input->values, out, scratch);
  rh_live_value *list = arena_array(out, rh_live_value, live.len);
  for (uint32_t i = 0; i < live.len; i++)
    list[i] = describe(&builder, &live.list[i]);
  describe_peak(&builder, report);
  report->live = pointers_to(list, live.len, sizeof *list, out);
  report->num_live = live.len;
  report->num_frames = builder.describer.frames.list.len;
  report->frames = frame_table_list(&builder.describer.frames);
  arena_reset(scratch, mark);
}
