/* What the rewrites of loops share: new instructions and their places, indices that follow from the
 * iteration, slices of stacks. */
#ifndef REMAT_HLO_REMAT_SCAN_MAKER_H
#define REMAT_HLO_REMAT_SCAN_MAKER_H

#include "analysis/loop/stack.h"
#include "remat/scan/kernel.h"

/* A new instruction, and its place: before the instruction at `position` of the computation's
 * sequence. */
typedef struct Insertion {
  CompId comp;
  uint32_t position, number;
  InstId inst;
} Insertion;

/* A scalar whose value in iteration t of a loop is first + t * step. */
typedef struct KnownScalar {
  const Loop *loop;
  int64_t first, step;
  ElementType type;
  InstId inst;
} KnownScalar;

/* An array with a few slots for the slices of a stack; see remat/scan/slots.h. It holds the slice
 * of the iteration from `position` of the loop's body on. */
typedef struct SlotArray {
  const Loop *loop;
  const int64_t *iterations; /* by iteration of the loop: of the writing loop's */
  uint32_t stack, position;
  InstId array;
} SlotArray;

/* Where a slice in a fused computation begins. */
typedef struct SlicePlace {
  InstId start;
  int64_t last; /* the start is clamped to this number */
} SlicePlace;

/* A fusion of a loop's body that reads slices of such an array instead of a stack's. */
typedef struct NarrowedFusion {
  const Loop *loop;
  InstId inst;
  SlicePlace place;
  bool is_carried;   /* the loop carries such arrays */
  InstId at;         /* the number of the slice, in the body */
  uint32_t position; /* of the fusion in the body */
} NarrowedFusion;

/* A clone of a fusion that stays whole; see remat/scan/whole.h. */
typedef struct WholeClone {
  const Loop *loop;
  const int64_t *iterations;
  InstId fusion;   /* the original */
  InstId *results; /* by result of the fusion; of one that writes a slice, the array */
} WholeClone;

typedef struct Maker {
  Rewrite *rewrite;
  Module *module;
  const Stacks *stacks; /* of the module as it was */
  const Loops *loops;
  Schedule *schedule;
  uint32_t *position; /* by InstId, up to `num_old`: in its sequence */
  uint32_t num_old;
  bool is_lean;      /* values are computed where they are needed, even twice */
  bool *has_moved;   /* by loop: its constants have been moved */
  bool is_fused;     /* new instructions must stand in fusions */
  bool has_one_slot; /* see slots_are_single() */
  InstId allocation; /* of the module: it allocates an array; NO_ID = none */
  /* scalars that were made before; by loop, first value, step and type */
  VEC(KnownScalar) scalars;
  VEC(SlotArray) slots;
  VEC(NarrowedFusion) narrowed;
  VEC(WholeClone) wholes;
  IdVec cut_open; /* fusions whose dynamic-slices were removed */
  VEC(Insertion) insertions;
  Arena *arena;
} Maker;

/* Positions are those of `schedule` now. The arrays are in `arena`. */
Maker maker_begin(Rewrite *rewrite, Schedule *schedule, const Stacks *stacks, bool is_lean,
                  Arena *arena);

/* Puts all new instructions into the sequences, and removes what is not needed any more. `schedule`
 * is complete afterwards; its new arrays are in `out`. */
void maker_finish(Maker *maker, Arena *out, Arena *scratch);

/* Puts a new instruction before the one at `position` of its computation's sequence, and after
 * those that were put there before. A new computation has no sequence yet: there the order in which
 * instructions are added counts, and the position is ignored. */
void maker_insert(Maker *maker, InstId inst, uint32_t position);
void maker_insert_all(Maker *maker, const IdVec *insts, uint32_t position);

/* Puts what was inserted since into the sequences, whose new arrays are in `out`. */
void maker_place_all(Maker *maker, Arena *out);

/* By InstId, the position in its sequence as it is now. */
uint32_t *maker_positions_now(const Maker *maker, Arena *out);

/* The position in a loop's body where the values that an iteration begins with can be read, before
 * anything overwrites them. */
uint32_t maker_beginning(const Maker *maker, const Loop *loop);

