/* Whether a module has been through XLA's copy-insertion (analysis/memory/overwrites.h). If a
 * module with copies is analysed as one without, a recomputation may read overwritten memory; the
 * other way round, more is forbidden than necessary, and the copies that XLA will insert are
 * missing from the figures. */
#ifndef REMAT_HLO_ANALYSIS_FLOW_COPY_STAGE_H
#define REMAT_HLO_ANALYSIS_FLOW_COPY_STAGE_H

#include "ir/module.h"

typedef struct CopyFinding {
  bool is_inserted;
  bool is_sure;       /* false: nothing in the module excludes the other answer */
  bool is_known;      /* it is given, or known from where the text was found */
  const char *reason; /* a clause for messages: "it has fusions" */
} CopyFinding;

/* Decides, by the first of these that applies:
 * - module->backend.copies, which a setting, a plan or an earlier decision gives;
 * - module->source->copies, what is known from where the text was found, except that a scheduled
 *   module is not taken for one from before copy-insertion;
 * - a call that XLA:CPU makes of a small loop, which it does after copy-insertion: inserted;
 * - a value that copy-insertion would have copied: not inserted (needs_copy() in copy_need.h),
 *   unless it is scheduled for a TPU: XLA:TPU is not public;
 * - what a module may have only if it may be past copy-insertion: a schedule; fusions; notes of a
 *   backend; a copy of a constant, of a donated parameter, of what is updated in place, of a loop's
 *   initial value, of an operand of a call, or of what a loop's body or a branch returns: inserted;
 * - nothing of that: not inserted.
 * O(instructions). */
CopyFinding copies_find(const Module *module);

/* Keeps a decision for the module that `module` was made from. */
void copies_decide(Module *module, const CopyFinding *finding);

/* The decision alone. */
bool copies_are_inserted(const Module *module);

/* What the name of a file in one of XLA's dump folders says about the module in it, such as
 * `module_0001.jit_f.before_optimizations.txt`. COPIES_OPEN: nothing. */
CopyStage copies_by_file_name(Str name);

#endif
