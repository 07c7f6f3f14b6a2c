#include "module_list.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "path.h"
#include "peek.h"
#include "shard.h"

static const int64_t DEFAULT_MIN_PEAK_BYTES = 1 << 20;

static rh_status out_of_memory(void) {
  return input_out_of_memory(&(Input){.path = "remat-hlo"});
}

/* ---- names ---- */

size_t module_name_length(rh_text name) {
  size_t length = name.length;
  while (length && name.data[length - 1] >= '0' && name.data[length - 1] <= '9')
    length--;
  bool has_number = length > 1 && length < name.length && name.data[length - 1] == '.';
  return has_number ? length - 1 : name.length;
}

bool module_matches(const char *glob, const char *name) {
  if (fnmatch(glob, name, 0) == 0) return true;
  size_t length = module_name_length((rh_text){name, strlen(name)});
  char *base = strndup(name, length);
  bool is_matched = base && fnmatch(glob, base, 0) == 0;
  free(base);
  return is_matched;
}

static rh_status fail_match(const Options *options, const char **names, size_t count) {
  const char *meant = rh_closest_word(options->module, names, count);
  fprintf(stderr, "remat-hlo: error: --module: no module's name matches '%s'%s%s%s\n",
          options->module, meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
  return RH_ERR_INPUT;
}

/* ---- the list ---- */

static rh_status add_module(ModuleList *list, ListedModule module) {
  if (list->len == list->room) {
    size_t room = list->room ? list->room * 2 : 16;
    ListedModule *larger = realloc(list->modules, room * sizeof *larger);
    if (!larger) return out_of_memory();
    list->modules = larger;
    list->room = room;
  }
  list->modules[list->len++] = module;
  return RH_OK;
}

static rh_status add_folder(ModuleList *list, const char *path, const Options *options) {
  DumpFolder *folder = &list->folders[list->num_folders++];
  rh_status worst = dump_folder_read(path, options, folder);
  if (folder->num_stages == 0 && worst == RH_OK) {
    MessageForm form = (MessageForm)options->diagnostics;
    worst = input_fail(&(Input){.path = path, .form = form}, "there is no HLO text in it");
  }
  for (size_t first = 0, count; first < folder->num_stages; first += count) {
    count = dump_folder_count(folder, first);
    const DumpStage *chosen = &folder->stages[dump_folder_choose(folder, first, count)];
    ListedModule module = {.path = chosen->path,
                           .root = path,
                           .stages = &folder->stages[first],
                           .num_stages = count,
                           .chosen = chosen};
    rh_status status = add_module(list, module);
    if (status > worst) worst = status;
  }
  list->num_others += folder->num_others;
  return worst;
}

static rh_status add_all(const Options *options, ModuleList *list) {
  rh_status worst = RH_OK;
  list->folders = calloc(options->num_files + 1, sizeof *list->folders);
  if (!list->folders) return out_of_memory();
  for (size_t i = 0; i < options->num_files; i++) {
    const char *path = options->files[i];
    rh_status status = path_is_directory(path) ? add_folder(list, path, options)
                                               : add_module(list, (ListedModule){.path = path});
    if (status > worst) worst = status;
  }
  return worst;
}

/* ---- --module ---- */

/* Returns NULL if the name is not known: for stdin, and for a file that cannot be read. */
static char *name_of(const ListedModule *module) {
  if (module->chosen) return strdup(module->chosen->name);
  return strcmp(module->path, "-") == 0 ? NULL : peek_module_name(module->path);
}

static void free_names(char **names, size_t count) {
  for (size_t i = 0; names && i < count; i++)
    free(names[i]);
  free(names);
}

static rh_status leave_out_others(const Options *options, ModuleList *list) {
  size_t num_all = list->len, num_kept = 0;
  char **names = calloc(num_all + 1, sizeof *names);
  if (!names) return out_of_memory();
  for (size_t i = 0; i < num_all; i++) {
    const ListedModule *module = &list->modules[i];
    names[i] = name_of(module);
    bool is_wanted = !names[i] || module_matches(options->module, names[i]);
    if (is_wanted) list->modules[num_kept++] = *module;
  }
  list->len = num_kept;
  rh_status status = RH_OK;
  if (num_all && !num_kept) status = fail_match(options, (const char **)names, num_all);
  free_names(names, num_all);
  return status;
}

rh_status module_list_read(const Options *options, ModuleList *list) {
  *list = (ModuleList){0};
  rh_status worst = add_all(options, list), status = RH_OK;
  if (options->module) status = leave_out_others(options, list);
  if (status > worst) worst = status;
  list->num_all = list->len;
  for (size_t i = 0; i < list->len; i++)
    list->modules[i].number = i + 1;
  if (options->shard.count) status = shard_take(options, list);
  for (size_t i = 0; i < list->len; i++)
    list->num_stages += list->modules[i].num_stages;
  return status > worst ? status : worst;
}

void module_list_free(ModuleList *list) {
  for (size_t i = 0; i < list->num_folders; i++)
    dump_folder_free(&list->folders[i]);
  free(list->folders);
  free(list->modules);
}

/* ---- --min-peak ---- */

static int64_t min_peak_of(bool is_in_folder, const Options *options) {
  if (options->min_peak_bytes >= 0) return options->min_peak_bytes;
  return is_in_folder ? DEFAULT_MIN_PEAK_BYTES : 0;
}

int64_t module_min_peak(const ListedModule *module, const Options *options) {
  return min_peak_of(module->chosen != NULL, options);
}

void print_left_out(size_t num_left_out, const Options *options, FILE *out) {
  char bytes[RH_FORMAT_CHARS];
  if (num_left_out == 0) return;
  rh_format_bytes(min_peak_of(true, options), bytes);
  fprintf(out, "left out: %zu module%s with %s below %s (--min-peak=0 shows all)\n", num_left_out,
          num_left_out == 1 ? "" : "s", num_left_out == 1 ? "a peak" : "peaks", bytes);
}

void print_shard(const ModuleList *list, const Options *options, FILE *out) {
  if (!options->shard.count) return;
  fprintf(out, "shard %u/%u: %zu of %zu modules\n", options->shard.index, options->shard.count,
          list->len, list->num_all);
}
