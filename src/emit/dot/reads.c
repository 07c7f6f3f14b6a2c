#include "emit/dot/reads.h"

#include <stdlib.h>

/* Instructions that only pass buffers on, or name them. */
static bool is_see_through(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  if (opcode == OPCODE_TUPLE && inst_is_root(module, id)) return false;
  return opcode_only_passes_on(opcode);
}

DotReaders dot_readers_new(const Module *module, const PointsTo *points_to,
                           const SchedPos *position, Arena *scratch) {
  return (DotReaders){.module = module,
                      .points_to = points_to,
                      .position = position,
                      .stamp = arena_zarray(scratch, LogicalId, module->insts.len),
                      .scratch = scratch};
}

static void add_reader(DotReaders *readers, LogicalId buffer, InstId reader) {
  if (readers->stamp[reader] == buffer + 1) return;
  readers->stamp[reader] = buffer + 1;
  *vec_push(readers->scratch, &readers->list) = (DotReader){readers->position[reader], reader};
}

static int by_position(const void *pa, const void *pb) {
  const DotReader *a = pa, *b = pb;
  return (a->pos > b->pos) - (a->pos < b->pos);
}

void dot_readers_find(DotReaders *readers, LogicalId buffer) {
  const Module *module = readers->module;
  const PointsTo *points_to = readers->points_to;
  InstId definer = points_to->buffers.data[buffer].inst;
  readers->list.len = 0;
  for (uint32_t i = points_to->first_alias[buffer]; i < points_to->first_alias[buffer + 1]; i++) {
    BufferAlias alias = points_to->aliases[i];
    if (alias.inst != definer && inst_is_root(module, alias.inst)) {
      add_reader(readers, buffer, alias.inst);
    }
    IdList users = inst_get(module, alias.inst)->users;
    for (uint32_t k = 0; k < users.len; k++) {
      InstId user = id_list(module, users)[k];
      if (is_see_through(module, user)) continue;
      if (points_to_is_unused_by(module, points_to, alias.inst, alias.part, user)) continue;
      add_reader(readers, buffer, user);
    }
  }
  if (readers->list.len > 1) {
    qsort(readers->list.data, readers->list.len, sizeof(DotReader), by_position);
  }
}

bool dot_is_candidate(const Module *module, const PointsTo *points_to, const SchedPos *position,
                      LogicalId buffer) {
  const LogicalBuffer *found = &points_to->buffers.data[buffer];
  return found->bytes > 0 && position[found->inst] != NO_ID &&
         inst_get(module, found->inst)->opcode != OPCODE_TUPLE;
}

/* ---- all of a module ---- */

static void group_by_reader(DotReads *reads, uint32_t num_insts, Arena *out) {
  uint32_t *end = arena_zarray(out, uint32_t, (size_t)num_insts + 2);
  for (uint32_t i = 0; i < reads->list.len; i++)
    end[reads->list.data[i].to + 2]++;
  for (uint32_t id = 2; id < num_insts + 2; id++)
    end[id] += end[id - 1];
  reads->sources = arena_array(out, uint32_t, reads->list.len);
  for (uint32_t i = 0; i < reads->list.len; i++)
    reads->sources[end[reads->list.data[i].to + 1]++] = i;
  reads->first_source = end;
}

DotReads dot_reads_build(const Module *module, const PointsTo *points_to, const SchedPos *position,
                         Arena *out, Arena *scratch) {
  uint32_t num_insts = module->insts.len;
  DotReads reads = {.first = arena_zarray(out, uint32_t, num_insts),
                    .num = arena_zarray(out, uint32_t, num_insts)};
  ArenaMark mark = arena_mark(scratch);
  DotReaders readers = dot_readers_new(module, points_to, position, scratch);
  uint32_t *latest = arena_array(scratch, uint32_t, num_insts); /* edge to it */
  memset(latest, 0xff, num_insts * sizeof *latest);
  for (LogicalId id = 0; id < points_to->buffers.len; id++) {
    if (!dot_is_candidate(module, points_to, position, id)) continue;
    const LogicalBuffer *buffer = &points_to->buffers.data[id];
    dot_readers_find(&readers, id);
    if (reads.num[buffer->inst] == 0) reads.first[buffer->inst] = reads.list.len;
    for (uint32_t i = 0; i < readers.list.len; i++) {
      InstId to = readers.list.data[i].inst;
      if (latest[to] != NO_ID && reads.list.data[latest[to]].from == buffer->inst) {
        reads.list.data[latest[to]].bytes += buffer->bytes;
        continue;
      }
      latest[to] = reads.list.len;
      *vec_push(out, &reads.list) = (DotRead){buffer->inst, to, buffer->bytes};
      reads.num[buffer->inst]++;
    }
  }
  group_by_reader(&reads, num_insts, out);
  arena_reset(scratch, mark);
  return reads;
}
