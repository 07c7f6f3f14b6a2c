/* Describes a value of a module for reports and pictures: its name, its category, and its source
 * position. */
#ifndef REMAT_HLO_EMIT_REPORT_DESCRIBE_H
#define REMAT_HLO_EMIT_REPORT_DESCRIBE_H

#include "emit/human.h"
#include "emit/report/frame_table.h"
#include "emit/report/report.h"

typedef struct Describer {
  const Module *module;
  const ValueAnalysis *values;
  uint8_t *holds;   /* by BufferId: which other values share its memory */
  Str *shape_texts; /* by ShapeId; no data = not computed yet */
  Places places;
  SourcePlace *sources; /* by InstId of a place; {0} = not computed yet */
  FrameTable frames;    /* of the values that were described */
  Arena *out;
  Arena *scratch;
} Describer;

/* The descriptions of values are in `out`, the data of the describer in `scratch`. */
Describer describer_new(const Module *module, const ValueAnalysis *values, Arena *out,
                        Arena *scratch);

/* Describes a part of a result, except for its bytes and positions, which are different for
 * different callers. */
rh_live_value describe_value(Describer *describer, InstId id, uint32_t part);

/* Returns the source position of the instruction that report_place() finds. All values with the
 * same place share one text. */
SourcePlace describe_place(Describer *describer, InstId id, uint32_t part);

#endif
