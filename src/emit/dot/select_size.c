/* Buffers are what is chosen; who defines and who reads them follows. */
#include <stdlib.h>

#include "emit/dot/select.h"

static bool is_candidate(const DotPicture *picture, LogicalId buffer) {
  return dot_is_candidate(picture->module, &picture->points_to, picture->position, buffer);
}

static int64_t least_bytes(const DotPicture *picture) {
  return picture->memory->peak_bytes / DOT_SHARE_OF_PEAK;
}

static bool matters(const DotPicture *picture, LogicalId buffer) {
  return picture->points_to.buffers.data[buffer].bytes >= least_bytes(picture);
}

/* Parameters that hold no memory of their own: their caller has it. */
static bool is_param_of_caller(const DotPicture *picture, InstId id) {
  const Instruction *inst = inst_get(picture->module, id);
  return inst->opcode == OPCODE_PARAMETER &&
         (inst->parent != picture->module->entry || !picture->memory->counts_params);
}

/* Shows who reads a buffer as long as there is room: of many the first, and the last, until which
 * the buffer lives. */
static void show_readers(DotChoice *choice, LogicalId buffer, uint32_t max_nodes) {
  dot_readers_find(&choice->readers, buffer);
  uint32_t num_readers = choice->readers.list.len;
  for (uint32_t i = 0; i < num_readers && choice->picture->num_shown < max_nodes; i++) {
    bool is_last = i + 1 == num_readers;
    if (i + 1 < DOT_MAX_READERS || is_last)
      dot_show(choice->picture, choice->readers.list.data[i].inst);
  }
}

/* The peak and the calls that lead to it are shown whatever their size; of the peak what it reads,
 * too, and who reads it. */
static void choose_peak(DotChoice *choice) {
  DotPicture *picture = choice->picture;
  const Module *module = picture->module;
  const PointsTo *points_to = &picture->points_to;
  uint32_t max_nodes = choice->options->min_bytes < 0 ? choice->options->max_nodes : UINT32_MAX;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    SchedPos pos = picture->peak_position[comp];
    if (pos != NO_ID) dot_show(picture, picture->schedule->of[comp].ids[pos]);
  }
  InstId peak = picture->memory->peak_inst;
  if (peak == NO_ID || picture->position[peak] == NO_ID) return;
  for (uint32_t i = 0; i < inst_get(module, peak)->num_operands; i++) {
    LogicalId buffer = points_to_part(points_to, inst_operand(module, peak, i), 0);
    if (!is_candidate(picture, buffer) || !matters(picture, buffer)) continue;
    dot_show(picture, points_to->buffers.data[buffer].inst);
    dot_choose_buffer(choice, buffer);
  }
  for (uint32_t i = 0; i < points_to->num_defined[peak]; i++) {
    LogicalId buffer = points_to->first_buffer[peak] + i;
    if (!is_candidate(picture, buffer) || !matters(picture, buffer)) continue;
    dot_choose_buffer(choice, buffer);
    show_readers(choice, buffer, max_nodes);
  }
}

static void choose_by_size(DotChoice *choice) {
  DotPicture *picture = choice->picture;
  for (LogicalId id = 0; id < picture->points_to.buffers.len; id++) {
    const LogicalBuffer *buffer = &picture->points_to.buffers.data[id];
    if (!is_candidate(picture, id) || buffer->bytes <= choice->options->min_bytes) continue;
    dot_choose_buffer(choice, id);
    dot_show(picture, buffer->inst);
    dot_readers_find(&choice->readers, id);
    for (uint32_t i = 0; i < choice->readers.list.len; i++) {
      dot_show(picture, choice->readers.list.data[i].inst);
    }
  }
}

typedef struct Candidate {
  int64_t bytes;
  bool is_preferred; /* live at the peak, or made by rematerialization */
  LogicalId buffer;
} Candidate;

typedef struct Candidates {
  VEC(Candidate) list;
} Candidates;

static int by_importance(const void *pa, const void *pb) {
  const Candidate *a = pa, *b = pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  if (a->is_preferred != b->is_preferred) return a->is_preferred ? -1 : 1;
  return (a->buffer > b->buffer) - (a->buffer < b->buffer);
}

static Candidates sort_candidates(DotChoice *choice) {
  const DotPicture *picture = choice->picture;
  Candidates candidates = {0};
  for (LogicalId id = 0; id < picture->points_to.buffers.len; id++) {
    const LogicalBuffer *buffer = &picture->points_to.buffers.data[id];
    if (!is_candidate(picture, id) || !matters(picture, id)) continue;
    if (is_param_of_caller(picture, buffer->inst)) continue;
    bool is_marked = choice->marks && choice->marks[buffer->inst].kind != REMAT_KIND_NONE;
    *vec_push(choice->scratch, &candidates.list) =
        (Candidate){buffer->bytes, is_marked || picture->is_live_at_peak[buffer->inst], id};
  }
  if (candidates.list.len) {
    qsort(candidates.list.data, candidates.list.len, sizeof(Candidate), by_importance);
  }
  return candidates;
}

/* Large parameters of called computations, where something that is shown reads them. */
static void choose_params(DotChoice *choice) {
  DotPicture *picture = choice->picture;
  for (LogicalId id = 0; id < picture->points_to.buffers.len; id++) {
    const LogicalBuffer *buffer = &picture->points_to.buffers.data[id];
    const Instruction *inst = inst_get(picture->module, buffer->inst);
    bool is_param = inst->opcode == OPCODE_PARAMETER && inst->parent != picture->module->entry;
    if (!is_param || !is_candidate(picture, id) || buffer->bytes < picture->shown_bytes) continue;
    dot_readers_find(&choice->readers, id);
    bool has_reader = false;
    for (uint32_t i = 0; i < choice->readers.list.len; i++) {
      has_reader |= picture->is_shown[choice->readers.list.data[i].inst];
    }
    if (!has_reader) continue;
    dot_choose_buffer(choice, id);
    dot_show(picture, buffer->inst);
  }
}

static void choose_largest(DotChoice *choice) {
  DotPicture *picture = choice->picture;
  uint32_t max_nodes = choice->options->max_nodes;
  Candidates candidates = sort_candidates(choice);
  int64_t last_bytes = -1;
  picture->shown_bytes = least_bytes(picture);
  for (uint32_t i = 0; i < candidates.list.len; i++) {
    Candidate candidate = candidates.list.data[i];
    InstId definer = picture->points_to.buffers.data[candidate.buffer].inst;
    if (picture->num_shown >= max_nodes && !picture->is_shown[definer]) {
      picture->has_more_of_size = candidate.bytes == last_bytes;
      picture->shown_bytes = last_bytes;
      break;
    }
    last_bytes = candidate.bytes;
    dot_choose_buffer(choice, candidate.buffer);
    dot_show(picture, definer);
    show_readers(choice, candidate.buffer, max_nodes);
  }
  choose_params(choice);
}

void dot_select_by_size(DotChoice *choice) {
  choose_peak(choice);
  if (choice->options->min_bytes < 0) {
    choose_largest(choice);
  } else {
    choose_by_size(choice);
  }
}
