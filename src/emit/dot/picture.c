/* Computes the positions of all instructions and the memory at each of them. select.c determines
 * what is shown, and edges.c adds the edges. */
#include "emit/dot/picture.h"

#include <stdlib.h>

#include "analysis/memory/liveness.h"
#include "ir/hash.h"

/* ---- positions and memory ---- */

static void find_positions(DotPicture *picture, Arena *out) {
  uint32_t num_insts = picture->module->insts.len;
  picture->position = arena_array(out, SchedPos, num_insts);
  for (InstId id = 0; id < num_insts; id++)
    picture->position[id] = NO_ID;
  for (uint32_t i = 0; i < picture->graph.num_reachable; i++) {
    CompId comp = picture->graph.post_order[i];
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    Sequence sequence = picture->schedule->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++)
      picture->position[sequence.ids[pos]] = pos;
    picture->num_insts += sequence.len;
  }
}

/* Returns, by CompId, the largest memory at an instruction of each computation. */
static int64_t *find_peaks(const DotPicture *picture, Arena *out) {
  int64_t *peaks = arena_zarray(out, int64_t, picture->module->comps.len);
  for (CompId comp = 0; comp < picture->module->comps.len; comp++) {
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    Sequence sequence = picture->schedule->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      int64_t bytes = picture->memory->bytes_at[sequence.ids[pos]];
      if (bytes > peaks[comp]) peaks[comp] = bytes;
    }
  }
  return peaks;
}

/* Returns the memory that a model counts at no instruction: outputs, or the gaps between buffers.
 * In a model with one timeline for the whole module, the peak can be in any computation; in others
 * it is at a call in the entry. */
static int64_t held_always(const DotPicture *picture, const int64_t *peaks) {
  int64_t largest = peaks[picture->module->entry];
  for (CompId comp = 0; picture->memory->is_flat && comp < picture->module->comps.len; comp++) {
    if (peaks[comp] > largest) largest = peaks[comp];
  }
  return picture->memory->peak_bytes - largest;
}

/* Returns the memory that is held by callers while a computation runs. Models that are not flat
 * count a computation alone. In these, the callers hold what the call needs in addition to its
 * callees. */
static int64_t held_bytes(const DotPicture *picture, CompId comp, const int64_t *peaks) {
  bool is_whole = picture->memory->is_flat || comp == picture->module->entry;
  if (is_whole) return held_always(picture, peaks);
  InstId caller = picture->calls.caller[comp];
  if (caller == NO_ID) return 0;
  int64_t bytes = picture->memory_at[caller];
  for (uint32_t i = 0; i < inst_get(picture->module, caller)->num_callees; i++) {
    bytes -= peaks[inst_callees(picture->module, caller)[i]];
  }
  return bytes;
}

static void find_memory(DotPicture *picture, Arena *out, Arena *scratch) {
  picture->memory_at = arena_zarray(out, int64_t, picture->module->insts.len);
  picture->least_memory = picture->memory->peak_bytes;
  ArenaMark mark = arena_mark(scratch);
  int64_t *peaks = find_peaks(picture, scratch);
  for (uint32_t i = picture->graph.num_reachable; i-- > 0;) { /* callers before callees */
    CompId comp = picture->graph.post_order[i];
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    int64_t held = held_bytes(picture, comp, peaks);
    Sequence sequence = picture->schedule->of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      int64_t bytes = picture->memory->bytes_at[sequence.ids[pos]];
      if (bytes < 0) continue;
      picture->memory_at[sequence.ids[pos]] = bytes += held;
      if (bytes < picture->least_memory) picture->least_memory = bytes;
    }
  }
  arena_reset(scratch, mark);
}

static void find_peak(DotPicture *picture, const MemoryModel *model, Arena *out, Arena *scratch) {
  picture->peak_position = arena_array(out, SchedPos, picture->module->comps.len);
  for (CompId comp = 0; comp < picture->module->comps.len; comp++) {
    picture->peak_position[comp] = NO_ID;
  }
  picture->is_live_at_peak = arena_zarray(out, bool, picture->module->insts.len);
  picture->live_bytes = arena_zarray(out, int64_t, picture->module->insts.len);
  LiveSet live;
  model->measure(picture->module, picture->schedule, &live, out, scratch);
  for (uint32_t i = 0; i < live.len; i++) {
    picture->is_live_at_peak[live.list[i].inst] = true;
    picture->live_bytes[live.list[i].inst] += live.list[i].bytes;
    picture->all_live_bytes += live.list[i].bytes;
  }
  CallChain chain =
      call_memory_chain(&picture->calls, picture->module, picture->memory->peak_inst, out);
  for (uint32_t i = 0; i < chain.len; i++) {
    CompId comp = inst_get(picture->module, chain.ids[i])->parent;
    picture->peak_position[comp] = picture->position[chain.ids[i]];
  }
}

