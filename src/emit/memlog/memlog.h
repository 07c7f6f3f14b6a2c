/* The memory log: one line an instruction, in the order of the schedule. Computations that run as
 * sequences come callees before callers.
 *
 * The text is for people: a header with the peak, a title for each computation, aligned columns
 * with sizes in human units, and below the instruction at the peak the largest buffers that live
 * then.
 *
 * CSV (RFC 4180, lines end in \n, a header row) and JSON lines (an object a line) have the columns
 *
 *   computation        its name
 *   position           in the computation's sequence, from 0
 *   instruction        its name
 *   opcode             as in HLO text
 *   bytes              of the result, all parts of a tuple with their tables of pointers
 *   memory_bytes       what lives while it runs, as the memory model counts; what it calls
 * included. The model xla-remat counts for a computation only what it itself allocates
 *   peak_so_far_bytes  largest memory_bytes in this computation up to here
 *   remat              none, clone, moved or helper (ir/marks.h)
 *   original           the instruction that a clone computes again
 *   op_name            of the metadata, escapes resolved
 *   source_file        of the metadata, or of its innermost stack frame
 *   source_line        likewise, from 1
 *
 * What is not known is empty in CSV and null in JSON. Integers are exact, sizes are bytes. Both are
 * UTF-8: bytes of names that are not come out as U+FFFD. */
#ifndef REMAT_HLO_EMIT_MEMLOG_MEMLOG_H
#define REMAT_HLO_EMIT_MEMLOG_MEMLOG_H

#include "analysis/memory/memory_model.h"
#include "ir/marks.h"
#include "ir/writer.h"

typedef enum MemlogFormat {
  MEMLOG_TEXT,
  MEMLOG_CSV,
  MEMLOG_JSONL,
} MemlogFormat;

typedef struct MemlogOptions {
  MemlogFormat format;
  const MemoryModel *model; /* that measured the profile */
  uint32_t max_live;        /* text: buffers listed at the peak; 0 = 20 */
} MemlogOptions;

/* Writes the log; errors are the writer's. `marks` may be NULL. Linear. */
void emit_memlog(const Module *module, const Schedule *schedule, const MemoryProfile *memory,
                 RematMarks marks, const MemlogOptions *options, Writer *out, Arena *scratch);

#endif
