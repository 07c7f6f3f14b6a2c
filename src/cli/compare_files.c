#include "compare_files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dump_folder.h"
#include "path.h"

static rh_status out_of_memory(void) {
  return input_out_of_memory(&(Input){.path = "remat-hlo"});
}

/* ---- files ---- */

static rh_status add_file(Comparison *comparison, const char *path, const char *root) {
  size_t count = comparison->num_files;
  bool is_full = (count & (count - 1)) == 0; /* at each power of two */
  if (is_full) {
    size_t room = count ? count * 2 : 1;
    CompareFile *larger = realloc(comparison->files, room * sizeof *larger);
    if (!larger) return out_of_memory();
    comparison->files = larger;
  }
  comparison->files[count] = (CompareFile){.path = strdup(path), .root = root};
  if (!comparison->files[count].path) return out_of_memory();
  comparison->num_files++;
  return RH_OK;
}

static rh_status add_folder(Comparison *comparison, const char *path) {
  DumpFolder folder;
  rh_status worst = dump_folder_read(path, comparison->options, &folder);
  if (folder.num_stages == 0 && worst == RH_OK) {
    MessageForm form = (MessageForm)comparison->options->diagnostics;
    worst = input_fail(&(Input){.path = path, .form = form}, "there is no HLO text in it");
  }
  for (size_t first = 0, count; first < folder.num_stages; first += count) {
    count = dump_folder_count(&folder, first);
    const DumpStage *chosen = &folder.stages[dump_folder_choose(&folder, first, count)];
    rh_status status = add_file(comparison, chosen->path, path);
    if (status > worst) worst = status;
  }
  dump_folder_free(&folder);
  return worst;
}

static rh_status add_files(Comparison *comparison) {
  const Options *options = comparison->options;
  rh_status worst = RH_OK;
  for (size_t i = 0; i < options->num_files; i++) {
    const char *path = options->files[i];
    rh_status status =
        path_is_directory(path) ? add_folder(comparison, path) : add_file(comparison, path, NULL);
    if (status > worst) worst = status;
  }
  return worst;
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

rh_status compare_files_list(Comparison *comparison) {
  comparison->settings = make_settings(comparison->options);
  if (!comparison->settings) return out_of_memory();
  rh_status worst = add_files(comparison), status = make_runs(comparison);
  return status > worst ? status : worst;
}

static void free_file(const Comparison *comparison, CompareFile *file) {
  compare_unload(comparison, file);
  free(file->path);
  free(file->module);
  free(file->written);
}

void compare_files_free(Comparison *comparison) {
  for (size_t i = 0; comparison->runs && i < compare_num_runs(comparison); i++)
    rh_diags_free(comparison->runs[i].diags);
  for (size_t i = 0; i < comparison->num_files; i++)
    free_file(comparison, &comparison->files[i]);
  free(comparison->files);
  free(comparison->runs);
  free(comparison->settings);
}
