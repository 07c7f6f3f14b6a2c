/* The bound is the Lagrangian dual of a covering problem.
 *
 * Take any plan: every node runs at its place in the line, and clones run anywhere. A value is a
 * part with bytes of its own. Its readers in the line divide its life into gaps, the first of which
 * begins where the value is computed. At the end b of a gap (a, b), a run of the value's node is
 * read. Either this run is not later than a, and its bytes are live at every step between a and b;
 * or it is a clone that runs in the gap, and the gap is dropped. Gaps of one value are disjoint, so
 * different dropped gaps have different clones, and each costs the node's own seconds. What clones
 * need beside that, such as their operands, can only add to time and memory. So a plan within the
 * limit drops gaps such that at each step
 *
 *     sum of the bytes of dropped gaps around the step >= bytes live there in the line - limit
 *
 * and the least cost of such a choice is a lower bound. Moccasin's retention intervals (Bartan et
 * al., 2023) are the exact form of this problem.
 *
 * Three things need care for the bound to hold.
 *   - One clone computes all parts of a node, and may be in a gap of each. Each part therefore
 *     bears a share of the node's seconds, and the shares sum to 1.
 *   - Dead code elimination reduces a fusion of several results to those that are read, both in
 *     clones and where the fusion stands. A clone writes at least the part that it is made for,
 *     which takes that many bytes at the device's bandwidth. A part that nobody reads where it is
 *     computed first may have saved as much there, so that its first gap costs nothing and includes
 *     that step; and operands may not be needed there, so that the step does not count as a reader.
 *   - A part may take over an operand's memory that nobody reads later. Whether an operand is
 *     read later is up to the plan; so where a gap begins at such a step, dropping it frees the
 *     shared bytes at this step, too. Bytes count as the parts' own: memory that was taken over
 *     from something larger would otherwise seem to be freed by parts that are kept.
 *
 * A clone also reads its operands. If a gap (a, b) of v is dropped by a clone at x, and an operand
 * o has no reader in the line after a, then o is either live at all steps between its last reader
 * and x, or a clone of it runs after that reader. Such clones are in no gap of o, and such bytes
 * are not among those live in the line, so both come on top: a fetch of o costs at least the lower
 * of the two. Clones and bytes of o may serve several fetches; each therefore bears a share of
 * their cost, and the shares of all fetches of o that there may be sum to 1. What a clone of o
 * fetches in turn counts likewise. The later x is, the longer o is held, and the shorter v; as the
 * cost of a fetch is the minimum of two linear functions of what holding costs, their sum is least
 * at an end, that is at x = b, or at x = a, which is no better than to keep v, except where
 * dropping the gap frees shared bytes at a, or where the gap has to be dropped.
 *
 * For prices l >= 0 of a byte at each step, sum of l * need + sum over gaps of min(0, cost - bytes
 * * (prices in the gap)) is a lower bound of the covering problem, whatever the prices are. They
 * are improved by subgradient steps to a target above the best bound so far (Polyak, 1969; with the
 * target adapted as by Goffin and Kiwiel, 1999). Two reductions make it stronger, as they hold for
 * whole gaps only: a gap without which a step cannot be covered is dropped in every choice; and a
 * gap counts with at most the largest need of its steps (Crowder, Johnson, Padberg, 1983). The
 * second one does not hold where something is held for fetches, so the bound is the larger one of
 * two. */
#include "remat/bound/line_bound.h"

#include <math.h>

enum { MAX_ROUNDS = 100, NUM_SCALES = 30, ROUNDS_PER_QUESTION = 8 };

/* What a clone reads after the last reader in the line: it has to be held until then, over some
 * steps over the limit, or to be computed again. */
typedef struct Fetch {
  StepId of;           /* the step that computes it in the line */
  uint32_t begin, end; /* the steps over the limit until the clone */
} Fetch;

