#include "load.h"

#include <stdlib.h>
#include <unistd.h>

#include "cost_of.h"
#include "interrupt.h"
#include "messages.h"

/* The library cannot go on; nothing half-written stays behind. */
static void exit_out_of_memory(void *context, size_t wanted_bytes, size_t limit_bytes) {
  const Loaded *loaded = context;
  char wanted[RH_FORMAT_CHARS], limit[RH_FORMAT_CHARS];
  rh_format_bytes((int64_t)wanted_bytes, wanted);
  rh_format_bytes((int64_t)limit_bytes, limit);
  messages_say(&loaded->input, RH_SEVERITY_ERROR, "out of memory, %s more wanted%s%s%s", wanted,
               limit_bytes ? " (--max-memory=" : "", limit_bytes ? limit : "",
               limit_bytes ? ")" : "");
  interrupt_remove_temporaries();
  _exit(RH_ERR_SYSTEM);
}

rh_status load_text(const char *path, const Options *options, Loaded *loaded) {
  *loaded = (Loaded){.diags = rh_diags_new()};
  return input_read(path, (MessageForm)options->diagnostics, &loaded->input);
}

rh_parse_options load_parse_options(const Options *options, Loaded *loaded) {
  return (rh_parse_options){.max_memory_bytes = (size_t)options->max_memory_bytes,
                            .on_out_of_memory = exit_out_of_memory,
                            .context = loaded,
                            .max_errors = (uint32_t)options->max_errors};
}

rh_status load_module(const char *path, const Options *options, Loaded *loaded) {
  rh_status status = load_text(path, options, loaded);
  if (status != RH_OK) return status;
  rh_parse_options parse = load_parse_options(options, loaded);
  status =
      rh_parse(loaded->input.text, loaded->input.length, &parse, &loaded->module, loaded->diags);
  return load_report(loaded, status);
}

rh_status load_to_measure(const char *path, const Options *options, Loaded *loaded) {
  rh_status status = load_module(path, options, loaded);
  if (status != RH_OK) return status;
  status = rh_set_target(loaded->module, options->target, loaded->diags);
  if (status == RH_OK) status = cost_of_apply(options, loaded->module, loaded->diags);
  if (status == RH_OK) rh_set_copies(loaded->module, options->remat.copies);
  if (status == RH_OK) rh_set_heap_limit(loaded->module, options->pack.heap_limit_bytes);
  if (status == RH_OK && options->packing) {
    status = rh_set_packing(loaded->module, options->packing, options->pack.max_steps,
                            loaded->diags);
  }
  return load_report(loaded, status);
}

rh_status load_report(Loaded *loaded, rh_status status) {
  messages_print(&loaded->input, loaded->diags);
  rh_diags_free(loaded->diags);
  loaded->diags = rh_diags_new();
  return status;
}

void load_warn_of_figures(const Loaded *loaded, const Options *options) {
  rh_module_info info = rh_get_info(loaded->module);
  if (options->quiet) return;
  if (!info.is_optimized) {
    messages_say(&loaded->input, RH_SEVERITY_WARNING,
                 "not optimized yet, nothing is fused: the peak is an upper estimate; the dump "
                 "named after_optimizations is what runs");
  }
  if (info.has_sharding_calls && info.num_partitions > 1) {
    messages_say(&loaded->input, RH_SEVERITY_WARNING,
                 "not partitioned yet: shapes and bytes are those of all devices together");
  }
}

void load_free(Loaded *loaded) {
  rh_module_free(loaded->module);
  rh_diags_free(loaded->diags);
  input_free(&loaded->input);
}
