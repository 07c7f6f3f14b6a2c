#include "remat/search/trim.h"

#include <stdlib.h>

#include "analysis/memory/timeline.h"

typedef struct Use {
  StepId reader;
  uint32_t operand;
} Use;

typedef VEC(Use) Uses;

typedef struct Trimmer {
  const Line *line;
  const SearchGraph *graph;
  int64_t limit_bytes;
  StepId *sources;    /* as in the line, as they are now */
  Uses *uses;         /* by step, by runs that are gone, too */
  uint32_t *num_uses; /* by step, by runs that are not gone */
  bool *is_gone;      /* by step */
  StepId *earlier;    /* by step: the run before it that provides the same value; NO_ID = it is the
                         first */
  StepId *overwriter; /* by step: the first step that overwrites some part of the run */
  uint32_t *taken;    /* by part of the line: the stamp of the question in which it is taken over */
  uint32_t num_stamps;
  Timeline timeline;
  IdVec removed; /* runs that are gone by the merge that is tried */
  Arena *arena;
} Trimmer;

static const SearchNode *node_of(const Trimmer *trimmer, StepId step) {
  return &trimmer->graph->nodes[trimmer->line->nodes[step]];
}

static bool reads_part(const Trimmer *trimmer, const Use *use, uint32_t part) {
  const NodeOperand *operand =
      node_operand(trimmer->graph, trimmer->line->nodes[use->reader], use->operand);
  return part >= operand->first_part && part < operand->first_part + operand->num_parts;
}

/* The last step that reads a part of a run, through tuples, too; the run itself if none does. */
static StepId last_read(const Trimmer *trimmer, StepId step, uint32_t part, uint32_t depth) {
  StepId last = step;
  const Uses *uses = &trimmer->uses[step];
  for (uint32_t i = 0; i < uses->len; i++) {
    const Use *use = &uses->data[i];
    if (trimmer->is_gone[use->reader] || !reads_part(trimmer, use, part)) continue;
    if (use->reader > last) last = use->reader;
    const SearchNode *reader = node_of(trimmer, use->reader);
    /* Tuples, loops and barriers that forward a part: their readers count, too. */
    for (uint32_t k = 0; depth <= 8 && k < reader->num_parts; k++) {
      const NodePart *forwarded = &trimmer->graph->parts.data[reader->first_part + k];
      if (forwarded->operand != use->operand) continue;
      uint32_t first =
          node_operand(trimmer->graph, trimmer->line->nodes[use->reader], use->operand)->first_part;
      if (first + forwarded->of_operand != part) continue;
      StepId through = last_read(trimmer, use->reader, k, depth + 1);
      if (through > last) last = through;
    }
  }
  return last;
}

/* Memory that is the run's own. */
static int64_t own_bytes(const Trimmer *trimmer, StepId step, uint32_t part) {
  return node_part(trimmer->graph, trimmer->line->nodes[step], part)->bytes;
}

/* The run that made the memory of what a step reads, and the number of the part there. */
typedef struct Root {
  StepId step;
  uint32_t part;
} Root;

static Root root_read(const Trimmer *trimmer, StepId reader, uint32_t operand, uint32_t part) {
  for (;;) {
    NodeId node = trimmer->line->nodes[reader];
    StepId step = trimmer->sources[trimmer->line->first_source[reader] + operand];
    part += node_operand(trimmer->graph, node, operand)->first_part;
    const NodePart *read = node_part(trimmer->graph, trimmer->line->nodes[step], part);
    if (read->operand == NO_ID) return (Root){step, part};
    reader = step;
    operand = read->operand;
    part = read->of_operand;
  }
}

/* Whether a reader makes a result in the memory of a part, which line_measure() then does not count
 * at its step. Each result takes the first memory that nobody else needs and no result before it
 * has taken. */
static bool takes_over(Trimmer *trimmer, StepId reader, StepId step, uint32_t part) {
  const SearchNode *node = node_of(trimmer, reader);
  uint32_t stamp = ++trimmer->num_stamps;
  for (uint32_t i = 0; i < node->num_parts; i++) {
    const NodePart *made = &trimmer->graph->parts.data[node->first_part + i];
    for (uint32_t k = 0; made->bytes > 0 && k < made->num_reuses; k++) {
      NodeReuse reuse = trimmer->graph->reuses.data[made->first_reuse + k];
      Root root = root_read(trimmer, reader, reuse.operand, reuse.part);
      if (root.step == step && root.part == part) return true;
      uint32_t *taken = &trimmer->taken[trimmer->line->first_part[root.step] + root.part];
      if (own_bytes(trimmer, root.step, root.part) == 0 || *taken == stamp) continue;
      if (last_read(trimmer, root.step, root.part, 0) != reader) continue;
      *taken = stamp;
      break;
    }
  }
  return false;
}

/* Whether an operand of a run reads the same run as an earlier one. */
static bool is_read_before(const Trimmer *trimmer, StepId run, uint32_t operand) {
  const StepId *sources = trimmer->sources + trimmer->line->first_source[run];
  for (uint32_t i = 0; i < operand; i++) {
    if (sources[i] == sources[operand]) return true;
  }
  return false;
}

