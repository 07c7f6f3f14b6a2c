#include "check/baseline.h"

#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "module_list.h"

/* ---- reading ---- */

/* Reads a whole number that is not negative. Doubles represent it exactly up to 2^53. */
static bool read_bytes(const cJSON *object, const char *key, int64_t *bytes) {
  const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, key);
  if (!cJSON_IsNumber(number) || !(number->valuedouble >= 0 && number->valuedouble < 9e18)) {
    return false;
  }
  *bytes = (int64_t)number->valuedouble;
  return (double)*bytes == number->valuedouble;
}

static const char *text_of(const cJSON *object, const char *key) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
}

static bool read_sum(const cJSON *item, rh_sum *sum) {
  const char *name = text_of(item, "op_name");
  int64_t num_values = 0;
  if (!name || !read_bytes(item, "bytes", &sum->bytes) ||
      !read_bytes(item, "values", &num_values)) {
    return false;
  }
  sum->name = (rh_text){name, strlen(name)};
  sum->num_values = (uint64_t)num_values;
  return true;
}

static bool read_module(const cJSON *json, MeasuredModule *module) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "by_op_name"), *item;
  *module = (MeasuredModule){
      .json = json, .module = text_of(json, "module"), .hash = text_of(json, "input_hash")};
  if (!text_of(json, "memory_model") || !cJSON_IsArray(list) ||
      !read_bytes(json, "peak_bytes", &module->peak_bytes)) {
    return false;
  }
  module->sums = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *module->sums);
  module->list = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *module->list);
  if (!module->sums || !module->list) return false;
  cJSON_ArrayForEach(item, list) {
    rh_sum *sum = &module->sums[module->num_sums];
    module->list[module->num_sums++] = sum;
    if (!read_sum(item, sum)) return false;
  }
  return true;
}

static bool read_modules(Baseline *baseline) {
  bool is_list = cJSON_IsArray(baseline->json);
  size_t count = is_list ? (size_t)cJSON_GetArraySize(baseline->json) : 1;
  baseline->modules = calloc(count + 1, sizeof *baseline->modules);
  if (!baseline->modules) return false;
  const cJSON *item = is_list ? baseline->json->child : baseline->json;
  for (size_t i = 0; i < count; i++, item = item->next) {
    if (!read_module(item, &baseline->modules[baseline->len++])) return false;
  }
  return count > 0;
}

bool baseline_parse(const char *text, size_t length, Baseline *baseline) {
  const char *end = NULL;
  *baseline = (Baseline){.json = cJSON_ParseWithLengthOpts(text, length, &end, false)};
  size_t num_after = end ? length - (size_t)(end - text) : 0;
  for (; num_after && strchr(" \t\r\n", *end) && *end; end++)
    num_after--;
  return baseline->json && num_after == 0 && read_modules(baseline);
}

rh_status baseline_read(const Options *options, Baseline *baseline) {
  Input input;
  *baseline = (Baseline){0};
  if (!options->baseline) return RH_OK;
  rh_status status = input_read(options->baseline, (MessageForm)options->diagnostics, &input);
  if (status == RH_OK && !baseline_parse(input.text, input.length, baseline)) {
    status = input_fail(&input, "this is no baseline: JSON as --write-baseline writes it");
  }
  input_free(&input);
  return status;
}

void baseline_free(Baseline *baseline) {
  for (size_t i = 0; i < baseline->len; i++) {
    free(baseline->modules[i].list);
    free(baseline->modules[i].sums);
  }
  free(baseline->modules);
  cJSON_Delete(baseline->json);
}

/* ---- comparing ---- */

bool baseline_has_same_name(const MeasuredModule *was, const MeasuredModule *is) {
  if (!was->module || !is->module) return true;
  size_t length = module_name_length((rh_text){was->module, strlen(was->module)});
  return length == module_name_length((rh_text){is->module, strlen(is->module)}) &&
         memcmp(was->module, is->module, length) == 0;
}

bool baseline_has_same_hash(const MeasuredModule *was, const MeasuredModule *is) {
  return was->hash && is->hash && strcmp(was->hash, is->hash) == 0;
}

static bool has_same_limit(const cJSON *was_json, const cJSON *is_json, const Input *place) {
  int64_t was = -1, is = -1;
  if (!read_bytes(was_json, "heap_limit_bytes", &was)) was = -1;
  if (!read_bytes(is_json, "heap_limit_bytes", &is)) is = -1;
  if (was == is) return true;
  char before[RH_FORMAT_CHARS] = "none", now[RH_FORMAT_CHARS] = "none";
  if (was >= 0) rh_format_bytes(was, before);
  if (is >= 0) rh_format_bytes(is, now);
  messages_say(place, RH_SEVERITY_ERROR,
               "this baseline is of the heap limit %s, not %s; see --heap-limit", before, now);
  return false;
}

bool baseline_has_same_settings(const MeasuredModule *was, const MeasuredModule *is,
                                const Input *place) {
  static const struct {
    const char *key, *what, *option;
  } settings[] = {
      {"memory_model", "memory model", "--memory-model"},
      {"target", "target", "--target"},
      {"packing", "packing", "--packing"},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const char *before = text_of(was->json, settings[i].key);
    const char *now = text_of(is->json, settings[i].key);
    if (!before || !now || strcmp(before, now) == 0) continue;
    messages_say(place, RH_SEVERITY_ERROR, "this baseline is of the %s %s, not %s; see %s",
                 settings[i].what, before, now, settings[i].option);
    return false;
  }
  return has_same_limit(was->json, is->json, place);
}
