/* Who reads whose buffers: the edges of a picture, through tuples and whatever else only passes
 * buffers on. */
#ifndef REMAT_HLO_EMIT_DOT_READS_H
#define REMAT_HLO_EMIT_DOT_READS_H

#include "analysis/flow/points_to.h"

typedef struct DotReader {
  SchedPos pos;
  InstId inst;
} DotReader;

/* What finds the readers of one buffer after the other. */
typedef struct DotReaders {
  const Module *module;
  const PointsTo *points_to;
  const SchedPos *position; /* by InstId, NO_ID for what runs in no sequence */
  LogicalId *stamp;         /* by InstId: one more than the last buffer that it was found to read */
  VEC(DotReader) list;
  Arena *scratch;
} DotReaders;

DotReaders dot_readers_new(const Module *module, const PointsTo *points_to,
                           const SchedPos *position, Arena *scratch);

/* Fills readers->list, in the order of the schedule, with who reads a buffer. The root of a
 * computation reads what the computation returns. */
void dot_readers_find(DotReaders *readers, LogicalId buffer);

/* True for a buffer that a picture may show: memory of what runs in a sequence. Tables of pointers
 * are none. */
bool dot_is_candidate(const Module *module, const PointsTo *points_to, const SchedPos *position,
                      LogicalId buffer);

typedef struct DotRead {
  InstId from; /* makes the buffers */
  InstId to;   /* reads them */
  int64_t bytes;
} DotRead;

/* All of a module, an edge for each pair of instructions. */
typedef struct DotReads {
  VEC(DotRead) list;      /* grouped by `from` */
  uint32_t *first, *num;  /* by InstId: its readers in `list`, by buffer and position */
  uint32_t *first_source; /* by InstId, one more: range in `sources` */
  uint32_t *sources;      /* indices of `list`, grouped by `to` */
} DotReads;

/* O(parts of all results + readers · log readers). */
DotReads dot_reads_build(const Module *module, const PointsTo *points_to, const SchedPos *position,
                         Arena *out, Arena *scratch);

#endif
