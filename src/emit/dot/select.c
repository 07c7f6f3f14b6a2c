/* Selects the instructions that a picture shows, and the buffers that its edges represent. In a
 * picture of the whole module, buffers are selected, and the instructions that define and read them
 * are shown. With any other filter, instructions are selected. */
#include <stdlib.h>

#include "analysis/memory/remat_memory.h"
#include "emit/dot/picture.h"
#include "emit/human.h"

/* ---- reading filters ---- */

static const struct {
  const char *prefix;
  DotFilterKind kind;
} prefixes[] = {{"name:", DOT_FILTER_NAME},
                {"regex:", DOT_FILTER_REGEX},
                {"scope:", DOT_FILTER_SCOPE},
                {"computation:", DOT_FILTER_COMPUTATION}};

rh_status dot_filter_parse(const char *text, DotFilter *filter, rh_diags *diags, Arena *out) {
  *filter = (DotFilter){.kind = DOT_FILTER_PEAK, .text = STR("")};
  if (strcmp(text, "peak") == 0) return RH_OK;
  filter->kind = DOT_FILTER_ALL;
  if (strcmp(text, "all") == 0) return RH_OK;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    size_t len = strlen(prefixes[i].prefix);
    if (strncmp(text, prefixes[i].prefix, len) != 0 || !text[len]) continue;
    filter->kind = prefixes[i].kind;
    if (filter->kind == DOT_FILTER_NAME || filter->kind == DOT_FILTER_COMPUTATION) {
      len += text[len] == '%' && text[len + 1];
    }
    filter->text = str_make(text + len, strlen(text + len));
    if (filter->kind == DOT_FILTER_REGEX) {
      return expression_new(filter->text.data, &filter->expression, diags, out);
    }
    if (filter->kind == DOT_FILTER_SCOPE) {
      filter->num_parts = scope_split(filter->text, filter->parts);
    }
    return RH_OK;
  }
  filter->kind = DOT_FILTER_PEAK;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                   "a graph shows peak, all, name:NAME, regex:EXPRESSION, scope:PATH or "
                   "computation:NAME, not '%.*s'",
                   MAX_EXPRESSION_CHARS, text);
}

/* ---- matching filters ---- */

static bool has_match(const DotFilter *filter, Str subject, Arena *scratch) {
  return expression_matches(filter->expression, human_utf8(subject, scratch), scratch);
}

static bool is_in_scope(const DotFilter *filter, Str op_name) {
  Str parts[MAX_SCOPE_DEPTH];
  uint32_t num_parts = scope_split(op_name, parts);
  for (uint32_t i = 0; i + filter->num_parts <= num_parts; i++) {
    uint32_t k = 0;
    while (k < filter->num_parts && str_equal(parts[i + k], filter->parts[k]))
      k++;
    if (k == filter->num_parts) return filter->num_parts > 0;
  }
  return false;
}

bool dot_filter_matches(const DotFilter *filter, Places *places, InstId id, Arena *scratch) {
  const Module *module = places->module;
  ArenaMark mark = arena_mark(scratch);
  bool is_match = false;
  switch (filter->kind) {
    case DOT_FILTER_NAME: is_match = str_equal(inst_name(module, id), filter->text); break;
    case DOT_FILTER_COMPUTATION:
      is_match = str_equal(comp_name(module, inst_get(module, id)->parent), filter->text);
      break;
    case DOT_FILTER_REGEX:
    case DOT_FILTER_SCOPE: {
      Str op_name = human_source_place(module, report_place(places, id, NO_ID), scratch).op_name;
      is_match = filter->kind == DOT_FILTER_SCOPE
                     ? is_in_scope(filter, op_name)
                     : has_match(filter, inst_name(module, id), scratch) ||
                           has_match(filter, op_name, scratch);
      break;
    }
    default: break;
  }
  arena_reset(scratch, mark);
  return is_match;
}

/* ---- the filter all: the largest buffers ---- */

