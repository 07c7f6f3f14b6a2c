/* What people want to know of a value. */
#ifndef REMAT_HLO_EMIT_REPORT_DESCRIBE_H
#define REMAT_HLO_EMIT_REPORT_DESCRIBE_H

#include "emit/human.h"
#include "emit/report/report.h"

typedef struct Describer {
  const Module *module;
  const ValueAnalysis *values;
  uint8_t *holds;   /* by BufferId: what else is in its memory */
  Str *shape_texts; /* by ShapeId, no data until somebody asks */
  Places places;
  SourcePlace *sources; /* by InstId that is a place, {0} until somebody asks */
  Arena *out;
  Arena *scratch;
} Describer;

/* `out` keeps what is said of values, `scratch` the describer. */
Describer describer_new(const Module *module, const ValueAnalysis *values, Arena *out,
                        Arena *scratch);

/* A part of a result, without its bytes and positions, which depend on who asks. */
rh_live_value describe_value(Describer *describer, InstId id, uint32_t part);

/* Where it comes from: what report_place() finds. One text for all that come from one instruction.
 */
SourcePlace describe_place(Describer *describer, InstId id, uint32_t part);

#endif
