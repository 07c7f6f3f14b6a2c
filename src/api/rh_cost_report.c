/* The public functions that explain modelled time. */
#include <stdlib.h>

#include "analysis/cost/cost.h"
#include "emit/report/describe.h"
#include "emit/report/scope_tree.h"
#include "ir/hash.h"
#include "ir/pointers.h"
#include "api/call.h"
#include "api/measure.h"

typedef struct Handle {
  rh_cost_report report;
  Arena *arena;
} Handle;

typedef struct Shares {
  VEC(rh_cost_share) list;
  IdTable table;
} Shares;

typedef struct Builder {
  const Module *module;
  const DeviceProfile *profile;
  const CostTable *table;
  const double *runs; /* by CompId */
  rh_cost_report *report;
  rh_cost_share *total;
  Describer describer;
  VEC(rh_cost_instruction) instructions;
  Shares sums[RH_NUM_SUMS];
  ScopeTree scopes;
  VEC(rh_cost_share) of_scope; /* by node */
  Arena *out, *scratch;
} Builder;

/* ---- instructions ---- */

static const char *bound_word(CostBound bound) {
  switch (bound) {
    case BOUND_COMPUTE: return "compute";
    case BOUND_TRANSCENDENTALS: return "transcendentals";
    case BOUND_MEMORY: return "memory";
    case BOUND_LINK: return "link";
    case BOUND_LAUNCH: return "launch";
    case BOUND_NOTHING: break;
  }
  return "";
}

static double known(int64_t count) {
  return count > 0 ? (double)count : 0;
}

static void add_instruction(Builder *builder, InstId id, double runs) {
  const Module *module = builder->module;
  ModelledTime time = cost_time(module, builder->table, builder->profile, id);
  if (time.bound == BOUND_NOTHING) return;
  Cost cost = cost_of_inst_known(module, builder->table, id, builder->scratch);
  const char *opcode = opcode_text((Opcode)inst_get(module, id)->opcode);
  rh_live_value value = describe_value(&builder->describer, id, 0);
  SourcePlace place = describe_place(&builder->describer, id, NO_ID);
  double seconds = time.seconds * runs;
  rh_cost_share *share = arena_alloc(builder->out, sizeof *share);
  *share = (rh_cost_share){.name = value.name,
                           .num_instructions = 1,
                           .flops = known(cost.flops) * runs,
                           .transcendentals = known(cost.transcendentals) * runs,
                           .bytes_accessed = known(cost.bytes) * runs,
                           .seconds = seconds,
                           .memory_seconds = time.bound == BOUND_MEMORY ? seconds : 0};
  *vec_push(builder->scratch, &builder->instructions) =
      (rh_cost_instruction){.share = share,
                            .opcode = {opcode, strlen(opcode)},
                            .shape = value.shape,
                            .computation = value.computation,
                            .op_name = text_of_str(place.op_name),
                            .source_file = text_of_str(place.file),
                            .source_line = place.line > 0 ? place.line : 0,
                            .runs = runs,
                            .bound = bound_word(time.bound)};
  if (cost.bytes < 0) builder->report->num_unknown_calls++;
}

static void find_instructions(Builder *builder) {
  const Module *module = builder->module;
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (builder->runs[comp] == 0) continue;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      if (inst_get(module, id)->flags & INST_DEAD) continue;
      bool is_loop = inst_get(module, id)->opcode == OPCODE_WHILE;
      if (is_loop && builder->table->trip_counts[id] < 0) builder->report->num_unknown_loops++;
      add_instruction(builder, id, builder->runs[comp]);
    }
  }
}

/* ---- sums ---- */

static void add_share(rh_cost_share *sum, const rh_cost_share *share) {
  sum->num_instructions += share->num_instructions;
  sum->flops += share->flops;
  sum->transcendentals += share->transcendentals;
  sum->bytes_accessed += share->bytes_accessed;
  sum->seconds += share->seconds;
  sum->memory_seconds += share->memory_seconds;
}

