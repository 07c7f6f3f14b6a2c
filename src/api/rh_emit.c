/* The public functions that show a module to human readers. */
#include "emit/dot/dot.h"
#include "emit/human.h"
#include "emit/memlog/memlog.h"
#include "api/call.h"
#include "api/measure.h"
#include "api/arguments.h"
#include "api/sized.h"

#ifdef REMAT_HLO_DOT
static rh_status draw(const rh_module *module, const rh_dot_options *options, rh_write_fn write,
                      void *context, rh_diags *diags) {
  uint32_t num_wanted = 0;
  DotOptions dot = {.min_bytes = options->min_bytes,
                    .max_nodes = options->max_nodes,
                    .num_hops = options->num_hops,
                    .num_wanted = &num_wanted};
  Arena *arena = arena_new(arena_options(module->arena));
  rh_status status = find_model(module, options->memory_model, &dot.model, diags);
  if (status == RH_OK) status = dot_filter_parse(options->filter, &dot.filter, diags, arena);
  if (status != RH_OK) {
    arena_free(arena);
    return status;
  }
  Arena *scratch = arena_new(arena_options(module->arena));
  MemoryProfile profile =
      dot.model->measure(module->module, &module->schedule, NULL, arena, scratch);
  Writer writer;
  writer_init(&writer, write, context);
  emit_dot(module->module, &module->schedule, &profile, module->marks, &dot, &writer, scratch);
  bool is_search = dot.filter.kind != DOT_FILTER_ALL && dot.filter.kind != DOT_FILTER_PEAK;
  if (is_search && num_wanted == 0) {
    diag_warn(diags, DIAG_ABOUT(RH_CODE_NO_MATCH, NO_OFFSET),
              "the graph shows nothing: no instruction matches '%.100s'", options->filter);
  }
  arena_free(scratch);
  arena_free(arena);
  return writer_finish(&writer);
}

static rh_status check_filter(const char *filter, rh_diags *diags, const ArenaOptions *memory) {
  Arena *arena = arena_new(memory);
  DotFilter parsed;
  rh_status status = dot_filter_parse(filter, &parsed, diags, arena);
  arena_free(arena);
  return status;
}
#else
static rh_status fail_without_dot(rh_diags *diags) {
  return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_NOT_BUILT, NO_OFFSET),
                   "this build cannot write dot graphs (REMAT_HLO_DOT is off)");
}

static rh_status draw(const rh_module *module, const rh_dot_options *options, rh_write_fn write,
                      void *context, rh_diags *diags) {
  (void)module, (void)options, (void)write, (void)context;
  return fail_without_dot(diags);
}

static rh_status check_filter(const char *filter, rh_diags *diags, const ArenaOptions *memory) {
  (void)filter, (void)memory;
  return fail_without_dot(diags);
}
#endif

rh_status rh_emit_dot(const rh_module *module, const rh_settings *settings,
                      const rh_dot_options *given, rh_write_fn write, void *context,
                      rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  rh_dot_options options = RH_DOT_OPTIONS_INIT;
  const rh_module *taken = NULL;
  rh_status status = sized_read(&options, sizeof options, given, "rh_dot_options", diags);
  if (status == RH_OK) status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = draw(taken, &options, write, context, diags);
  return call_close(call, status);
}

rh_status rh_dot_check_filter(const char *filter, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_BAD_OPTION);
  ArenaOptions memory = call_memory(call, 0);
  return call_close(call, check_filter(filter, diags, &memory));
}

static rh_status emit_log(const rh_module *module, const char *memory_model,
                          rh_memlog_format format, rh_write_fn write, void *context,
                          rh_diags *diags) {
  MemlogOptions options = {.format = (MemlogFormat)format};
  rh_status status = find_model(module, memory_model, &options.model, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = arena_new(arena_options(module->arena));
  MemoryProfile profile =
      options.model->measure(module->module, &module->schedule, NULL, arena, scratch);
  Writer writer;
  writer_init(&writer, write, context);
  emit_memlog(module->module, &module->schedule, &profile, module->marks, &options, &writer,
              scratch);
  arena_free(scratch);
  arena_free(arena);
  return writer_finish(&writer);
}

rh_status rh_emit_memlog(const rh_module *module, const rh_settings *settings,
                         const char *memory_model, rh_memlog_format format, rh_write_fn write,
                         void *context, rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  const rh_module *taken = NULL;
  rh_status status = check_choice((int)format, RH_MEMLOG_JSONL + 1, "the format", diags);
  if (status == RH_OK) status = call_take(call, module, settings, &taken);
  if (status == RH_OK) status = emit_log(taken, memory_model, format, write, context, diags);
  return call_close(call, status);
}

void rh_format_bytes(int64_t bytes, char text[RH_FORMAT_CHARS]) {
  HumanBytes human = human_bytes(bytes);
  memcpy(text, human.text, human.len);
  text[human.len] = 0;
}

void rh_format_count(uint64_t count, char text[RH_FORMAT_CHARS]) {
  HumanBytes human = human_count(count);
  memcpy(text, human.text, human.len);
  text[human.len] = 0;
}
