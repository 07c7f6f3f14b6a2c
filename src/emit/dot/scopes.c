/* Finds the scopes of op_names: frames around what is shown, and boxes for everything else. */
#include <inttypes.h>
#include <stdlib.h>

#include "analysis/memory/remat_memory.h"
#include "emit/dot/picture.h"
#include "emit/human.h"
#include "ir/chars.h"
#include "ir/hash.h"

/* ---- the tree of a computation's scopes ---- */

typedef struct Node {
  Str name;
  uint32_t parent; /* NO_ID: the root, which is the computation */
  uint32_t depth;
  uint32_t num_insts, num_shown; /* in this scope and below */
  uint32_t num_own;              /* number of instructions shown in this scope itself */
  uint32_t num_open;             /* number of direct children with shown instructions */
  uint32_t frame;      /* the frame of this scope's contents: index in picture->scopes or NO_ID */
  uint32_t framed;     /* the node of that frame */
  uint32_t num_frames; /* number of enclosing frames */
  uint32_t closed; /* the topmost enclosing node without shown instructions, else the node itself */
  uint32_t box[2]; /* on each side of the peak; NO_ID: none yet */
} Node;

typedef struct Tree {
  VEC(Node) nodes; /* parents come before children */
  IdTable table;   /* keys are parent and name */
  DotPicture *picture;
  CompId comp;
  uint32_t *node_of; /* by InstId */
  IdTable keys;      /* boxes by the key that they share */
  VEC(Str) box_keys; /* by box; those of this computation start at `first_box` */
  uint32_t first_box;
  Arena *out, *scratch;
} Tree;

static uint32_t new_node(Tree *tree, uint32_t parent, Str name) {
  uint32_t id = tree->nodes.len;
  uint32_t depth = parent == NO_ID ? 0 : tree->nodes.data[parent].depth + 1;
  *vec_push(tree->scratch, &tree->nodes) = (Node){.name = name,
                                                  .parent = parent,
                                                  .depth = depth,
                                                  .frame = NO_ID,
                                                  .closed = id,
                                                  .box = {NO_ID, NO_ID}};
  return id;
}

static uint32_t child_of(Tree *tree, uint32_t parent, Str name) {
  uint64_t hash = hash_mix(hash_str(name), parent);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&tree->table, hash); id_probe_next(&probe, &id);) {
    const Node *node = &tree->nodes.data[id];
    if (node->parent == parent && str_equal(node->name, name)) return id;
  }
  id = new_node(tree, parent, name);
  id_table_add(&tree->table, tree->scratch, hash, id);
  return id;
}

/* The last part of an op_name is the operation, so it is not a scope. */
static void add_instruction(Tree *tree, Places *places, InstId id) {
  Str parts[MAX_SCOPE_DEPTH];
  InstId place = report_place(places, id, NO_ID);
  Str op_name = human_source_place(places->module, place, tree->scratch).op_name;
  uint32_t num_parts = scope_split(op_name, parts), at = 0;
  for (uint32_t i = 0; i + 1 < num_parts; i++)
    at = child_of(tree, at, parts[i]);
  tree->node_of[id] = at;
  tree->nodes.data[at].num_insts++;
  tree->nodes.data[at].num_own += tree->picture->is_shown[id];
}

static void sum_up(Tree *tree) {
  for (uint32_t id = tree->nodes.len; id-- > 0;) {
    Node *node = &tree->nodes.data[id];
    node->num_shown += node->num_own;
    if (node->parent == NO_ID) continue;
    Node *parent = &tree->nodes.data[node->parent];
    parent->num_insts += node->num_insts;
    parent->num_shown += node->num_shown;
    parent->num_open += node->num_shown > 0;
  }
}

/* Joins the names from below one node down to another. */
static Str path_between(const Tree *tree, uint32_t above, uint32_t id, Arena *out) {
  Str parts[MAX_SCOPE_DEPTH];
  uint32_t num_parts = 0;
  for (uint32_t at = id; at != above; at = tree->nodes.data[at].parent)
    parts[MAX_SCOPE_DEPTH - ++num_parts] = tree->nodes.data[at].name;
  return scope_join(parts + MAX_SCOPE_DEPTH - num_parts, num_parts, out);
}

