/* Finds the readers of buffers, through tuples and other instructions that only forward buffers,
 * and adds the edges of a picture. An edge replaces a path through instructions that are not
 * shown. */
#include <stdlib.h>

#include "emit/dot/picture.h"
#include "ir/rows.h"
#include "ir/sort.h"

/* ---- the readers of a buffer ---- */

/* Returns true for instructions that only forward buffers or name them. */
static bool is_see_through(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  if (opcode == OPCODE_TUPLE && inst_is_root(module, id)) return false;
  return opcode_only_passes_on(opcode);
}

DotReaders dot_readers_new(const Module *module, const PointsTo *points_to,
                           const SchedPos *position, Arena *scratch) {
  return (DotReaders){.module = module,
                      .points_to = points_to,
                      .position = position,
                      .stamp = arena_zarray(scratch, LogicalId, module->insts.len),
                      .scratch = scratch};
}

static void add_reader(DotReaders *readers, LogicalId buffer, InstId reader) {
  if (readers->stamp[reader] == buffer + 1) return;
  readers->stamp[reader] = buffer + 1;
  *vec_push(readers->scratch, &readers->list) = (DotReader){readers->position[reader], reader};
}

static int by_position(const void *pa, const void *pb) {
  const DotReader *a = pa, *b = pb;
  return (a->pos > b->pos) - (a->pos < b->pos);
}

