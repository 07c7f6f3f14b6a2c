/* What the parts of the advice on checkpoints around functions and scopes share: a study of one
 * computation, and a proposal. scope_checkpoint.c decides what is proposed, scope_simulation.c
 * makes the module that a proposal leads to, scope_outputs.c what a repetition hands on, and
 * scope_remedy.c writes it down. */
#ifndef REMAT_HLO_ADVICE_SCOPE_STUDY_H
#define REMAT_HLO_ADVICE_SCOPE_STUDY_H

#include "advice/advisor.h"
#include "advice/cloning.h"
#include "advice/layers.h"
#include "advice/policy.h"
#include "advice/present_values.h"

/* Whether the forward part is what an existing checkpoint computes again all at once. */
typedef enum Inside {
  INSIDE_NOTHING,
  INSIDE_THE_ONLY, /* a checkpoint around everything, which others then replace */
  INSIDE_ONE,      /* one of several, which stays */
} Inside;

typedef struct Study {
  Advisor *advisor;
  CompId comp;
  ForwardPart forward;
  Inside inside;
  double spared_seconds; /* if what is there computes nothing again any more */
  Products products;
  Arena *arena;
} Study;

/* What a proposal changes. */
typedef struct Proposal {
  const Layers *layers;
  uint32_t every; /* repetitions 0, every, 2 * every, … get a checkpoint */
  Policy policy;
  const ProductLines *lines; /* of POLICY_NAMES */
} Proposal;

/* Whether what is at a position of the forward part gets a checkpoint. */
bool scope_is_wrapped(const Proposal *proposal, SchedPos pos);

/* Whether the proposal's policy saves a value. */
bool scope_saves(const Study *study, const Proposal *proposal, InstId id);

/* A copy of the module without the checkpoint that is there, where the new one takes its place, and
 * the choice of a checkpoint around each repetition: what it hands on and what its policy saves is
 * kept. Ended by cloning_end(). */
PresentValues scope_begin(const Study *study, const Proposal *proposal, Cloning *cloning);

/* The module with clones; NULL if none was made. `*bytes_at_peak` is what lives at the peak and is
 * computed again. */
rh_module *scope_simulate(const Study *study, const Proposal *proposal, int64_t *bytes_at_peak,
                          bool *is_sketch);

/* Makes what a handed-on value is computed from be computed again for its own backward part. */
void scope_want_outputs(const Study *study, const Proposal *proposal, CheckpointChoice *choice);

/* Computes handed-on values again for their own backward part: under a checkpoint it does not read
 * what was kept as the input of the next repetition. It matters on a TPU, which then keeps the
 * input in bf16, see narrow_inputs(). */
void scope_repeat_outputs(const Study *study, const Proposal *proposal, Cloning *cloning);

/* Under a policy the backward part computes what a repetition hands on again, too, from the product
 * that the policy has saved, though the next repetition has kept it as its input: both wait. A
 * helper behind the last reader stands for that, and reads the product. Returns the number of
 * products that are held. */
uint32_t scope_hold_products(const Study *study, const Proposal *proposal, Cloning *cloning);

/* Fills in the texts of a remedy, its place and what it is about. */
void scope_write_remedy(const Study *study, const Proposal *proposal, rh_remedy *remedy);

#endif
