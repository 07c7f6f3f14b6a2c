#include "emit/dot/select.h"

#include <stdlib.h>

#include "analysis/memory/remat_memory.h"

/* An instruction that might be shown. */
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
  WantedList neighbours; /* of one of them */
  int64_t least_bytes;   /* an edge of fewer does not lead to a neighbour */
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
  return shape_total_bytes(&picture->module->shapes, inst_get(picture->module, id)->shape);
}

static void want(Selection *selection, WantedList *wanted, InstId id, int64_t bytes) {
  *vec_push(selection->choice->scratch, &wanted->list) = (Wanted){bytes, id};
}

/* Shows what is wanted as long as there are fewer than `max_nodes`. */
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

/* Says which instructions the picture is about. */
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

/* Of values, largest first: without a threshold those of a hundredth of them all, and the few
 * largest ones in any case. */
static uint32_t num_large(const WantedList *values, int64_t min_bytes) {
  enum { SHARE = 100, LEAST_VALUES = 12 };
  int64_t sum = 0;
  uint32_t num = 0;
  for (uint32_t i = 0; i < values->list.len; i++)
    sum += values->list.data[i].bytes; /* no more than the peak */
  for (; num < values->list.len; num++) {
    int64_t bytes = values->list.data[num].bytes;
    if (min_bytes >= 0 ? bytes <= min_bytes : num >= LEAST_VALUES && bytes < sum / SHARE) break;
  }
  return num;
}

/* Of parameters only those that something large is made of are shown: they are there anyway. */
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

/* Largest clones first, each with its original behind it; helpers are where their clones are. */
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
  const Wanted *a = pa, *b = pb; /* positions instead of bytes */
  return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* Of many the first, and the last, until which the value lives. */
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

/* Steps of producers and readers away from what is shown. */
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

/* ---- all together ---- */

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
  /* All edges between what is shown. */
  for (LogicalId id = 0; id < picture->points_to.buffers.len; id++) {
    if (!dot_is_candidate(picture->module, &picture->points_to, picture->position, id)) continue;
    if (picture->is_shown[picture->points_to.buffers.data[id].inst]) dot_choose_buffer(choice, id);
  }
}
