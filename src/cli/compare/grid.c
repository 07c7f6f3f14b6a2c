/* The lists of names that `compare` takes. */
#include <stdlib.h>
#include <string.h>

#include "compare/job.h"
#include "input.h"

/* ---- registries ---- */

static rh_status check_name(const char *option, rh_registry registry, const char *name) {
  enum { MAX_NAMES = 64 };
  const char *names[MAX_NAMES];
  const rh_entry *entry;
  size_t count = 0;
  if (rh_find(registry, name)) return RH_OK;
  for (; count < MAX_NAMES && (entry = rh_list(registry, count)); count++)
    names[count] = entry->name;
  const char *meant = rh_closest_word(name, names, count);
  fprintf(stderr, "remat-hlo: error: --%s: there is no '%s'%s%s%s\n", option, name,
          meant ? "; did you mean '" : "", meant ? meant : "; remat-hlo list shows all",
          meant ? "'?" : "");
  return RH_ERR_USAGE;
}

/* ---- lists ---- */

static bool has_name(const char **names, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(names[i], name) == 0) return true;
  }
  return false;
}

/* Splits a text at its commas and removes duplicates. */
static const char **split(char *text, size_t *count) {
  const char **names = calloc(strlen(text) + 1, sizeof *names);
  *count = 0;
  for (char *p = text; names;) {
    size_t len = strcspn(p, ",");
    bool is_last = !p[len];
    p[len] = 0;
    if (!has_name(names, *count, p)) names[(*count)++] = p;
    if (is_last) break;
    p += len + 1;
  }
  return names;
}

/* Returns all algorithms except the one that does nothing, those that are run only on request, and
 * those that need a collection, which `compare` does not take. */
static char *default_algorithms(void) {
  const unsigned left_out =
      RH_TRAIT_IDLE | RH_TRAIT_ON_REQUEST | RH_TRAIT_NEEDS_COLLECTION | RH_TRAIT_CHOOSES;
  const rh_entry *entry;
  size_t room = 1;
  for (size_t i = 0; (entry = rh_list(RH_ALGORITHMS, i)); i++)
    room += strlen(entry->name) + 1;
  char *text = calloc(room, 1);
  for (size_t i = 0; text && (entry = rh_list(RH_ALGORITHMS, i)); i++) {
    if (entry->traits & left_out) continue;
    if (*text) strcat(text, ",");
    strcat(text, entry->name);
  }
  return text;
}

/* Returns the scheduler that keeps the order of the input, and the best one that is available. */
static const char *default_schedulers(void) {
  return rh_find(RH_SCHEDULERS, "best") ? "input,best" : "input,default";
}

static rh_status read_budgets(CompareGrid *grid) {
  grid->limits = calloc(grid->num_budgets + 1, sizeof *grid->limits);
  if (!grid->limits) return input_out_of_memory(&(Input){.path = "remat-hlo"});
  for (size_t i = 0; i < grid->num_budgets; i++) {
    if (parse_budget(grid->budgets[i], &grid->limits[i])) continue;
    fprintf(
        stderr,
        "remat-hlo: error: --budgets takes sizes such as 12GiB or 800MB, or 80%%, r80%% or min, "
        "with commas, not '%s'\n",
        grid->budgets[i]);
    return RH_ERR_USAGE;
  }
  return RH_OK;
}

static rh_status check_names(const Options *options, const CompareGrid *grid) {
  rh_status status = check_name("memory-model", RH_MEMORY_MODELS, options->remat.memory_model);
  if (status == RH_OK && strcmp(options->target, "auto") != 0)
    status = check_name("target", RH_TARGETS, options->target);
  for (size_t i = 0; i < grid->num_schedulers && status == RH_OK; i++)
    status = check_name("schedulers", RH_SCHEDULERS, grid->schedulers[i]);
  for (size_t i = 0; i < grid->num_algorithms && status == RH_OK; i++)
    status = check_name("algorithms", RH_ALGORITHMS, grid->algorithms[i]);
  for (size_t i = 0; i < grid->num_algorithms && status == RH_OK; i++) {
    const rh_entry *entry = rh_find(RH_ALGORITHMS, grid->algorithms[i]);
    if (!entry || !(entry->traits & RH_TRAIT_NEEDS_COLLECTION)) continue;
    fprintf(stderr,
            "remat-hlo: error: --algorithms: %s needs patterns, which compare does not take\n",
            grid->algorithms[i]);
    status = RH_ERR_USAGE;
  }
  return status;
}

rh_status compare_grid_read(const Options *options, CompareGrid *grid) {
  *grid = (CompareGrid){0};
  grid->texts[0] = strdup(options->budgets ? options->budgets : "r90%,r70%,r50%,r30%");
  grid->texts[1] = strdup(options->schedulers ? options->schedulers : default_schedulers());
  grid->texts[2] = options->algorithms ? strdup(options->algorithms) : default_algorithms();
  bool has_texts = grid->texts[0] && grid->texts[1] && grid->texts[2];
  if (has_texts) {
    grid->budgets = split(grid->texts[0], &grid->num_budgets);
    grid->schedulers = split(grid->texts[1], &grid->num_schedulers);
    grid->algorithms = split(grid->texts[2], &grid->num_algorithms);
  }
  if (!grid->budgets || !grid->schedulers || !grid->algorithms) {
    return input_out_of_memory(&(Input){.path = "remat-hlo"});
  }
  rh_status status = read_budgets(grid);
  return status == RH_OK ? check_names(options, grid) : status;
}

void compare_grid_free(CompareGrid *grid) {
  free(grid->budgets);
  free(grid->schedulers);
  free(grid->algorithms);
  free(grid->limits);
  for (size_t i = 0; i < sizeof grid->texts / sizeof *grid->texts; i++)
    free(grid->texts[i]);
}