/* The over-limit steps that a value is not read at, between two of its readers. */
typedef struct Gap {
  uint32_t begin, end; /* in the steps over the limit */
  uint32_t inner;      /* where it begins if a clone comes at once: `begin`, or a step later */
  double bytes;        /* that are freed there if the gap is dropped */
  double seconds;      /* that this costs at least, by itself */
  StepId owner, from, to;
  uint32_t first_fetch, num_fetches;
  bool is_fixed; /* every choice drops it; `seconds` are in fixed_seconds */
} Gap;

/* A value that clones may have to fetch. */
typedef struct Fetched {
  double seconds; /* of a clone of it, by itself; INFINITY = it cannot be cloned */
  double bytes;
  double share;                      /* of its cost that each fetch bears */
  uint32_t num_events;               /* fetches of it */
  uint32_t first_fetch, num_fetches; /* of its own clone */
} Fetched;

typedef struct Cover {
  uint32_t num_steps; /* over the limit */
  double *need;       /* by such a step: bytes to be freed */
  VEC(Gap) gaps;
  VEC(Fetch) fetches;
  Fetched *fetched;     /* by step of the line */
  VEC(StepId) order;    /* the steps that are fetched, the last ones first */
  double fixed_seconds; /* of gaps that every choice drops */
  bool is_impossible;
  Arena *arena;
} Cover;

/* ---- what a line needs at least ---- */

typedef struct Needs {
  const Line *line;
  LineMemory memory;
  StepId *owner;     /* by part of the line: its step */
  StepId *seen;      /* by part of the line: the last step that read it */
  bool *takes_over;  /* by step: some part of it may take over memory */
  int64_t *bytes_at; /* by step: with all gaps kept */
} Needs;

static int64_t root_bytes(const Needs *needs, uint32_t root) {
  return line_part_bytes(needs->line, needs->owner[root], root);
}

