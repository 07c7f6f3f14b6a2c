#include "advice/advisor.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "advice/layers.h"
#include "analysis/cost/link.h"
#include "emit/human.h"

enum { LEAST_SHARE = 50 }; /* a proposal gains at least one part of so many */

/* ---- texts ---- */

rh_text advice_text(Arena *out, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = arena_array(out, char, (size_t)length + 1);
  vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return (rh_text){text, (size_t)length};
}

/* A copy, because a text may be that of a simulated module, which is freed before the advice. */
static Str kept(Str text, Arena *out) {
  return (Str){arena_strndup(out, text.len ? text.data : "", text.len), text.len};
}

static SourcePlace place_in(Places *places, InstId id, Arena *out) {
  InstId placed = report_place(places, id, NO_ID);
  SourcePlace place = human_source_place(places->module, placed, out);
  SourcePlace position = human_source_place(places->module, report_position(places, placed), out);
  return (SourcePlace){kept(place.op_name, out), kept(position.file, out), position.line};
}

SourcePlace advisor_place(Advisor *advisor, InstId id) {
  return place_in(&advisor->places, id, advisor->out);
}

void advisor_set_place(rh_remedy *remedy, SourcePlace place) {
  remedy->source_file = text_of_str(place.file);
  remedy->source_line = place.line > 0 ? place.line : 0;
}

const char *advisor_where(const Advisor *advisor, SourcePlace place) {
  if (!place.file.len) return "the program";
  uint32_t begin = 0;
  for (uint32_t i = 0; i < place.file.len; i++) {
    if (place.file.data[i] == '/') begin = i + 1;
  }
  int len = (int)(place.file.len - begin);
  if (place.line <= 0) return arena_printf(advisor->out, "%.*s", len, place.file.data + begin);
  return arena_printf(advisor->out, "%.*s:%d", len, place.file.data + begin, place.line);
}

/* ---- measures ---- */

static void place_peak(const Module *module, InstId peak, Measured *measured, Arena *out,
                       Arena *scratch) {
  if (peak == NO_ID) return;
  Arena *arena = arena_new(arena_options(scratch));
  ValueAnalysis values = value_analysis_build(module, arena, scratch);
  Places places = places_new(module, &values, arena);
  SourcePlace place = place_in(&places, peak, out);
  measured->peak_instruction = text_of_str(kept(human_utf8(inst_name(module, peak), out), out));
  measured->peak_op_name = text_of_str(place.op_name);
  measured->peak_source_file = text_of_str(place.file);
  measured->peak_source_line = place.line > 0 ? place.line : 0;
  arena_free(arena);
}

/* `arena` gets what lives at the peak, if that is wanted, and the rest of the profile. */
static Measured measure_module(const AdviceRequest *request, const rh_module *handle, LiveSet *live,
                               Arena *arena, Arena *out, Arena *scratch) {
  MemoryProfile profile =
      memory_model_find("heap")->measure(handle->module, &handle->schedule, live, arena, scratch);
  Measured measured = {.memory = memory_of_profile(&profile)};
  measured.counted_bytes = memory_counted_bytes(&measured.memory, request->limit_counts);
  measured.seconds =
      link_total_seconds(handle->module, &handle->schedule, request->device, arena, scratch);
  place_peak(handle->module, profile.peak_inst, &measured, out, scratch);
  measured.memory.peak_instruction = measured.peak_instruction;
  return measured;
}

/* Whether operands come before their readers in a simulated module. Control dependencies that stand
 * for barriers may contradict each other. */
__attribute__((unused)) /* without assertions */
static bool
is_in_order(const rh_module *after, Arena *scratch) {
  const Module *module = after->module;
  ArenaMark mark = arena_mark(scratch);
  bool *is_made = arena_zarray(scratch, bool, module->insts.len), is_right = true;
  for (CompId comp = 0; comp < after->schedule.num_comps; comp++) {
    Sequence sequence = after->schedule.of[comp];
    for (SchedPos pos = 0; pos < sequence.len; pos++) {
      InstId id = sequence.ids[pos];
      for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
        is_right &= is_made[inst_operand(module, id, i)];
      is_made[id] = true;
    }
  }
  arena_reset(scratch, mark);
  return is_right;
}

