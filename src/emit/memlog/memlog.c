/* Computes the rows of the memory log. text.c and table.c write them. */
#include "emit/memlog/memlog.h"

#include "analysis/memory/remat_memory.h"
#include "emit/memlog/memlog_internal.h"

/* Many instructions have the same shape, and the tuples of loops are long, so the sizes are
 * stored. */
static int64_t result_bytes(const Memlog *log, InstId id) {
  ShapeId shape = inst_get(log->module, id)->shape;
  if (log->shape_bytes[shape] < 0) {
    log->shape_bytes[shape] = result_device_bytes(log->module, id);
  }
  return log->shape_bytes[shape];
}

static void write_comp(const Memlog *log, MemlogJson *json, CompId comp) {
  Sequence sequence = log->schedule->of[comp];
  if (log->options->format == MEMLOG_TEXT) memlog_text_title(log, comp);
  MemlogRow row = {.comp = comp};
  for (row.pos = 0; row.pos < sequence.len; row.pos++) {
    row.inst = sequence.ids[row.pos];
    row.result_bytes = result_bytes(log, row.inst);
    row.memory_bytes = log->memory->bytes_at[row.inst];
    if (row.memory_bytes > row.peak_so_far_bytes) row.peak_so_far_bytes = row.memory_bytes;
    ArenaMark mark = arena_mark(log->scratch);
    switch (log->options->format) {
      case MEMLOG_TEXT: memlog_text_row(log, &row); break;
      case MEMLOG_CSV: memlog_csv_row(log, &row); break;
      case MEMLOG_JSONL: memlog_json_row(log, json, &row); break;
    }
    arena_reset(log->scratch, mark);
  }
}

void emit_memlog(const Module *module, const Schedule *schedule, const MemoryProfile *memory,
                 RematMarks marks, const MemlogOptions *options, Writer *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  Memlog log = {.module = module,
                .schedule = schedule,
                .memory = memory,
                .marks = marks,
                .options = options,
                .out = out,
                .scratch = scratch};
  Arena *inner = arena_new(arena_options(scratch));
  log.graph = call_graph_build(module, scratch, inner);
  arena_free(inner);
  log.shape_bytes = arena_array(scratch, int64_t, module->shapes.shapes.len);
  for (ShapeId id = 0; id < module->shapes.shapes.len; id++)
    log.shape_bytes[id] = -1;

  MemlogJson *json = NULL;
  if (options->format == MEMLOG_TEXT) memlog_text_header(&log);
  if (options->format == MEMLOG_CSV) memlog_csv_header(&log);
  if (options->format == MEMLOG_JSONL) json = memlog_json_begin(&log);
  for (uint32_t i = 0; i < log.graph.num_reachable; i++) {
    CompId comp = log.graph.post_order[i];
    if (comp_is_sequential(&log.graph, comp)) write_comp(&log, json, comp);
  }
  arena_reset(scratch, mark);
}
