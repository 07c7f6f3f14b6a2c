#include "dump_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input.h"
#include "path.h"
#include "peek.h"

/* ---- names ---- */

/* Removes one of the endings. */
static bool cut_ending(char *name, const char *const *endings) {
  for (; *endings; endings++) {
    if (!path_ends_in(name, *endings) || strlen(name) == strlen(*endings)) continue;
    name[strlen(name) - strlen(*endings)] = 0;
    return true;
  }
  return false;
}

/* Removes the endings. Returns false if the name shows that the file cannot be a module. */
static bool cut_endings(char *name) {
  static const char *const compressed[] = {".gz", ".zst", NULL};
  static const char *const modules[] = {".txt", ".hlo", ".hlo.pb", ".hlo_proto.pb", NULL};
  cut_ending(name, compressed);
  return cut_ending(name, modules);
}

/* Like path_base(), for a path that is modified. */
static char *file_part(char *path) {
  return path + (path_base(path) - path);
}

/* The dot in the compute capability of a GPU, as in `sm_8.0_gpu_after_optimizations`, is not a
 * separator. Returns the dot before it in that case, else `dot` itself. */
static char *skip_capability(char *name, char *dot) {
  char *digits = dot;
  while (digits > name && isdigit((unsigned char)digits[-1]))
    digits--;
  bool is_number = digits < dot && isdigit((unsigned char)dot[1]);
  return is_number && digits - name >= 4 && memcmp(digits - 4, ".sm_", 4) == 0 ? digits - 4 : dot;
}

/* Whether the name ends in a stage after its last dot, which names of modules do not. The last four
 * are XLA:TPU's. */
static bool ends_in_stage(const char *name) {
  static const char *const stages[] = {"_optimizations",
                                       ".before_config_assignment",
                                       ".after_optimizations_before_buffer_assignment",
                                       ".after_optimizations_after_buffer_assignment",
                                       ".oom_intermediate_module",
                                       ".after_codegen"};
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
    if (path_ends_in(name, stages[i])) return true;
  return false;
}

/* XLA:TPU has the number of its sources between the name of the module and the stage:
 * `module_0042.jit_step.cl_123.0001.passes.after_dce.before_cse`. Returns the dot after it, or
 * `dot`. */
static char *skip_source_number(char *dot) {
  char *at = dot && strncmp(dot, ".cl_", 4) == 0 ? dot + 4 : NULL;
  if (!at || !isdigit((unsigned char)*at)) return dot;
  while (isdigit((unsigned char)*at))
    at++;
  return *at == '.' ? at : dot;
}

/* Finds the dot before the stage. If the name shows it, this is the last separating dot; else it is
 * the second dot of `module_0042.jit_step.`. Returns NULL if there is no stage. */
static char *find_stage(char *name) {
  char *last = strrchr(name, '.');
  if (last && ends_in_stage(name)) return skip_capability(name, last);
  if (strncmp(name, "module_", 7) != 0) return NULL;
  char *number_end = strchr(name, '.');
  return number_end ? skip_source_number(strchr(number_end + 1, '.')) : NULL;
}

/* ---- stages ---- */

static bool add_stage(DumpFolder *folder, DumpStage stage) {
  if (folder->num_stages == folder->room) {
    size_t room = folder->room ? folder->room * 2 : 16;
    DumpStage *larger = realloc(folder->stages, room * sizeof *larger);
    if (!larger) return false;
    folder->stages = larger;
    folder->room = room;
  }
  folder->stages[folder->num_stages++] = stage;
  return true;
}

static void free_stage(DumpStage *stage) {
  free(stage->path);
  free(stage->module);
  free(stage->name);
  free(stage->stage);
}

/* Takes ownership of the path, of the file's name without endings and of the module's name, which
 * may be NULL. */
static rh_status add_module(DumpFolder *folder, char *path, char *file, char *name,
                            bool is_scheduled) {
  char *begin = find_stage(file_part(file));
  if (begin) *begin++ = 0;
  DumpStage stage = {path, file, name ? name : strdup(""), strdup(begin ? begin : ""),
                     is_scheduled};
  if (stage.name && stage.stage && add_stage(folder, stage)) return RH_OK;
  rh_status status = input_out_of_memory(&(Input){.path = path});
  free_stage(&stage);
  return status;
}

/* ---- folders ---- */

/* Dumps are usually one or two folders deep. */
enum { MAX_DEPTH = 16 };

typedef struct Subfolder {
  struct Subfolder *next;
  char *path;
  int depth;
} Subfolder;

typedef struct Walk {
  const Options *options;
  DumpFolder *found;
  Subfolder *first, **end; /* all subfolders that were found so far */
  size_t root_length;      /* length of the prefix that paths have and names do not */
} Walk;

static rh_status fail(const Walk *walk, const char *path, const char *what) {
  MessageForm form = (MessageForm)walk->options->diagnostics;
  return input_fail(&(Input){.path = path, .form = form}, what);
}