static Measured measure_after(const Advisor *advisor, const rh_module *after) {
  assert(is_in_order(after, advisor->scratch) && "operands come before their readers");
  Arena *arena = arena_new(arena_options(advisor->scratch));
  Measured measured =
      measure_module(advisor->request, after, NULL, arena, advisor->out, advisor->scratch);
  arena_free(arena);
  return measured;
}

void advisor_open(Advisor *advisor, const AdviceRequest *request, const rh_module *input,
                  bool is_sketch, Arena *out, rh_diags *diags) {
  *advisor = (Advisor){.request = request,
                       .input = input,
                       .is_sketch = is_sketch,
                       .module = input->module,
                       .schedule = &input->schedule,
                       .framework = framework_of(input->module),
                       .diags = diags,
                       .out = out,
                       .arena = arena_new(arena_options(input->arena)),
                       .scratch = arena_new(arena_options(input->arena))};
  Arena *arena = advisor->arena, *scratch = advisor->scratch;
  advisor->before = measure_module(request, input, &advisor->live, arena, out, scratch);
  advisor->values = value_analysis_build(advisor->module, arena, scratch);
  advisor->places = places_new(advisor->module, &advisor->values, arena);
}

void advisor_free(Advisor *advisor) {
  for (uint32_t i = 0; i < advisor->remedies.len; i++)
    rh_module_free(advisor->remedies.data[i].after);
  arena_free(advisor->scratch);
  arena_free(advisor->arena);
}

int64_t advisor_live_bytes(const Advisor *advisor, LiveTest is_meant, const void *context) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < advisor->live.len; i++) {
    if (is_meant(context, &advisor->live.list[i])) bytes += advisor->live.list[i].bytes;
  }
  return bytes;
}

bool advisor_has_gradients(const Advisor *advisor) {
  const Module *module = advisor->module;
  if (advisor->framework != FRAMEWORK_JAX) {
    Sequence sequence = advisor->schedule->of[module->entry];
    return forward_part_of(module, sequence, advisor->scratch).end != NO_ID;
  }
  for (InstId id = 0; id < module->insts.len; id++) {
    if (str_contains(inst_op_name(module, id), "transpose(")) return true;
  }
  return false;
}

/* ---- simulated modules ---- */

rh_module *advice_copy(const rh_module *input) {
  rh_module *copy = handle_new(module_copy(input->module));
  copy->schedule = schedule_copy(&input->schedule, copy->module, copy->arena);
  copy->has_schedule = true;
  copy->scheduler = input->scheduler;
  copy->preparation = input->preparation;
  copy->requested_copies = input->requested_copies;
  *copy->is_checked = true;
  return copy;
}

rh_module *advisor_copy(const Advisor *advisor) {
  return advice_copy(advisor->input);
}

/* Two names for one thing, such as a function and the scope that it is called in. */
static bool is_same(const rh_remedy *a, const rh_remedy *b) {
  return a->counted_bytes == b->counted_bytes && a->added_seconds == b->added_seconds &&
         strcmp(a->kind, b->kind) == 0 && a->every == b->every &&
         a->argument.length == b->argument.length &&
         (a->argument.length == 0 ||
          memcmp(a->argument.data, b->argument.data, a->argument.length) == 0);
}

/* Without a limit, what is taken away of the memory is at least half the share that is added to the
 * time. */
static bool is_worth_its_time(const Advisor *advisor, const rh_remedy *remedy) {
  double whole = (double)advisor->before.counted_bytes;
  return advisor->request->limit_bytes != INT64_MAX || remedy->confidence[0] == 'l' ||
         2 * (double)remedy->saved_bytes >= remedy->added_fraction * whole;
}

/* What scripts/check/advice has found (man/advise.md). What other kinds of advice are about, such
 * as smaller batches, no patcher has applied to many programs. */
