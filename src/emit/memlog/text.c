/* Writes the memory log as text for people. */
#include <inttypes.h>

#include "analysis/memory/remat_memory.h"
#include "emit/human.h"
#include "emit/memlog/memlog_internal.h"
#include "ir/chars.h"

enum { DEFAULT_MAX_LIVE = 20, OPCODE_WIDTH = 20 };

static void write_padding(Writer *out, size_t len, size_t width) {
  static const char blanks[] = "                        ";
  if (len < width) write_bytes(out, blanks, width - len < 24 ? width - len : 24);
}

/* Writes a right-aligned column with two blanks before it. */
static void write_bytes_column(Writer *out, int64_t bytes) {
  HumanBytes human = {.text = "-", .len = 1};
  if (bytes >= 0) human = human_bytes(bytes);
  write_padding(out, human.len, 13);
  write_bytes(out, human.text, human.len);
}

static void write_int_column(Writer *out, int64_t value, size_t width) {
  char room[DECIMAL_CHARS];
  Str digits = decimal_text(value, room);
  write_padding(out, digits.len, width);
  write_str(out, digits);
}

static void write_name(Writer *out, Str name) {
  write_str(out, name.len ? name : STR("(no name)"));
}

static void write_remat(Writer *out, RematMark mark) {
  switch (mark.kind) {
    case REMAT_KIND_CLONE:
      write_text(out, "  [recomputes ");
      write_name(out, mark.original);
      write_text(out, "]");
      break;
    case REMAT_KIND_MOVED: write_text(out, "  [moved]"); break;
    case REMAT_KIND_HELPER: write_text(out, "  [helper]"); break;
    default: break;
  }
}

/* ---- header and titles ---- */

static void write_size_line(const Memlog *log, const char *what, int64_t bytes, const char *note) {
  write_format(log->out, "  %-12s%13s%s\n", what, human_bytes(bytes).text, note);
}

void memlog_text_header(const Memlog *log) {
  const MemoryProfile *memory = log->memory;
  const Module *module = log->module;
  Writer *out = log->out;
  write_text(out, "Memory log of module ");
  write_name(out, module->source->header.name);
  write_text(out, ", memory model ");
  write_text(out, log->options->model->name);
  write_format(out, "\n  %-12s%13s (%" PRId64 " bytes)", "peak",
               human_bytes(memory->peak_bytes).text, memory->peak_bytes);
  if (memory->peak_inst != NO_ID) {
    write_text(out, " at ");
    write_name(out, inst_name(module, memory->peak_inst));
    write_text(out, " in ");
    write_name(out, comp_name(module, inst_get(module, memory->peak_inst)->parent));
  }
  write_text(out, "\n");
  int64_t total_bytes = memory_profile_total_bytes(memory);
  if (total_bytes != memory->peak_bytes) {
    write_format(out, "  %-12s%13s (%" PRId64 " bytes)%s\n", "total", human_bytes(total_bytes).text,
                 total_bytes, ", parameters + outputs - aliased + constants + temporaries");
  }
  write_size_line(log, "parameters", memory->parameter_bytes,
                  memory->counts_params ? ", part of the peak" : ", not part of the peak");
  write_size_line(log, "outputs", memory->output_bytes, ", part of the peak");
  if (memory->aliased_bytes) {
    write_size_line(log, "aliased", memory->aliased_bytes, " of the outputs are parameters");
  }
  write_size_line(log, "constants", memory->constant_bytes,
                  memory->constants == CONSTANTS_HELD ? ", part of the peak" : "");
}

void memlog_text_title(const Memlog *log, CompId comp) {
  Sequence sequence = log->schedule->of[comp];
  Writer *out = log->out;
  SchedPos peak_pos = 0;
  int64_t peak_bytes = 0;
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    int64_t bytes = log->memory->bytes_at[sequence.ids[pos]];
    if (bytes <= peak_bytes) continue;
    peak_bytes = bytes;
    peak_pos = pos;
  }
  write_text(out, comp == log->module->entry ? "\nentry computation " : "\ncomputation ");
  write_name(out, comp_name(log->module, comp));
  write_format(out, ": %" PRIu32 " instruction%s", sequence.len, sequence.len == 1 ? "" : "s");
  if (peak_bytes) {
    write_format(out, ", peak %s at %" PRIu32 " (", human_bytes(peak_bytes).text, peak_pos);
    write_name(out, inst_name(log->module, sequence.ids[peak_pos]));
    write_text(out, ")");
  }
  write_format(out, "\n%8s%13s%13s%13s  %-*s  name\n", "position", "memory", "peak so far",
               "result", OPCODE_WIDTH, "opcode");
}

/* ---- the buffers that are live at the peak ---- */

