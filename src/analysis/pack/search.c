/* A tree search for packings below a target. Buffers are placed on top of each other. The floor of
 * a section is the height up to which everything is decided: buffers that are not placed yet lie
 * above it. In a packing whose buffers are all as low as possible, each buffer lies at 0 or on top
 * of a buffer that it lives with. In such a packing take a valley, which is a sequence of
 * neighbouring sections with one floor between higher floors, and a section in it. Either a buffer
 * that lives in this section, and in no section outside the valley, lies on the floor, or no buffer
 * does, and the space up to the next possible height is wasted. These are all branches of a node.
 *
 * - The section is the one with the fewest branches in proportion to its trouble, which is how
 * often a branch failed in it (Boussemart et al., "Boosting systematic search by weighting
 * constraints", ECAI 2004).
 *
 * - A branch fails when the buffers that are left in a section, each not below the floors of all
 * its sections, reach above the target.
 *
 * - When no buffer crosses a border any more, the two sides are searched separately; a failure of
 * either goes back to the node that separated them.
 *
 * - States that failed are remembered by the floors and the buffers that were left: other orders of
 * the same buffers lead to the same state.
 *
 * - Runs are short and are repeated with another order of buffers, because a wrong first choice
 * costs the most.
 *
 * Canonical packings and the bounds by floors are also those of M. D. Moffitt, "MiniMalloc", ASPLOS
 * 2023. If buffers have several spans, only the sections with the lowest floor are a valley, and
 * the borders are those of the hull of the spans. */
#include "analysis/pack/search_internal.h"

#include "analysis/pack/parameters.h"

enum { MAX_HEIGHTS = 16 };

/* ---- changes ---- */

static void note(PackSearch *search, ChangeKind kind, uint32_t index, int64_t old) {
  *vec_push(search->arena, &search->changes) = (Change){kind, index, old};
}

static void set_floor(PackSearch *search, uint32_t section, int64_t floor) {
  note(search, CHANGE_FLOOR, section, search->floor[section]);
  search->floor[section] = floor;
}

static void undo(PackSearch *search, uint32_t num_changes) {
  while (search->changes.len > num_changes) {
    Change change = search->changes.data[--search->changes.len];
    switch (change.kind) {
      case CHANGE_FLOOR: search->floor[change.index] = change.old; break;
      case CHANGE_LOW: search->low[change.index] = change.old; break;
      case CHANGE_OPTIONS: search->num_options[change.index] = (uint32_t)change.old; break;
      case CHANGE_PLACED: pack_search_count(search, change.index, -1); break;
    }
  }
}

/* ---- effects of a decision ---- */

/* Bytes of the buffers that cannot lie lower than a height, by height. */
typedef struct Heights {
  int64_t low[MAX_HEIGHTS], bytes[MAX_HEIGHTS];
  int count;
} Heights;

/* Inserts a height in order. When the list is full, the buffer is counted as lower, which only
 * weakens the bound. */
static void add_height(Heights *heights, int64_t low, int64_t bytes) {
  int at = heights->count;
  while (at && heights->low[at - 1] > low)
    at--;
  if (at && (heights->low[at - 1] == low || heights->count == MAX_HEIGHTS)) {
    heights->bytes[at - 1] += bytes;
    return;
  }
  if (heights->count == MAX_HEIGHTS) {
    heights->low[0] = low;
    heights->bytes[0] += bytes;
    return;
  }
  for (int i = heights->count++; i > at; i--) {
    heights->low[i] = heights->low[i - 1];
    heights->bytes[i] = heights->bytes[i - 1];
  }
  heights->low[at] = low;
  heights->bytes[at] = bytes;
}

/* The lowest possible top of the buffers if none is below its own lowest offset and none
 * overlap. */
static int64_t least_top(const Heights *heights) {
  int64_t top = 0;
  for (int i = 0; i < heights->count; i++) {
    if (heights->low[i] > top) top = heights->low[i];
    top += heights->bytes[i];
  }
  return top;
}

/* Raises the floor to the lowest offset that a buffer can have. False when the buffers cannot all
 * fit. */