static double usual_error_of(const Advisor *advisor, const rh_remedy *remedy) {
  bool is_cpu = strcmp(advisor->module->backend.target->name, "cpu") == 0;
  const char *kind = remedy->kind;
  if (strncmp(kind, "donate", 6) == 0) return 0.05;
  if (advisor->is_later) return 0.25; /* on what an earlier step has simulated */
  if (strncmp(kind, "checkpoint", 10) == 0) return is_cpu && !remedy->policy.length ? 0.05 : 0.15;
  bool is_measured = strncmp(kind, "chunk", 5) == 0 || strcmp(kind, "nested-scan") == 0 ||
                     strcmp(kind, "in-turn") == 0;
  return is_measured ? 0.15 : 0.25;
}

static bool add_measured(Advisor *advisor, const rh_remedy *draft, rh_module *after,
                         const Measured *given, bool is_sketch) {
  const Measured *before = &advisor->before;
  Measured measured = *given;
  rh_remedy remedy = *draft;
  remedy.counted_bytes = measured.counted_bytes;
  remedy.saved_bytes = before->counted_bytes - measured.counted_bytes;
  remedy.temp_bytes = measured.memory.temp_bytes;
  remedy.peak_instruction = measured.peak_instruction;
  remedy.peak_op_name = measured.peak_op_name;
  remedy.peak_source_file = measured.peak_source_file;
  remedy.peak_source_line = measured.peak_source_line;
  remedy.added_seconds = measured.seconds - before->seconds;
  remedy.added_fraction = before->seconds > 0 ? remedy.added_seconds / before->seconds : 0;
  remedy.usual_error = usual_error_of(advisor, &remedy);
  remedy.is_met = advisor->request->limit_bytes != INT64_MAX &&
                  measured.counted_bytes <= advisor->request->limit_bytes;
  bool stays = remedy.saved_bytes > 0 &&
               remedy.saved_bytes >= before->counted_bytes / LEAST_SHARE &&
               is_worth_its_time(advisor, &remedy);
  for (uint32_t i = 0; i < advisor->remedies.len && stays; i++)
    stays = !is_same(&advisor->remedies.data[i].shown, &remedy);
  if (stays) {
    *vec_push(advisor->arena, &advisor->remedies) = (Remedy){remedy, after, is_sketch};
  } else {
    rh_module_free(after);
  }
  return stays;
}

bool advisor_add(Advisor *advisor, const rh_remedy *remedy, rh_module *after) {
  return advisor_add_sparing(advisor, remedy, after, 0);
}

bool advisor_add_sparing(Advisor *advisor, const rh_remedy *remedy, rh_module *after,
                         double spared_seconds) {
  Measured measured = measure_after(advisor, after);
  measured.seconds -= spared_seconds;
  return add_measured(advisor, remedy, after, &measured, advisor->is_sketch);
}

bool advisor_add_timed(Advisor *advisor, const rh_remedy *remedy, rh_module *after,
                       double added_seconds) {
  Measured measured = measure_after(advisor, after);
  measured.seconds = advisor->before.seconds + added_seconds;
  return add_measured(advisor, remedy, after, &measured, true);
}

void advisor_drop(Advisor *advisor, uint32_t index) {
  rh_module_free(advisor->remedies.data[index].after);
  advisor->remedies.len--;
  for (uint32_t i = index; i < advisor->remedies.len; i++)
    advisor->remedies.data[i] = advisor->remedies.data[i + 1];
}

void advisor_keep_lower(Advisor *advisor, uint32_t index, bool is_doubtful) {
  const rh_remedy *better = &advisor->remedies.data[index].shown;
  for (uint32_t i = 0; i < index; i++) {
    const rh_remedy *remedy = &advisor->remedies.data[i].shown;
    bool is_same = strcmp(remedy->kind, better->kind) == 0 && !remedy->policy.length &&
                   remedy->source_line == better->source_line &&
                   remedy->num_instances == better->num_instances;
    if (!is_same) continue;
    bool is_lower = better->counted_bytes < remedy->counted_bytes;
    advisor_drop(advisor, !is_doubtful || is_lower ? i : index);
    return;
  }
}

void advisor_drop_earlier(Advisor *advisor, uint32_t index) {
  advisor_keep_lower(advisor, index, false);
}