/* Returns the buffer whose memory holds a part: the state of a loop is in the memory of its initial
 * value. */
static LogicalId buffer_of(const Module *module, const PointsTo *points_to, LiveBuffer live) {
  for (;;) {
    LogicalId buffer = points_to_part(points_to, live.inst, live.part);
    InstId definer = points_to->buffers.data[buffer].inst;
    if (inst_get(module, definer)->opcode != OPCODE_WHILE) return buffer;
    live.inst = inst_operand(module, definer, 0);
    live.part = points_to->buffers.data[buffer].part;
  }
}

typedef struct LiveTable {
  PointsTo points_to;
  RematIntervals *intervals; /* by CompId, computed at the first use */
  SchedPos *positions;       /* by InstId, for the instructions of those computations */
  Arena *arena;
  Arena *scratch;
} LiveTable;

static const RematInterval *interval_of(const Memlog *log, LiveTable *table, LiveBuffer live) {
  LogicalId buffer = buffer_of(log->module, &table->points_to, live);
  CompId comp = inst_get(log->module, live.inst)->parent;
  RematIntervals *intervals = &table->intervals[comp];
  if (!intervals->list) {
    *intervals = remat_intervals(log->module, &table->points_to, log->schedule->of[comp], comp,
                                 table->positions, table->arena, table->scratch);
  }
  for (uint32_t i = 0; i < intervals->len; i++) {
    if (intervals->list[i].buffer == buffer) return &intervals->list[i];
  }
  return NULL;
}

static void write_live_buffer(const Memlog *log, LiveTable *table, LiveBuffer live) {
  Writer *out = log->out;
  const Module *module = log->module;
  const Instruction *inst = inst_get(module, live.inst);
  const RematInterval *interval = interval_of(log, table, live);
  write_text(out, "        ");
  write_bytes_column(out, live.bytes);
  write_int_column(out, table->positions[live.inst], 10);
  if (!interval || interval->is_live_out) {
    write_text(out, "       end");
  } else {
    write_int_column(out, interval->last, 10);
  }
  write_text(out, "  ");
  write_str(out, inst_name(module, live.inst));
  write_str(out, human_part(&module->shapes, inst->shape, live.part, table->arena));
  if (inst->parent != inst_get(module, log->memory->peak_inst)->parent) {
    write_text(out, " in ");
    write_str(out, comp_name(module, inst->parent));
  }
  if (log->marks) write_remat(out, log->marks[live.inst]);
  write_text(out, "\n");
}

static void write_live(const Memlog *log) {
  LiveTable table = {.arena = arena_new(arena_options(log->scratch)), .scratch = log->scratch};
  LiveSet live;
  log->options->model->measure(log->module, log->schedule, &live, table.arena, log->scratch);
  uint32_t max_live = log->options->max_live ? log->options->max_live : DEFAULT_MAX_LIVE;
  uint32_t num_shown = live.len < max_live ? live.len : max_live;
  table.points_to = points_to_build(log->module, table.arena, log->scratch);
  table.intervals = arena_zarray(table.arena, RematIntervals, log->module->comps.len);
  table.positions = arena_zarray(table.arena, SchedPos, log->module->insts.len);

  int64_t live_bytes = 0;
  for (uint32_t i = 0; i < live.len; i++)
    live_bytes += live.list[i].bytes;
  write_format(log->out, "         Live at the peak: %" PRIu32 " buffer%s, %s", live.len,
               live.len == 1 ? "" : "s", human_bytes(live_bytes).text);
  if (num_shown < live.len) write_format(log->out, "; the %" PRIu32 " largest", num_shown);
  write_format(log->out, "\n%21s%10s%10s  name\n", "size", "defined", "last use");
  for (uint32_t i = 0; i < num_shown; i++)
    write_live_buffer(log, &table, live.list[i]);
  arena_free(table.arena);
}

/* ---- rows ---- */

void memlog_text_row(const Memlog *log, const MemlogRow *row) {
  Writer *out = log->out;
  const char *opcode = opcode_text((Opcode)inst_get(log->module, row->inst)->opcode);
  bool is_peak = row->inst == log->memory->peak_inst;
  write_int_column(out, row->pos, 8);
  write_bytes_column(out, row->memory_bytes);
  write_bytes_column(out, row->peak_so_far_bytes);
  write_bytes_column(out, row->result_bytes);
  write_text(out, "  ");
  write_text(out, opcode);
  write_padding(out, strlen(opcode), OPCODE_WIDTH);
  write_text(out, "  ");
  write_str(out, inst_name(log->module, row->inst));
  if (log->marks) write_remat(out, log->marks[row->inst]);
  write_text(out, is_peak ? "  <== peak\n" : "\n");
  if (is_peak) write_live(log);
}
