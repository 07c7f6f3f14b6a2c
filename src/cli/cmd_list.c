#include <string.h>

#include "command.h"
#include "device.h"

typedef enum ListWhat {
  LIST_COMMANDS = RH_PARAMETERS + 1,
  LIST_DEVICES,
} ListWhat;

static const struct {
  const char *name;
  const char *option;
  int what; /* an rh_registry or a ListWhat */
} lists[] = {
    {"schedulers", "--scheduler", RH_SCHEDULERS},
    {"algorithms", "--algorithm", RH_ALGORITHMS},
    {"models", "--memory-model", RH_MEMORY_MODELS},
    {"packings", "--packing", RH_PACKINGS},
    {"targets", "--target", RH_TARGETS},
    {"devices", "--device", LIST_DEVICES},
    {"parameters", "--set", RH_PARAMETERS},
    {"rules", NULL, RH_LINT_RULES},
    {"commands", NULL, LIST_COMMANDS},
};

enum { NUM_LISTS = sizeof lists / sizeof *lists };

static void print_name(void *context, const rh_profile *profile) {
  (void)context;
  printf("%s\n", rh_profile_name(profile));
}

static rh_status print_names(int what) {
  if (what == LIST_DEVICES) return device_visit(print_name, NULL);
  if (what == LIST_COMMANDS) {
    command_print_names(stdout);
    return RH_OK;
  }
  const rh_entry *entry;
  for (size_t i = 0; (entry = rh_list((rh_registry)what, i)); i++)
    printf("%s\n", entry->name);
  return RH_OK;
}

static void print_row(const char *name, const char *summary) {
  printf("  %-21s  %s\n", name, summary);
}

static void print_device(void *context, const rh_profile *profile) {
  (void)context;
  print_row(rh_profile_name(profile), rh_profile_description(profile));
}

static rh_status print_all(void) {
  rh_status status = RH_OK;
  for (size_t i = 0; i < NUM_LISTS && status == RH_OK; i++) {
    if (!lists[i].option) continue;
    printf("%s%s (%s):\n", i ? "\n" : "", lists[i].name, lists[i].option);
    const rh_entry *entry;
    if (lists[i].what == LIST_DEVICES) {
      status = device_visit(print_device, NULL);
    } else {
      for (size_t k = 0; (entry = rh_list((rh_registry)lists[i].what, k)); k++) {
        print_row(entry->name, entry->summary);
      }
    }
  }
  return status;
}

static rh_status fail_unknown(const char *noun, const char *name) {
  fprintf(stderr, "remat-hlo: error: there is no %s '%s'\n", noun, name);
  return RH_ERR_USAGE;
}

rh_status cmd_list(const Options *options) {
  if (options->list_options) {
    unsigned command = command_bit(options->list_options);
    if (!command) return fail_unknown("command", options->list_options);
    options_print_names(command, stdout);
    return RH_OK;
  }
  if (!options->list_names) return print_all();
  for (size_t i = 0; i < NUM_LISTS; i++) {
    if (strcmp(lists[i].name, options->list_names) == 0) return print_names(lists[i].what);
  }
  return fail_unknown("list of", options->list_names);
}
