#include "compare/files.h"

#include <stdlib.h>
#include <string.h>

static rh_status out_of_memory(void) {
  return input_out_of_memory(&(Input){.path = "remat-hlo"});
}

/* ---- files ---- */

static rh_status make_files(Comparison *comparison) {
  const ModuleList *list = &comparison->list;
  comparison->files = calloc(list->len + 1, sizeof *comparison->files);
  if (!comparison->files) return out_of_memory();
  comparison->num_files = list->len;
  for (size_t i = 0; i < list->len; i++)
    comparison->files[i].listed = &list->modules[i];
  return RH_OK;
}

/* ---- runs ---- */

static rh_status make_runs(Comparison *comparison) {
  const CompareGrid *grid = &comparison->grid;
  size_t per_file = grid->num_budgets * grid->num_schedulers * grid->num_algorithms;
  comparison->runs_per_file = per_file;
  comparison->runs = calloc(compare_num_runs(comparison) + 1, sizeof *comparison->runs);
  if (!comparison->runs) return out_of_memory();
  for (size_t i = 0; i < compare_num_runs(comparison); i++) {
    size_t index = i % per_file;
    comparison->runs[i] =
        (CompareRun){.file = &comparison->files[i / per_file],
                     .budget = index / grid->num_algorithms / grid->num_schedulers,
                     .scheduler = index / grid->num_algorithms % grid->num_schedulers,
                     .algorithm = index % grid->num_algorithms};
  }
  for (size_t i = 0; i < comparison->num_files; i++)
    comparison->files[i].runs = &comparison->runs[i * per_file];
  return RH_OK;
}

/* ---- settings ---- */

/* Returns the options that change results, have no column of their own, and differ from their
 * defaults. */
static char *make_settings(const Options *options) {
  char *text = NULL;
  size_t len;
  FILE *out = open_memstream(&text, &len);
  if (!out) return NULL;
  options_print_settings(options, out);
  bool is_whole = !ferror(out);
  if (fclose(out) || !is_whole) {
    free(text);
    return NULL;
  }
  memmove(text, text + (len > 0), len + (len == 0)); /* without the first blank */
  return text;
}

/* ---- the list ---- */

rh_status compare_files_make(Comparison *comparison) {
  rh_status status = make_files(comparison);
  return status == RH_OK ? make_runs(comparison) : status;
}

rh_status compare_files_list(Comparison *comparison) {
  comparison->settings = make_settings(comparison->options);
  if (!comparison->settings) return out_of_memory();
  rh_status worst = module_list_read(comparison->options, &comparison->list);
  rh_status status = compare_files_make(comparison);
  return status > worst ? status : worst;
}

static void free_file(const Comparison *comparison, CompareFile *file) {
  compare_unload(comparison, file);
  for (size_t i = 0; file->bounds && i < comparison->grid.num_schedulers; i++)
    free(file->bounds[i]);
  free(file->bounds);
  free(file->module);
  free(file->written);
}

void compare_files_free(Comparison *comparison) {
  for (size_t i = 0; comparison->runs && i < compare_num_runs(comparison); i++)
    rh_diags_free(comparison->runs[i].diags);
  for (size_t i = 0; i < comparison->num_files; i++)
    free_file(comparison, &comparison->files[i]);
  free(comparison->files);
  module_list_free(&comparison->list);
  free(comparison->runs);
  free(comparison->settings);
}
