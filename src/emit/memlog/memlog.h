/* The memory log: one line per instruction, in the order of the schedule. Of the computations that
 * run as sequences, callees come before callers.
 *
 * The text format is for people. It has a header with the peak, a title for each computation,
 * aligned columns with sizes in human-readable units, and below the instruction at the peak the
 * largest buffers that are live there.
 *
 * CSV (RFC 4180, lines end in \n, with a header row) and JSON lines (one object per line) have the
 * columns
 *
 *   computation        name of the computation
 *   position           position in the computation's sequence, from 0
 *   instruction        name of the instruction
 *   opcode             as in HLO text
 *   bytes              bytes of the result, all parts of a tuple with their tables of pointers
 *   memory_bytes       bytes that are live while the instruction runs, as the memory model counts
 *                      them, with those of the computations that it calls. The model xla-remat
 *                      counts for a computation only the memory that the computation allocates
 *   peak_so_far_bytes  largest memory_bytes in this computation up to this line
 *   remat              none, clone, moved or helper (ir/marks.h)
 *   original           the instruction that a clone recomputes
 *   op_name            from the metadata, escapes resolved
 *   source_file        from the metadata, or from its innermost stack frame
 *   source_line        from the metadata, or from its innermost stack frame; from 1
 *
 * A value that is not known is empty in CSV and null in JSON. Integers are exact, and sizes are in
 * bytes. Both formats are UTF-8: invalid bytes in names are replaced by U+FFFD. */
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
  const MemoryModel *model; /* the model that measured the profile */
  uint32_t max_live;        /* text format: number of buffers listed at the peak; 0 = 20 */
} MemlogOptions;

/* Writes the log. Errors are kept in the writer. `marks` may be NULL. The time is linear. */
void emit_memlog(const Module *module, const Schedule *schedule, const MemoryProfile *memory,
                 RematMarks marks, const MemlogOptions *options, Writer *out, Arena *scratch);

#endif
