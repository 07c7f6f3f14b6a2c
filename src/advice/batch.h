/* The batch of a program: arrays that have the number of samples as a dimension, or the number of
 * all positions of all samples, as products with weights have it. */
#ifndef REMAT_HLO_ADVICE_BATCH_H
#define REMAT_HLO_ADVICE_BATCH_H

#include "advice/advisor.h"

enum { MAX_POSITIONS = 8 };

typedef struct Batch {
  int64_t samples;
  int64_t positions[MAX_POSITIONS]; /* of all samples together; 0 = there are no more */
  bool is_unique;         /* no weights have a dimension of this size, so that it is that of samples
                             wherever it occurs, as behind the members of an ensemble */
  bool has_gradients;     /* the program has a backward part */
  const bool *is_version; /* by InstId: it makes an output that is a new version of an argument */
  const char *argument;
  int64_t returned_bytes; /* of the outputs that have the batch in their shape */
  int64_t parts;          /* into which the batch is divided */
} Batch;

/* Adds a number of positions, if there is room for it. */
void batch_add_positions(Batch *batch, int64_t positions);

/* Adds the numbers of positions that reshapes make of the batch and dimensions behind it, and that
 * padding and concatenation make of it. O(instructions * positions). */
void batch_find_positions(const Module *module, Batch *batch);

bool batch_is_dim(const Shape *shape, uint32_t i, const Batch *batch);

/* Whether an array has the batch in its shape. */
bool batch_is_in(const Shape *shape, const Batch *batch);

/* The argument whose leading dimension most of the peak has; `argument` is NULL if there is none.
 * O(arguments * (instructions + outputs)). */
Batch batch_find(Advisor *advisor);

/* The bytes of temporaries and outputs at the peak that have the batch in their shapes. New
 * versions of arguments do not count. */
int64_t batch_live_bytes(const Advisor *advisor, const Batch *batch);

/* Whether an array has the batch as two of its dimensions, as the distances of all pairs have. */
bool batch_is_crossed(const Module *module, const Batch *batch);

/* Whether no sample is computed from others, as far as operations tell: none sorts along the batch
 * or hands all of it to a library that may do anything with it, and what is summed up over it ends
 * there, as the mean of a loss does. */
bool batch_is_separate(const Module *module, const Batch *batch, Arena *scratch);

#endif