void dot_readers_find(DotReaders *readers, LogicalId buffer) {
  const Module *module = readers->module;
  const PointsTo *points_to = readers->points_to;
  InstId definer = points_to->buffers.data[buffer].inst;
  readers->list.len = 0;
  for (uint32_t i = points_to->first_alias[buffer]; i < points_to->first_alias[buffer + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    if (alias.inst != definer && inst_is_root(module, alias.inst)) {
      add_reader(readers, buffer, alias.inst);
    }
    IdList users = inst_get(module, alias.inst)->users;
    for (uint32_t k = 0; k < users.len; k++) {
      InstId user = id_list(module, users)[k];
      if (is_see_through(module, user)) continue;
      if (points_to_is_unused_by(module, points_to, alias.inst, alias.part, user)) continue;
      add_reader(readers, buffer, user);
    }
  }
  if (readers->list.len > 1) {
    qsort(readers->list.data, readers->list.len, sizeof(DotReader), by_position);
  }
}

bool dot_is_candidate(const Module *module, const PointsTo *points_to, const SchedPos *position,
                      LogicalId buffer) {
  const LogicalBuffer *found = &points_to->buffers.data[buffer];
  return found->bytes > 0 && position[found->inst] != NO_ID &&
         inst_get(module, found->inst)->opcode != OPCODE_TUPLE;
}

/* ---- all reads of a module ---- */

static void group_by_reader(DotReads *reads, uint32_t num_insts, Arena *out) {
  RowItems items = {0};
  for (uint32_t i = 0; i < reads->list.len; i++)
    *vec_push(out, &items) = (RowItem){reads->list.data[i].to, i};
  Rows rows = rows_build(&items, num_insts, out);
  reads->first_source = rows.first;
  reads->sources = rows.ids;
}

DotReads dot_reads_build(const Module *module, const PointsTo *points_to, const SchedPos *position,
                         Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  DotReads reads = {.first = arena_zarray(out, uint32_t, num_insts),
                    .num = arena_zarray(out, uint32_t, num_insts)};
  ArenaMark mark = arena_mark(scratch);
  DotReaders readers = dot_readers_new(module, points_to, position, scratch);
  uint32_t *latest = arena_array(scratch, uint32_t, num_insts); /* edge to it */
  memset(latest, 0xff, num_insts * sizeof *latest);
  for (LogicalId id = 0; id < points_to->buffers.len; id++) {
    if (!dot_is_candidate(module, points_to, position, id)) continue;
    const LogicalBuffer *buffer = &points_to->buffers.data[id];
    dot_readers_find(&readers, id);
    if (reads.num[buffer->inst] == 0) reads.first[buffer->inst] = reads.list.len;
    for (uint32_t i = 0; i < readers.list.len; i++) {
      InstId to = readers.list.data[i].inst;
      if (latest[to] != NO_ID && reads.list.data[latest[to]].from == buffer->inst) {
        reads.list.data[latest[to]].bytes += buffer->bytes;
        continue;
      }
      latest[to] = reads.list.len;
      *vec_push(out, &reads.list) = (DotRead){buffer->inst, to, buffer->bytes};
      reads.num[buffer->inst]++;
    }
  }
  group_by_reader(&reads, num_insts, out);
  arena_reset(scratch, mark);
  return reads;
}

/* ---- edges from instructions to readers ---- */

static bool crosses_peak(const DotPicture *picture, InstId from, InstId to) {
  SchedPos peak = picture->peak_position[inst_get(picture->module, from)->parent];
  return peak != NO_ID && picture->is_live_at_peak[from] && picture->position[from] <= peak &&
         picture->position[to] >= peak;
}

/* The latest edge to each instruction, and the instruction for which a reader was last counted as
 * omitted. */
typedef struct Latest {
  uint32_t *edge_to;
  InstId *left_out_by;
} Latest;

static void add_edge(DotPicture *picture, Arena *out, Latest *latest, DotEdge edge) {
  if (!picture->is_shown[edge.to]) {
    picture->num_left_out[edge.from] += latest->left_out_by[edge.to] != edge.from;
    latest->left_out_by[edge.to] = edge.from;
    return;
  }
  uint32_t index = latest->edge_to[edge.to];
  if (index == NO_ID || picture->edges.data[index].from != edge.from) {
    index = latest->edge_to[edge.to] = picture->edges.len;
    edge.crosses_peak = crosses_peak(picture, edge.from, edge.to);
    *vec_push(out, &picture->edges) = edge;
  } else {
    picture->edges.data[index].bytes += edge.bytes;
  }
}

void dot_edges_add(DotChoice *choice, Arena *out) {
  DotPicture *picture = choice->picture;
  uint32_t num_insts = picture->module->insts.len;
  Latest latest = {.edge_to = arena_array(choice->scratch, uint32_t, num_insts),
                   .left_out_by = arena_array(choice->scratch, InstId, num_insts)};
  for (InstId id = 0; id < num_insts; id++)
    latest.edge_to[id] = latest.left_out_by[id] = NO_ID;
  memset(choice->readers.stamp, 0, num_insts * sizeof *choice->readers.stamp);
  /* The buffers of one instruction are adjacent, so that their edges to one reader become one
   * edge. */
  sort_numbers(choice->buffers.data, choice->buffers.len);
  for (uint32_t i = 0; i < choice->buffers.len; i++) {
    LogicalId id = choice->buffers.data[i];
    const LogicalBuffer *buffer = &picture->points_to.buffers.data[id];
    dot_readers_find(&choice->readers, id);
    for (uint32_t k = 0; k < choice->readers.list.len; k++) {
      add_edge(picture, out, &latest,
               (DotEdge){.from = buffer->inst,
                         .to = choice->readers.list.data[k].inst,
                         .bytes = buffer->bytes});
    }
  }
}

/* ---- paths through hidden instructions ---- */

/* Sets of the shown instructions of a computation, as bits in the order of the schedule. */
typedef struct Paths {
  DotPicture *picture;
  const DotReads *reads;
  InstId *shown;
  uint32_t num_shown;
  uint32_t num_words;
  uint32_t *index;    /* by InstId: index in `shown` */
  uint64_t **reached; /* by InstId: the shown ones from which it is reached through others */
  uint64_t **above;   /* by index: all shown ones from which it is reached */
  Arena *out, *scratch;
} Paths;

enum { MAX_SHOWN = 4096 };

static bool has_bit(const uint64_t *set, uint32_t bit) {
  return set[bit / 64] >> bit % 64 & 1;
}

static void add_bit(uint64_t *set, uint32_t bit) {
  set[bit / 64] |= UINT64_C(1) << bit % 64;
}

static void unite(uint64_t *set, const uint64_t *other, uint32_t num_words) {
  for (uint32_t i = 0; i < num_words; i++)
    set[i] |= other[i];
}

/* Finds the shown instructions that an instruction reads: directly, or through hidden
 * instructions. */
static void find_sources(const Paths *paths, InstId id, uint64_t *direct, uint64_t *hidden) {
  const DotReads *reads = paths->reads;
  for (uint32_t i = reads->first_source[id]; i < reads->first_source[id + 1]; i++) {
    InstId from = reads->list.data[reads->sources[i]].from;
    if (paths->picture->is_shown[from]) {
      add_bit(direct, paths->index[from]);
    } else if (paths->reached[from]) {
      unite(hidden, paths->reached[from], paths->num_words);
    }
  }
}

static void pass_on(Paths *paths, InstId id) {
  uint64_t *set = arena_zarray(paths->scratch, uint64_t, paths->num_words);
  find_sources(paths, id, set, set);
  paths->reached[id] = set;
}

/* Adds edges to a shown instruction from those that reach it, except where an edge from another of
 * them implies it. */
static void connect(Paths *paths, InstId id) {
  uint32_t num_words = paths->num_words;
  uint64_t *direct = arena_zarray(paths->scratch, uint64_t, num_words);
  uint64_t *hidden = arena_zarray(paths->scratch, uint64_t, num_words);
  uint64_t *above = arena_zarray(paths->scratch, uint64_t, num_words);
  find_sources(paths, id, direct, hidden);
  for (uint32_t i = 0; i < paths->index[id]; i++) {
    if (has_bit(direct, i) || has_bit(hidden, i)) unite(above, paths->above[i], num_words);
  }
  for (uint32_t i = 0; i < paths->index[id]; i++) {
    if (!has_bit(hidden, i) || has_bit(direct, i) || has_bit(above, i)) continue;
    *vec_push(paths->out, &paths->picture->edges) =
        (DotEdge){.from = paths->shown[i], .to = id, .is_path = true};
  }
  unite(above, direct, num_words);
  unite(above, hidden, num_words);
  paths->above[paths->index[id]] = above;
}

static void connect_computation(Paths *paths, Sequence sequence) {
  ArenaMark mark = arena_mark(paths->scratch);
  paths->num_shown = 0;
  paths->shown = arena_array(paths->scratch, InstId, sequence.len);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (!paths->picture->is_shown[id]) continue;
    paths->index[id] = paths->num_shown;
    paths->shown[paths->num_shown++] = id;
  }
  if (paths->num_shown > MAX_SHOWN) paths->picture->has_paths = false;
  if (paths->num_shown > 1 && paths->num_shown <= MAX_SHOWN) {
    paths->num_words = (paths->num_shown + 63) / 64;
    paths->above = arena_zarray(paths->scratch, uint64_t *, paths->num_shown);
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      InstId id = sequence.ids[pos];
      if (paths->picture->is_shown[id]) {
        connect(paths, id);
      } else {
        pass_on(paths, id);
      }
    }
  }
  arena_reset(paths->scratch, mark);
}

void dot_paths_add(DotPicture *picture, const DotReads *reads, Arena *out, Arena *scratch) {
  uint32_t num_insts = picture->module->insts.len;
  ArenaMark mark = arena_mark(scratch);
  Paths paths = {.picture = picture,
                 .reads = reads,
                 .index = arena_array(scratch, uint32_t, num_insts),
                 .reached = arena_zarray(scratch, uint64_t *, num_insts),
                 .out = out,
                 .scratch = scratch};
  picture->has_paths = true;
  for (uint32_t i = 0; i < picture->graph.num_reachable; i++) {
    CompId comp = picture->graph.post_order[i];
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    connect_computation(&paths, picture->schedule->of[comp]);
  }
  arena_reset(scratch, mark);
}