static uint32_t operand_root(const Needs *needs, StepId step, uint32_t operand, uint32_t part) {
  return needs->memory.root_of[line_read_part(needs->line, step, operand, part)];
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static bool can_drop(const SearchNode *node) {
  return node->flags & (NODE_CAN_CLONE | NODE_IS_LEGAL);
}

/* Whether a plan can make the step smaller, so that it does not read all of its operands. */
static bool can_shrink(const Needs *needs, StepId step) {
  const SearchNode *node = &needs->line->graph->nodes[needs->line->nodes[step]];
  return node->flags & NODE_CAN_SHRINK && can_drop(node);
}

/* Bytes of an operand's memory that the parts of a step may take over, if nobody reads it later.
 */
static int64_t shared_bytes(const Needs *needs, StepId step, uint32_t root) {
  const Line *line = needs->line;
  const SearchNode *node = &line->graph->nodes[line->nodes[step]];
  int64_t most = 0;
  if (!needs->takes_over[step]) return 0; /* such as a tuple, which may have very many parts */
  for (uint32_t i = 0; i < node->num_parts; i++) {
    const NodePart *part = &line->graph->parts.data[node->first_part + i];
    for (uint32_t k = 0; k < part->num_reuses; k++) {
      NodeReuse reuse = line->graph->reuses.data[part->first_reuse + k];
      if (operand_root(needs, step, reuse.operand, reuse.part) != root) continue;
      int64_t shared = smaller(part->bytes, root_bytes(needs, root));
      if (shared > most) most = shared;
    }
  }
  return most;
}

/* Bytes that the parts of a step do not need for themselves, because they take over memory of
 * operands; `is_last` says which operands' memory. What counts twice meanwhile is in `twice`. */
static int64_t taken_bytes(const Needs *needs, StepId step, bool any, int64_t *twice) {
  const Line *line = needs->line;
  const SearchNode *node = &line->graph->nodes[line->nodes[step]];
  int64_t sum = 0;
  for (uint32_t i = 0; i < node->num_parts; i++) {
    const NodePart *part = &line->graph->parts.data[node->first_part + i];
    int64_t most = 0;
    bool is_twice = true;
    for (uint32_t k = 0; k < part->num_reuses; k++) {
      NodeReuse reuse = line->graph->reuses.data[part->first_reuse + k];
      uint32_t root = operand_root(needs, step, reuse.operand, reuse.part);
      int64_t shared = smaller(part->bytes, root_bytes(needs, root));
      if (!any && needs->memory.last_of[root] != step) continue;
      if (shared > 0 && !reuse.is_counted_twice) is_twice = false;
      if (shared > most) most = shared;
    }
    sum += most;
    if (is_twice) *twice += most;
  }
  return sum;
}

/* What a step needs by itself: its operands, its parts, and what it needs inside. `any` counts all
 * operands, and all memory that may be taken over; otherwise operands that are read later are left
 * out. */
static int64_t own_bytes(Needs *needs, StepId step, bool any) {
  const Line *line = needs->line;
  const SearchNode *node = &line->graph->nodes[line->nodes[step]];
  int64_t bytes = 0, twice = node->twice_bytes;
  for (uint32_t i = 0; i < node->num_operands; i++) {
    uint32_t count = line->graph->operands.data[node->first_operand + i].num_parts;
    for (uint32_t k = 0; k < count; k++) {
      uint32_t root = operand_root(needs, step, i, k);
      if (needs->seen[root] == step) continue;
      needs->seen[root] = step;
      if (any || needs->memory.last_of[root] == step) bytes += root_bytes(needs, root);
    }
  }
  for (uint32_t i = 0; i < node->num_parts; i++)
    bytes += line->graph->parts.data[node->first_part + i].bytes;
  bytes -= taken_bytes(needs, step, any, &twice);
  return bytes + (twice > node->inner_bytes ? twice : node->inner_bytes);
}

static Needs needs_of(const Line *line, Arena *arena) {
  uint32_t num_parts = line_num_parts(line);
  Needs needs = {.line = line,
                 .memory = line_measure(line, arena),
                 .owner = line_owners(line, arena),
                 .seen = arena_array(arena, StepId, num_parts),
                 .takes_over = arena_zarray(arena, bool, line->len),
                 .bytes_at = arena_zarray(arena, int64_t, (size_t)line->len + 1)};
  if (num_parts) memset(needs.seen, 0xff, num_parts * sizeof *needs.seen);
  for (StepId step = 0; step < line->len; step++) {
    const SearchNode *node = &line->graph->nodes[line->nodes[step]];
    for (uint32_t i = 0; i < node->num_parts; i++)
      needs.takes_over[step] |= line->graph->parts.data[node->first_part + i].num_reuses > 0;
  }
  return needs;
}

int64_t graph_floor_bytes(const SearchGraph *graph, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Line line = line_of_graph(graph, arena);
  Needs needs = needs_of(&line, arena);
  int64_t most = 0;
  for (StepId step = 0; step < line.len; step++) {
    if (graph->nodes[line.nodes[step]].flags & NODE_CAN_SHRINK) continue;
    int64_t bytes = own_bytes(&needs, step, true);
    if (bytes > most) most = bytes;
  }
  arena_free(arena);
  return graph->held_bytes + most;
}

/* Fills `bytes_at`. */
static void measure(Needs *needs) {
  const Line *line = needs->line;
  for (uint32_t part = 0; part < line_num_parts(line); part++) {
    StepId owner = needs->owner[part], last = needs->memory.last_of[part];
    if (needs->memory.root_of[part] != part || last <= owner + 1) continue;
    needs->bytes_at[owner + 1] += root_bytes(needs, part);
    needs->bytes_at[last] -= root_bytes(needs, part);
  }
  int64_t through = 0;
  for (StepId step = 0; step < line->len; step++) {
    through += needs->bytes_at[step];
    needs->bytes_at[step] = line->graph->held_bytes + through + own_bytes(needs, step, false);
  }
}

/* ---- the covering problem ---- */

/* A gap of a value from the step where it is computed or read to the next one that reads it. It may
 * have no steps over the limit. */
static Gap make_gap(const Needs *needs, const uint32_t *place_of, uint32_t root, StepId from,
                    StepId to) {
  Gap gap = {.begin = place_of[from + 1],
             .inner = place_of[from + 1],
             .end = place_of[to],
             .bytes = (double)root_bytes(needs, root),
             .owner = needs->owner[root],
             .from = from,
             .to = to};
  bool is_own = from == needs->owner[root];
  if (is_own ? can_shrink(needs, from) : shared_bytes(needs, from, root) > 0)
    gap.begin = place_of[from];
  return gap;
}

/* The cost of dropping a gap of a value whose node bears `part_bytes` in all its gaps' parts. */
static double gap_seconds(const Needs *needs, uint32_t root, int64_t part_bytes, bool is_first) {
  const Line *line = needs->line;
  const SearchNode *node = &line->graph->nodes[line->nodes[needs->owner[root]]];
  double bytes = (double)root_bytes(needs, root), share = bytes / (double)part_bytes;
  if (!(node->flags & NODE_CAN_SHRINK)) return node->seconds * share;
  double least = is_first ? 0 : bytes * line->graph->seconds_per_byte;
  return least < node->seconds * share ? least : node->seconds * share;
}

/* Adds the gaps of a value; or, if `cover` is NULL, only says whether there are any. */
static bool add_gaps(Cover *cover, const Needs *needs, const Rows *readers,
                     const uint32_t *place_of, uint32_t root, int64_t part_bytes) {
  StepId owner = needs->owner[root], from = owner, last = needs->memory.last_of[root];
  bool has_gap = false;
  for (uint32_t i = readers->first[root]; i < readers->first[root + 1]; i++) {
    StepId to = readers->ids[i];
    bool is_end = to == last;
    if (can_shrink(needs, to) && !is_end) continue;
    Gap gap = make_gap(needs, place_of, root, from, to);
    gap.seconds = cover ? gap_seconds(needs, root, part_bytes, from == owner) : 0;
    if (can_shrink(needs, to)) { /* it may be that nobody reads the value any more */
      gap.end = place_of[to + 1];
      gap.seconds = 0;
    }
    from = to;
    if (gap.begin >= gap.end) continue;
    has_gap = true;
    if (cover) *vec_push(cover->arena, &cover->gaps) = gap;
  }
  return has_gap;
}

static void add_gaps_of_step(Cover *cover, const Needs *needs, const Rows *readers,
                             const uint32_t *place_of, StepId step) {
  const Line *line = needs->line;
  if (!can_drop(&line->graph->nodes[line->nodes[step]])) return;
  int64_t part_bytes = 0;
  for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
    if (needs->memory.root_of[part] == part && root_bytes(needs, part) > 0 &&
        add_gaps(NULL, needs, readers, place_of, part, 0))
      part_bytes += root_bytes(needs, part);
  }
  for (uint32_t part = line->first_part[step]; part_bytes && part < line->first_part[step + 1];
       part++) {
    if (needs->memory.root_of[part] == part && root_bytes(needs, part) > 0)
      (void)add_gaps(cover, needs, readers, place_of, part, part_bytes);
  }
}

