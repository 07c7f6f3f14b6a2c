/* Buffers are what is chosen; who defines and who reads them follows. The points-to analysis knows
 * both, through tuples. */
#include "emit/dot_picture.h"

#include <stdlib.h>

typedef struct Reader {
  SchedPos pos;
  InstId inst;
} Reader;

typedef struct Builder {
  DotPicture *picture;
  const DotOptions *options;
  LogicalId *stamp; /* by InstId: one more than the last buffer that it was found to read */
  VEC(Reader) readers;
  VEC(LogicalId) buffers; /* that were chosen */
  bool *is_chosen;        /* by LogicalId: is among them */
  Arena *out;
  Arena *scratch;
} Builder;

/* ---- where everything stands ---- */

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

/* The call of a computation that needs most memory; NO_ID for the entry. */
static InstId hottest_caller(const DotPicture *picture, CompId comp) {
  const CallGraph *graph = &picture->graph;
  InstId hottest = NO_ID;
  for (uint32_t i = graph->first_caller[comp]; i < graph->first_caller[comp + 1]; i++) {
    InstId caller = graph->callers[i];
    if (picture->position[caller] == NO_ID) continue;
    if (hottest == NO_ID || picture->memory_at[caller] > picture->memory_at[hottest]) {
      hottest = caller;
    }
  }
  return hottest;
}

/* Of what a computation's instructions need, by CompId. */
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

/* What a computation's callers hold while it runs. A model that counts parameters counts the whole
 * module at each moment. xla-remat counts a computation by itself: its callers hold what the call
 * needs beyond its callees, and around the entry there are the outputs. */
static int64_t held_bytes(const DotPicture *picture, CompId comp, const int64_t *peaks) {
  if (comp == picture->module->entry) return picture->memory->peak_bytes - peaks[comp];
  InstId caller = hottest_caller(picture, comp);
  if (caller == NO_ID || picture->memory->counts_params) return 0;
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
  const MemoryProfile *memory = picture->memory;
  picture->peak_position = arena_array(out, SchedPos, picture->module->comps.len);
  for (CompId comp = 0; comp < picture->module->comps.len; comp++) {
    picture->peak_position[comp] = NO_ID;
  }
  picture->is_live_at_peak = arena_zarray(out, bool, picture->module->insts.len);
  LiveSet live = model->live_at_peak(picture->module, picture->schedule, out, scratch);
  for (uint32_t i = 0; i < live.len; i++)
    picture->is_live_at_peak[live.list[i].inst] = true;
  /* Nothing calls itself, so this ends. */
  for (InstId id = memory->peak_inst; id != NO_ID && picture->position[id] != NO_ID;) {
    CompId comp = inst_get(picture->module, id)->parent;
    picture->peak_position[comp] = picture->position[id];
    id = hottest_caller(picture, comp);
  }
}

/* ---- readers ---- */

/* Instructions that only pass buffers on, or name them. */
static bool is_see_through(const Module *module, InstId id) {
  switch (inst_get(module, id)->opcode) {
    case OPCODE_TUPLE: return !inst_is_root(module, id);
    case OPCODE_GET_TUPLE_ELEMENT:
    case OPCODE_BITCAST:
    case OPCODE_OPT_BARRIER:
    case OPCODE_DOMAIN:
    case OPCODE_ADD_DEPENDENCY: return true;
    default: return false;
  }
}

static void add_reader(Builder *builder, LogicalId buffer, InstId reader) {
  if (builder->stamp[reader] == buffer + 1) return;
  builder->stamp[reader] = buffer + 1;
  SchedPos pos = builder->picture->position[reader];
  *vec_push(builder->scratch, &builder->readers) = (Reader){pos, reader};
}

static int by_position(const void *pa, const void *pb) {
  const Reader *a = pa, *b = pb;
  return (a->pos > b->pos) - (a->pos < b->pos);
}

/* Fills builder->readers, in the order of the schedule, with who reads a buffer through whatever
 * passes it on. The root of a computation reads what the computation returns. */
