/* What the two files of the search share: its state, and how it is set up. */
#ifndef REMAT_HLO_ANALYSIS_PACK_SEARCH_INTERNAL_H
#define REMAT_HLO_ANALYSIS_PACK_SEARCH_INTERNAL_H

#include "analysis/pack/improve.h"
#include "ir/hash.h"
#include "ir/vec.h"

enum { TABLE_LEN = 1 << 16, NUM_RANKINGS = 6 };

typedef enum ChangeKind { CHANGE_FLOOR, CHANGE_LOW, CHANGE_OPTIONS, CHANGE_PLACED } ChangeKind;

/* What to set back when a branch failed. */
typedef struct Change {
  ChangeKind kind;
  uint32_t index;
  int64_t old;
} Change;

/* A part of time to be searched, and the node whose branch it belongs to. */
typedef struct Task {
  PackSpan part;
  uint32_t parent;
} Task;

typedef struct Node {
  Task task;
  uint32_t num_changes, num_tasks; /* when it was begun */
  uint32_t first_option, num_options, next_option;
  uint32_t section;
  int64_t wasted_floor; /* of the section when nothing lies on its floor; -1 = cannot be */
  uint64_t state;
} Node;

struct PackSearch {
  Arena *arena;
  uint32_t num_buffers, num_sections;
  uint32_t *ids; /* in the problem, by buffer of the search */
  /* by buffer */
  int64_t *bytes; /* rounded up to the alignment when that is the same for all */
  int64_t *true_bytes;
  int64_t *alignment;
  int64_t *low; /* it cannot lie lower */
  int64_t *offset;
  uint32_t *rank; /* lower ones are tried first */
  uint64_t *key;
  uint64_t *ticks; /* how long it lives, scaled to 40 bits */
  bool *is_placed;
  PackSpan *spans;
  uint32_t *first_span;
  /* by section */
  uint32_t *members; /* the buffers that live there */
  uint32_t *first_member;
  int64_t *floor;
  int64_t *left_bytes; /* not placed yet */
  uint32_t *num_left;
  uint32_t *num_options; /* of those: how many can lie on the floor */
  uint32_t *num_across;  /* buffers not placed that live in the section before, too */
  uint64_t *left_keys;   /* of the buffers not placed that begin there */
  uint32_t *trouble;
  int64_t *least_before, *least_behind; /* of choose_section */

  bool has_mixed_alignment, has_colocated;
  int64_t unit;    /* divides all rounded sizes */
  int64_t padding; /* what rounding has added to a buffer, at most */
  int64_t target;  /* for true_bytes */
  int64_t ceiling; /* for bytes */
  uint64_t *failed;
  uint64_t *steps;
  VEC(Change) changes;
  VEC(Task) tasks;
  VEC(Node) nodes;
  VEC(uint32_t) options;
};

static inline uint32_t hull_end(const PackSearch *search, uint32_t buffer) {
  return search->spans[search->first_span[buffer + 1] - 1].end;
}

static inline uint32_t hull_begin(const PackSearch *search, uint32_t buffer) {
  return search->spans[search->first_span[buffer]].begin;
}

/* Takes the buffer out of what is left, or, with a sign of -1, puts it back. */
void pack_search_count(PackSearch *search, uint32_t buffer, int sign);

/* The order in which buffers are tried. */
void pack_search_rank(PackSearch *search, uint32_t variant, uint32_t noise);

#endif
