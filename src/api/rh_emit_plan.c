/* The public function that writes a plan: remat/plan/read.c reads it.
 *
 * A step takes two lines: what is done, and, for people, why and what it costs. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "emit/human.h"
#include "emit/json.h"
#include "ir/handle.h"
#include "api/call.h"
#include "api/measure.h"
#include "remat/plan/plan.h"

typedef struct Emit {
  const Plan *plan;
  const Module *module; /* the result, where made instructions are found by name */
  const DeviceProfile *profile;
  CostTable costs;
  double *runs; /* by CompId */
  IdTable names;
  Writer *out;
  Arena *arena;
} Emit;

/* ---- pieces ---- */

static void write_key(Emit *emit, const char *key, bool *is_first) {
  write_format(emit->out, "%s\"%s\": ", *is_first ? "" : ", ", key);
  *is_first = false;
}

static void write_string(Emit *emit, Str text) {
  Str shown = human_utf8(text, emit->arena);
  json_string(emit->out, shown.data, shown.len);
}

static void write_name(Emit *emit, const char *key, Str name, bool *is_first) {
  if (name.len == 0) return;
  write_key(emit, key, is_first);
  write_string(emit, name);
}

static void write_word(Emit *emit, const char *key, const char *word, bool *is_first) {
  write_name(emit, key, str_make(word, strlen(word)), is_first);
}

static void write_int(Emit *emit, const char *key, int64_t value, bool *is_first) {
  write_key(emit, key, is_first);
  json_int(emit->out, value);
}

/* Shortest that reads back as the same, no locale. */
static void write_double(Emit *emit, const char *key, double value, bool *is_first) {
  char text[40];
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    if (strtod(text, NULL) == value) break;
  }
  for (char *p = text; *p; p++) {
    if (*p == ',') *p = '.';
  }
  write_key(emit, key, is_first);
  write_text(emit->out, text);
}

static void write_refs(Emit *emit, const char *key, const PlanRefs *refs, bool *is_first) {
  write_key(emit, key, is_first);
  write_text(emit->out, "[");
  for (uint32_t i = 0; i < refs->list.len; i++) {
    if (i) write_text(emit->out, ", ");
    write_string(emit, refs->list.data[i].name);
  }
  write_text(emit->out, "]");
}

/* ---- steps ---- */

static void write_user(Emit *emit, const PlanUser *user) {
  if (user->num_operands == 0) {
    write_string(emit, user->ref.name);
    return;
  }
  write_text(emit->out, "{\"name\": ");
  write_string(emit, user->ref.name);
  write_text(emit->out, ", \"operands\": [");
  for (uint32_t i = 0; i < user->num_operands; i++)
    write_format(emit->out, "%s%" PRIu32, i ? ", " : "", user->operands[i]);
  write_text(emit->out, "]}");
}

static void write_users(Emit *emit, const PlanStep *step, bool *is_first) {
  write_key(emit, "users", is_first);
  write_text(emit->out, "[");
  for (uint32_t i = 0; i < step->users.len; i++) {
    if (i) write_text(emit->out, ", ");
    write_user(emit, &step->users.data[i]);
  }
  write_text(emit->out, "]");
}

static void write_callees(Emit *emit, const PlanStep *step, bool *is_first) {
  if (step->callees.len == 0) return;
  write_key(emit, "callees", is_first);
  write_text(emit->out, "[");
  for (uint32_t i = 0; i < step->callees.len; i++) {
    const PlanName *name = &step->callees.data[i];
    bool begins = true;
    write_text(emit->out, i ? ", {" : "{");
    write_name(emit, name->is_computation ? "computation" : "instruction", name->of, &begins);
    write_name(emit, "name", name->name, &begins);
    write_text(emit->out, "}");
  }
  write_text(emit->out, "]");
}

static InstId find_made(const Emit *emit, const PlanStep *step) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&emit->names, hash_str(step->made.name));
       id_probe_next(&probe, &id);) {
    if (str_equal(inst_name(emit->module, id), step->made.name)) return id;
  }
  return NO_ID;
}

