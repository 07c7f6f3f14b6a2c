/* The public functions that show a module to people. */
#include "emit/dot/dot.h"
#include "emit/human.h"
#include "emit/memlog/memlog.h"
#include "ir/diag.h"
#include "ir/handle.h"
#include "api/measure.h"

#ifdef REMAT_HLO_DOT
rh_status rh_emit_dot(const rh_module *module, const rh_dot_options *options, rh_write_fn write,
                      void *context, rh_diags *diags) {
  uint32_t num_wanted = 0;
  DotOptions dot = {.min_bytes = options->min_bytes,
                    .max_nodes = options->max_nodes,
                    .num_hops = options->num_hops,
                    .num_wanted = &num_wanted};
  rh_status status = find_model(module, options->memory_model, &dot.model, diags);
  if (status == RH_OK) status = dot_filter_parse(options->filter, &dot.filter, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = handle_scratch(module);
  MemoryProfile profile =
      dot.model->measure(module->module, &module->schedule, NULL, arena, scratch);
  Writer writer;
  writer_init(&writer, write, context);
  status =
      emit_dot(module->module, &module->schedule, &profile, module->marks, &dot, &writer, scratch);
  rh_status written = writer_finish(&writer);
  bool is_search = dot.filter.kind != DOT_FILTER_ALL && dot.filter.kind != DOT_FILTER_PEAK;
  if (is_search && num_wanted == 0) {
    diag_warn(diags, DIAG_NOWHERE, "the graph shows nothing: no instruction matches '%.100s'",
              options->filter);
  }
  dot_filter_free(&dot.filter);
  arena_free(scratch);
  arena_free(arena);
  return status != RH_OK ? status : written;
}

rh_status rh_dot_check_filter(const char *filter, rh_diags *diags) {
  DotFilter parsed;
  rh_status status = dot_filter_parse(filter, &parsed, diags);
  if (status == RH_OK) dot_filter_free(&parsed);
  return status;
}
#else
rh_status rh_emit_dot(const rh_module *module, const rh_dot_options *options, rh_write_fn write,
                      void *context, rh_diags *diags) {
  (void)module;
  (void)options;
  (void)write;
  (void)context;
  return diag_fail(diags, RH_ERR_USAGE, DIAG_NOWHERE,
                   "this build cannot write dot graphs (REMAT_HLO_DOT is off)");
}

rh_status rh_dot_check_filter(const char *filter, rh_diags *diags) {
  (void)filter;
  return rh_emit_dot(NULL, NULL, NULL, NULL, diags);
}
#endif

rh_status rh_emit_memlog(const rh_module *module, const char *memory_model, rh_memlog_format format,
                         rh_write_fn write, void *context, rh_diags *diags) {
  MemlogOptions options = {.format = (MemlogFormat)format};
  rh_status status = find_model(module, memory_model, &options.model, diags);
  if (status != RH_OK) return status;
  Arena *arena = arena_new(arena_options(module->arena));
  Arena *scratch = handle_scratch(module);
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
