#include "path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Longer names are cut: file systems take 255 bytes. */
enum { MAX_MODULE_NAME = 200 };

char *path_join(const char *directory, const char *name, const char *suffix) {
  size_t len = strlen(directory);
  const char *slash = len && directory[len - 1] == '/' ? "" : "/";
  size_t room = len + strlen(name) + strlen(suffix) + 2;
  char *path = malloc(room);
  if (path) snprintf(path, room, "%s%s%s%s", directory, slash, name, suffix);
  return path;
}

bool path_is_directory(const char *path) {
  struct stat status;
  size_t len = strlen(path);
  return (len && path[len - 1] == '/') || (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

rh_status path_make_directory(const char *path) {
  if (mkdir(path, 0777) == 0 || errno == EEXIST) return RH_OK;
  fprintf(stderr, "%s: error: %s\n", path, strerror(errno));
  return RH_ERR_WRITE;
}

/* Not alphasort: that depends on the locale. */
static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

int path_list(const char *path, int (*wants)(const struct dirent *), struct dirent ***entries) {
  return scandir(path, entries, wants, by_name);
}

void path_free_list(struct dirent **entries, int count) {
  for (int i = 0; i < count; i++)
    free(entries[i]);
  if (count >= 0) free(entries);
}

const char *path_base(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

bool path_ends_in(const char *name, const char *ending) {
  size_t len = strlen(name), ending_len = strlen(ending);
  return len >= ending_len && strcmp(name + len - ending_len, ending) == 0;
}

static bool is_harmless(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

char *path_for_module(const char *prefix, rh_text name, const char *suffix) {
  size_t len = name.length < MAX_MODULE_NAME ? name.length : MAX_MODULE_NAME;
  size_t room = strlen(prefix) + len + strlen(suffix) + 3;
  char *path = malloc(room);
  if (!path) return NULL;
  size_t begin = (size_t)snprintf(path, room, "%s.", prefix);
  for (size_t i = 0; i < len; i++) {
    path[begin + i] = is_harmless(name.data[i]) ? name.data[i] : '_';
  }
  snprintf(path + begin + len, room - begin - len, ".%s", suffix);
  return path;
}
