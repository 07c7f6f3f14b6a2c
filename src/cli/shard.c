#include "shard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "input.h"

static rh_status out_of_memory(void) {
  return input_out_of_memory(&(Input){.path = "remat-hlo"});
}

/* ---- by hash ---- */

/* Returns the part that a text belongs to, from 0. The bits of the hash are mixed (the finalizer of
 * SplitMix64), because the lowest bit of FNV-1a depends on the lowest bits of the text alone. */
static uint32_t part_of(const char *digits, uint32_t num_parts) {
  uint64_t mixed = strtoull(digits, NULL, 16);
  mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)((mixed ^ (mixed >> 31)) % num_parts);
}

/* A file that cannot be read has the hash of an empty text; its worker says what is wrong. */
static void hash_file(const char *path, char digits[INPUT_HASH_CHARS]) {
  Input input = {0};
  if (input_read(path, FORM_NONE, &input) != RH_OK) input.length = 0;
  input_hash(&input, digits);
  input_free(&input);
}

static void split_by_hash(const ModuleList *list, uint32_t num_parts, uint32_t *parts) {
  for (size_t i = 0; i < list->len; i++) {
    char digits[INPUT_HASH_CHARS];
    hash_file(list->modules[i].path, digits);
    parts[i] = part_of(digits, num_parts);
  }
}

/* ---- by size ---- */

typedef struct SizedModule {
  size_t index;
  int64_t num_bytes;
} SizedModule;

static int by_size_then_index(const void *pa, const void *pb) {
  const SizedModule *a = pa, *b = pb;
  if (a->num_bytes != b->num_bytes) return a->num_bytes > b->num_bytes ? -1 : 1;
  return (a->index > b->index) - (a->index < b->index);
}

static int64_t size_of(const char *path) {
  struct stat file;
  return stat(path, &file) == 0 ? (int64_t)file.st_size : 0;
}

/* Gives each module, the largest first, to the part that has least (Graham's LPT rule).
 * O(modules * parts). */
static rh_status split_by_size(const ModuleList *list, uint32_t num_parts, uint32_t *parts) {
  SizedModule *modules = calloc(list->len + 1, sizeof *modules);
  int64_t *loads = calloc(num_parts, sizeof *loads);
  rh_status status = modules && loads ? RH_OK : out_of_memory();
  for (size_t i = 0; i < list->len && status == RH_OK; i++)
    modules[i] = (SizedModule){i, size_of(list->modules[i].path)};
  if (status == RH_OK) qsort(modules, list->len, sizeof *modules, by_size_then_index);
  for (size_t i = 0; i < list->len && status == RH_OK; i++) {
    uint32_t least = 0;
    for (uint32_t part = 1; part < num_parts; part++)
      if (loads[part] < loads[least]) least = part;
    loads[least] += modules[i].num_bytes + 1; /* + 1, so that empty files are shared, too */
    parts[modules[i].index] = least;
  }
  free(modules);
  free(loads);
  return status;
}

/* ---- the part ---- */

static rh_status check_stdin(const ModuleList *list) {
  for (size_t i = 0; i < list->len; i++) {
    if (list->modules[i].chosen || strcmp(list->modules[i].path, "-") != 0) continue;
    fputs("remat-hlo: error: --shard needs files, which all workers can read, not stdin\n", stderr);
    return RH_ERR_USAGE;
  }
  return RH_OK;
}

rh_status shard_take(const Options *options, ModuleList *list) {
  Shard shard = options->shard;
  rh_status status = check_stdin(list);
  uint32_t *parts = calloc(list->len + 1, sizeof *parts);
  if (!parts) status = out_of_memory();
  bool is_by_size = options->shard_by == SHARD_BY_SIZE;
  if (status == RH_OK && is_by_size) status = split_by_size(list, shard.count, parts);
  if (status == RH_OK && !is_by_size) split_by_hash(list, shard.count, parts);
  size_t num_kept = 0;
  for (size_t i = 0; i < list->len && status == RH_OK; i++) {
    if (parts[i] + 1 == shard.index) list->modules[num_kept++] = list->modules[i];
  }
  list->len = num_kept;
  free(parts);
  return status;
}