static bool is_candidate(const DotPicture *picture, LogicalId buffer) {
  return dot_is_candidate(picture->module, &picture->points_to, picture->position, buffer);
}

static int64_t least_bytes(const DotPicture *picture) {
  return picture->memory->peak_bytes / DOT_SHARE_OF_PEAK;
}

static bool matters(const DotPicture *picture, LogicalId buffer) {
  return picture->points_to.buffers.data[buffer].bytes >= least_bytes(picture);
}

/* Returns true for parameters whose memory belongs to the caller. */
static bool is_param_of_caller(const DotPicture *picture, InstId id) {
  const Instruction *inst = inst_get(picture->module, id);
  return inst->opcode == OPCODE_PARAMETER &&
         (inst->parent != picture->module->entry || !picture->memory->counts_params);
}

/* Shows the readers of a buffer as long as there is room. If there are many, the first ones and the
 * last one are shown, because the buffer is live until the last one. */
static void show_readers(DotChoice *choice, LogicalId buffer, uint32_t max_nodes) {
  dot_readers_find(&choice->readers, buffer);
  uint32_t num_readers = choice->readers.list.len;
  for (uint32_t i = 0; i < num_readers && choice->picture->num_shown < max_nodes; i++) {
    bool is_last = i + 1 == num_readers;
    if (i + 1 < DOT_MAX_READERS || is_last)
      dot_show(choice->picture, choice->readers.list.data[i].inst);
  }
}

/* The instruction at the peak and the calls on the way to it are shown whatever their size. What
 * the instruction at the peak reads and what reads its result are shown too. */
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
  bool is_preferred; /* it is live at the peak, or rematerialization made it */
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

/* Selects large parameters of called computations that something shown reads. */
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

/* ---- instructions that a filter selects ---- */

/* An instruction that may be shown. */
typedef struct Wanted {
  int64_t bytes; /* larger ones come first */
  InstId inst;
} Wanted;

typedef struct WantedList {
  VEC(Wanted) list;
} WantedList;

typedef struct Selection {
  DotChoice *choice;
  const DotReads *reads;
  VEC(InstId) shown;     /* in the order in which they were chosen */
  WantedList neighbours; /* neighbours of one instruction */
  int64_t least_bytes;   /* smaller reads do not lead to a neighbour */
} Selection;

static void select_one(Selection *selection, InstId id) {
  DotChoice *choice = selection->choice;
  if (choice->picture->is_shown[id]) return;
  dot_show(choice->picture, id);
  *vec_push(choice->scratch, &selection->shown) = id;
}

static int by_bytes(const void *pa, const void *pb) {
  const Wanted *a = pa, *b = pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return (a->inst > b->inst) - (a->inst < b->inst);
}

static int64_t result_bytes(const DotPicture *picture, InstId id) {
  return result_device_bytes(picture->module, id);
}

static void want(Selection *selection, WantedList *wanted, InstId id, int64_t bytes) {
  *vec_push(selection->choice->scratch, &wanted->list) = (Wanted){bytes, id};
}

/* Shows what is wanted as long as fewer than `max_nodes` are shown. */
static void select_wanted(Selection *selection, const WantedList *wanted, uint32_t max_nodes) {
  for (uint32_t i = 0; i < wanted->list.len; i++) {
    if (selection->choice->picture->num_shown >= max_nodes) return;
    select_one(selection, wanted->list.data[i].inst);
  }
}

static void sort_wanted(WantedList *wanted) {
  if (wanted->list.len < 2) return;
  qsort(wanted->list.data, wanted->list.len, sizeof(Wanted), by_bytes);
}

/* Records the instructions that the filter selects. */
static void note_wanted(Selection *selection, const WantedList *wanted) {
  DotPicture *picture = selection->choice->picture;
  picture->num_wanted = wanted->list.len;
  for (uint32_t i = 0; i < wanted->list.len; i++) {
    picture->is_wanted[wanted->list.data[i].inst] = true;
    picture->num_wanted_shown += picture->is_shown[wanted->list.data[i].inst];
  }
}