/* Whether a loop computes in the memory of a value that its state begins with: an array of zeros
 * may be the beginning of a sum, and something that another loop hands on, too. */
bool maker_overwrites(const Maker *maker, const Loop *loop, InstId value);

/* A new get-tuple-element. */
InstId maker_element(Maker *maker, InstId tuple, uint32_t element, uint32_t position);

/* A scalar, computed at the beginning of a loop's body, whose value in iteration t is
 * first + t * step. The loop must have a counter (count_counter_of). */
InstId maker_scalar(Maker *maker, const Loop *loop, int64_t first, int64_t step, ElementType type);

/* factor * value + offset, for a scalar that is an operand of the kernel. */
InstId maker_linear(Kernel *kernel, InstId value, int64_t factor, int64_t offset, ElementType type);

/* The same elements as a value of this shape, of the same bytes but for vectors that are stacked as
 * rows; the value itself if it has the shape. */
InstId maker_as_shape(Maker *maker, InstId id, ShapeId shape, uint32_t position);

/* Whether a vector in tiles of one dimension is a slice of a stack as rows of 128 elements, as
 * XLA:TPU stacks vectors by itself. If its last tile is full, the bytes of both are the same. */
bool maker_stacks_rows(const Shape *shape);

/* The shape of an array of `count` slices, along a new first dimension, of this shape. */
ShapeId maker_stacked_shape(Module *module, ShapeId slice, int64_t count, Arena *arena);

/* An array, before position `position` of `comp`, of which nothing is read that was not written
 * before: memory without values where the module allocates such by itself, otherwise zeros, which
 * take a kernel. */
InstId maker_new_array(Maker *maker, CompId comp, ShapeId shape, uint32_t position);

/* Adds kernels that write `update` into slice `at` of a stack, along its first dimension or along
 * `dim`, and that read a slice as `shape`. The operands are instructions of the computation `comp`.
 */
InstId maker_write_slice(Maker *maker, CompId comp, InstId stack, InstId update, InstId at,
                         uint32_t position);
InstId maker_write_slice_at(Maker *maker, CompId comp, InstId stack, InstId update, ShapeId slice,
                            uint32_t dim, InstId at, uint32_t position);
/* The same for a new array of zeros. */
InstId maker_new_slices(Maker *maker, CompId comp, ShapeId shape, InstId update, ShapeId slice,
                        uint32_t dim, InstId at, uint32_t position);
InstId maker_read_slice(Maker *maker, CompId comp, InstId stack, ShapeId slice, uint32_t dim,
                        InstId at, ShapeId shape, uint32_t position);
/* The same, but `beyond`, of the shape of the result, where `at` is `edge`, the only number that
 * may be outside of the stack. Without (NO_ID), the result there is any slice. */
InstId maker_read_slice_or(Maker *maker, CompId comp, InstId stack, ShapeId slice, uint32_t dim,
                           InstId at, int64_t edge, InstId beyond, ShapeId shape,
                           uint32_t position);

/* Whether an instruction computes its value from constants, and fast. */
bool maker_is_constant(const Maker *maker, InstId id);

/* Clones such an instruction, which is outside of `comp`, and its operands into `comp`, and copies
 * it into the layout of `shape` if it has another one. */
InstId maker_clone_constant(Maker *maker, InstId id, ShapeId shape, CompId comp, uint32_t position);

/* Lets the body of a loop compute large values from constants itself, instead of carrying them. */
void maker_move_constants(Maker *maker, uint32_t loop);

/* The position at which a read needs the slice: that of its first user if it does nothing but read
 * a slice. Schedulers like to begin a body with all slices. */
uint32_t maker_read_position(const Maker *maker, const StackRead *read);

/* The number of the slice that an iteration of the reading loop reads, as a scalar. */
InstId maker_slice_number(Maker *maker, const StackRead *read);

/* Gives an instruction of a reading loop the slice, which is there at `position`, instead of the
 * stack. A fusion that would round otherwise without its slice keeps it (remat/scan/slots.h). With
 * `is_same_loop`, the loop still runs through the iterations that the read is known for. */
void maker_replace_read(Maker *maker, const StackRead *read, InstId value, uint32_t position,
                        bool is_same_loop);

#endif