static bool needs_frame(const Node *node, const Node *framed) {
  enum { LEAST_SHOWN = 3 };
  return node->num_shown >= LEAST_SHOWN && node->num_own + node->num_open > 1 &&
         node->num_shown <= framed->num_shown / 2 && framed->num_frames < DOT_MAX_DEPTH;
}

/* Sets `frame`, `framed` and `closed` of all nodes. */
static void find_frames(Tree *tree) {
  for (uint32_t id = 1; id < tree->nodes.len; id++) {
    Node *node = &tree->nodes.data[id];
    const Node *parent = &tree->nodes.data[node->parent];
    const Node *framed = &tree->nodes.data[parent->framed];
    node->frame = parent->frame;
    node->framed = parent->framed;
    node->num_frames = parent->num_frames;
    if (node->num_shown == 0 && parent->num_shown == 0) node->closed = parent->closed;
    if (!needs_frame(node, framed)) continue;
    node->frame = tree->picture->scopes.len;
    node->num_frames++;
    *vec_push(tree->out, &tree->picture->scopes) =
        (DotScope){.path = path_between(tree, parent->framed, id, tree->out),
                   .parent = parent->frame,
                   .comp = tree->comp,
                   .num_insts = node->num_insts,
                   .num_shown = node->num_shown};
    node->framed = id;
  }
}

/* ---- boxes ---- */

/* Returns the key of a box: its frame, its side of the peak, and its path with `#` for each
 * number. */
static Str key_of(const Tree *tree, uint32_t frame, Str path, int side) {
  char *text =
      arena_printf(tree->scratch, "%" PRIu32 " %d %.*s", frame, side, (int)path.len, path.data);
  uint32_t end = (uint32_t)strlen(text), len = end - path.len;
  bool is_number = false;
  for (uint32_t i = len; i < end; i++) {
    bool is_digit = char_is_digit(text[i]);
    if (!is_digit || !is_number) text[len++] = is_digit ? '#' : text[i];
    is_number = is_digit;
  }
  return (Str){text, len};
}

static uint32_t box_with(Tree *tree, Str key, DotBox box) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&tree->keys, hash_str(key)); id_probe_next(&probe, &id);) {
    if (str_equal(tree->box_keys.data[id - tree->first_box], key)) return id;
  }
  id = tree->picture->boxes.len;
  *vec_push(tree->out, &tree->picture->boxes) = box;
  *vec_push(tree->scratch, &tree->box_keys) = key;
  id_table_add(&tree->keys, tree->scratch, hash_str(key), id);
  return id;
}

/* Returns the box for the instructions of a scope on one side of the peak. */
static DotBox *box_of(Tree *tree, uint32_t id, int side) {
  uint32_t top = tree->nodes.data[id].closed;
  Node *node = &tree->nodes.data[top];
  if (node->box[side] == NO_ID) {
    Str path = path_between(tree, node->framed, top, tree->out);
    DotBox box = {.first_path = path,
                  .last_path = path,
                  .scope = node->frame,
                  .comp = tree->comp,
                  .first = NO_ID};
    node->box[side] = box_with(tree, key_of(tree, node->frame, path, side), box);
    DotBox *found = &tree->picture->boxes.data[node->box[side]];
    found->last_path = path;
    found->num_scopes++;
  }
  return &tree->picture->boxes.data[node->box[side]];
}

static void add_to_box(const DotPicture *picture, DotBox *box, InstId id) {
  SchedPos pos = picture->position[id];
  int64_t bytes = result_device_bytes(picture->module, id);
  box->num_insts++;
  box->live_bytes += picture->live_bytes[id];
  if (bytes > box->largest_bytes) box->largest_bytes = bytes;
  if (box->first == NO_ID) box->first = pos;
  box->last = pos;
}

/* ---- the scopes of a picture ---- */

static void find_scopes_of(DotPicture *picture, Places *places, CompId comp, uint32_t *node_of,
                           Arena *out, Arena *scratch) {
  Sequence sequence = picture->schedule->of[comp];
  SchedPos peak = picture->peak_position[comp];
  Tree tree = {.picture = picture,
               .comp = comp,
               .node_of = node_of,
               .first_box = picture->boxes.len,
               .out = out,
               .scratch = scratch};
  new_node(&tree, NO_ID, STR(""));
  for (SchedPos pos = 0; pos < sequence.len; pos++)
    add_instruction(&tree, places, sequence.ids[pos]);
  sum_up(&tree);
  if (tree.nodes.data[0].num_shown == 0) return;
  find_frames(&tree);
  for (SchedPos pos = 0; pos < sequence.len; pos++) {
    InstId id = sequence.ids[pos];
    if (picture->is_shown[id]) {
      picture->scope_of[id] = tree.nodes.data[node_of[id]].frame;
    } else {
      add_to_box(picture, box_of(&tree, node_of[id], peak != NO_ID && pos > peak), id);
    }
  }
}

