#include "remat/legality/safe_reads.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory/call_memory.h"
#include "remat/rewrite/dce.h"
#include "remat/rewrite/flatten.h"
#include "remat/legality/safe_order.h"

enum {
  MAX_SHOWN = 10,
  /* instructions that are searched for a path that keeps a read in order */
  MAX_PATH_STEPS = 100000,
};

/* ---- analysis of a module, whose call graph is made flat first ---- */

typedef struct ReadAnalysis {
  const Module *module; /* the flat copy, if there is one */
  Module *copy;
  Schedule schedule;
  ValueAnalysis values;
} ReadAnalysis;

static bool is_flat(const Module *module, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  uint8_t *num_callers = arena_zarray(scratch, uint8_t, module->comps.len);
  bool is_flat = true;
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_dead = inst_get(module, id)->flags & INST_DEAD;
    for (uint32_t i = 0; !is_dead && i < inst_get(module, id)->num_callees; i++) {
      if (!inst_runs_callees(module, id)) break;
      uint8_t *count = &num_callers[inst_callees(module, id)[i]];
      is_flat &= *count == 0;
      *count = 1;
    }
  }
  arena_reset(scratch, mark);
  return is_flat;
}

/* A copy is rarely needed, because XLA flattens the call graph before it inserts copies. */
static ReadAnalysis analyse(Module *module, const Schedule *schedule, Arena *out, Arena *scratch) {
  ReadAnalysis analysis = {.module = module, .schedule = *schedule};
  if (!is_flat(module, scratch)) {
    analysis.copy = module_copy(module);
    Rewrite rewrite = rewrite_begin(analysis.copy);
    analysis.schedule = schedule_copy(schedule, analysis.copy, out);
    if (flatten_call_graph(&rewrite, &analysis.schedule, NULL, scratch) == RH_OK) {
      dce_update_schedule(analysis.copy, &analysis.schedule, out);
      analysis.module = analysis.copy;
    } else { /* the flat module would be too large, so XLA has not made it either */
      module_free(analysis.copy);
      analysis.copy = NULL;
      analysis.schedule = *schedule;
    }
  }
  analysis.values = value_analysis_build(analysis.module, out, scratch);
  return analysis;
}

static void analysis_end(ReadAnalysis *analysis) {
  module_free(analysis->copy);
}

/* ---- by names ---- */

static PlaceName name_inst(const Module *module, InstId id) {
  if (id == NO_ID) return (PlaceName){0};
  return (PlaceName){comp_name(module, inst_get(module, id)->parent), inst_name(module, id), 0};
}

static PlaceName name_value(const Module *module, const Dataflow *flow, ValueId id) {
  const HloValue *value = &flow->values.data[id];
  PlaceName name = name_inst(module, value->inst);
  /* When a fusion loses a result, the other results are renumbered (remat/rewrite/dce.h). */
  bool is_fusion = inst_get(module, value->inst)->opcode == OPCODE_FUSION;
  if (!is_fusion) name.part = value->part;
  return name;
}

static NamedRead name_read(const ReadAnalysis *analysis, const OverwrittenRead *read) {
  const Module *module = analysis->module;
  return (NamedRead){name_inst(module, read->reader),
                     name_value(module, &analysis->values.flow, read->value),
                     name_value(module, &analysis->values.flow, read->holder)};
}

static int compare_places(const PlaceName *a, const PlaceName *b) {
  int order = str_compare(a->inst, b->inst);
  if (order == 0) order = str_compare(a->comp, b->comp);
  return order ? order : (a->part > b->part) - (a->part < b->part);
}

static int by_names(const void *pa, const void *pb) {
  const NamedRead *a = pa, *b = pb;
  int order = compare_places(&a->reader, &b->reader);
  if (order == 0) order = compare_places(&a->value, &b->value);
  return order ? order : compare_places(&a->holder, &b->holder);
}

static bool is_known(const KnownReads *known, const NamedRead *read) {
  return known->len && bsearch(read, known->list, known->len, sizeof *known->list, by_names);
}

static Str keep_text(Str text, Arena *out) {
  return (Str){arena_strndup(out, text.data, text.len), text.len};
}

static void keep_names(PlaceName *name, Arena *out) {
  name->comp = keep_text(name->comp, out);
  name->inst = keep_text(name->inst, out);
}