/* ---- what clones need ---- */

/* The only part with bytes of a step; NO_ID if there are several or none. */
static uint32_t only_part(const Needs *needs, StepId step) {
  const Line *line = needs->line;
  uint32_t only = NO_ID;
  for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
    if (needs->memory.root_of[part] != part || root_bytes(needs, part) == 0) continue;
    if (only != NO_ID) return NO_ID;
    only = part;
  }
  return only;
}

/* Adds what a clone of `step` has to fetch if it runs after step `from`, and holds it to `to`. */
static uint32_t add_fetches(Cover *cover, Needs *needs, const uint32_t *place_of, StepId step,
                            StepId from, StepId to) {
  const Line *line = needs->line;
  const SearchNode *node = &line->graph->nodes[line->nodes[step]];
  uint32_t first = cover->fetches.len;
  for (uint32_t i = 0; i < node->num_operands; i++) {
    uint32_t count = line->graph->operands.data[node->first_operand + i].num_parts;
    for (uint32_t k = 0; k < count; k++) {
      uint32_t root = operand_root(needs, step, i, k);
      StepId owner = needs->owner[root], last = needs->memory.last_of[root];
      if (last > from || only_part(needs, owner) != root || can_shrink(needs, owner)) continue;
      Fetch fetch = {owner, place_of[last + 1], place_of[to]};
      bool is_known = fetch.begin >= fetch.end;
      for (uint32_t known = first; known < cover->fetches.len; known++)
        is_known |= cover->fetches.data[known].of == owner;
      if (is_known) continue;
      *vec_push(cover->arena, &cover->fetches) = fetch;
      cover->fetched[owner].num_events++;
    }
  }
  return cover->fetches.len - first;
}