/* Ends what a run holds of an operand, if nothing else reads that later. */
static void release_operand(Trimmer *trimmer, StepId run, uint32_t operand) {
  StepId source = trimmer->sources[trimmer->line->first_source[run] + operand];
  for (uint32_t part = 0; part < node_of(trimmer, source)->num_parts; part++) {
    int64_t bytes = own_bytes(trimmer, source, part);
    if (bytes == 0 || last_read(trimmer, source, part, 0) != run) continue;
    bool is_taken = takes_over(trimmer, run, source, part);
    trimmer->is_gone[run] = true;
    StepId without = last_read(trimmer, source, part, 0);
    trimmer->is_gone[run] = false;
    timeline_try(&trimmer->timeline, without + 1, run - is_taken, -bytes);
  }
}

/* Removes a run that nobody reads, and then those that only it read. Lowers the timeline. */
static void remove_run(Trimmer *trimmer, StepId step) {
  IdVec *removed = &trimmer->removed;
  *vec_push(trimmer->arena, removed) = step;
  for (uint32_t at = 0; at < removed->len; at++) {
    StepId run = removed->data[at];
    const SearchNode *node = node_of(trimmer, run);
    for (uint32_t i = 0; i < node->num_parts; i++)
      timeline_try(&trimmer->timeline, run, run, -own_bytes(trimmer, run, i));
    for (uint32_t i = 0; i < node->num_operands; i++) {
      if (!is_read_before(trimmer, run, i)) release_operand(trimmer, run, i);
    }
    trimmer->is_gone[run] = true;
    for (uint32_t i = 0; i < node->num_operands; i++) {
      StepId source = trimmer->sources[trimmer->line->first_source[run] + i];
      bool is_unread = --trimmer->num_uses[source] == 0;
      bool is_form = node_of(trimmer, source)->flags & NODE_IS_FORM;
      bool is_clone = is_form || trimmer->earlier[source] != NO_ID;
      if (is_clone && is_unread) *vec_push(trimmer->arena, removed) = source;
    }
  }
}

/* Takes back what has been removed and changed. */
static void take_back(Trimmer *trimmer) {
  timeline_take_back(&trimmer->timeline);
  for (uint32_t i = 0; i < trimmer->removed.len; i++) {
    StepId run = trimmer->removed.data[i];
    trimmer->is_gone[run] = false;
    for (uint32_t k = 0; k < node_of(trimmer, run)->num_operands; k++)
      trimmer->num_uses[trimmer->sources[trimmer->line->first_source[run] + k]]++;
  }
}

/* Whether two runs of a node hold the same for a part that they forward, so that nothing has to be
 * held longer if one of them is read instead of the other one. */
static bool forwards_same(const Trimmer *trimmer, StepId a, StepId b, uint32_t part) {
  uint32_t operand = node_part(trimmer->graph, trimmer->line->nodes[a], part)->operand;
  return operand == NO_ID || trimmer->sources[trimmer->line->first_source[a] + operand] ==
                                 trimmer->sources[trimmer->line->first_source[b] + operand];
}

static bool is_within_limit(const Trimmer *trimmer) {
  SchedPos ignored;
  return timeline_peak(&trimmer->timeline, &ignored) <= trimmer->limit_bytes;
}

/* Holds the earlier of two runs of a node for the readers of the later one. Returns false if they
 * cannot read it. */
static bool hold(Trimmer *trimmer, StepId earlier, StepId step, StepId until) {
  for (uint32_t i = 0; i < node_of(trimmer, step)->num_parts; i++) {
    int64_t bytes = own_bytes(trimmer, step, i);
    StepId last = last_read(trimmer, step, i, 0);
    StepId held = last_read(trimmer, earlier, i, 0);
    if (last > until || held > until) return false;
    if (!forwards_same(trimmer, step, earlier, i)) return false;
    if (bytes == 0) continue;
    /* Who takes the memory over has it at its own step already. Who took that of the earlier run
     * has to do without it if others still read it then. */
    bool is_taken = last > step && takes_over(trimmer, last, step, i);
    bool was_taken = held > earlier && takes_over(trimmer, held, earlier, i);
    timeline_try(&trimmer->timeline, step + 1, last - is_taken, -bytes);
    if (last > step && last > held)
      timeline_try(&trimmer->timeline, held + !was_taken, last - is_taken, bytes);
  }
  return true;
}

/* Gives the last `count` readers on the list of a run to another run of the node. */
static void move_uses(Trimmer *trimmer, StepId from, StepId to, uint32_t count) {
  Uses *uses = &trimmer->uses[from];
  Use *moved = vec_extend(trimmer->arena, &trimmer->uses[to], count);
  uses->len -= count;
  for (uint32_t i = 0; i < count; i++) {
    Use use = uses->data[uses->len + i];
    moved[i] = use;
    if (trimmer->is_gone[use.reader]) continue;
    trimmer->sources[trimmer->line->first_source[use.reader] + use.operand] = to;
    trimmer->num_uses[from]--;
    trimmer->num_uses[to]++;
  }
}

