#include "files.h"

#include "support.h"
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *corpus_read(const char *name, size_t *length) {
  char path[CORPUS_PATH_CHARS];
  FILE *file = fopen(corpus_path(path, name), "rb");
  ck_assert_msg(file != NULL, "cannot open %s", path);
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*length + 1);
  ck_assert_uint_eq(fread(text, 1, *length, file), *length);
  text[*length] = '\0';
  fclose(file);
  return text;
}

cJSON *corpus_read_json(const char *name) {
  size_t length;
  char *text = corpus_read(name, &length);
  cJSON *json = cJSON_ParseWithLength(text, length);
  ck_assert_msg(json != NULL, "%s is no JSON", name);
  free(text);
  return json;
}

void corpus_set_copies(rh_module *module, const char *name) {
  static const char folder[] = "scheduled/";
  if (strncmp(name, folder, strlen(folder)) == 0) take_copies_as(module, RH_COPIES_PENDING);
}

CorpusModule corpus_load(const char *name) {
  CorpusModule loaded = {0};
  loaded.text = corpus_read(name, &loaded.length);
  rh_diags *diags = rh_diags_new();
  rh_status status = rh_parse(loaded.text, loaded.length, NULL, &loaded.module, diags);
  ck_assert_msg(status == RH_OK, "%s: %s", name,
                rh_diags_len(diags) ? rh_diags_get(diags, 0)->message : "refused");
  rh_diags_free(diags);
  corpus_set_copies(loaded.module, name);
  return loaded;
}

void corpus_unload(CorpusModule *loaded) {
  rh_module_free(loaded->module);
  free(loaded->text);
}

double corpus_number(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  ck_assert_msg(cJSON_IsNumber(item), "no %s", key);
  return item->valuedouble;
}

static bool ends_with(const char *name, const char *ending) {
  size_t length = strlen(name), end = strlen(ending);
  return length >= end && strcmp(name + length - end, ending) == 0;
}

static void add_files(CorpusFiles *files, const char *folder, const char *ending) {
  char path[CORPUS_PATH_CHARS];
  DIR *entries = opendir(corpus_path(path, folder));
  ck_assert_msg(entries != NULL, "cannot list %s", path);
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (entry->d_name[0] == '.') continue;
    size_t size = strlen(folder) + strlen(entry->d_name) + 2;
    char *name = malloc(size);
    snprintf(name, size, "%s/%s", folder, entry->d_name);
    struct stat info;
    bool is_folder = stat(corpus_path(path, name), &info) == 0 && S_ISDIR(info.st_mode);
    if (is_folder) add_files(files, name, ending);
    if (is_folder || !ends_with(name, ending)) {
      free(name);
      continue;
    }
    files->names = realloc(files->names, (files->count + 1) * sizeof *files->names);
    files->names[files->count++] = name;
  }
  closedir(entries);
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

CorpusFiles corpus_list(const char *folder, const char *ending) {
  CorpusFiles files = {0};
  add_files(&files, folder, ending);
  if (files.count) qsort(files.names, files.count, sizeof *files.names, by_name);
  return files;
}

void corpus_list_free(CorpusFiles *files) {
  for (size_t i = 0; i < files->count; i++)
    free(files->names[i]);
  free(files->names);
}

bool corpus_is_slow_build(void) {
#if defined __SANITIZE_ADDRESS__ || defined RH_ARENA_MALLOC
  return true;
#else
  return false;
#endif
}

bool corpus_wants_all(void) {
  const char *wanted = getenv("REMAT_HLO_LONG_TESTS");
  return wanted && strcmp(wanted, "1") == 0;
}