/* Finds what the clones of dropped gaps fetch, and what clones of that fetch in turn. */
static void find_fetches(Cover *cover, Needs *needs, const uint32_t *place_of) {
  const Line *line = needs->line;
  cover->fetched = arena_zarray(cover->arena, Fetched, line->len);
  for (uint32_t i = 0; i < cover->gaps.len; i++) {
    Gap *gap = &cover->gaps.data[i];
    gap->first_fetch = cover->fetches.len;
    if (can_shrink(needs, gap->owner) || gap->seconds == 0) continue;
    gap->num_fetches = add_fetches(cover, needs, place_of, gap->owner, gap->from, gap->to);
  }
  for (StepId step = line->len; step-- > 0;) {
    Fetched *fetched = &cover->fetched[step];
    if (fetched->num_events == 0) continue;
    const SearchNode *node = &line->graph->nodes[line->nodes[step]];
    uint32_t part = only_part(needs, step);
    StepId last = needs->memory.last_of[part];
    fetched->seconds = can_drop(node) ? node->seconds : INFINITY;
    fetched->bytes = (double)root_bytes(needs, part);
    fetched->share = 1.0 / fetched->num_events;
    fetched->first_fetch = cover->fetches.len;
    if (can_drop(node))
      fetched->num_fetches = add_fetches(cover, needs, place_of, step, last, last + 1);
    *vec_push(cover->arena, &cover->order) = step;
  }
}

static Cover cover_of(Needs *needs, int64_t limit_bytes, Arena *arena, Arena *scratch) {
  const Line *line = needs->line;
  Cover cover = {.arena = arena};
  measure(needs);
  /* by step: the number of steps over the limit before it */
  uint32_t *place_of = arena_array(arena, uint32_t, (size_t)line->len + 1);
  for (StepId step = 0; step < line->len; step++) {
    place_of[step] = cover.num_steps;
    cover.num_steps += needs->bytes_at[step] > limit_bytes;
  }
  place_of[line->len] = cover.num_steps;
  cover.need = arena_array(arena, double, cover.num_steps);
  for (StepId step = 0; step < line->len; step++) {
    if (needs->bytes_at[step] > limit_bytes)
      cover.need[place_of[step]] = (double)(needs->bytes_at[step] - limit_bytes);
  }
  if (cover.num_steps == 0) return cover;
  Rows readers = line_readers(line, &needs->memory, arena, scratch);
  for (StepId step = 0; step < line->len; step++)
    add_gaps_of_step(&cover, needs, &readers, place_of, step);
  find_fetches(&cover, needs, place_of);
  return cover;
}

/* ---- reductions ---- */

/* Largest or smallest numbers of ranges: level k has those of 2^k entries. */
typedef struct Ranges {
  double *level[32];
  bool is_least;
} Ranges;

static double pick(const Ranges *ranges, double a, double b) {
  return (a < b) == ranges->is_least ? a : b;
}

static Ranges ranges_of(double *numbers, uint32_t len, bool is_least, Arena *arena) {
  Ranges ranges = {.level = {numbers}, .is_least = is_least};
  for (uint32_t k = 1; (size_t)1 << k <= len; k++) {
    uint32_t half = 1u << (k - 1);
    ranges.level[k] = arena_array(arena, double, len);
    for (uint32_t i = 0; i + 2 * half <= len; i++)
      ranges.level[k][i] = pick(&ranges, ranges.level[k - 1][i], ranges.level[k - 1][i + half]);
  }
  return ranges;
}

static double ranges_at(const Ranges *ranges, uint32_t begin, uint32_t end) {
  uint32_t k = 0;
  while (2u << k <= end - begin)
    k++;
  return pick(ranges, ranges->level[k][begin], ranges->level[k][end - (1u << k)]);
}

