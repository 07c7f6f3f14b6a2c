#include "dump_pass.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"

typedef struct DumpName {
  size_t prefix_length; /* up to the dot before the number */
  long number;
  const char *pipeline;
} DumpName;

/* Finds the last `.NUMBER.` before the pipeline: the name of the module may contain others. */
static bool parse_name(const char *name, DumpName *parsed) {
  const char *passes = strstr(name, ".after_");
  bool is_found = false;
  for (const char *dot = strchr(name, '.'); passes && dot && dot < passes;
       dot = strchr(dot + 1, '.')) {
    char *end;
    if (!isdigit((unsigned char)dot[1])) continue;
    long number = strtol(dot + 1, &end, 10);
    if (*end != '.' || end > passes || end - dot < 5) continue;
    *parsed = (DumpName){(size_t)(dot - name), number, end + 1};
    is_found = true;
  }
  return is_found;
}

static int may_be_copy_insertion(const struct dirent *entry) {
  return strstr(entry->d_name, "_copy-insertion.") != NULL;
}

static char *folder_of(const char *path) {
  size_t length = (size_t)(path_base(path) - path);
  return length ? strndup(path, length) : strdup(".");
}

/* Compares with one dump of the same module; RH_COPIES_AUTO: it says nothing. */
static rh_copies compare(const char *name, const DumpName *own, const char *other) {
  DumpName found;
  if (!parse_name(other, &found) || found.prefix_length != own->prefix_length ||
      memcmp(name, other, own->prefix_length) != 0)
    return RH_COPIES_AUTO;
  rh_copies stage = rh_guess_copies(other);
  if (stage == RH_COPIES_INSERTED)
    return own->number >= found.number ? RH_COPIES_INSERTED : RH_COPIES_PENDING;
  bool is_before = stage == RH_COPIES_PENDING && own->number <= found.number;
  return is_before ? RH_COPIES_PENDING : RH_COPIES_AUTO;
}

/* A compilation may have several runs of the pass: the module is past copy-insertion after the
 * first of them. */
static rh_copies compare_all(const char *name, const DumpName *own, struct dirent **entries,
                             int count) {
  rh_copies result = RH_COPIES_AUTO;
  for (int i = 0; i < count && result != RH_COPIES_INSERTED; i++) {
    rh_copies stage = compare(name, own, entries[i]->d_name);
    if (stage != RH_COPIES_AUTO) result = stage;
  }
  return result;
}

rh_copies dump_pass_copies(const char *path) {
  rh_copies guess = rh_guess_copies(path);
  const char *name = path_base(path);
  DumpName own;
  if (guess != RH_COPIES_AUTO || !parse_name(name, &own)) return guess;
  /* Within the pass, some copies are there and others are not. */
  if (strncmp(own.pipeline, "copy-insertion.", strlen("copy-insertion.")) == 0) return guess;
  char *folder = folder_of(path);
  struct dirent **entries = NULL;
  int count = folder ? path_list(folder, may_be_copy_insertion, &entries) : -1;
  free(folder);
  if (count < 0) return guess;
  guess = compare_all(name, &own, entries, count);
  path_free_list(entries, count);
  return guess;
}