static void find_readers(Builder *builder, LogicalId buffer) {
  const DotPicture *picture = builder->picture;
  const Module *module = picture->module;
  const PointsTo *points_to = &picture->points_to;
  InstId definer = points_to->buffers.data[buffer].inst;
  builder->readers.len = 0;
  for (uint32_t i = points_to->first_alias[buffer]; i < points_to->first_alias[buffer + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    if (alias.inst != definer && inst_is_root(module, alias.inst)) {
      add_reader(builder, buffer, alias.inst);
    }
    IdList users = inst_get(module, alias.inst)->users;
    for (uint32_t k = 0; k < users.len; k++) {
      InstId user = id_list(module, users)[k];
      if (is_see_through(module, user)) continue;
      if (points_to_is_unused_by(module, points_to, alias.inst, alias.part, user)) continue;
      add_reader(builder, buffer, user);
    }
  }
  if (builder->readers.len > 1) {
    qsort(builder->readers.data, builder->readers.len, sizeof(Reader), by_position);
  }
}

/* ---- choice ---- */

enum {
  MAX_READERS = 6,            /* of one buffer, when the picture chooses */
  LEAST_SHARE_OF_PEAK = 1000, /* smaller than this part of the peak, a buffer does not matter */
};

static void show(DotPicture *picture, InstId id) {
  picture->num_shown += !picture->is_shown[id];
  picture->is_shown[id] = true;
}

static void choose_buffer(Builder *builder, LogicalId buffer) {
  if (builder->is_chosen[buffer]) return;
  builder->is_chosen[buffer] = true;
  *vec_push(builder->scratch, &builder->buffers) = buffer;
}

static bool is_candidate(const DotPicture *picture, LogicalId buffer) {
  const LogicalBuffer *found = &picture->points_to.buffers.data[buffer];
  return found->bytes > 0 && picture->position[found->inst] != NO_ID &&
         inst_get(picture->module, found->inst)->opcode != OPCODE_TUPLE;
}

static int64_t least_bytes(const DotPicture *picture) {
  return picture->memory->peak_bytes / LEAST_SHARE_OF_PEAK;
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
static void show_readers(Builder *builder, LogicalId buffer, uint32_t max_nodes) {
  find_readers(builder, buffer);
  uint32_t num_readers = builder->readers.len;
  for (uint32_t i = 0; i < num_readers && builder->picture->num_shown < max_nodes; i++) {
    bool is_last = i + 1 == num_readers;
    if (i + 1 < MAX_READERS || is_last) show(builder->picture, builder->readers.data[i].inst);
  }
}

/* The peak and the calls that lead to it are shown whatever their size; of the peak what it reads,
 * too, and who reads it. */
static void choose_peak(Builder *builder) {
  DotPicture *picture = builder->picture;
  const Module *module = picture->module;
  const PointsTo *points_to = &picture->points_to;
  uint32_t max_nodes = builder->options->min_bytes < 0 ? builder->options->max_nodes : UINT32_MAX;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    SchedPos pos = picture->peak_position[comp];
    if (pos != NO_ID) show(picture, picture->schedule->of[comp].ids[pos]);
  }
  InstId peak = picture->memory->peak_inst;
  if (peak == NO_ID || picture->position[peak] == NO_ID) return;
  for (uint32_t i = 0; i < inst_get(module, peak)->num_operands; i++) {
    LogicalId buffer = points_to_part(points_to, inst_operand(module, peak, i), 0);
    if (!is_candidate(picture, buffer) || !matters(picture, buffer)) continue;
    show(picture, points_to->buffers.data[buffer].inst);
    choose_buffer(builder, buffer);
  }
  for (uint32_t i = 0; i < points_to->num_defined[peak]; i++) {
    LogicalId buffer = points_to->first_buffer[peak] + i;
    if (!is_candidate(picture, buffer) || !matters(picture, buffer)) continue;
    choose_buffer(builder, buffer);
    show_readers(builder, buffer, max_nodes);
  }
}

static void choose_by_size(Builder *builder) {
  DotPicture *picture = builder->picture;
  for (LogicalId id = 0; id < picture->points_to.buffers.len; id++) {
    const LogicalBuffer *buffer = &picture->points_to.buffers.data[id];
    if (!is_candidate(picture, id) || buffer->bytes <= builder->options->min_bytes) continue;
    choose_buffer(builder, id);
    show(picture, buffer->inst);
    find_readers(builder, id);
    for (uint32_t i = 0; i < builder->readers.len; i++) {
      show(picture, builder->readers.data[i].inst);
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

static Candidates sort_candidates(Builder *builder, RematMarks marks) {
  const DotPicture *picture = builder->picture;
  Candidates candidates = {0};
  for (LogicalId id = 0; id < picture->points_to.buffers.len; id++) {
    const LogicalBuffer *buffer = &picture->points_to.buffers.data[id];
    if (!is_candidate(picture, id) || !matters(picture, id)) continue;
    if (is_param_of_caller(picture, buffer->inst)) continue;
    bool is_marked = marks && marks[buffer->inst].kind != REMAT_KIND_NONE;
    *vec_push(builder->scratch, &candidates.list) =
        (Candidate){buffer->bytes, is_marked || picture->is_live_at_peak[buffer->inst], id};
  }
  if (candidates.list.len) {
    qsort(candidates.list.data, candidates.list.len, sizeof(Candidate), by_importance);
  }
  return candidates;
}

/* Large parameters of called computations, where something that is shown reads them. */
static void choose_params(Builder *builder) {
  DotPicture *picture = builder->picture;
  for (LogicalId id = 0; id < picture->points_to.buffers.len; id++) {
    const LogicalBuffer *buffer = &picture->points_to.buffers.data[id];
    const Instruction *inst = inst_get(picture->module, buffer->inst);
    bool is_param = inst->opcode == OPCODE_PARAMETER && inst->parent != picture->module->entry;
    if (!is_param || !is_candidate(picture, id) || buffer->bytes < picture->shown_bytes) continue;
    find_readers(builder, id);
    bool has_reader = false;
    for (uint32_t i = 0; i < builder->readers.len; i++) {
      has_reader |= picture->is_shown[builder->readers.data[i].inst];
    }
    if (!has_reader) continue;
    choose_buffer(builder, id);
    show(picture, buffer->inst);
  }
}

static void choose_largest(Builder *builder, RematMarks marks) {
  DotPicture *picture = builder->picture;
  uint32_t max_nodes = builder->options->max_nodes;
  Candidates candidates = sort_candidates(builder, marks);
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
    choose_buffer(builder, candidate.buffer);
    show(picture, definer);
    show_readers(builder, candidate.buffer, max_nodes);
  }
  choose_params(builder);
}

/* ---- edges ---- */

static int by_id(const void *pa, const void *pb) {
  const LogicalId *a = pa, *b = pb;
  return (*a > *b) - (*a < *b);
}

static bool crosses_peak(const DotPicture *picture, InstId from, InstId to) {
  SchedPos peak = picture->peak_position[inst_get(picture->module, from)->parent];
  return peak != NO_ID && picture->is_live_at_peak[from] && picture->position[from] <= peak &&
         picture->position[to] >= peak;
}

/* Where the latest edge to an instruction is, and from which instruction readers were left out
 * last. */
typedef struct Latest {
  uint32_t *edge_to;
  InstId *left_out_by;
} Latest;

static void add_edge(Builder *builder, Latest *latest, DotEdge edge) {
  DotPicture *picture = builder->picture;
  if (!picture->is_shown[edge.to]) {
    picture->num_left_out[edge.from] += latest->left_out_by[edge.to] != edge.from;
    latest->left_out_by[edge.to] = edge.from;
    return;
  }
  uint32_t index = latest->edge_to[edge.to];
  if (index == NO_ID || picture->edges.data[index].from != edge.from) {
    index = latest->edge_to[edge.to] = picture->edges.len;
    edge.crosses_peak = crosses_peak(picture, edge.from, edge.to);
    *vec_push(builder->out, &picture->edges) = edge;
  } else {
    picture->edges.data[index].bytes += edge.bytes;
  }
}

static void add_edges(Builder *builder) {
  DotPicture *picture = builder->picture;
  uint32_t num_insts = picture->module->insts.len;
  Latest latest = {.edge_to = arena_array(builder->scratch, uint32_t, num_insts),
                   .left_out_by = arena_array(builder->scratch, InstId, num_insts)};
  for (InstId id = 0; id < num_insts; id++)
    latest.edge_to[id] = latest.left_out_by[id] = NO_ID;
  /* Buffers of one instruction stand together: their edges to one reader become one. */
  if (builder->buffers.len) {
    qsort(builder->buffers.data, builder->buffers.len, sizeof(LogicalId), by_id);
  }
  for (uint32_t i = 0; i < builder->buffers.len; i++) {
    LogicalId id = builder->buffers.data[i];
    const LogicalBuffer *buffer = &picture->points_to.buffers.data[id];
    find_readers(builder, id);
    for (uint32_t k = 0; k < builder->readers.len; k++) {
      add_edge(builder, &latest,
               (DotEdge){buffer->inst, builder->readers.data[k].inst, buffer->bytes, false});
    }
  }
}

/* A call is shown where something of its computation is. */
static void show_callers(DotPicture *picture) {
  for (uint32_t i = 0; i < picture->graph.num_reachable; i++) { /* callees before callers */
    CompId comp = picture->graph.post_order[i];
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    Sequence sequence = picture->schedule->of[comp];
    bool has_shown = false;
    for (SchedPos pos = 0; pos < sequence.len && !has_shown; pos++) {
      has_shown = picture->is_shown[sequence.ids[pos]];
    }
    InstId caller = has_shown ? hottest_caller(picture, comp) : NO_ID;
    if (caller != NO_ID) show(picture, caller);
  }
}

DotPicture dot_picture_build(const Module *module, const Schedule *schedule,
                             const MemoryProfile *memory, RematMarks marks,
                             const DotOptions *options, Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  DotPicture picture = {.module = module, .schedule = schedule, .memory = memory};
  picture.graph = call_graph_build(module, out, scratch);
  picture.points_to = points_to_build(module, out, scratch);
  picture.is_shown = arena_zarray(out, bool, num_insts);
  picture.num_left_out = arena_zarray(out, uint32_t, num_insts);
  find_positions(&picture, out);
  find_memory(&picture, out, scratch);
  find_peak(&picture, options->model, out, scratch);

  ArenaMark mark = arena_mark(scratch);
  Builder builder = {.picture = &picture,
                     .options = options,
                     .stamp = arena_zarray(scratch, LogicalId, num_insts),
                     .is_chosen = arena_zarray(scratch, bool, picture.points_to.buffers.len),
                     .out = out,
                     .scratch = scratch};
  choose_peak(&builder);
  if (options->min_bytes < 0) {
    choose_largest(&builder, marks);
  } else {
    choose_by_size(&builder);
  }
  show_callers(&picture);
  memset(builder.stamp, 0, num_insts * sizeof *builder.stamp);
  add_edges(&builder);
  arena_reset(scratch, mark);
  return picture;
}
