/* The table of the call stacks of a report. Frames that look the same and have the same callers are
 * one frame, although XLA's tables distinguish them by columns. */
#ifndef REMAT_HLO_EMIT_REPORT_FRAME_TABLE_H
#define REMAT_HLO_EMIT_REPORT_FRAME_TABLE_H

#include "emit/human.h"
#include "ir/hash.h"
#include "remat_hlo.h"

typedef struct FrameTable {
  const Module *module;
  VEC(rh_frame) list;
  VEC(SourceFrame) sources; /* by index in `list`; `parent` is such an index, -1 = none */
  IdTable table;            /* keys are the fields of a SourceFrame */
  uint32_t *of_number;      /* by the number of the module's frame, from 0; NO_ID = not added yet */
  Arena *out;               /* for texts */
  Arena *scratch;           /* for everything else */
} FrameTable;

FrameTable frame_table_new(const Module *module, Arena *out, Arena *scratch);

/* Adds the frame of this number, which counts from 1, and its callers. Returns its index, or -1 if
 * the module has no such frame. O(depth). */
int64_t frame_table_add(FrameTable *table, int32_t number);

/* Returns the frames in the form of the public structs, in `out`. */
const rh_frame *const *frame_table_list(const FrameTable *table);

#endif