typedef struct Ranked {
  const DotBox *box;
  uint32_t id;
} Ranked;

static int by_weight(const void *pa, const void *pb) {
  const Ranked *a = pa, *b = pb;
  if (a->box->live_bytes != b->box->live_bytes) {
    return a->box->live_bytes > b->box->live_bytes ? -1 : 1;
  }
  if (a->box->num_insts != b->box->num_insts) {
    return a->box->num_insts > b->box->num_insts ? -1 : 1;
  }
  return (a->id > b->id) - (a->id < b->id);
}

static void merge_box(DotBox *box, const DotBox *other) {
  box->num_scopes += other->num_scopes;
  box->num_insts += other->num_insts;
  box->live_bytes += other->live_bytes;
  if (other->largest_bytes > box->largest_bytes) box->largest_bytes = other->largest_bytes;
  if (other->first < box->first) box->first = other->first;
  if (other->last > box->last) box->last = other->last;
}

/* Returns true for a box with at least a hundredth of what is live at the peak, or of all
 * instructions. */
static bool matters(const DotPicture *picture, const DotBox *box) {
  enum { SHARE = 100 };
  return (box->live_bytes > 0 && box->live_bytes >= picture->all_live_bytes / SHARE) ||
         box->num_insts >= picture->num_insts / SHARE;
}

/* Merges unimportant boxes of a computation on one side of the peak. */
static void merge_small(DotPicture *picture, Arena *out, Arena *scratch) {
  uint32_t num_boxes = picture->boxes.len, num_comps = picture->module->comps.len;
  const DotBox *boxes = picture->boxes.data;
  Ranked *ranked = arena_array(scratch, Ranked, num_boxes);
  bool *is_kept = arena_zarray(scratch, bool, num_boxes);
  uint32_t *rest = arena_array(scratch, uint32_t, (size_t)num_comps * 2);
  memset(rest, 0xff, (size_t)num_comps * 2 * sizeof *rest);
  for (uint32_t i = 0; i < num_boxes; i++)
    ranked[i] = (Ranked){&boxes[i], i};
  qsort(ranked, num_boxes, sizeof *ranked, by_weight);
  for (uint32_t i = 0; i < num_boxes && i < DOT_MAX_BOXES; i++)
    is_kept[ranked[i].id] = matters(picture, ranked[i].box);
  picture->boxes.data = NULL;
  picture->boxes.len = picture->boxes.cap = 0;
  for (uint32_t i = 0; i < num_boxes; i++) {
    SchedPos peak = picture->peak_position[boxes[i].comp];
    uint32_t *of_side = &rest[boxes[i].comp * 2 + (peak != NO_ID && boxes[i].first > peak)];
    if (is_kept[i]) {
      *vec_push(out, &picture->boxes) = boxes[i];
    } else if (*of_side == NO_ID) {
      *of_side = picture->boxes.len;
      DotBox *box = vec_push(out, &picture->boxes);
      *box = boxes[i];
      box->is_rest = true;
      box->scope = NO_ID;
    } else {
      merge_box(&picture->boxes.data[*of_side], &boxes[i]);
    }
  }
}

void dot_scopes_find(DotPicture *picture, Places *places, Arena *out, Arena *scratch) {
  uint32_t num_insts = picture->module->insts.len;
  picture->scope_of = arena_array(out, uint32_t, num_insts);
  memset(picture->scope_of, 0xff, num_insts * sizeof *picture->scope_of);
  uint32_t *node_of = arena_array(scratch, uint32_t, num_insts);
  for (uint32_t i = picture->graph.num_reachable; i-- > 0;) { /* callers before callees */
    CompId comp = picture->graph.post_order[i];
    if (!comp_is_sequential(&picture->graph, comp)) continue;
    ArenaMark mark = arena_mark(scratch);
    find_scopes_of(picture, places, comp, node_of, out, scratch);
    arena_reset(scratch, mark);
  }
  if (picture->boxes.len) merge_small(picture, out, scratch);
}