/* ---- the peak ---- */

static void select_peak(Selection *selection) {
  const DotPicture *picture = selection->choice->picture;
  for (CompId comp = 0; comp < picture->module->comps.len; comp++) {
    SchedPos pos = picture->peak_position[comp];
    if (pos != NO_ID) select_one(selection, picture->schedule->of[comp].ids[pos]);
  }
}

/* Returns how many values are large; they are sorted, largest first. Without a threshold, these are
 * the values of at least a hundredth of all together, but always the few largest ones. */
static uint32_t num_large(const WantedList *values, int64_t min_bytes) {
  enum { SHARE = 100, LEAST_VALUES = 12 };
  int64_t sum = 0;
  uint32_t num = 0;
  for (uint32_t i = 0; i < values->list.len; i++)
    sum += values->list.data[i].bytes; /* the sum is at most the peak */
  for (; num < values->list.len; num++) {
    int64_t bytes = values->list.data[num].bytes;
    if (min_bytes >= 0 ? bytes <= min_bytes : num >= LEAST_VALUES && bytes < sum / SHARE) break;
  }
  return num;
}

/* Selects live values. Parameters are only selected if something large is made from them, because
 * they are live anyway. */
static WantedList find_live(Selection *selection) {
  WantedList live = {0};
  const DotPicture *picture = selection->choice->picture;
  for (InstId id = 0; id < picture->module->insts.len; id++) {
    bool is_param = inst_get(picture->module, id)->opcode == OPCODE_PARAMETER;
    if (is_param || picture->position[id] == NO_ID) continue;
    if (picture->live_bytes[id] > 0) want(selection, &live, id, picture->live_bytes[id]);
  }
  sort_wanted(&live);
  live.list.len = num_large(&live, selection->choice->options->min_bytes);
  return live;
}

/* Selects clones, largest first, each followed by its original. Helpers are next to their
 * clones. */
static WantedList find_rematerialized(Selection *selection) {
  const DotChoice *choice = selection->choice;
  const DotPicture *picture = choice->picture;
  WantedList clones = {0}, pairs = {0};
  if (!choice->marks) return pairs;
  for (InstId id = 0; id < picture->module->insts.len; id++) {
    if (picture->position[id] == NO_ID) continue;
    uint8_t kind = choice->marks[id].kind;
    if (kind != REMAT_KIND_CLONE && kind != REMAT_KIND_MOVED) continue;
    want(selection, &clones, id, result_bytes(picture, id));
  }
  sort_wanted(&clones);
  for (uint32_t i = 0; i < clones.list.len; i++) {
    Wanted clone = clones.list.data[i];
    want(selection, &pairs, clone.inst, clone.bytes);
    InstId original = picture->original_of[clone.inst];
    if (original != NO_ID) want(selection, &pairs, original, clone.bytes);
  }
  return pairs;
}

/* ---- neighbours ---- */

static void select_sources(Selection *selection, InstId id, uint32_t max_nodes) {
  const DotReads *reads = selection->reads;
  WantedList *wanted = &selection->neighbours;
  wanted->list.len = 0;
  for (uint32_t i = reads->first_source[id]; i < reads->first_source[id + 1]; i++) {
    const DotRead *read = &reads->list.data[reads->sources[i]];
    if (read->bytes >= selection->least_bytes) want(selection, wanted, read->from, read->bytes);
  }
  sort_wanted(wanted);
  if (wanted->list.len > DOT_MAX_READERS) wanted->list.len = DOT_MAX_READERS;
  select_wanted(selection, wanted, max_nodes);
}