static bool refresh_section(PackSearch *search, uint32_t section) {
  if (search->num_left[section] == 0) return true;
  Heights heights = {.count = 0};
  uint32_t num_lowest = 0;
  uint32_t members_end = search->first_member[section + 1];
  for (uint32_t k = search->first_member[section]; k < members_end; k++) {
    uint32_t buffer = search->members[k];
    if (search->is_placed[buffer]) continue;
    add_height(&heights, search->low[buffer], search->bytes[buffer]);
  }
  *search->steps += members_end - search->first_member[section];
  int64_t lowest = heights.low[0];
  if (least_top(&heights) > search->ceiling) {
    search->trouble[section]++;
    return false;
  }
  for (uint32_t k = search->first_member[section]; k < members_end; k++) {
    uint32_t buffer = search->members[k];
    num_lowest += !search->is_placed[buffer] && search->low[buffer] == lowest;
  }
  if (lowest > search->floor[section]) set_floor(search, section, lowest);
  if (num_lowest != search->num_options[section]) {
    note(search, CHANGE_OPTIONS, section, search->num_options[section]);
    search->num_options[section] = num_lowest;
  }
  return true;
}

/* The floors of `span` are now at `height`: raises the buffers that live there, and widens
 * `touched` to their sections. False when a buffer reaches above the target. */
static bool raise_buffers(PackSearch *search, PackSpan span, int64_t height, PackSpan *touched) {
  for (uint32_t s = span.begin; s < span.end; s++) {
    for (uint32_t k = search->first_member[s]; k < search->first_member[s + 1]; k++) {
      uint32_t buffer = search->members[k];
      if (search->is_placed[buffer] || search->low[buffer] >= height) continue;
      note(search, CHANGE_LOW, buffer, search->low[buffer]);
      search->low[buffer] =
          search->has_mixed_alignment ? align_up(height, search->alignment[buffer]) : height;
      if (search->low[buffer] + search->true_bytes[buffer] > search->target) return false;
      uint32_t begin = hull_begin(search, buffer), end = hull_end(search, buffer);
      if (begin < touched->begin) touched->begin = begin;
      if (end > touched->end) touched->end = end;
    }
    *search->steps += search->first_member[s + 1] - search->first_member[s];
  }
  return true;
}

static bool refresh(PackSearch *search, PackSpan touched) {
  for (uint32_t s = touched.begin; s < touched.end; s++) {
    if (!refresh_section(search, s)) return false;
  }
  return true;
}

static bool place(PackSearch *search, uint32_t buffer) {
  search->offset[buffer] = search->low[buffer];
  note(search, CHANGE_PLACED, buffer, 0);
  pack_search_count(search, buffer, 1);
  PackSpan touched = {hull_begin(search, buffer), hull_end(search, buffer)};
  int64_t top = search->offset[buffer] + search->bytes[buffer];
  for (uint32_t k = search->first_span[buffer]; k < search->first_span[buffer + 1]; k++) {
    PackSpan span = search->spans[k];
    for (uint32_t s = span.begin; s < span.end; s++)
      set_floor(search, s, top);
    if (!raise_buffers(search, span, top, &touched)) return false;
  }
  return refresh(search, touched);
}

static bool waste(PackSearch *search, uint32_t section, int64_t floor) {
  set_floor(search, section, floor);
  PackSpan touched = {section, section + 1};
  return raise_buffers(search, touched, floor, &touched) && refresh(search, touched);
}

/* ---- branches ---- */

typedef struct Choice {
  uint32_t section, num_branches;
  int64_t wasted_floor;
} Choice;

/* Prefers the fewest branches in proportion to the trouble, then the lowest floor, then the first
 * section. A single branch is taken at once, because it is no choice. */
static bool is_better(const PackSearch *search, const Choice *a, const Choice *b) {
  if (b->num_branches == 0) return true;
  if (a->num_branches <= 1 || b->num_branches <= 1) {
    if (a->num_branches != b->num_branches) return a->num_branches < b->num_branches;
  } else {
    uint64_t left = a->num_branches * ((uint64_t)search->trouble[b->section] + 1);
    uint64_t right = b->num_branches * ((uint64_t)search->trouble[a->section] + 1);
    if (left != right) return left < right;
  }
  return search->floor[a->section] < search->floor[b->section];
}

/* Considers a section of a valley. `next_height` is the lowest height above its floor at which
 * another buffer may be. */
static void consider(PackSearch *search, uint32_t section, int64_t next_height, Choice *best) {
  Choice choice = {section, search->num_options[section], -1};
  if (next_height < INT64_MAX && next_height + search->left_bytes[section] <= search->ceiling) {
    choice.wasted_floor = next_height;
    choice.num_branches++;
  }
  if (is_better(search, &choice, best)) *best = choice;
}

