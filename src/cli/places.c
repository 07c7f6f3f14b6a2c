#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"
#include "path.h"

static rh_status out_of_memory(void) {
  return input_out_of_memory(&(Input){.path = "remat-hlo"});
}

/* ---- folders ---- */

/* Returns the path without links and dots, where `/` becomes the empty text. Returns NULL if the
 * folder does not exist. */
static char *real_folder(const char *path) {
  char *folder = realpath(path, NULL);
  if (folder && strcmp(folder, "/") == 0) *folder = 0;
  return folder;
}

/* Returns the folder that contains the name of the file. For a symbolic link it is the folder of
 * the link, not of its target. */
static char *folder_of_file(const char *path) {
  size_t len = (size_t)(path_base(path) - path);
  char *folder = len ? strndup(path, len) : strdup(".");
  char *real = folder ? real_folder(folder) : NULL;
  free(folder);
  return real;
}

/* Returns false for stdin, pipes and devices, whose folders mean nothing: a pipe, for example, is
 * in a folder of the system. */
static bool has_folder(const char *path) {
  struct stat kind;
  return strcmp(path, "-") != 0 && (stat(path, &kind) != 0 || S_ISREG(kind.st_mode));
}

/* Returns the length of the longest prefix of `a` that is a folder and is equal to `b` or contains
 * it. */
static size_t common_length(const char *a, const char *b) {
  size_t common = 0, i = 0;
  for (;; i++) {
    bool is_end_of_a = a[i] == '/' || !a[i], is_end_of_b = b[i] == '/' || !b[i];
    if (is_end_of_a && is_end_of_b) common = i;
    if (a[i] != b[i] || !a[i]) return common;
  }
}

/* Removes the prefix that all inputs share. `roots` are the folders from which it is determined. */
static void cut_common(char *const *roots, char **folders, size_t count) {
  const char *first = NULL;
  size_t common = 0;
  for (size_t i = 0; i < count; i++) {
    if (!roots[i]) continue;
    if (!first) common = strlen(first = roots[i]);
    size_t length = common_length(first, roots[i]);
    if (length < common) common = length;
  }
  for (size_t i = 0; i < count; i++) {
    if (!folders[i]) continue;
    size_t length = strlen(folders[i]);
    bool is_below = first && length > common && common_length(folders[i], first) >= common;
    size_t cut = is_below ? common + 1 : length;
    memmove(folders[i], folders[i] + cut, length - cut + 1);
  }
}

static int by_file_and_input(const void *pa, const void *pb) {
  const Claim *a = pa, *b = pb;
  int order = strcmp(a->file, b->file);
  return order ? order : (a->input > b->input) - (a->input < b->input);
}

static bool add_input_file(Places *places, size_t input) {
  char *file = path_real(places->inputs[input]);
  if (file) places->files[places->num_files++] = (Claim){.file = file, .input = (ptrdiff_t)input};
  return file != NULL;
}

rh_status places_find(const PlacedInput *inputs, size_t count, Places *places) {
  *places = (Places){.num_inputs = count};
  places->inputs = calloc(count + 1, sizeof *places->inputs);
  places->folders = calloc(count + 1, sizeof *places->folders);
  places->files = calloc(count + 1, sizeof *places->files);
  char **roots = calloc(count + 1, sizeof *roots);
  bool has_room = places->inputs && places->folders && places->files && roots;
  for (size_t i = 0; has_room && i < count; i++) {
    places->inputs[i] = inputs[i].path;
    if (!has_folder(inputs[i].path)) continue;
    places->folders[i] = folder_of_file(inputs[i].path);
    if (!add_input_file(places, i)) has_room = false;
    roots[i] = inputs[i].root ? real_folder(inputs[i].root) : folder_of_file(inputs[i].path);
  }
  if (has_room) cut_common(roots, places->folders, count);
  if (places->num_files)
    qsort(places->files, places->num_files, sizeof *places->files, by_file_and_input);
  for (size_t i = 0; roots && i < count; i++)
    free(roots[i]);
  free(roots);
  return has_room ? RH_OK : out_of_memory();
}

void places_free(Places *places) {
  for (size_t i = 0; places->folders && i < places->num_inputs; i++)
    free(places->folders[i]);
  for (size_t i = 0; i < places->num_files; i++)
    free(places->files[i].file);
  free(places->files);
  for (size_t i = 0; i < places->num_claims; i++)
    free(places->claims[i].file);
  free(places->claims);
  free(places->folders);
  free(places->inputs);
}

static const char *folder_of(const Places *places, size_t input) {
  return places->folders[input] ? places->folders[input] : "";
}

