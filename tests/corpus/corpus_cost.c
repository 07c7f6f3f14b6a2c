/* Weighted costs of whole training steps against XLA's own.
 *
 * xla.json has, for each model of corpus/scheduled, what HloCostAnalysis gives per instruction,
 * summed in double precision with loops weighted by their trip counts. The sum that gives the same
 * figures is cost_total_weighted's: every instruction of the entry computation; of a while nothing
 * but its body and its condition, each times the trip count; of a call nothing but its callee;
 * fusions, reductions and the like as one instruction; custom calls with -1. XLA printed 9 digits
 * of figures that it keeps in single precision per instruction, hence the tolerance. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/cost/cost.h"
#include "corpus.h"
#include "support.h"

static const char *const models[] = {
    "deepseek2_16b", "efficientnet", "gpt_j_6b", "llama3_8b", "resnet50", "vit",
};

static cJSON *read_json(const char *name) {
  char path[CORPUS_PATH_CHARS];
  corpus_path(path, name);
  FILE *file = fopen(path, "rb");
  ck_assert_msg(file != NULL, "cannot open %s", path);
  fseek(file, 0, SEEK_END);
  size_t length = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(length);
  ck_assert_uint_eq(fread(text, 1, length, file), length);
  fclose(file);
  cJSON *json = cJSON_ParseWithLength(text, length);
  ck_assert_msg(json != NULL, "%s is no JSON", path);
  free(text);
  return json;
}

static void check_figure(const char *model, const cJSON *row, const char *key, double ours) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, key);
  ck_assert_msg(cJSON_IsNumber(item), "%s has no %s", model, key);
  ck_assert_msg(fabs(ours - item->valuedouble) <= 1e-6 * item->valuedouble,
                "%s, %s: %.9g, not %.9g", model, key, ours, item->valuedouble);
}

START_TEST(weighted_cost_equals_xla) {
  const char *model = models[_i];
  char name[256], path[CORPUS_PATH_CHARS];
  snprintf(name, sizeof name, "scheduled/%s.hlo", model);
  Fixture fixture = fixture_parse_file(corpus_path(path, name));
  Module *module = fixture.module;
  Arena *scratch = fixture.scratch;
  CostTable table = cost_analyze(module, module->arena, scratch);
  for (InstId id = 0; id < module->insts.len; id++) {
    ck_assert_msg(table.trip_counts[id] >= 0, "%s: unknown trip count of %.*s", model,
                  (int)inst_name(module, id).len, inst_name(module, id).data);
  }
  WeightedCost cost = cost_total_weighted(module, &table, NULL, 1, scratch);
  cJSON *json = read_json("scheduled/xla.json");
  const cJSON *rows = cJSON_GetObjectItemCaseSensitive(
      cJSON_GetObjectItemCaseSensitive(json, model), "rematerialization");
  ck_assert_int_gt(cJSON_GetArraySize(rows), 0);
  const cJSON *row;
  cJSON_ArrayForEach(row, rows) {
    check_figure(model, row, "flops_before", cost.flops);
    check_figure(model, row, "transcendentals_before", cost.transcendentals);
    check_figure(model, row, "bytes_accessed_before", cost.bytes);
  }
  cJSON_Delete(json);
  fixture_free(&fixture);
}
END_TEST

int main(void) {
  if (!corpus_is_there()) return EXIT_SKIPPED;
  Suite *suite = suite_create("corpus_cost");
  TCase *tc = tcase_create("cost");
  tcase_set_timeout(tc, 60); /* the sanitizers are slow */
  tcase_add_loop_test(tc, weighted_cost_equals_xla, 0, sizeof models / sizeof *models);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