/* Lets the readers of a run read the one before it, and removes what is read by nobody then.
 * Returns false, and changes nothing, if the peak would then exceed the limit. */
static bool try_merge(Trimmer *trimmer, StepId step) {
  StepId earlier = trimmer->earlier[step];
  while (earlier != NO_ID && trimmer->is_gone[earlier])
    earlier = trimmer->earlier[earlier];
  if (earlier == NO_ID) return false;
  StepId until = trimmer->overwriter[earlier]; /* who overwrites either run will overwrite both */
  if (trimmer->overwriter[step] < until) until = trimmer->overwriter[step];
  trimmer->removed.len = 0;
  timeline_keep(&trimmer->timeline);
  uint32_t count = trimmer->uses[step].len;
  bool is_possible = hold(trimmer, earlier, step, until);
  if (is_possible) {
    move_uses(trimmer, step, earlier, count);
    remove_run(trimmer, step);
    if (is_within_limit(trimmer)) {
      trimmer->overwriter[earlier] = until;
      return true;
    }
  }
  take_back(trimmer);
  if (is_possible) move_uses(trimmer, earlier, step, count);
  return false;
}

typedef struct Candidate {
  StepId step;
  double seconds;
} Candidate;

static int by_seconds(const void *pa, const void *pb) {
  const Candidate *a = pa, *b = pb;
  if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
  return (a->step > b->step) - (a->step < b->step);
}

static Line without_gone(const Trimmer *trimmer, Arena *out) {
  Line line = *trimmer->line;
  line.sources = trimmer->sources;
  StepId *left = arena_array(trimmer->arena, StepId, line.len);
  uint32_t len = 0;
  for (StepId step = 0; step < line.len; step++) {
    if (!trimmer->is_gone[step]) left[len++] = step;
  }
  return line_of_steps(&line, left, len, out, trimmer->arena);
}

static Trimmer trimmer_begin(const Line *line, int64_t limit_bytes, Arena *arena) {
  LineMemory memory = line_measure(line, arena);
  uint32_t num_sources = line->first_source[line->len], num_nodes = line->graph->num_nodes;
  Trimmer trimmer = {.line = line,
                     .graph = line->graph,
                     .limit_bytes = limit_bytes,
                     .sources = arena_array(arena, StepId, num_sources),
                     .uses = arena_zarray(arena, Uses, line->len),
                     .num_uses = arena_zarray(arena, uint32_t, line->len),
                     .is_gone = arena_zarray(arena, bool, line->len),
                     .earlier = arena_array(arena, StepId, line->len),
                     .overwriter = arena_array(arena, StepId, line->len),
                     .taken = arena_zarray(arena, uint32_t, line_num_parts(line)),
                     .timeline = timeline_build(memory.bytes_at, line->len, arena),
                     .arena = arena};
  if (num_sources) memcpy(trimmer.sources, line->sources, num_sources * sizeof *line->sources);
  StepId *latest = arena_array(arena, StepId, num_nodes);
  LineOverwrites overwrites = line_overwrites(line, memory.root_of, arena, arena);
  memset(latest, 0xff, num_nodes * sizeof *latest);
  for (StepId step = 0; step < line->len; step++) {
    NodeId value = node_value(line->graph, line->nodes[step]);
    trimmer.earlier[step] = latest[value];
    latest[value] = step;
    trimmer.overwriter[step] = NO_ID;
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
      if (overwrites.by[part] < trimmer.overwriter[step])
        trimmer.overwriter[step] = overwrites.by[part];
    }
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      *vec_push(arena, &trimmer.uses[line->sources[i]]) = (Use){step, i - line->first_source[step]};
      trimmer.num_uses[line->sources[i]]++;
    }
  }
  return trimmer;
}

Line line_trimmed(const Line *line, int64_t limit_bytes, Patience *patience, Arena *out,
                  Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Trimmer trimmer = trimmer_begin(line, limit_bytes, arena);
  VEC(Candidate) candidates = {0};
  for (StepId step = 0; step < line->len; step++) {
    if (trimmer.earlier[step] != NO_ID)
      *vec_push(arena, &candidates) = (Candidate){step, node_of(&trimmer, step)->seconds};
  }
  if (candidates.len) qsort(candidates.data, candidates.len, sizeof *candidates.data, by_seconds);
  for (uint32_t pass = 0; pass < line->graph->parameters->trim_passes; pass++) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < candidates.len; i++) {
      Candidate candidate = candidates.data[i];
      if (trimmer.is_gone[candidate.step]) continue;
      if (!patience_spend(patience, 16) || !try_merge(&trimmer, candidate.step))
        candidates.data[kept++] = candidate;
    }
    if (kept == candidates.len) break;
    candidates.len = kept;
  }
  Line result = without_gone(&trimmer, out);
  arena_free(arena);
  return result;
}

ScoredLine scored_trimmed(const Line *line, int64_t limit_bytes, Patience *patience, Arena *out,
                          Arena *scratch) {
  Line trimmed = line_trimmed(line, limit_bytes, patience, out, scratch);
  return scored_measure(&trimmed, limit_bytes, scratch);
}