/* What it costs, each time that it runs, and where it comes from. */
static void write_made(Emit *emit, InstId id, bool *is_first) {
  const Module *module = emit->module;
  Cost cost = emit->costs.of[id];
  int64_t bytes = target_bytes(module->backend.target, inst_shape(module, id));
  if (bytes >= 0) write_int(emit, "bytes", bytes, is_first);
  write_int(emit, "flops", cost.flops, is_first);
  if (cost.transcendentals) {
    write_int(emit, "transcendentals", cost.transcendentals, is_first);
  }
  write_int(emit, "bytes_accessed", cost.bytes, is_first);
  double runs = emit->runs[inst_get(module, id)->parent];
  if (runs != 1) write_double(emit, "runs", runs, is_first);
  if (emit->profile) {
    double seconds = cost_seconds(module, &emit->costs, emit->profile, id) * runs;
    write_double(emit, "seconds", seconds, is_first);
  }
  SourcePlace place = human_source_place(module, id, emit->arena);
  write_name(emit, "op_name", place.op_name, is_first);
  if (place.file.len == 0) return;
  write_key(emit, "source", is_first);
  const char *source =
      arena_printf(emit->arena, "%.*s:%" PRId32, (int)place.file.len, place.file.data, place.line);
  json_string(emit->out, source, strlen(source));
}

static void write_step(Emit *emit, const PlanStep *step) {
  ArenaMark mark = arena_mark(emit->arena);
  bool begins = true;
  write_text(emit->out, "    {");
  write_word(emit, "action", plan_action_names[step->action], &begins);
  write_name(emit, "computation", step->computation.name, &begins);
  write_name(emit, "instruction", step->instruction.name, &begins);
  write_name(emit, "name", step->made.name, &begins);
  write_name(emit, "operand", step->operand.name, &begins);
  if (step->action == PLAN_ELEMENT) write_int(emit, "index", step->index, &begins);
  write_name(emit, "before", step->before.name, &begins);
  write_users(emit, step, &begins);
  if (step->control.list.len) {
    write_refs(emit, "control_predecessors", &step->control, &begins);
  }
  if (step->channel >= 0) write_int(emit, "channel", step->channel, &begins);
  write_callees(emit, step, &begins);
  if (step->number >= 0) write_int(emit, "number", step->number, &begins);
  write_text(emit->out, ",\n     ");
  begins = true;
  write_word(emit, "reason", step->reason ? step->reason : "", &begins);
  write_int(emit, "freed_bytes", step->freed_bytes, &begins);
  InstId id = find_made(emit, step);
  if (id != NO_ID) write_made(emit, id, &begins);
  write_text(emit->out, "}");
  arena_reset(emit->arena, mark);
}

/* ---- the rest ---- */

static void write_preparation(Emit *emit) {
  static const char *const inline_words[] = {"auto", "never", "always"}; /* ORDER rh_inline_calls */
  static const char *const copies_words[] = {"auto", "inserted", "pending"}; /* ORDER rh_copies */
  static const char *const unfuse_words[] = {"loop", "input", "output"};     /* ORDER RH_UNFUSE */
  const rh_schedule_options *options = &emit->plan->preparation;
  bool begins = true;
  write_text(emit->out, "  \"preparation\": {");
  write_word(emit, "target", emit->plan->target, &begins);
  write_word(emit, "scheduler", options->scheduler ? options->scheduler : "input", &begins);
  write_key(emit, "ignore_schedule", &begins);
  write_text(emit->out, options->ignore_schedule ? "true" : "false");
  write_word(emit, "inline_calls", inline_words[options->inline_calls], &begins);
  write_key(emit, "unfuse", &begins);
  write_text(emit->out, "[");
  const char *comma = "";
  for (int i = 0; i < 3; i++) {
    if (!(options->unfuse & 1u << i)) continue;
    write_format(emit->out, "%s\"%s\"", comma, unfuse_words[i]);
    comma = ", ";
  }
  write_text(emit->out, "]");
  write_word(emit, "copies", copies_words[emit->plan->copies], &begins);
  write_key(emit, "remat_collectives", &begins);
  write_text(emit->out, emit->plan->allow_collectives ? "true},\n" : "false},\n");
}

/* A list under a key, an object a line. */
typedef void (*WriteFn)(Emit *emit, uint32_t index);

static void write_list(Emit *emit, const char *key, uint32_t len, WriteFn write) {
  if (len == 0) return;
  write_format(emit->out, ",\n  \"%s\": [\n", key);
  for (uint32_t i = 0; i < len; i++) {
    write_text(emit->out, "    {");
    write(emit, i);
    write_text(emit->out, i + 1 < len ? "},\n" : "}\n");
  }
  write_text(emit->out, "  ]");
}

