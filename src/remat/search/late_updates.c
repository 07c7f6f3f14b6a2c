/* Puts off what only leads to results. */
#include <stdlib.h>

#include "remat/search/groups.h"
#include "remat/search/updates.h"

/* A group: steps of one connected part of what only leads to results, in their order. */
typedef struct Group {
  uint32_t first, len; /* range in the list of members */
  uint32_t cut;        /* members from here on are put off; `len` = none */
  int64_t held_bytes;  /* what they read from before the cut */
  uint32_t number;
} Group;

typedef struct Updates {
  const Line *line;
  LineMemory memory;
  StepId *owner;   /* by part of the line: its step */
  bool *is_tail;   /* by step: all its readers only lead to results */
  StepId *members; /* of all groups */
  VEC(Group) groups;
  Arena *arena;
} Updates;

/* A step is part of the tail if only the end, or other parts of it, read it. */
static void find_tail(Updates *updates, const Rows *waits) {
  const Line *line = updates->line;
  const SearchGraph *graph = line->graph;
  bool *leads_on = arena_zarray(updates->arena, bool, line->len);
  for (StepId step = line->len; step-- > 0;) {
    const SearchNode *node = &graph->nodes[line->nodes[step]];
    bool is_bundle = node->flags & (NODE_IS_END | NODE_IS_TUPLE);
    bool can_move = !(node->flags & (NODE_IS_FIXED | NODE_IS_GIVEN | NODE_IS_END | NODE_IS_SOURCE));
    bool is_free = waits->first[step] == waits->first[step + 1];
    updates->is_tail[step] = can_move && is_free && !leads_on[step];
    bool is_tail = updates->is_tail[step] || (is_bundle && !leads_on[step]);
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++) {
      StepId source = line->sources[i];
      /* Tuples go to the very end, so what is put off cannot read one. */
      bool is_tuple = graph->nodes[line->nodes[source]].flags & NODE_IS_TUPLE;
      leads_on[source] |= !is_tail || (is_tuple && !is_bundle);
    }
    for (uint32_t i = waits->first[step]; i < waits->first[step + 1]; i++)
      leads_on[waits->ids[i]] = true;
    if (is_bundle) updates->is_tail[step] = false;
  }
}

static void list_groups(Updates *updates, const Rows *waits) {
  const Line *line = updates->line;
  Groups groups = groups_find(line, updates->is_tail, waits, updates->arena);
  uint32_t *group_of = arena_array(updates->arena, uint32_t, line->len);
  updates->members = arena_array(updates->arena, StepId, line->len);
  for (StepId step = 0; step < line->len; step++) {
    if (!updates->is_tail[step]) continue;
    uint32_t root = groups_root(&groups, step);
    if (root == step) {
      group_of[step] = updates->groups.len;
      *vec_push(updates->arena, &updates->groups) = (Group){.number = updates->groups.len};
    }
    updates->groups.data[group_of[root]].len++;
  }
  uint32_t next = 0;
  for (uint32_t i = 0; i < updates->groups.len; i++) {
    updates->groups.data[i].first = next;
    next += updates->groups.data[i].len;
    updates->groups.data[i].len = 0;
  }
  for (StepId step = 0; step < line->len; step++) {
    if (!updates->is_tail[step]) continue;
    Group *group = &updates->groups.data[group_of[groups_root(&groups, step)]];
    updates->members[group->first + group->len++] = step;
  }
}

/* Finds the place of a group from which on the results take most, compared with what must be held
 * for them until the end. */
static void find_cut(Updates *updates, Group *group, bool *is_late, bool *is_held) {
  const Line *line = updates->line;
  const SearchGraph *graph = line->graph;
  int64_t results = 0, held = 0, best = 0;
  group->cut = group->len;
  ArenaMark mark = arena_mark(updates->arena);
  IdVec touched = {0};
  for (uint32_t i = group->len; i-- > 0;) {
    StepId step = updates->members[group->first + i];
    is_late[step] = true;
    for (uint32_t part = line->first_part[step]; part < line->first_part[step + 1]; part++) {
      int64_t bytes = line_part_bytes(line, step, part);
      if (is_held[part]) held -= bytes; /* now it is made late itself */
      if (updates->memory.last_of[part] + 1 >= line->len) results += bytes;
    }
    for (uint32_t k = 0; k < graph->nodes[line->nodes[step]].num_operands; k++) {
      uint32_t count = node_operand(graph, line->nodes[step], k)->num_parts;
      for (uint32_t p = 0; p < count; p++) {
        uint32_t part = updates->memory.root_of[line_read_part(line, step, k, p)];
        StepId owner = updates->owner[part];
        int64_t bytes = line_part_bytes(line, owner, part);
        bool is_result = updates->memory.last_of[part] + 1 >= line->len;
        if (is_held[part] || bytes == 0 || is_late[owner] || is_result) continue;
        if (graph->nodes[line->nodes[owner]].flags & NODE_IS_SOURCE) continue;
        is_held[part] = true;
        *vec_push(updates->arena, &touched) = part;
        held += bytes;
      }
    }
    if (results - held > best) {
      best = results - held;
      group->cut = i;
      group->held_bytes = held;
    }
  }
  for (uint32_t i = 0; i < touched.len; i++)
    is_held[touched.data[i]] = false;
  for (uint32_t i = 0; i < group->cut; i++)
    is_late[updates->members[group->first + i]] = false;
  arena_reset(updates->arena, mark);
}

static int by_size(const void *pa, const void *pb) {
  const Group *a = pa, *b = pb;
  if (a->held_bytes != b->held_bytes) return a->held_bytes > b->held_bytes ? -1 : 1;
  return (a->number > b->number) - (a->number < b->number);
}

Line line_with_late_updates(const Line *line, bool *has_moved, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  Updates updates = {.line = line,
                     .memory = line_measure(line, arena),
                     .owner = line_owners(line, arena),
                     .is_tail = arena_zarray(arena, bool, line->len),
                     .arena = arena};
  Rows waits = line_waits(line, arena, scratch);
  find_tail(&updates, &waits);
  list_groups(&updates, &waits);
  bool *is_late = arena_zarray(arena, bool, line->len);
  bool *is_held = arena_zarray(arena, bool, line_num_parts(line));
  *has_moved = false;
  for (uint32_t i = 0; i < updates.groups.len; i++) {
    find_cut(&updates, &updates.groups.data[i], is_late, is_held);
    *has_moved |= updates.groups.data[i].cut < updates.groups.data[i].len;
  }
  if (updates.groups.len)
    qsort(updates.groups.data, updates.groups.len, sizeof *updates.groups.data, by_size);
  StepId *order = arena_array(arena, StepId, line->len);
  uint32_t next = 0;
  bool *is_last = arena_zarray(arena, bool, line->len); /* what bundles the results, and the end */
  for (StepId step = 0; step < line->len; step++) {
    for (uint32_t i = line->first_source[step]; i < line->first_source[step + 1]; i++)
      is_last[step] |= is_late[line->sources[i]] || is_last[line->sources[i]];
    is_last[step] &= !is_late[step];
    if (!is_late[step] && !is_last[step]) order[next++] = step;
  }
  for (uint32_t i = 0; i < updates.groups.len; i++) {
    const Group *group = &updates.groups.data[i];
    for (uint32_t k = group->cut; k < group->len; k++)
      order[next++] = updates.members[group->first + k];
  }
  for (StepId step = 0; step < line->len; step++) {
    if (is_last[step]) order[next++] = step;
  }
  Line result = line_of_steps(line, order, line->len, out, scratch);
  arena_free(arena);
  return result;
}
