/* The order that XLA gives a module with checkpoints. Under jax.checkpoint a barrier
 * (optimization_barrier, prevent_cse) makes what a layer computes again wait for the gradient that
 * enters the layer; behind it, the order is the scheduler's. So the backward part of a simulated
 * module is scheduled anew, with control dependencies in place of the barriers, by the scheduler
 * that the order of the module itself comes from. */
#ifndef REMAT_HLO_ADVICE_ORDER_ANEW_H
#define REMAT_HLO_ADVICE_ORDER_ANEW_H

#include "advice/cloning.h"
#include "advice/layers.h"
#include "schedule/scheduler.h"

/* Fills in the request's scheduler: the one whose order of the module is near its own one and takes
 * as many temporaries, if need be with barriers in place of those of checkpoints that are there.
 * None is found if the text fixes the order, as that of XLA:TPU does. */
void order_find_scheduler(AdviceRequest *request, int64_t temp_bytes, Arena *scratch);

/* Gives all computations of a simulated module the order of that scheduler if it takes less memory
 * than the order of the input, which XLA chose for other lifetimes. Does nothing without a
 * scheduler or where checkpoints are there. */
void order_lower(const Advisor *advisor, rh_module *made);

/* Gives the computation of the cloning a new order; `instance_of` says by position in the old one
 * which layer an original belongs to. The control dependencies stay. Does nothing without a
 * scheduler, nor if the new checkpoints are inside (`is_inside`) of one that is there and whose
 * barrier the order depends on. O(layers * instructions). */
void order_anew(const Advisor *advisor, Cloning *cloning, const Layers *layers, bool is_inside,
                Arena *scratch);

#endif