/* Finds the instruction that each clone recomputes, by its name. */
static void find_originals(DotPicture *picture, RematMarks marks, Arena *out, Arena *scratch) {
  const Module *module = picture->module;
  uint32_t num_insts = module->insts.len;
  picture->original_of = arena_array(out, InstId, num_insts);
  memset(picture->original_of, 0xff, num_insts * sizeof *picture->original_of);
  if (!marks) return;
  ArenaMark mark = arena_mark(scratch);
  IdTable names = {0};
  for (InstId id = 0; id < num_insts; id++) {
    if (picture->position[id] == NO_ID) continue;
    id_table_add(&names, scratch, hash_str(inst_name(module, id)), id);
  }
  for (InstId id = 0; id < num_insts; id++) {
    if (marks[id].kind != REMAT_KIND_CLONE) continue;
    Str original = marks[id].original;
    InstId found;
    for (IdProbe probe = id_table_probe(&names, hash_str(original));
         id_probe_next(&probe, &found);) {
      if (!str_equal(inst_name(module, found), original)) continue;
      if (inst_get(module, found)->parent == inst_get(module, id)->parent) {
        picture->original_of[id] = found;
      }
    }
  }
  arena_reset(scratch, mark);
}

/* ---- the picture ---- */

/* A call is shown if an instruction of its computation is shown. */
static void show_callers(DotPicture *picture) {
  for (uint32_t i = 0; i < picture->graph.num_reachable; i++) { /* callees before callers */
    CompId comp = picture->graph.post_order[i];
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    Sequence sequence = picture->schedule->of[comp];
    bool has_shown = false;
    for (SchedPos pos = 0; pos < sequence.len && !has_shown; pos++) {
      has_shown = picture->is_shown[sequence.ids[pos]];
    }
    InstId caller = has_shown ? picture->calls.caller[comp] : NO_ID;
    if (caller != NO_ID) dot_show(picture, caller);
  }
}

static void choose(DotPicture *picture, RematMarks marks, const DotOptions *options, Arena *out,
                   Arena *scratch) {
  const Module *module = picture->module;
  DotChoice choice = {
      .picture = picture,
      .options = options,
      .marks = marks,
      .readers = dot_readers_new(module, &picture->points_to, picture->position, scratch),
      .is_chosen = arena_zarray(scratch, bool, picture->points_to.buffers.len),
      .scratch = scratch};
  if (options->filter.kind == DOT_FILTER_ALL) {
    dot_select_by_size(&choice);
    show_callers(picture);
    dot_edges_add(&choice, out);
    return;
  }
  Arena *inner = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, scratch, inner);
  Places places = places_new(module, &values, scratch);
  DotReads reads = dot_reads_build(module, &picture->points_to, picture->position, scratch, inner);
  choice.places = &places;
  dot_select(&choice, &reads);
  show_callers(picture);
  dot_edges_add(&choice, out);
  dot_paths_add(picture, &reads, out, inner);
  dot_scopes_find(picture, &places, out, inner);
  arena_free(inner);
}

DotPicture dot_picture_build(const Module *module, const Schedule *schedule,
                             const MemoryProfile *memory, RematMarks marks,
                             const DotOptions *options, Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  DotPicture picture = {.module = module, .schedule = schedule, .memory = memory};
  picture.is_about_peak = options->filter.kind == DOT_FILTER_PEAK;
  picture.graph = call_graph_build(module, out, scratch);
  picture.points_to = points_to_build(module, out, scratch);
  picture.is_shown = arena_zarray(out, bool, num_insts);
  picture.is_wanted = arena_zarray(out, bool, num_insts);
  picture.num_left_out = arena_zarray(out, uint32_t, num_insts);
  picture.calls = call_memory_of(memory, module, schedule, out, scratch);
  find_positions(&picture, out);
  find_memory(&picture, out, scratch);
  find_peak(&picture, options->model, out, scratch);
  find_originals(&picture, marks, out, scratch);
  ArenaMark mark = arena_mark(scratch);
  choose(&picture, marks, options, out, scratch);
  arena_reset(scratch, mark);
  return picture;
}