/* Takes ownership of the path. */
static rh_status add_folder(Walk *walk, char *path, int depth) {
  if (depth > MAX_DEPTH) {
    rh_status status = fail(walk, path, "is too many folders deep to be looked into");
    free(path);
    return status;
  }
  Subfolder *folder = malloc(sizeof *folder);
  if (!path || !folder) {
    free(path);
    free(folder);
    return input_out_of_memory(&(Input){.path = "remat-hlo"});
  }
  *folder = (Subfolder){.path = path, .depth = depth};
  *walk->end = folder;
  walk->end = &folder->next;
  return RH_OK;
}

/* Whether a protocol buffer is there as text, too. */
static bool has_text_beside(const char *path) {
  static const char *const protos[] = {".hlo.pb", ".hlo_proto.pb", NULL};
  char *text = malloc(strlen(path) + sizeof ".txt");
  if (!text) return false;
  strcpy(text, path);
  bool is_proto = cut_ending(text, protos);
  strcat(text, ".txt");
  is_proto &= access(text, R_OK) == 0;
  free(text);
  return is_proto;
}

/* Takes ownership of the path. */
static rh_status add_file(Walk *walk, char *path) {
  rh_status status = RH_OK;
  Content content = CONTENT_OTHER;
  char *file = strdup(path + walk->root_length), *name = NULL;
  if (!file) status = input_out_of_memory(&(Input){.path = path});
  if (file && cut_endings(file_part(file)) && !has_text_beside(path)) {
    status = peek_content(path, (MessageForm)walk->options->diagnostics, &content, &name);
  }
  if (status == RH_OK && content != CONTENT_OTHER) {
    return add_module(walk->found, path, file, name, content == CONTENT_SCHEDULED);
  }
  walk->found->num_others++;
  free(file);
  free(name);
  free(path);
  return status;
}

static bool is_regular_file(const char *path) {
  struct stat kind;
  return stat(path, &kind) == 0 && S_ISREG(kind.st_mode);
}

/* Symbolic links are followed only to files; links to folders could make the tree infinite. */
static rh_status add_entry(Walk *walk, const Subfolder *folder, const char *name) {
  char *path = path_join(folder->path, name, "");
  if (!path) return input_out_of_memory(&(Input){.path = name});
  struct stat kind;
  rh_status status = RH_OK;
  if (lstat(path, &kind) != 0) {
    status = fail(walk, path, strerror(errno));
  } else if (S_ISDIR(kind.st_mode) && name[0] != '.') {
    return add_folder(walk, path, folder->depth + 1);
  } else if (S_ISREG(kind.st_mode) || (S_ISLNK(kind.st_mode) && is_regular_file(path))) {
    return add_file(walk, path);
  }
  free(path);
  return status;
}

static rh_status read_folder(Walk *walk, const Subfolder *folder) {
  struct dirent **entries;
  int count = path_list(folder->path, NULL, &entries);
  if (count < 0) return fail(walk, folder->path, strerror(errno));
  rh_status worst = RH_OK;
  for (int i = 0; i < count; i++) {
    rh_status status = add_entry(walk, folder, entries[i]->d_name);
    if (status > worst) worst = status;
  }
  path_free_list(entries, count);
  return worst;
}

static int by_module_then_stage(const void *pa, const void *pb) {
  const DumpStage *a = pa, *b = pb;
  int order = strcmp(a->module, b->module);
  if (order == 0) order = strcmp(a->stage, b->stage);
  return order ? order : strcmp(a->path, b->path);
}

rh_status dump_folder_read(const char *path, const Options *options, DumpFolder *folder) {
  *folder = (DumpFolder){0};
  Walk walk = {
      .options = options, .found = folder, .root_length = strlen(path) + !path_ends_in(path, "/")};
  walk.end = &walk.first;
  rh_status worst = add_folder(&walk, strdup(path), 0);
  for (const Subfolder *current = walk.first; current; current = current->next) {
    rh_status status = read_folder(&walk, current);
    if (status > worst) worst = status;
  }
  while (walk.first) {
    Subfolder *next = walk.first->next;
    free(walk.first->path);
    free(walk.first);
    walk.first = next;
  }
  if (folder->num_stages) {
    qsort(folder->stages, folder->num_stages, sizeof *folder->stages, by_module_then_stage);
  }
  return worst;
}

void dump_folder_free(DumpFolder *folder) {
  for (size_t i = 0; i < folder->num_stages; i++)
    free_stage(&folder->stages[i]);
  free(folder->stages);
}

size_t dump_folder_count(const DumpFolder *folder, size_t first) {
  size_t end = first;
  while (end < folder->num_stages &&
         strcmp(folder->stages[end].module, folder->stages[first].module) == 0) {
    end++;
  }
  return end - first;
}

static int rank_of(const DumpStage *stage) {
  return 2 * stage->is_scheduled + path_ends_in(stage->stage, "after_optimizations");
}

size_t dump_folder_choose(const DumpFolder *folder, size_t first, size_t count) {
  size_t best = first;
  for (size_t i = first; i < first + count; i++) {
    if (rank_of(&folder->stages[i]) >= rank_of(&folder->stages[best])) best = i;
  }
  return best;
}