KnownReads known_reads_find(Module *module, const Schedule *schedule, Arena *out, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  ReadAnalysis analysis = analyse(module, schedule, arena, scratch);
  OverwrittenReads reads =
      overwritten_reads_find(analysis.module, &analysis.values, &analysis.schedule, arena, scratch);
  KnownReads known = {.list = arena_array(out, NamedRead, reads.list.len), .len = reads.list.len};
  for (uint32_t i = 0; i < known.len; i++) {
    known.list[i] = name_read(&analysis, &reads.list.data[i]);
    if (!analysis.copy) continue; /* the names are freed together with the flat copy */
    keep_names(&known.list[i].reader, out);
    keep_names(&known.list[i].value, out);
    keep_names(&known.list[i].holder, out);
  }
  if (known.len) qsort(known.list, known.len, sizeof *known.list, by_names);
  analysis_end(&analysis);
  arena_free(arena);
  return known;
}

/* A read's holder is the last that has written to the memory. If that is dead code, which rewrites
 * remove, another one is the holder from then on. */
static KnownReads known_without_dead_code(Module *module, const Schedule *schedule, Arena *out,
                                          Arena *scratch) {
  Module *copy = module_copy(module);
  Rewrite rewrite = rewrite_begin(copy);
  Schedule rest = schedule_copy(schedule, copy, out);
  dce_run(&rewrite, scratch);
  dce_update_schedule(copy, &rest, out);
  KnownReads known = known_reads_find(copy, &rest, out, scratch);
  for (uint32_t i = 0; i < known.len; i++) {
    keep_names(&known.list[i].reader, out);
    keep_names(&known.list[i].value, out);
    keep_names(&known.list[i].holder, out);
  }
  module_free(copy);
  return known;
}

KnownReads known_reads_of_input(Module *module, const Schedule *schedule, Arena *out,
                                Arena *scratch) {
  KnownReads known = known_reads_find(module, schedule, out, scratch);
  if (known.len == 0) return known; /* then there are none without the dead code either */
  KnownReads rest = known_without_dead_code(module, schedule, out, scratch);
  KnownReads all = {.list = arena_array(out, NamedRead, known.len + rest.len),
                    .len = known.len + rest.len};
  memcpy(all.list, known.list, known.len * sizeof *known.list);
  if (rest.len) memcpy(all.list + known.len, rest.list, rest.len * sizeof *rest.list);
  qsort(all.list, all.len, sizeof *all.list, by_names);
  return all;
}

/* ---- judging a rewrite ---- */

typedef struct Judge {
  const Rewrite *rewrite;
  const Module *module;
  bool *is_kept;
  uint32_t num_insts;
  bool has_kept;
} Judge;

/* If `id` is a clone or a copy, marks its original as kept. */
static void blame(Judge *judge, InstId id) {
  if (id == NO_ID) return; /* the read is at the end of the module */
  /* For an instruction that was copied to make the call graph flat, its origin is marked. */
  if (id >= judge->rewrite->module->insts.len) id = inst_get(judge->module, id)->origin;
  if (id == NO_ID || id >= judge->rewrite->module->insts.len) return;
  bool is_new = false;
  for (InstId original = rewrite_value_source(judge->rewrite, id); original != NO_ID;
       original = rewrite_value_source(judge->rewrite, id)) {
    id = original;
    is_new = true;
  }
  id = rewrite_callee_original(judge->rewrite, id);
  if (!is_new || id >= judge->num_insts || judge->is_kept[id]) return;
  judge->is_kept[id] = true;
  judge->has_kept = true;
}

SafeReads safe_reads_judge(const Rewrite *rewrite, const Schedule *schedule,
                           const KnownReads *known, bool *is_kept, uint32_t num_insts,
                           Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  ReadAnalysis analysis = analyse(rewrite->module, schedule, arena, scratch);
  OverwrittenReads reads =
      overwritten_reads_find(analysis.module, &analysis.values, &analysis.schedule, arena, scratch);
  Judge judge = {
      .rewrite = rewrite, .module = analysis.module, .is_kept = is_kept, .num_insts = num_insts};
  uint32_t num_new = 0;
  for (uint32_t i = 0; i < reads.list.len; i++) {
    const OverwrittenRead *read = &reads.list.data[i];
    NamedRead named = name_read(&analysis, read);
    if (is_known(known, &named)) continue;
    num_new++;
    blame(&judge, read->reader);
    blame(&judge, analysis.values.flow.values.data[read->value].inst);
    blame(&judge, analysis.values.flow.values.data[read->holder].inst);
  }
  analysis_end(&analysis);
  arena_free(arena);
  return num_new == 0 ? READS_SAFE : judge.has_kept ? READS_UNSAFE : READS_NOT_BY_CLONES;
}

