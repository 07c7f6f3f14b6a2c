/* The names of the grid, put together from lists of which each may lack some. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "compare/merge_job.h"

typedef struct NameList {
  const char **names;
  size_t len;
} NameList;

static size_t place_of(const NameList *list, const char *name) {
  size_t place = 0;
  while (place < list->len && strcmp(list->names[place], name) != 0)
    place++;
  return place;
}

/* Inserts a name, if it is new, behind the name that comes before it in its own list. Returns its
 * place. */
static size_t insert_after(NameList *list, const char *name, size_t after) {
  size_t place = place_of(list, name);
  if (place < list->len) return place;
  memmove(&list->names[after + 1], &list->names[after], (list->len - after) * sizeof *list->names);
  list->names[after] = name;
  list->len++;
  return after;
}

static void add_plan(NameList *list, const cJSON *names) {
  const cJSON *name;
  size_t after = 0;
  cJSON_ArrayForEach(name, names) {
    if (cJSON_IsString(name)) after = insert_after(list, name->valuestring, after) + 1;
  }
}

/* Runs are in the order of their grid, but some of them can be missing. */
static void add_runs(NameList *list, const MergedInput *input, const char *key) {
  size_t after = 0;
  const char *last = "";
  for (const LogLine *line = input->begin; line < input->end; line++) {
    if (line->kind != LINE_RUN) continue;
    const char *name = merge_text(line, key);
    if (strcmp(name, last) != 0) after = insert_after(list, name, after) + 1;
    last = name;
  }
}

/* Each name is at most in one entry of each line. */
static size_t most_names(const Merge *merge, const char *plan_key) {
  size_t count = 1;
  for (size_t i = 0; i < merge->merged->lines.len; i++) {
    const cJSON *names =
        cJSON_GetObjectItemCaseSensitive(merge->merged->lines.list[i].json, plan_key);
    count += 1 + (size_t)(cJSON_IsArray(names) ? cJSON_GetArraySize(names) : 0);
  }
  return count;
}

static char *join(const NameList *list) {
  size_t room = 1;
  for (size_t i = 0; i < list->len; i++)
    room += strlen(list->names[i]) + 1;
  char *text = memory_need(calloc(room, 1)), *end = text;
  for (size_t i = 0; i < list->len; i++)
    end += sprintf(end, "%s%s", i ? "," : "", list->names[i]);
  return text;
}

char *merge_names(const Merge *merge, const char *plan_key, const char *run_key) {
  NameList list = {.names =
                       memory_need(calloc(most_names(merge, plan_key) + 1, sizeof *list.names))};
  for (size_t i = 0; i < merge->num_inputs; i++) {
    const LogLine *plan = merge->inputs[i].plan;
    if (plan) add_plan(&list, cJSON_GetObjectItemCaseSensitive(plan->json, plan_key));
  }
  for (size_t i = 0; i < merge->num_inputs; i++)
    add_runs(&list, &merge->inputs[i], run_key);
  char *text = join(&list);
  free(list.names);
  return text;
}
