#include "path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

/* Longer names are cut, because file systems allow at most 255 bytes. */
enum { MAX_MODULE_NAME = 200 };

char *path_join(const char *directory, const char *name, const char *suffix) {
  size_t len = strlen(directory);
  const char *slash = len && directory[len - 1] == '/' ? "" : "/";
  size_t room = len + strlen(name) + strlen(suffix) + 2;
  char *path = memory_need(malloc(room));
  snprintf(path, room, "%s%s%s%s", directory, slash, name, suffix);
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

/* ---- links ---- */

/* Returns the target of a symbolic link, or NULL if the path is not one. */
static char *follow_link(const char *path) {
  char link[PATH_MAX];
  ssize_t len = readlink(path, link, sizeof link - 1);
  if (len < 0) return NULL;
  link[len] = 0;
  if (link[0] == '/') return memory_need(strdup(link));
  const char *slash = strrchr(path, '/');
  size_t dir_len = slash ? (size_t)(slash - path) + 1 : 0;
  char *joined = memory_need(malloc(dir_len + (size_t)len + 1));
  if (!joined) return NULL;
  memcpy(joined, path, dir_len);
  memcpy(joined + dir_len, link, (size_t)len + 1);
  return joined;
}

char *path_follow(const char *path) {
  enum { MAX_LINKS = 40 };
  char *place = realpath(path, NULL);
  if (place) return place;
  place = memory_need(strdup(path));
  for (int i = 0; place && i < MAX_LINKS; i++) {
    char *next = follow_link(place);
    if (!next) return place;
    free(place);
    place = next;
  }
  free(place);
  errno = ELOOP;
  return NULL;
}

/* Appends the components of a path, except those that refer to the current folder. */
static void append_parts(char *path, const char *parts) {
  size_t len = strlen(path);
  while (*parts) {
    size_t part = strcspn(parts, "/");
    bool is_name = part > 1 || (part == 1 && *parts != '.');
    if (is_name) {
      path[len++] = '/';
      memcpy(path + len, parts, part);
      len += part;
    }
    parts += part + (parts[part] == '/');
  }
  path[len] = 0;
}

/* Resolves the first `length` bytes of a path, which name a folder, and appends the rest. Returns
 * NULL if the folder does not exist. */
static char *real_below(const char *path, size_t length) {
  char *folder = memory_need(length ? strndup(path, length) : strdup("."));
  char *real = realpath(folder, NULL);
  free(folder);
  if (!real) return NULL;
  size_t len = strcmp(real, "/") == 0 ? 0 : strlen(real);
  char *whole = memory_need(realloc(real, len + strlen(path + length) + 2));
  whole[len] = 0;
  append_parts(whole, path + length);
  return whole;
}

char *path_real(const char *path) {
  char *place = path_follow(path);
  if (!place) return memory_need(strdup(path));
  size_t length = strlen(place);
  char *real = realpath(place, NULL);
  while (!real && length > 0) {
    while (length > 0 && place[length - 1] == '/')
      length--;
    while (length > 0 && place[length - 1] != '/')
      length--;
    real = real_below(place, length);
  }
  if (real) {
    free(place);
    return real;
  }
  return place;
}

/* ---- entries of a folder, names ---- */

/* Replaces alphasort(), which depends on the locale. */
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
  char *path = memory_need(malloc(room));
  if (!path) return NULL;
  size_t begin = (size_t)snprintf(path, room, "%s.", prefix);
  for (size_t i = 0; i < len; i++) {
    path[begin + i] = is_harmless(name.data[i]) ? name.data[i] : '_';
  }
  snprintf(path + begin + len, room - begin - len, ".%s", suffix);
  return path;
}
