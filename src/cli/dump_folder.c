#include "dump_folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"
#include "path.h"

/* ---- names ---- */

/* Cuts one of the endings off. */
static bool cut_ending(char *name, const char *const *endings) {
  for (; *endings; endings++) {
    if (!path_ends_in(name, *endings) || strlen(name) == strlen(*endings)) continue;
    name[strlen(name) - strlen(*endings)] = 0;
    return true;
  }
  return false;
}

/* False for a file that cannot be HLO text by its name. */
static bool cut_endings(char *name) {
  static const char *const compressed[] = {".gz", ".zst", NULL}, *const texts[] = {".txt", ".hlo",
                                                                                   NULL};
  cut_ending(name, compressed);
  return cut_ending(name, texts);
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* The dot of a GPU's capability, `sm_8.0_gpu_after_optimizations`, parts nothing: the one before
 * it, else `dot` itself. */
static char *skip_capability(char *name, char *dot) {
  char *digits = dot;
  while (digits > name && is_digit(digits[-1]))
    digits--;
  bool is_number = digits < dot && is_digit(dot[1]);
  return is_number && digits - name >= 4 && memcmp(digits - 4, ".sm_", 4) == 0 ? digits - 4 : dot;
}

/* Where the stage begins: behind the last dot for what is named after optimization, which names of
 * modules do not end in; else behind the second dot of `module_0042.jit_step.`. NULL: no stage. */
static char *find_stage(char *name) {
  char *last = strrchr(name, '.');
  if (last && path_ends_in(name, "_optimizations")) return skip_capability(name, last);
  if (strncmp(name, "module_", 7) != 0) return NULL;
  char *number_end = strchr(name, '.');
  return number_end ? strchr(number_end + 1, '.') : NULL;
}

/* ---- what is in a file ---- */

static size_t skip_blanks(const Input *input, size_t at) {
  while (at < input->length && strchr(" \t\r\n", input->text[at]) && input->text[at])
    at++;
  return at;
}

static size_t skip_comments(const Input *input) {
  size_t at = skip_blanks(input, 0);
  while (at + 1 < input->length && input->text[at] == '/') {
    const char *end = memchr(input->text + at, '\n', input->length - at);
    if (input->text[at + 1] != '/' || !end) break;
    at = skip_blanks(input, (size_t)(end - input->text));
  }
  return at;
}

typedef enum Content {
  CONTENT_OTHER,
  CONTENT_SCHEDULED,
  CONTENT_UNSCHEDULED,
  CONTENT_UNKNOWN, /* too little was read */
} Content;

static Content content_of(const Input *input) {
  static const char key[] = "HloModule ", mark[] = "is_scheduled=true";
  size_t at = skip_comments(input), left = input->length - at;
  const char *end = memchr(input->text + at, '\n', left);
  bool has_line = end || !input->is_cut;
  if (!has_line && (left < sizeof key || input->text[at] == '/')) return CONTENT_UNKNOWN;
  if (left < sizeof key || memcmp(input->text + at, key, sizeof key - 1) != 0) return CONTENT_OTHER;
  size_t line_end = end ? (size_t)(end - input->text) : input->length;
  for (; at + sizeof mark - 1 <= line_end; at++) {
    if (memcmp(input->text + at, mark, sizeof mark - 1) == 0) return CONTENT_SCHEDULED;
  }
  return has_line ? CONTENT_UNSCHEDULED : CONTENT_UNKNOWN;
}

/* A module's first line tells; few are longer than what is read first. */
static rh_status read_content(const char *path, const Options *options, Content *content) {
  enum { FIRST_BYTES = 1 << 15, GROWTH = 16 };
  rh_status status = RH_OK;
  *content = CONTENT_UNKNOWN;
  for (size_t most = FIRST_BYTES; status == RH_OK && *content == CONTENT_UNKNOWN; most *= GROWTH) {
    Input input = {0};
    status = input_read_beginning(path, (MessageForm)options->diagnostics, most, &input);
    if (status == RH_OK) *content = content_of(&input);
    input_free(&input);
  }
  return status;
}

/* ---- the folder ---- */

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
  free(stage->stage);
}

static rh_status add_module(DumpFolder *folder, char *path, bool is_scheduled) {
  DumpStage stage = {.path = path, .module = strdup(path_base(path)), .is_scheduled = is_scheduled};
  if (stage.module) {
    cut_endings(stage.module);
    char *begin = find_stage(stage.module);
    if (begin) *begin++ = 0;
    stage.stage = strdup(begin ? begin : "");
  }
  if (stage.module && stage.stage && add_stage(folder, stage)) return RH_OK;
  rh_status status = input_out_of_memory(&(Input){.path = path});
  free_stage(&stage);
  return status;
}

static rh_status add_file(const char *directory, const char *name, const Options *options,
                          DumpFolder *folder) {
  char *path = path_join(directory, name, ""), *bare = strdup(name);
  if (!path || !bare) {
    free(path);
    free(bare);
    return input_out_of_memory(&(Input){.path = name});
  }
  struct stat kind;
  bool is_text = stat(path, &kind) == 0 && S_ISREG(kind.st_mode);
  bool is_named = is_text && cut_endings(bare);
  free(bare);
  rh_status status = RH_OK;
  Content content = CONTENT_OTHER;
  if (is_named) status = read_content(path, options, &content);
  if (content != CONTENT_OTHER && status == RH_OK) {
    return add_module(folder, path, content == CONTENT_SCHEDULED);
  }
  if (is_text) folder->num_others++;
  free(path);
  return status;
}

static int by_module_then_stage(const void *pa, const void *pb) {
  const DumpStage *a = pa, *b = pb;
  int order = strcmp(a->module, b->module);
  if (order == 0) order = strcmp(a->stage, b->stage);
  return order ? order : strcmp(a->path, b->path);
}

rh_status dump_folder_read(const char *path, const Options *options, DumpFolder *folder) {
  *folder = (DumpFolder){0};
  DIR *directory = opendir(path);
  if (!directory) {
    fprintf(stderr, "%s: error: %s\n", path, strerror(errno));
    return RH_ERR_INPUT;
  }
  rh_status worst = RH_OK;
  for (struct dirent *entry; (entry = readdir(directory));) {
    rh_status status = add_file(path, entry->d_name, options, folder);
    if (status > worst) worst = status;
  }
  closedir(directory);
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
