/* Which outputs of a module are new versions of which of its parameters: weights, and the state of
 * an optimizer. */
#ifndef REMAT_HLO_ADVICE_UPDATES_H
#define REMAT_HLO_ADVICE_UPDATES_H

#include "ir/module.h"
#include "ir/schedule.h"

/* Whether an operation computes each element of its result from the same elements of its operands.
 */
bool is_elementwise(const Module *module, InstId id);

/* How far a parameter is from an instruction that is computed from it element by element, itself or
 * by a few others; NO_ID = it is not. */
uint32_t update_distance(const Module *module, InstId id, InstId param);

enum { MAX_UPDATED = 8 };

/* Parameters of the entry that an instruction may be a new version of, the nearest one first. */
typedef struct UpdatedParams {
  InstId ids[MAX_UPDATED];
  uint32_t len;
} UpdatedParams;

/* The instruction that makes a part of the entry's result, or the get-tuple-element that takes it
 * from there. */
InstId output_maker(const Module *module, uint32_t part);

/* Whether an instruction makes an output, perhaps in another form. */
bool makes_output(const Module *module, InstId id);

/* Besides what is computed element by element, what is written in place counts: a cache with new
 * rows, or an array that a loop carries from a parameter on. */
UpdatedParams params_updated_by(const Module *module, InstId id);

/* A reader of the parameter, or of a copy of it, that need not have run when `maker` writes its new
 * version, or that has not in the order of the entry, if one is given; NO_ID if there is none. XLA
 * inserts its copies before it decides about the order, so the parameter is copied for such a
 * reader. */
InstId late_reader_of(const Module *module, InstId param, InstId maker, const Sequence *order,
                      Arena *scratch);

/* The number of devices that sum up what an instruction updates an array of so many elements by:
 * each of them has the same array. 0 = they do not. */
int64_t update_replicas(const Module *module, InstId id, int64_t num_elements);

/* Whether a parameter is read by nothing but operations on its single elements that make outputs,
 * as moments are, and weights are not. */
bool is_only_updated(const Module *module, InstId param);

#endif
