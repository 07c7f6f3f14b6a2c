#include "ir/attribute.h"

#include "support.h"

/* Lists that must agree with the code that reads their indices. */
static const struct {
  AttrKind kind;
  bool ignores_case;
  int index;
  const char *word;
} words[] = {
    {ATTR_KIND_FUSION_KIND, false, FUSION_LOOP, "kLoop"},
    {ATTR_KIND_FUSION_KIND, false, FUSION_INPUT, "kInput"},
    {ATTR_KIND_FUSION_KIND, false, FUSION_OUTPUT, "kOutput"},
    {ATTR_KIND_FUSION_KIND, false, FUSION_CUSTOM, "kCustom"},
    {ATTR_KIND_COMPARISON_DIRECTION, false, DIRECTION_EQ, "EQ"},
    {ATTR_KIND_COMPARISON_DIRECTION, false, DIRECTION_NE, "NE"},
    {ATTR_KIND_COMPARISON_DIRECTION, false, DIRECTION_GE, "GE"},
    {ATTR_KIND_COMPARISON_DIRECTION, false, DIRECTION_GT, "GT"},
    {ATTR_KIND_COMPARISON_DIRECTION, false, DIRECTION_LE, "LE"},
    {ATTR_KIND_COMPARISON_DIRECTION, false, DIRECTION_LT, "LT"},
    {ATTR_KIND_FFT_TYPE, false, FFT_FORWARD, "FFT"},
    {ATTR_KIND_FFT_TYPE, false, FFT_INVERSE, "IFFT"},
    {ATTR_KIND_FFT_TYPE, false, FFT_REAL, "RFFT"},
    {ATTR_KIND_FFT_TYPE, false, FFT_INVERSE_REAL, "IRFFT"},
    {ATTR_KIND_PRECISION, true, 2, "highest"},
    {ATTR_KIND_DOT_ALGORITHM, true, 0, "unset"},
    {ATTR_KIND_RNG_ALGORITHM, true, 2, "rng_philox"},
    {ATTR_KIND_RNG_DISTRIBUTION, true, 1, "rng_uniform"},
    {ATTR_KIND_CUSTOM_CALL_SCHEDULE, true, 1, "SCHEDULE_LATEST"},
    {ATTR_KIND_API_VERSION, true, 3, "API_VERSION_TYPED_FFI"},
    {ATTR_KIND_API_VERSION, true, API_VERSION_UNSPECIFIED, "API_VERSION_UNSPECIFIED"},
    {ATTR_KIND_CONVOLUTION_KIND, false, 1, "fprop"},
    {ATTR_KIND_COLLECTIVE_MODE, false, 3, "flattened_id"},
    {ATTR_KIND_COMPARISON_TYPE, false, 1, "TOTALORDER"},
    {ATTR_KIND_COMPARISON_ORDER, false, 0, "TOTAL"},
    {ATTR_KIND_PADDING_TYPE, false, 1, "PADDING_VALID"},
    {ATTR_KIND_TRANSPOSE, false, 1, "NO_TRANSPOSE"},
};

START_TEST(words_have_their_indices) {
  bool ignores_case = !words[_i].ignores_case;
  const char *const *list = attribute_enum_words(words[_i].kind, &ignores_case);
  ck_assert_ptr_nonnull(list);
  ck_assert_int_eq(ignores_case, words[_i].ignores_case);
  for (int i = 0; i <= words[_i].index; i++)
    ck_assert_ptr_nonnull(list[i]);
  ck_assert_str_eq(list[words[_i].index], words[_i].word);
}
END_TEST

START_TEST(every_enumeration_has_words) {
  for (int kind = ATTR_KIND_API_VERSION; kind <= ATTR_KIND_TRANSPOSE; kind++) {
    bool ignores_case;
    const char *const *list = attribute_enum_words((AttrKind)kind, &ignores_case);
    ck_assert_msg(list && list[0], "kind %d has no words", kind);
    for (int i = 0; list[i]; i++) {
      for (int k = 0; k < i; k++)
        ck_assert_str_ne(list[i], list[k]);
    }
  }
  bool ignores_case;
  ck_assert_ptr_null(attribute_enum_words(ATTR_KIND_WINDOW, &ignores_case));
}
END_TEST

static const struct {
  AttrId id;
  const char *text;
  AttrKind kind;
} rows[] = {
    {ATTR_CONTROL_PREDECESSORS, "control-predecessors", ATTR_KIND_INSTRUCTION_LIST},
    {ATTR_DIMENSIONS, "dimensions", ATTR_KIND_INT_LIST},
    {ATTR_FUSION_KIND, "kind", ATTR_KIND_FUSION_KIND},
    {ATTR_ALGORITHM, "algorithm", ATTR_KIND_DOT_ALGORITHM},
    {ATTR_RNG_ALGORITHM, "algorithm", ATTR_KIND_RNG_ALGORITHM},
    {ATTR_SLICE_SIZES, "slice_sizes", ATTR_KIND_INT_LIST},
    {ATTR_PERMUTE_SLICE_SIZES, "slice_sizes", ATTR_KIND_INT_LIST_LIST},
    {ATTR_WINDOW, "window", ATTR_KIND_WINDOW},
    {ATTR_SELECT, "select", ATTR_KIND_COMPUTATION},
    {ATTR_CALLED_COMPUTATIONS, "called_computations", ATTR_KIND_COMPUTATION_LIST},
};

START_TEST(rows_are_as_declared) {
  ck_assert_str_eq(attribute_info(rows[_i].id)->text, rows[_i].text);
  ck_assert_int_eq(attribute_info(rows[_i].id)->kind, rows[_i].kind);
}
END_TEST

/* What verify and clones disregard: nothing that changes the value computed. */
START_TEST(annotations_are_these) {
  static const AttrId annotations[] = {
      ATTR_CONTROL_PREDECESSORS,
      ATTR_FRONTEND_ATTRIBUTES,
      ATTR_METADATA,
      ATTR_ORIGIN,
      ATTR_PARAMETER_REPLICATION,
      ATTR_SHARDING,
      ATTR_STATISTICS,
  };
  for (int id = 0; id < NUM_ATTRS; id++) {
    bool is_annotation = false;
    for (size_t i = 0; i < sizeof annotations / sizeof *annotations; i++) {
      is_annotation |= annotations[i] == (AttrId)id;
    }
    ck_assert_msg(attribute_is_annotation((AttrId)id) == is_annotation, "%s",
                  attribute_info((AttrId)id)->text);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("attribute");
  TCase *tc = tcase_create("attribute");
  tcase_add_loop_test(tc, words_have_their_indices, 0, sizeof words / sizeof *words);
  tcase_add_test(tc, every_enumeration_has_words);
  tcase_add_loop_test(tc, rows_are_as_declared, 0, sizeof rows / sizeof *rows);
  tcase_add_test(tc, annotations_are_these);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
