/* The state of the memory log and the functions that its files share. */
#ifndef REMAT_HLO_EMIT_MEMLOG_MEMLOG_INTERNAL_H
#define REMAT_HLO_EMIT_MEMLOG_MEMLOG_INTERNAL_H

#include "analysis/flow/call_graph.h"
#include "emit/memlog/memlog.h"

typedef struct Memlog {
  const Module *module;
  const Schedule *schedule;
  const MemoryProfile *memory;
  RematMarks marks;
  const MemlogOptions *options;
  CallGraph graph;
  int64_t *shape_bytes; /* by ShapeId: bytes of all parts; -1 = not computed yet */
  Writer *out;
  Arena *scratch;
} Memlog;

typedef struct MemlogRow {
  CompId comp;
  SchedPos pos;
  InstId inst;
  int64_t result_bytes;
  int64_t memory_bytes; /* -1: the memory model has no figure for it */
  int64_t peak_so_far_bytes;
} MemlogRow;

/* ---- text (text.c) ---- */

void memlog_text_header(const Memlog *log);
void memlog_text_title(const Memlog *log, CompId comp);
void memlog_text_row(const Memlog *log, const MemlogRow *row);

/* ---- CSV and JSON lines (table.c) ---- */

void memlog_csv_header(const Memlog *log);
void memlog_csv_row(const Memlog *log, const MemlogRow *row);

typedef struct MemlogJson MemlogJson;

/* The result lies in `scratch`. */
MemlogJson *memlog_json_begin(const Memlog *log);
void memlog_json_row(const Memlog *log, MemlogJson *json, const MemlogRow *row);

#endif
