/* Gradients of each sample on its own, as vmap of a derivative makes them (differential privacy,
 * influence functions): arrays that have the dimensions of weights for each sample. */
#ifndef REMAT_HLO_ADVICE_SAMPLE_GRADIENTS_H
#define REMAT_HLO_ADVICE_SAMPLE_GRADIENTS_H

#include "advice/batch.h"

/* Whether an array has the dimensions of some weights and one of the samples besides. */
bool sample_gradients_has_shape(const Advisor *advisor, const Batch *batch, const Shape *shape);

/* The bytes of such arrays at the peak; 0 if the largest weights have none, so that what has the
 * shape is something else, or if no derivative is under vmap. O(live values * arguments +
 * instructions). */
int64_t sample_gradients_bytes(const Advisor *advisor, const Batch *batch);

/* Whether they are a quarter of the peak. */
bool sample_gradients_are_much(const Advisor *advisor, const Batch *batch);

#endif