/* Sums what the gaps free at each step. */
static void sum_gaps(const Cover *cover, double *sums) {
  for (uint32_t i = 0; i <= cover->num_steps; i++)
    sums[i] = 0;
  for (uint32_t i = 0; i < cover->gaps.len; i++) {
    const Gap *gap = &cover->gaps.data[i];
    sums[gap->begin] += gap->bytes;
    sums[gap->end] -= gap->bytes;
  }
  for (uint32_t i = 0; i < cover->num_steps; i++)
    sums[i + 1] += sums[i];
}

/* Drops the gaps that cost nothing, and those without which some step cannot be covered. The sums
 * are of whole bytes, and exact. */
static void fix_gaps(Cover *cover, Arena *arena) {
  double *spare = arena_array(arena, double, cover->num_steps + 1);
  sum_gaps(cover, spare);
  for (uint32_t i = 0; i < cover->num_steps; i++) {
    spare[i] -= cover->need[i];
    if (spare[i] < 0) cover->is_impossible = true;
  }
  if (cover->is_impossible) return;
  Ranges least = ranges_of(spare, cover->num_steps, true, arena);
  double *freed = arena_zarray(arena, double, cover->num_steps + 1);
  for (uint32_t i = 0; i < cover->gaps.len; i++) {
    Gap *gap = &cover->gaps.data[i];
    gap->is_fixed = gap->seconds == 0 || gap->bytes > ranges_at(&least, gap->begin, gap->end);
    if (!gap->is_fixed) continue;
    cover->fixed_seconds += gap->seconds;
    freed[gap->begin] += gap->bytes;
    freed[gap->end] -= gap->bytes;
  }
  for (uint32_t i = 0; i < cover->num_steps; i++) {
    freed[i + 1] += freed[i];
    cover->need[i] -= freed[i];
  }
}

/* Leaves out steps that need nothing more. */
static void leave_out_steps(Cover *cover, Arena *arena) {
  uint32_t *place_of = arena_array(arena, uint32_t, cover->num_steps + 1), num_steps = 0;
  for (uint32_t i = 0; i < cover->num_steps; i++) {
    place_of[i] = num_steps;
    if (cover->need[i] > 0) cover->need[num_steps++] = cover->need[i];
  }
  place_of[cover->num_steps] = num_steps;
  cover->num_steps = num_steps;
  uint32_t len = 0;
  for (uint32_t i = 0; i < cover->gaps.len; i++) {
    Gap gap = cover->gaps.data[i];
    gap.begin = place_of[gap.begin];
    gap.inner = place_of[gap.inner];
    gap.end = place_of[gap.end];
    if (gap.begin < gap.end || gap.is_fixed) cover->gaps.data[len++] = gap;
  }
  cover->gaps.len = len;
  for (uint32_t i = 0; i < cover->fetches.len; i++) {
    Fetch *fetch = &cover->fetches.data[i];
    fetch->begin = place_of[fetch->begin];
    fetch->end = place_of[fetch->end];
  }
}

/* Counts a gap with at most what its steps need. This only holds if fetches do not count, because
 * what they hold has to be freed, too. Returns whether it makes a difference. */
static bool cut_to_need(Cover *cover, Arena *arena) {
  Ranges most = ranges_of(cover->need, cover->num_steps, false, arena);
  uint32_t len = 0;
  bool is_cut = false;
  for (uint32_t i = 0; i < cover->gaps.len; i++) {
    Gap gap = cover->gaps.data[i];
    if (gap.is_fixed) continue;
    double need = ranges_at(&most, gap.begin, gap.end);
    is_cut |= gap.bytes > need;
    if (gap.bytes > need) gap.bytes = need;
    gap.num_fetches = 0;
    cover->gaps.data[len++] = gap;
  }
  cover->gaps.len = len;
  cover->order.len = 0;
  return is_cut;
}

/* ---- prices ---- */