static void write_clone(Emit *emit, uint32_t index) {
  const PlanClone *clone = &emit->plan->clones.data[index];
  bool begins = true;
  write_name(emit, "computation", clone->computation.name, &begins);
  write_name(emit, "name", clone->made.name, &begins);
  write_key(emit, "callers", &begins);
  write_text(emit->out, "[");
  for (uint32_t i = 0; i < clone->callers.len; i++) {
    const PlanCaller *caller = &clone->callers.data[i];
    bool is_first = true;
    if (i) write_text(emit->out, ", ");
    if (caller->computation.name.len == 0) {
      write_string(emit, caller->instruction.name);
      continue;
    }
    write_text(emit->out, "{");
    write_name(emit, "computation", caller->computation.name, &is_first);
    write_name(emit, "instruction", caller->instruction.name, &is_first);
    write_text(emit->out, "}");
  }
  write_text(emit->out, "]");
  write_name(emit, "same_as", clone->same_as.name, &begins);
  write_int(emit, "peak_bytes", clone->peak_bytes, &begins);
}

static void write_rename(Emit *emit, uint32_t index) {
  const PlanRename *rename = &emit->plan->renames.data[index];
  bool begins = true;
  write_name(emit, "computation", rename->computation.name, &begins);
  write_name(emit, "instruction", rename->instruction.name, &begins);
  write_name(emit, "name", rename->name, &begins);
}

static void write_control(Emit *emit, uint32_t index) {
  const PlanControl *control = &emit->plan->control.data[index];
  bool begins = true;
  write_name(emit, "computation", control->computation.name, &begins);
  write_name(emit, "instruction", control->instruction.name, &begins);
  write_refs(emit, "control_predecessors", &control->predecessors, &begins);
}

static void write_order(Emit *emit, uint32_t index) {
  const PlanOrder *order = &emit->plan->orders.data[index];
  bool begins = true;
  write_name(emit, "computation", order->computation.name, &begins);
  write_refs(emit, "instructions", &order->instructions, &begins);
}

static void write_plan(Emit *emit) {
  const Plan *plan = emit->plan;
  write_format(emit->out, "{\n  \"remat_hlo_plan\": %d,\n  \"module\": ", PLAN_VERSION);
  write_string(emit, plan->module);
  write_format(emit->out,
               ",\n  \"fingerprint\": \"%016" PRIx64 "\",\n  \"order_fingerprint\": \"%016" PRIx64
               "\",\n",
               plan->fingerprint, plan->order_fingerprint);
  write_preparation(emit);
  write_format(emit->out, "  \"drops_dead_code\": %s", plan->drops_dead_code ? "true" : "false");
  write_list(emit, "clones", plan->clones.len, write_clone);
  write_text(emit->out, ",\n  \"steps\": [");
  for (uint32_t i = 0; i < plan->steps.len; i++) {
    write_text(emit->out, i ? ",\n" : "\n");
    write_step(emit, &plan->steps.data[i]);
  }
  write_text(emit->out, plan->steps.len ? "\n  ]" : "]");
  write_list(emit, "names", plan->renames.len, write_rename);
  write_list(emit, "control", plan->control.len, write_control);
  write_list(emit, "orders", plan->orders.len, write_order);
  write_text(emit->out, "\n}\n");
}

static rh_status emit_plan(const rh_module *result, const rh_profile *profile,
                           int64_t default_trip_count, rh_write_fn write, void *context) {
  const Module *module = result->module;
  Arena *arena = arena_new(arena_options(result->arena));
  Arena *scratch = arena_new(arena_options(result->arena));
  Writer *writer = arena_alloc(scratch, sizeof *writer);
  writer_init(writer, write, context);
  Emit emit = {.plan = result->plan,
               .module = module,
               .profile = profile ? profile_of(profile) : NULL,
               .costs = cost_analyze(module, arena, scratch),
               .out = writer,
               .arena = arena};
  emit.runs = cost_runs(module, &emit.costs, emit.profile, default_trip_count, arena, scratch);
  for (InstId id = 0; id < module->insts.len; id++) {
    if (!(inst_get(module, id)->flags & INST_DEAD))
      id_table_add(&emit.names, arena, hash_str(inst_name(module, id)), id);
  }
  write_plan(&emit);
  rh_status status = writer_finish(writer);
  arena_free(scratch);
  arena_free(arena);
  return status;
}

rh_status rh_emit_plan(const rh_module *result, const rh_settings *settings,
                       const rh_profile *profile, int64_t default_trip_count, rh_write_fn write,
                       void *context, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken;
  rh_status status = call_take(call, result, settings, &taken);
  if (status == RH_OK && !result->plan) {
    status = diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_NO_PLAN, NO_OFFSET),
                       "no plan was kept of the module");
  }
  if (status == RH_OK) status = emit_plan(taken, profile, default_trip_count, write, context);
  return call_close(call, status);
}
