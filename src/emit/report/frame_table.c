#include "emit/report/frame_table.h"

#include "ir/handle.h"
#include "ir/pointers.h"

FrameTable frame_table_new(const Module *module, Arena *out, Arena *scratch) {
  uint32_t num_frames = module->source->stack_frames.len;
  FrameTable table = {.module = module,
                      .of_number = arena_array(scratch, uint32_t, num_frames),
                      .out = out,
                      .scratch = scratch};
  if (num_frames) memset(table.of_number, 0xff, num_frames * sizeof *table.of_number);
  return table;
}

static bool is_same(const SourceFrame *a, const SourceFrame *b) {
  return a->parent == b->parent && a->line == b->line && str_equal(a->file, b->file) &&
         str_equal(a->function, b->function);
}

static uint32_t intern(FrameTable *table, const SourceFrame *frame) {
  uint64_t hash = hash_mix(hash_str(frame->file), hash_str(frame->function));
  hash = hash_mix(hash_mix(hash, (uint32_t)frame->line), (uint32_t)frame->parent);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&table->table, hash); id_probe_next(&probe, &id);) {
    if (is_same(&table->sources.data[id], frame)) return id;
  }
  id = table->list.len;
  *vec_push(table->scratch, &table->sources) = *frame;
  *vec_push(table->scratch, &table->list) =
      (rh_frame){.file = text_of_str(human_unescape(frame->file, table->out)),
                 .function = text_of_str(human_unescape(frame->function, table->out)),
                 .line = frame->line > 0 ? frame->line : 0,
                 .parent = frame->parent,
                 .is_library = frame->is_library};
  id_table_add(&table->table, table->scratch, hash, id);
  return id;
}

int64_t frame_table_add(FrameTable *table, int32_t number) {
  int32_t numbers[MAX_STACK_DEPTH];
  SourceFrame frame;
  int64_t index = -1;
  uint32_t depth = 0;
  while (depth < MAX_STACK_DEPTH && source_frame_get(table->module, number, &frame)) {
    if (table->of_number[number - 1] != NO_ID) {
      index = table->of_number[number - 1];
      break;
    }
    numbers[depth++] = number;
    number = frame.parent;
  }
  while (depth) {
    number = numbers[--depth];
    source_frame_get(table->module, number, &frame);
    frame.parent = (int32_t)index;
    index = intern(table, &frame);
    table->of_number[number - 1] = (uint32_t)index;
  }
  return index;
}

const rh_frame *const *frame_table_list(const FrameTable *table) {
  uint32_t len = table->list.len;
  rh_frame *list = arena_array(table->out, rh_frame, len);
  if (len) memcpy(list, table->list.data, len * sizeof *list);
  return pointers_to(list, len, sizeof *list, table->out);
}