typedef struct Prices {
  const Cover *cover;
  double *of;     /* by step */
  double *best;   /* those of the best bound */
  double *sum;    /* of the prices before each step */
  double *slope;  /* by step: how the bound rises with the price; one entry more */
  double *again;  /* by step of the line that is fetched: the cost of a clone with all it fetches */
  double *weight; /* likewise: how much of that cost is in the bound */
} Prices;

static double held_cost(const Prices *prices, const Fetch *fetch) {
  return prices->cover->fetched[fetch->of].bytes *
         (prices->sum[fetch->end] - prices->sum[fetch->begin]);
}

/* What some fetches cost: each is held or computed again, whichever costs less. */
static double fetches_cost(const Prices *prices, uint32_t first, uint32_t count) {
  const Cover *cover = prices->cover;
  double cost = 0;
  for (uint32_t i = first; i < first + count; i++) {
    const Fetch *fetch = &cover->fetches.data[i];
    double held = held_cost(prices, fetch), again = prices->again[fetch->of];
    cost += cover->fetched[fetch->of].share * (held < again ? held : again);
  }
  return cost;
}

/* Notes in `slope` and `weight` what the cost of some fetches, times a factor, depends on. */
static void note_fetches(Prices *prices, uint32_t first, uint32_t count, double factor) {
  const Cover *cover = prices->cover;
  for (uint32_t i = first; i < first + count; i++) {
    const Fetch *fetch = &cover->fetches.data[i];
    const Fetched *fetched = &cover->fetched[fetch->of];
    if (held_cost(prices, fetch) < prices->again[fetch->of]) {
      prices->slope[fetch->begin] -= factor * fetched->share * fetched->bytes;
      prices->slope[fetch->end] += factor * fetched->share * fetched->bytes;
    } else {
      prices->weight[fetch->of] += factor * fetched->share;
    }
  }
}

/* The bound for some prices. Fills `slope`. */
static double evaluate(Prices *prices, const double *of) {
  const Cover *cover = prices->cover;
  double bound = 0;
  prices->sum[0] = 0;
  for (uint32_t i = 0; i < cover->num_steps; i++) {
    prices->sum[i + 1] = prices->sum[i] + of[i];
    bound += of[i] * cover->need[i];
    prices->slope[i] = 0;
  }
  prices->slope[cover->num_steps] = 0;
  for (uint32_t i = cover->order.len; i-- > 0;) {
    StepId step = cover->order.data[i];
    const Fetched *fetched = &cover->fetched[step];
    prices->weight[step] = 0;
    prices->again[step] =
        fetched->seconds + fetches_cost(prices, fetched->first_fetch, fetched->num_fetches);
  }
  for (uint32_t i = 0; i < cover->gaps.len; i++) {
    const Gap *gap = &cover->gaps.data[i];
    double drop = fetches_cost(prices, gap->first_fetch, gap->num_fetches);
    double late = gap->bytes * (prices->sum[gap->end] - prices->sum[gap->inner]);
    bool is_early = late < drop; /* the clone comes at once, and is held */
    double cost = is_early ? late : drop;
    if (!gap->is_fixed) {
      double keep = gap->bytes * (prices->sum[gap->end] - prices->sum[gap->begin]);
      cost += gap->seconds - keep;
      if (cost >= 0) continue;
      prices->slope[gap->begin] += gap->bytes;
      prices->slope[gap->end] -= gap->bytes;
    }
    bound += cost;
    if (is_early) {
      prices->slope[gap->inner] -= gap->bytes;
      prices->slope[gap->end] += gap->bytes;
      continue;
    }
    note_fetches(prices, gap->first_fetch, gap->num_fetches, 1);
  }
  for (uint32_t i = 0; i < cover->order.len; i++) {
    const Fetched *fetched = &cover->fetched[cover->order.data[i]];
    double weight = prices->weight[cover->order.data[i]];
    if (weight > 0) note_fetches(prices, fetched->first_fetch, fetched->num_fetches, weight);
  }
  double freed = 0;
  for (uint32_t i = 0; i < cover->num_steps; i++) {
    freed += prices->slope[i];
    prices->slope[i] = cover->need[i] - freed;
  }
  return bound;
}