static Str str_of_text(rh_text text) {
  return str_make(text.data, text.length);
}

static rh_cost_share *find_or_add(Shares *shares, rh_text name, int64_t line, Arena *scratch) {
  uint64_t hash = hash_mix(hash_str(str_of_text(name)), (uint64_t)line);
  uint32_t id;
  for (IdProbe probe = id_table_probe(&shares->table, hash); id_probe_next(&probe, &id);) {
    rh_cost_share *share = &shares->list.data[id];
    if (share->line == line && str_equal(str_of_text(share->name), str_of_text(name))) return share;
  }
  id_table_add(&shares->table, scratch, hash, shares->list.len);
  rh_cost_share *added = vec_push(scratch, &shares->list);
  *added = (rh_cost_share){.name = name, .line = line};
  return added;
}

static void add_to(Builder *builder, rh_sum_kind kind, rh_text name, int64_t line,
                   const rh_cost_share *share) {
  add_share(find_or_add(&builder->sums[kind], name, line, builder->scratch), share);
}

static void add_to_scopes(Builder *builder, const rh_cost_instruction *instruction) {
  Str parts[MAX_SCOPE_DEPTH];
  rh_live_value value = {.op_name = instruction->op_name, .opcode = instruction->opcode};
  uint32_t num_parts = scope_of_value(&value, parts), id = NO_ID;
  for (uint32_t depth = 0; depth < num_parts; depth++) {
    id = scope_tree_child(&builder->scopes, id, parts, depth);
    if (id == builder->of_scope.len) {
      *vec_push(builder->scratch, &builder->of_scope) =
          (rh_cost_share){.name = text_of_str(parts[depth])};
    }
    rh_cost_share *share = &builder->of_scope.data[id];
    add_share(share, instruction->share);
    builder->scopes.nodes.data[id].weight = share->seconds;
  }
  rh_text path = id == NO_ID ? (rh_text){"", 0} : text_of_str(builder->scopes.nodes.data[id].path);
  add_to(builder, RH_BY_OP_NAME, path, 0, instruction->share);
}

static void sum_up(Builder *builder) {
  for (uint32_t i = 0; i < builder->instructions.len; i++) {
    const rh_cost_instruction *instruction = &builder->instructions.data[i];
    const rh_cost_share *share = instruction->share;
    add_share(builder->total, share);
    add_to(builder, RH_BY_OPCODE, instruction->opcode, 0, share);
    add_to(builder, RH_BY_SOURCE, instruction->source_file, instruction->source_line, share);
    add_to(builder, RH_BY_COMPUTATION, instruction->computation, 0, share);
    add_to_scopes(builder, instruction);
  }
}

/* ---- in order ---- */

static int by_seconds_then_name(const rh_cost_share *a, const rh_cost_share *b) {
  if (a->seconds != b->seconds) return a->seconds > b->seconds ? -1 : 1;
  int order = str_compare(str_of_text(a->name), str_of_text(b->name));
  return order ? order : (a->line > b->line) - (a->line < b->line);
}

static int compare_shares(const void *pa, const void *pb) {
  return by_seconds_then_name(pa, pb);
}

static int compare_instructions(const void *pa, const void *pb) {
  const rh_cost_instruction *a = pa, *b = pb;
  int order = by_seconds_then_name(a->share, b->share);
  return order ? order : str_compare(str_of_text(a->computation), str_of_text(b->computation));
}

static void lay_out_scopes(Builder *builder) {
  uint32_t len = builder->scopes.nodes.len;
  rh_cost_scope *scopes = arena_array(builder->out, rh_cost_scope, len);
  rh_cost_share *shares = arena_array(builder->out, rh_cost_share, len);
  const uint32_t *order = scope_tree_preorder(&builder->scopes, builder->scratch);
  for (uint32_t i = 0; i < len; i++) {
    const ScopeNode *node = &builder->scopes.nodes.data[order[i]];
    shares[i] = builder->of_scope.data[order[i]];
    scopes[i] =
        (rh_cost_scope){.path = text_of_str(node->path), .depth = node->depth, .share = &shares[i]};
  }
  builder->report->scopes = pointers_to(scopes, len, sizeof *scopes, builder->out);
  builder->report->num_scopes = len;
}