/* ---- verifying ---- */

static int shown(Str name) {
  return name.len < 200 ? (int)name.len : 200;
}

static void note_read(rh_diags *diags, const NamedRead *read) {
  Str value = read->value.inst, holder = read->holder.inst, reader = read->reader.inst;
  if (reader.len == 0) {
    diag_note(diags, "'%.*s' is overwritten by '%.*s', which may only read it", shown(value),
              value.data, shown(holder), holder.data);
    return;
  }
  diag_note(diags, "'%.*s' is read by '%.*s' after '%.*s' has overwritten it", shown(value),
            value.data, shown(reader), reader.data, shown(holder), holder.data);
}

static uint32_t note_new_reads(const KnownReads *known, const KnownReads *after, rh_diags *diags) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < after->len; i++) {
    if (is_known(known, &after->list[i])) continue;
    if (count++ < MAX_SHOWN) note_read(diags, &after->list[i]);
  }
  if (count > MAX_SHOWN) diag_note(diags, "and %u more", count - MAX_SHOWN);
  return count;
}

/* The reads of a module whose order relative to the overwriter is not fixed by any path. */
static KnownReads open_reads_find(const OrderedModule *ordered, Arena *out, Arena *scratch) {
  OpenReads open = open_reads(ordered->module, ordered->schedule, MAX_PATH_STEPS, out, scratch);
  KnownReads named = {.list = arena_array(out, NamedRead, open.list.len), .len = open.list.len};
  for (uint32_t i = 0; i < named.len; i++) {
    const OpenRead *read = &open.list.data[i];
    named.list[i] = (NamedRead){name_inst(ordered->module, read->reader),
                                name_inst(ordered->module, read->operand),
                                name_inst(ordered->module, read->overwriter)};
  }
  if (named.len) qsort(named.list, named.len, sizeof *named.list, by_names);
  return named;
}

static uint32_t note_open_reads(const OrderedModule *before, const OrderedModule *after,
                                rh_diags *diags, Arena *arena, Arena *scratch) {
  KnownReads known = {0}, open = open_reads_find(after, arena, scratch);
  if (open.len && before->is_open) known = open_reads_find(before, arena, scratch);
  for (uint32_t i = 0; i < open.len; i++) {
    const NamedRead *read = &open.list[i];
    if (is_known(&known, read)) continue;
    Str value = read->value.inst, holder = read->holder.inst, reader = read->reader.inst;
    diag_note(diags, "nothing keeps '%.*s' from overwriting '%.*s' before '%.*s' reads it",
              shown(holder), holder.data, shown(value), value.data, shown(reader), reader.data);
    return 1;
  }
  return 0;
}

rh_status safe_reads_verify(const OrderedModule *before, const OrderedModule *after,
                            rh_diags *diags, Arena *scratch) {
  Arena *arena = arena_new(arena_options(scratch));
  KnownReads found = known_reads_find(after->module, after->schedule, arena, scratch), known = {0};
  if (found.len) known = known_reads_of_input(before->module, before->schedule, arena, scratch);
  uint32_t num_new = note_new_reads(&known, &found, diags);
  if (num_new == 0 && after->is_open) {
    num_new = note_open_reads(before, after, diags, arena, scratch);
  }
  arena_free(arena);
  return num_new ? RH_NOT_EQUIVALENT : RH_OK;
}

void known_reads_warn(const KnownReads *known, rh_diags *diags) {
  if (known->len == 0) return;
  Str value = known->list[0].value.inst, holder = known->list[0].holder.inst,
      reader = known->list[0].reader.inst;
  if (reader.len == 0) reader = STR("the end of the module");
  diag_warn(
      diags, DIAG_NOWHERE,
      "%u read%s of overwritten memory in the module itself, so it seems: of '%.*s' by '%.*s' "
      "after '%.*s'%s; these keep their order. If XLA has still to insert copies, "
      "--copies=pending says so",
      known->len, known->len > 1 ? "s" : "", shown(value), value.data, shown(reader), reader.data,
      shown(holder), holder.data, known->len > 1 ? ", and others" : "");
}