/* The best of prices that are proportional to the needs. */
static double begin_prices(Prices *prices) {
  const Cover *cover = prices->cover;
  double squares = 0, seconds = 0, best = 0;
  for (uint32_t i = 0; i < cover->num_steps; i++)
    squares += cover->need[i] * cover->need[i];
  for (uint32_t i = 0; i < cover->gaps.len; i++)
    seconds += cover->gaps.data[i].seconds;
  for (int scale = 0; scale < NUM_SCALES; scale++) {
    for (uint32_t i = 0; i < cover->num_steps; i++)
      prices->of[i] = ldexp(cover->need[i] / squares * seconds, -scale);
    double bound = evaluate(prices, prices->of);
    if (bound <= best) continue;
    best = bound;
    memcpy(prices->best, prices->of, cover->num_steps * sizeof *prices->best);
  }
  return best;
}

static double improve_prices(Prices *prices, double best, Patience *patience) {
  const Cover *cover = prices->cover;
  double hope = best, bound = evaluate(prices, prices->best), walked = 0;
  memcpy(prices->of, prices->best, cover->num_steps * sizeof *prices->of);
  double level = best, range = 0;
  for (int round = 0; round < MAX_ROUNDS; round++) {
    if (round % ROUNDS_PER_QUESTION == 0 && patience_is_stopped(patience)) break;
    double squares = 0;
    for (uint32_t i = 0; i < cover->num_steps; i++) {
      if (prices->of[i] == 0 && prices->slope[i] < 0) prices->slope[i] = 0;
      squares += prices->slope[i] * prices->slope[i];
    }
    if (squares == 0) break;
    double rate = (level + hope - bound) / squares;
    range = range > 0 ? range : rate * sqrt(squares) * 8;
    walked += rate * sqrt(squares);
    for (uint32_t i = 0; i < cover->num_steps; i++) {
      prices->of[i] += rate * prices->slope[i];
      if (prices->of[i] < 0) prices->of[i] = 0;
    }
    bound = evaluate(prices, prices->of);
    if (bound > best) {
      best = bound;
      memcpy(prices->best, prices->of, cover->num_steps * sizeof *prices->best);
    }
    if (best >= level + hope / 2) { /* near the target: a new one, as far above */
      level = best;
      walked = 0;
    } else if (walked > range) { /* the target is out of reach: a nearer one, from the best */
      level = best;
      hope /= 2;
      walked = 0;
      memcpy(prices->of, prices->best, cover->num_steps * sizeof *prices->of);
      bound = evaluate(prices, prices->of);
    }
  }
  return best;
}

static double solve(const Cover *cover, uint32_t len, Patience *patience, Arena *arena) {
  if (cover->num_steps == 0 || cover->gaps.len == 0) return 0;
  Prices prices = {.cover = cover,
                   .of = arena_array(arena, double, cover->num_steps),
                   .best = arena_zarray(arena, double, cover->num_steps),
                   .sum = arena_array(arena, double, cover->num_steps + 1),
                   .slope = arena_array(arena, double, cover->num_steps + 1),
                   .again = arena_zarray(arena, double, len),
                   .weight = arena_zarray(arena, double, len)};
  double best = begin_prices(&prices);
  return best > 0 ? improve_prices(&prices, best, patience) : 0;
}

/* ---- the line ---- */

double line_time_bound(const Line *given, int64_t limit_bytes, Patience *patience, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Line line = line_of_originals(given, arena);
  Needs needs = needs_of(&line, arena);
  Cover cover = cover_of(&needs, limit_bytes, arena, scratch);
  if (cover.num_steps) fix_gaps(&cover, arena);
  double bound = INFINITY;
  if (!cover.is_impossible) {
    if (cover.num_steps) leave_out_steps(&cover, arena);
    bound = 0;
    if (cover.num_steps) {
      bound = solve(&cover, line.len, patience, arena);
      double other = cut_to_need(&cover, arena) ? solve(&cover, line.len, patience, arena) : 0;
      if (other > bound) bound = other;
    }
    bound += cover.fixed_seconds;
  }
  arena_free(arena);
  return bound;
}