static void lay_out(Builder *builder) {
  rh_cost_report *report = builder->report;
  rh_cost_shares *sums = arena_array(builder->out, rh_cost_shares, RH_NUM_SUMS);
  for (int kind = 0; kind < RH_NUM_SUMS; kind++) {
    Shares *shares = &builder->sums[kind];
    rh_cost_share *list = arena_array(builder->out, rh_cost_share, shares->list.len);
    if (shares->list.len) {
      memcpy(list, shares->list.data, shares->list.len * sizeof *list);
      qsort(list, shares->list.len, sizeof *list, compare_shares);
    }
    sums[kind] = (rh_cost_shares){pointers_to(list, shares->list.len, sizeof *list, builder->out),
                                  shares->list.len};
  }
  report->sums = sums;
  uint32_t len = builder->instructions.len;
  rh_cost_instruction *list = arena_array(builder->out, rh_cost_instruction, len);
  if (len) {
    memcpy(list, builder->instructions.data, len * sizeof *list);
    qsort(list, len, sizeof *list, compare_instructions);
  }
  report->instructions = pointers_to(list, len, sizeof *list, builder->out);
  report->num_instructions = len;
  lay_out_scopes(builder);
}

/* ---- all together ---- */

static void explain(const rh_module *handle, const DeviceProfile *profile,
                    int64_t default_trip_count, rh_cost_report *report, Arena *out,
                    Arena *scratch) {
  const Module *module = handle->module;
  Arena *inner = arena_new(arena_options(scratch));
  CostTable table = cost_table_of(handle, profile, default_trip_count, scratch, inner);
  ValueAnalysis values = value_analysis_build(module, scratch, inner);
  rh_cost *cost = arena_alloc(out, sizeof *cost);
  *cost = cost_figures(module, &table, profile, default_trip_count, inner);
  Builder builder = {.module = module,
                     .profile = profile,
                     .table = &table,
                     .runs = cost_runs(module, &table, profile, default_trip_count, scratch, inner),
                     .report = report,
                     .total = arena_zalloc(out, sizeof(rh_cost_share)),
                     .scopes = {.out = out, .scratch = scratch},
                     .out = out,
                     .scratch = scratch};
  builder.describer = describer_new(module, &values, out, scratch);
  *report = (rh_cost_report){.module = text_of_str(module->source->header.name),
                             .device = profile->name,
                             .cost = cost,
                             .total = builder.total};
  find_instructions(&builder);
  sum_up(&builder);
  lay_out(&builder);
  arena_free(inner);
}

static rh_status make_report(const rh_module *module, const rh_profile *profile,
                             int64_t default_trip_count, rh_cost_report **report, rh_diags *diags) {
  rh_status status = handle_check(module, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  Handle *handle = arena_zalloc(arena, sizeof *handle);
  handle->arena = arena;
  explain(module, profile_of(profile), default_trip_count, &handle->report, arena, scratch);
  arena_free(scratch);
  *report = &handle->report;
  return RH_OK;
}

rh_status rh_cost_report_make(const rh_module *module, const rh_settings *settings,
                              const rh_profile *profile, int64_t default_trip_count,
                              rh_cost_report **report, rh_diags *diags) {
  *report = NULL;
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken;
  rh_cost_report *made = NULL;
  rh_status status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = make_report(taken, profile, default_trip_count, &made, diags);
  *report = made;
  return call_close(call, status);
}

void rh_cost_report_free(rh_cost_report *report) {
  if (report) arena_free(((Handle *)report)->arena);
}