static int64_t lower(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* least_before[s] is the smallest size of the buffers that can lie on the floor and end at or
 * before s; least_after[s] is that of the buffers that begin after s. */
static void find_least(PackSearch *search, PackSpan valley) {
  int64_t floor = search->floor[valley.begin];
  for (uint32_t s = valley.begin; s <= valley.end; s++)
    search->least_before[s] = search->least_after[s] = INT64_MAX;
  for (uint32_t s = valley.begin; s < valley.end; s++) {
    for (uint32_t k = search->first_member[s]; k < search->first_member[s + 1]; k++) {
      uint32_t buffer = search->members[k];
      if (search->is_placed[buffer] || search->low[buffer] != floor) continue;
      if (hull_begin(search, buffer) != s) continue;
      uint32_t end = hull_end(search, buffer);
      search->least_before[end] = lower(search->least_before[end], search->bytes[buffer]);
      if (s == valley.begin) continue;
      search->least_after[s - 1] = lower(search->least_after[s - 1], search->bytes[buffer]);
    }
    *search->steps += search->first_member[s + 1] - search->first_member[s];
  }
  for (uint32_t s = valley.begin; s < valley.end; s++) {
    search->least_before[s + 1] = lower(search->least_before[s], search->least_before[s + 1]);
  }
  for (uint32_t s = valley.end; s > valley.begin; s--) {
    search->least_after[s - 1] = lower(search->least_after[s], search->least_after[s - 1]);
  }
}

static Choice choose_in_valleys(PackSearch *search, PackSpan part) {
  Choice best = {.num_branches = 0};
  PackSpan valley = {part.begin, part.begin};
  for (; valley.begin < part.end; valley.begin = valley.end) {
    int64_t floor = search->floor[valley.begin];
    while (valley.end < part.end && search->floor[valley.end] == floor)
      valley.end++;
    int64_t left = valley.begin > part.begin ? search->floor[valley.begin - 1] : INT64_MAX;
    int64_t right = valley.end < part.end ? search->floor[valley.end] : INT64_MAX;
    if (left < floor || right < floor) continue;
    find_least(search, valley);
    for (uint32_t s = valley.begin; s < valley.end; s++) {
      int64_t least = lower(search->least_before[s], search->least_after[s]);
      int64_t next = lower(left, right);
      if (least < INT64_MAX) next = lower(next, floor + least);
      consider(search, s, next, &best);
    }
  }
  return best;
}

/* Spans of one buffer may be in several valleys, so only sections with the lowest floor are
 * branched on. */
static Choice choose_lowest(PackSearch *search, PackSpan part) {
  Choice best = {.num_branches = 0};
  int64_t floor = INT64_MAX, next = INT64_MAX, least = INT64_MAX;
  for (uint32_t s = part.begin; s < part.end; s++) {
    if (search->num_left[s]) floor = lower(floor, search->floor[s]);
  }
  for (uint32_t s = part.begin; s < part.end; s++) {
    if (search->num_left[s] == 0) continue;
    if (search->floor[s] > floor) next = lower(next, search->floor[s]);
    for (uint32_t k = search->first_member[s]; k < search->first_member[s + 1]; k++) {
      uint32_t buffer = search->members[k];
      if (search->is_placed[buffer] || search->low[buffer] != floor) continue;
      least = lower(least, search->bytes[buffer]);
    }
    *search->steps += search->first_member[s + 1] - search->first_member[s];
  }
  if (least < INT64_MAX) next = lower(next, floor + least);
  for (uint32_t s = part.begin; s < part.end; s++) {
    if (search->num_left[s] && search->floor[s] == floor) consider(search, s, next, &best);
  }
  return best;
}

static void gather_options(PackSearch *search, Node *node) {
  node->first_option = search->options.len;
  for (uint32_t k = search->first_member[node->section];
       k < search->first_member[node->section + 1]; k++) {
    uint32_t buffer = search->members[k];
    if (search->is_placed[buffer] || search->low[buffer] != search->floor[node->section]) continue;
    *vec_push(search->arena, &search->options) = buffer;
    uint32_t *list = search->options.data + node->first_option, at = node->num_options++;
    for (; at && search->rank[list[at - 1]] > search->rank[buffer]; at--)
      list[at] = list[at - 1];
    list[at] = buffer;
  }
}

/* ---- states ---- */

static uint64_t state_of(const PackSearch *search, PackSpan part) {
  uint64_t state = hash_mix(HASH_SEED, (uint64_t)search->ceiling);
  for (uint32_t s = part.begin; s < part.end; s++) {
    if (search->num_left[s] == 0) continue;
    state = hash_mix(state, (uint64_t)search->floor[s] ^ search->left_keys[s] ^ s);
  }
  return state | 1; /* 0 marks a free entry of the table */
}

static uint64_t *place_of_state(const PackSearch *search, uint64_t state) {
  return &search->failed[(state >> 32) % TABLE_LEN];
}

/* ---- the tree of nodes ---- */

/* Adds the rest of a part as tasks, cut where no buffer crosses. The shortest is searched first. */
static void add_tasks(PackSearch *search, PackSpan part, uint32_t parent) {
  uint32_t first = search->tasks.len;
  for (uint32_t s = part.begin; s < part.end;) {
    uint32_t begin = s++;
    while (s < part.end && search->num_across[s])
      s++;
    if (s == begin + 1 && search->num_left[begin] == 0) continue;
    Task task = {{begin, s}, parent};
    vec_push(search->arena, &search->tasks);
    uint32_t at = search->tasks.len - 1;
    for (; at > first; at--) {
      PackSpan before = search->tasks.data[at - 1].part;
      if (before.end - before.begin >= s - begin) break;
      search->tasks.data[at] = search->tasks.data[at - 1];
    }
    search->tasks.data[at] = task;
  }
}

/* Takes the next task as a node. False when it is known to fail. */
static bool begin_node(PackSearch *search) {
  Task task = search->tasks.data[--search->tasks.len];
  uint64_t state = state_of(search, task.part);
  *vec_push(search->arena, &search->nodes) = (Node){.task = task,
                                                    .num_changes = search->changes.len,
                                                    .num_tasks = search->tasks.len,
                                                    .first_option = search->options.len,
                                                    .wasted_floor = -1,
                                                    .state = state};
  if (*place_of_state(search, state) == state) return false;
  Node *node = &search->nodes.data[search->nodes.len - 1];
  Choice choice = search->has_colocated ? choose_lowest(search, task.part)
                                        : choose_in_valleys(search, task.part);
  node->section = choice.section;
  node->wasted_floor = choice.wasted_floor;
  gather_options(search, node);
  return true;
}

/* Takes the next branch of the last node that does not fail at once. False when there is none. */
static bool take_branch(PackSearch *search) {
  Node *node = &search->nodes.data[search->nodes.len - 1];
  for (;;) {
    bool is_open;
    undo(search, node->num_changes);
    search->tasks.len = node->num_tasks;
    if (node->next_option < node->num_options) {
      uint32_t option = node->first_option + node->next_option++;
      is_open = place(search, search->options.data[option]);
    } else if (node->wasted_floor >= 0) {
      is_open = waste(search, node->section, node->wasted_floor);
      node->wasted_floor = -1;
    } else {
      *place_of_state(search, node->state) = node->state;
      return false;
    }
    if (is_open) break;
  }
  add_tasks(search, node->task.part, search->nodes.len - 1);
  return true;
}

/* Drops the last node, which failed, and the nodes that were searched beside it since its parent.
 * False when it was the root. */
static bool go_back(PackSearch *search) {
  Node *node = &search->nodes.data[search->nodes.len - 1];
  uint32_t parent = node->task.parent;
  if (parent == NO_ID) return false;
  search->nodes.len = parent + 1;
  node = &search->nodes.data[parent];
  search->options.len = node->first_option + node->num_options;
  return true;
}

static SearchEnd descend(PackSearch *search, uint64_t max_nodes, PackBudget *budget) {
  for (uint64_t num_nodes = 0; search->tasks.len;) {
    if (num_nodes++ == max_nodes || pack_budget_is_spent(budget)) return SEARCH_LIMIT;
    bool is_open = begin_node(search) && take_branch(search);
    while (!is_open) {
      if (!go_back(search)) return SEARCH_NONE;
      is_open = take_branch(search);
    }
  }
  return SEARCH_FOUND;
}

/* ---- runs ---- */

SearchEnd pack_search_run(PackSearch *search, int64_t target_bytes, uint32_t variant,
                          PackBudget *budget, int64_t *offsets) {
  PackSpan whole = {0, search->num_sections};
  const PackParameters *parameters = pack_parameters(budget);
  uint64_t max_nodes = parameters->tree_nodes * (uint64_t)search->num_buffers;
  if (max_nodes < parameters->tree_least_nodes) max_nodes = parameters->tree_least_nodes;
  search->target = target_bytes;
  search->ceiling = (target_bytes + search->padding) / search->unit * search->unit;
  search->steps = &budget->steps;
  pack_search_rank(search, variant, parameters->tree_noise);
  search->tasks.len = search->nodes.len = search->options.len = 0;
  SearchEnd end = SEARCH_NONE;
  if (refresh(search, whole)) {
    add_tasks(search, whole, NO_ID);
    end = descend(search, max_nodes * (1 + variant / NUM_RANKINGS), budget);
  }
  for (uint32_t i = 0; i < search->num_buffers && end == SEARCH_FOUND; i++)
    offsets[search->ids[i]] = search->offset[i];
  undo(search, 0);
  return end;
}
