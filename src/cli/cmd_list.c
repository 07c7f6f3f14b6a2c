#include <string.h>

#include "command.h"
#include "device.h"
#include "rows.h"

typedef enum ListWhat {
  LIST_COMMANDS = RH_REMEDIES + 1,
  LIST_LISTS,
} ListWhat;

/* The options of a list take its names. */
static const struct {
  const char *name;
  const char *option;
  const char *other_option; /* takes several names, or NULL */
  int what;                 /* an rh_registry or a ListWhat */
  bool is_shown;            /* in what `list` prints */
} lists[] = {
    {"schedulers", "--scheduler", "--schedulers", RH_SCHEDULERS, true},
    {"algorithms", "--algorithm", "--algorithms", RH_ALGORITHMS, true},
    {"models", "--memory-model", NULL, RH_MEMORY_MODELS, true},
    {"packings", "--packing", NULL, RH_PACKINGS, true},
    {"targets", "--target", NULL, RH_TARGETS, true},
    {"devices", "--device", NULL, RH_DEVICES, true},
    {"parameters", "--set", NULL, RH_PARAMETERS, true},
    {"rules", NULL, NULL, RH_LINT_RULES, false},
    {"remedies", NULL, NULL, RH_REMEDIES, false},
    {"commands", "--options", NULL, LIST_COMMANDS, false},
    {"lists", "--names", NULL, LIST_LISTS, false},
};

enum { NUM_LISTS = sizeof lists / sizeof *lists };

/* ---- entries ---- */

typedef void (*entry_fn)(void *context, const char *name, const char *summary);

typedef struct DeviceVisit {
  entry_fn visit;
  void *context;
} DeviceVisit;

static void visit_device(void *context, const rh_profile *profile) {
  const DeviceVisit *devices = context;
  devices->visit(devices->context, rh_profile_name(profile), rh_profile_description(profile));
}

static rh_status visit_list(int what, entry_fn visit, void *context) {
  const rh_entry *entry;
  const char *name, *summary = "";
  if (what == RH_DEVICES) return device_visit(visit_device, &(DeviceVisit){visit, context});
  if (what == LIST_LISTS) {
    for (size_t i = 0; i < NUM_LISTS; i++)
      visit(context, lists[i].name, summary);
  } else if (what == LIST_COMMANDS) {
    for (size_t i = 0; (name = command_name(i, &summary)); i++)
      visit(context, name, summary);
  } else {
    for (size_t i = 0; (entry = rh_list((rh_registry)what, i)); i++)
      visit(context, entry->name, entry->summary);
  }
  return RH_OK;
}

/* ---- for shells ---- */

static void print_name(void *context, const char *name, const char *summary) {
  const Options *options = context;
  printf(options->describe ? "%s\t%s\n" : "%s\n", name, summary);
}

static void print_value(void *context, const char *name, const char *summary) {
  (void)summary;
  printf("%s%s\n", name, (const char *)context);
}

static bool is_option(const char *option, const char *name) {
  return option && strcmp(option + strlen("--"), name) == 0;
}

static rh_status print_values(const char *name) {
  for (size_t i = 0; i < NUM_LISTS; i++) {
    if (!is_option(lists[i].option, name) && !is_option(lists[i].other_option, name)) continue;
    char *ending = lists[i].what == RH_PARAMETERS ? "=" : "";
    return visit_list(lists[i].what, print_value, ending);
  }
  options_print_words(name, stdout);
  return RH_OK;
}

/* ---- for people ---- */

static void print_row(void *context, const char *name, const char *summary) {
  const rh_entry *algorithm = rh_find(RH_ALGORITHMS, name);
  bool needs_solver =
      algorithm && algorithm->summary == summary && algorithm->traits & RH_TRAIT_NEEDS_SOLVER;
  bool is_missing = needs_solver && !rh_has_solver();
  fprintf(context, "  %-21s  %s%s\n", name, summary, is_missing ? ": it is not there" : "");
}

static rh_status print_all(FILE *out) {
  rh_status status = RH_OK;
  for (size_t i = 0; i < NUM_LISTS && status == RH_OK; i++) {
    if (!lists[i].is_shown) continue;
    fprintf(out, "%s%s (%s):\n", i ? "\n" : "", lists[i].name, lists[i].option);
    status = visit_list(lists[i].what, print_row, out);
  }
  return status;
}

/* ---- for programs ---- */

typedef struct ListRows {
  Rows rows;
  const char *list, *option;
} ListRows;

static void add_row(void *context, const char *name, const char *summary) {
  ListRows *list = context;
  rows_word(&list->rows, list->list);
  rows_word(&list->rows, list->option);
  rows_word(&list->rows, name);
  rows_word(&list->rows, summary);
}

/* Writes the list of --names, or all lists. */
static rh_status write_rows(const Options *options) {
  static const char *const columns[] = {"list", "option", "name", "summary", NULL};
  ListRows list;
  rh_status status = rows_open(columns, options->csv, options->json, options, &list.rows);
  for (size_t i = 0; i < NUM_LISTS && status == RH_OK; i++) {
    bool is_wanted = options->list_names ? strcmp(lists[i].name, options->list_names) == 0
                                         : lists[i].what != LIST_LISTS;
    list.list = lists[i].name;
    list.option = lists[i].option;
    if (is_wanted) status = visit_list(lists[i].what, add_row, &list);
  }
  rh_status closed = rows_close(&list.rows, status == RH_OK);
  return closed > status ? closed : status;
}

/* ---- the subcommand ---- */

static rh_status fail_unknown(const char *noun, const char *name) {
  fprintf(stderr, "remat-hlo: error: there is no %s '%s'\n", noun, name);
  return RH_ERR_USAGE;
}

static rh_status check_options(const Options *options) {
  const char *paths[] = {options->json, options->csv};
  bool has_rows = options->json || options->csv;
  if (has_rows && (options->list_options || options->list_values)) {
    fputs("remat-hlo: error: --json and --csv are of the lists, not of options\n", stderr);
    return RH_ERR_USAGE;
  }
  for (size_t i = 0; options->list_names; i++) {
    if (i == NUM_LISTS) return fail_unknown("list of", options->list_names);
    if (strcmp(lists[i].name, options->list_names) == 0) break;
  }
  return output_check(paths, sizeof paths / sizeof *paths);
}

static rh_status print_options(const Options *options) {
  unsigned command = command_bit(options->list_options);
  if (!command) return fail_unknown("command", options->list_options);
  options_print_names(command, options->describe, stdout);
  return RH_OK;
}

static rh_status print_lists(const Options *options) {
  bool is_taken = output_is_stdout(options->json) || output_is_stdout(options->csv);
  if (!options->list_names) return print_all(is_taken ? stderr : stdout);
  for (size_t i = 0; i < NUM_LISTS; i++) {
    if (is_taken || strcmp(lists[i].name, options->list_names) != 0) continue;
    return visit_list(lists[i].what, print_name, (void *)options);
  }
  return RH_OK;
}

rh_status cmd_list(const Options *options) {
  rh_status status = check_options(options);
  if (status != RH_OK) return status;
  if (options->list_options) return print_options(options);
  if (options->list_values) {
    const char *name = options_find_name(options->list_values);
    return name ? print_values(name) : fail_unknown("option", options->list_values);
  }
  if (options->json || options->csv) status = write_rows(options);
  if (status == RH_OK && !options->quiet) status = print_lists(options);
  return status;
}