char *places_join(const Places *places, size_t input, const char *directory, const char *name) {
  const char *folder = folder_of(places, input);
  if (!*folder) return path_join(directory, name, "");
  char *below = path_join(directory, folder, "");
  char *path = below ? path_join(below, name, "") : NULL;
  free(below);
  return path;
}

rh_status places_make_folders(const Places *places, size_t input, const char *directory) {
  rh_status status = path_make_directory(directory);
  const char *folder = folder_of(places, input);
  if (status != RH_OK || !*folder) return status;
  char *path = path_join(directory, folder, "");
  if (!path) return out_of_memory();
  char *below = path + strlen(path) - strlen(folder);
  for (char *end = strchr(below, '/'); end && status == RH_OK; end = strchr(end + 1, '/')) {
    *end = 0;
    status = path_make_directory(path);
    *end = '/';
  }
  if (status == RH_OK) status = path_make_directory(path);
  free(path);
  return status;
}

/* ---- claims ---- */

/* Pipes and devices are not files here: any number of outputs can be written to them. */
static bool is_file(const char *path) {
  struct stat kind;
  if (strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0) return false;
  return stat(path, &kind) != 0 || S_ISREG(kind.st_mode);
}

/* Returns the index of the first claim that is not sorted before a file. */
static size_t find_claim(const Claim *claims, size_t count, const char *file) {
  size_t begin = 0, end = count;
  while (begin < end) {
    size_t middle = begin + (end - begin) / 2;
    if (strcmp(claims[middle].file, file) < 0) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/* Takes ownership of the file name of the claim. */
static rh_status add_claim(Places *places, size_t at, Claim claim) {
  if (places->num_claims == places->room) {
    size_t room = places->room ? places->room * 2 : 16;
    Claim *larger = realloc(places->claims, room * sizeof *larger);
    if (!larger) {
      free(claim.file);
      return out_of_memory();
    }
    places->claims = larger;
    places->room = room;
  }
  memmove(&places->claims[at + 1], &places->claims[at],
          (places->num_claims - at) * sizeof *places->claims);
  places->claims[at] = claim;
  places->num_claims++;
  return RH_OK;
}

static void put_claim(const Places *places, const Claim *claim) {
  fputs(claim->option, stderr);
  if (claim->input != PLACE_OF_ALL) fprintf(stderr, " of '%s'", places->inputs[claim->input]);
}

static rh_status fail_claim(const Places *places, const char *path, const Claim *old,
                            const Claim *claim) {
  fprintf(stderr, "remat-hlo: error: '%s' would be written twice: ", path);
  put_claim(places, old);
  fputs(" and ", stderr);
  put_claim(places, claim);
  bool are_two =
      old->input != claim->input && old->input != PLACE_OF_ALL && claim->input != PLACE_OF_ALL;
  fputs(are_two ? "; run them apart\n" : "\n", stderr);
  return RH_ERR_USAGE;
}

/* Returns the first input that is the file of the claim, unless it is the claim's own input.
 * Returns NULL if there is none. */
static const Claim *find_replaced(const Places *places, const Claim *claim) {
  size_t at = find_claim(places->files, places->num_files, claim->file);
  const Claim *found = &places->files[at];
  bool is_input = at < places->num_files && strcmp(found->file, claim->file) == 0;
  return is_input && found->input != claim->input ? found : NULL;
}

static rh_status fail_replaced(const Places *places, const char *path, const Claim *claim,
                               const Claim *replaced) {
  fprintf(stderr, "remat-hlo: error: '%s', which ", path);
  put_claim(places, claim);
  fprintf(stderr, " would write, is an input: '%s'\n", places->inputs[replaced->input]);
  return RH_ERR_USAGE;
}

rh_status places_claim(Places *places, const char *path, const char *option, ptrdiff_t input) {
  if (!is_file(path)) return RH_OK;
  Claim claim = {.file = path_real(path), .option = option, .input = input};
  if (!claim.file) return out_of_memory();
  const Claim *replaced = find_replaced(places, &claim);
  if (replaced) {
    rh_status status = fail_replaced(places, path, &claim, replaced);
    free(claim.file);
    return status;
  }
  size_t at = find_claim(places->claims, places->num_claims, claim.file);
  const Claim *old = at < places->num_claims ? &places->claims[at] : NULL;
  if (!old || strcmp(old->file, claim.file) != 0) return add_claim(places, at, claim);
  bool is_same = old->input == input && strcmp(old->option, option) == 0;
  rh_status status = is_same ? RH_OK : fail_claim(places, path, old, &claim);
  free(claim.file);
  return status;
}
