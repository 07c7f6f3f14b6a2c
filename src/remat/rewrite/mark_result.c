#include "remat/rewrite/mark_result.h"

/* Returns the mark of an instruction of the rewritten module. If the original instruction was
 * removed, its first clone counts as moved, and the other clones recompute it. */
static RematMark mark_of(const Rewrite *rewrite, InstId id, bool *is_replaced) {
  const Module *module = rewrite->module;
  if (!(inst_get(module, id)->flags & INST_REMAT)) return (RematMark){.kind = REMAT_KIND_NONE};
  InstId original = rewrite_first_original(rewrite, id);
  if (original == id) return (RematMark){.kind = REMAT_KIND_HELPER};
  Str name = inst_name(module, original);
  if (inst_get(module, original)->flags & INST_DEAD && !is_replaced[original]) {
    is_replaced[original] = true;
    return (RematMark){.kind = REMAT_KIND_MOVED, .original = name};
  }
  return (RematMark){.kind = REMAT_KIND_CLONE, .original = name};
}

void mark_result(const Rewrite *rewrite, const bool *is_kept, uint32_t num_kept, rh_module *result,
                 Arena *scratch) {
  const Module *module = rewrite->module;
  bool *is_replaced = arena_zarray(scratch, bool, module->insts.len);
  VEC(RematMark) marks = {0};
  VEC(Str) names = {0};
  IdTable table = {0};
  for (InstId id = 0; id < module->insts.len; id++) {
    if (inst_get(module, id)->flags & INST_DEAD) continue;
    RematMark mark = mark_of(rewrite, id, is_replaced);
    mark.is_kept = id < num_kept && is_kept[id];
    if (mark.kind == REMAT_KIND_NONE && !mark.is_kept) continue;
    if (mark.kind == REMAT_KIND_CLONE) result->num_rematerialized++;
    mark.original = (Str){arena_strndup(result->arena, mark.original.data, mark.original.len),
                          mark.original.len};
    id_table_add(&table, scratch, hash_str(inst_name(module, id)), marks.len);
    *vec_push(scratch, &names) = inst_name(module, id);
    *vec_push(scratch, &marks) = mark;
  }
  if (marks.len == 0) return;
  RematMark *of = arena_zarray(result->arena, RematMark, result->module->insts.len);
  for (InstId id = 0; id < result->module->insts.len; id++) {
    Str name = inst_name(result->module, id);
    uint32_t found;
    for (IdProbe probe = id_table_probe(&table, hash_str(name)); id_probe_next(&probe, &found);) {
      if (str_equal(names.data[found], name)) of[id] = marks.data[found];
    }
  }
  result->marks = of;
}