static int by_position(const void *pa, const void *pb) {
  const Wanted *a = pa, *b = pb; /* `bytes` holds positions */
  return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* If there are many readers, the first ones and the last one are shown, because the value is live
 * until the last one. */
static void select_readers(Selection *selection, InstId id, uint32_t max_nodes) {
  const DotReads *reads = selection->reads;
  WantedList *wanted = &selection->neighbours;
  const SchedPos *position = selection->choice->picture->position;
  wanted->list.len = 0;
  for (uint32_t i = 0; i < reads->num[id]; i++) {
    const DotRead *read = &reads->list.data[reads->first[id] + i];
    if (read->bytes >= selection->least_bytes)
      want(selection, wanted, read->to, position[read->to]);
  }
  uint32_t num = wanted->list.len;
  if (num > 1) qsort(wanted->list.data, num, sizeof(Wanted), by_position);
  if (num > DOT_MAX_READERS) {
    wanted->list.data[DOT_MAX_READERS - 1] = wanted->list.data[num - 1];
    wanted->list.len = DOT_MAX_READERS;
  }
  select_wanted(selection, wanted, max_nodes);
}

/* Shows producers and readers of what is shown, one level at a time. */
static void select_neighbours(Selection *selection) {
  const DotOptions *options = selection->choice->options;
  uint32_t begin = 0;
  for (uint32_t hop = 0; hop < options->num_hops && begin < selection->shown.len; hop++) {
    uint32_t end = selection->shown.len;
    for (uint32_t i = begin; i < end; i++) {
      select_sources(selection, selection->shown.data[i], options->max_nodes);
      select_readers(selection, selection->shown.data[i], options->max_nodes);
    }
    begin = end;
  }
}

/* ---- the selection ---- */

static void select_around_peak(Selection *selection) {
  uint32_t max_nodes = selection->choice->options->max_nodes;
  select_peak(selection);
  WantedList live = find_live(selection);
  WantedList rematerialized = find_rematerialized(selection);
  select_wanted(selection, &live, max_nodes / 2);
  select_wanted(selection, &rematerialized, max_nodes - max_nodes / 4);
  select_neighbours(selection);
  select_wanted(selection, &live, max_nodes);
  select_wanted(selection, &rematerialized, max_nodes);
  note_wanted(selection, &live);
}

static void select_matches(Selection *selection) {
  DotChoice *choice = selection->choice;
  const DotPicture *picture = choice->picture;
  uint32_t max_nodes = choice->options->max_nodes;
  WantedList matches = {0};
  for (InstId id = 0; id < picture->module->insts.len; id++) {
    if (picture->position[id] == NO_ID) continue;
    int64_t bytes = result_bytes(picture, id);
    if (choice->options->min_bytes >= 0 && bytes <= choice->options->min_bytes) continue;
    if (dot_filter_matches(&choice->options->filter, choice->places, id, choice->scratch)) {
      want(selection, &matches, id, bytes);
    }
  }
  sort_wanted(&matches);
  select_wanted(selection, &matches, max_nodes - max_nodes / 4);
  select_neighbours(selection);
  select_wanted(selection, &matches, max_nodes);
  note_wanted(selection, &matches);
}

void dot_select(DotChoice *choice, const DotReads *reads) {
  const DotPicture *picture = choice->picture;
  Selection selection = {.choice = choice, .reads = reads};
  if (choice->options->filter.kind == DOT_FILTER_PEAK) {
    bool is_given = choice->options->min_bytes >= 0;
    selection.least_bytes =
        is_given ? choice->options->min_bytes : picture->memory->peak_bytes / DOT_SHARE_OF_PEAK;
    select_around_peak(&selection);
  } else {
    select_matches(&selection);
  }
  /* Chooses all buffers whose edges connect shown instructions. */
  for (LogicalId id = 0; id < picture->points_to.buffers.len; id++) {
    if (!dot_is_candidate(picture->module, &picture->points_to, picture->position, id)) continue;
    if (picture->is_shown[picture->points_to.buffers.data[id].inst]) dot_choose_buffer(choice, id);
  }
}
