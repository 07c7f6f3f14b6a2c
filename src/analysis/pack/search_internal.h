/* Declarations shared by the two files of the search: its state, and how it is set up. */
#ifndef REMAT_HLO_ANALYSIS_PACK_SEARCH_INTERNAL_H
#define REMAT_HLO_ANALYSIS_PACK_SEARCH_INTERNAL_H

#include "analysis/pack/improve.h"
#include "ir/hash.h"
#include "ir/vec.h"

enum { TABLE_LEN = 1 << 16, NUM_RANKINGS = 6 };

typedef enum ChangeKind { CHANGE_FLOOR, CHANGE_LOW, CHANGE_OPTIONS, CHANGE_PLACED } ChangeKind;

/* A change to undo when a branch has failed. */
typedef struct Change {
  ChangeKind kind;
  uint32_t index;
  int64_t old;
} Change;

/* A part of time to be searched, and the node whose branch created the task. */
typedef struct Task {
  PackSpan part;
  uint32_t parent;
} Task;

typedef struct Node {
  Task task;
  uint32_t num_changes, num_tasks; /* when the node was begun */
  uint32_t first_option, num_options, next_option;
  uint32_t section;
  int64_t wasted_floor; /* floor of the section if no buffer lies on its floor; -1 = that is
                           impossible */
  uint64_t state;
} Node;

struct PackSearch {
  Arena *arena;
  uint32_t num_buffers, num_sections;
  uint32_t *ids; /* by buffer of the search: its id in the problem */
  /* by buffer */
  int64_t *bytes; /* rounded up to the alignment if that is the same for all */
  int64_t *true_bytes;
  int64_t *alignment;
  int64_t *low; /* the lowest possible offset */
  int64_t *offset;
  uint32_t *rank; /* buffers of lower rank are tried first */
  uint64_t *key;
  uint64_t *ticks; /* length of its life, scaled to 40 bits */
  bool *is_placed;
  PackSpan *spans;
  uint32_t *first_span;
  /* by section */
  uint32_t *members; /* the buffers that live there */
  uint32_t *first_member;
  int64_t *floor;
  int64_t *left_bytes; /* of the buffers that are not placed */
  uint32_t *num_left;
  uint32_t *num_options; /* of those buffers: the number that can lie on the floor */
  uint32_t *num_across;  /* buffers not placed that live in the section before, too */
  uint64_t *left_keys;   /* hash of the buffers that are not placed and begin there */
  uint32_t *trouble;
  int64_t *least_before, *least_after; /* of find_least() */

  bool has_mixed_alignment, has_colocated;
  int64_t unit;    /* divides all rounded sizes */
  int64_t padding; /* the largest number of bytes that rounding has added to a buffer */
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

/* Removes the buffer from the buffers that are left, or, with a sign of -1, puts it back. */
void pack_search_count(PackSearch *search, uint32_t buffer, int sign);

/* The order in which buffers are tried. */
void pack_search_rank(PackSearch *search, uint32_t variant, uint32_t noise);

#endif
