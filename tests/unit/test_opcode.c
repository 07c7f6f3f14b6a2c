#include "ir/opcode.h"

#include <stdio.h>
#include <stdlib.h>

#include "ir/shape.h"
#include "support.h"

/* The opcodes by operand count, from XLA's parser; `!` where the result shape must be written. */
static const struct {
  int arity;
  const char *texts;
} groups[] = {
    {0, "!parameter !constant !iota partition-id replica-id !rng-get-and-update-state"},
    {1,
     "abs !bitcast !bitcast-convert ceil !convert copy count-leading-zeros floor imag is-finite "
     "negate not opt-barrier popcnt real round-nearest-afz round-nearest-even sign acos acosh "
     "asin asinh atanh cbrt cosine cosh erf exponential exponential-minus-one log log-plus-one "
     "logistic rsqrt sine sinh sqrt tan tanh get-tuple-element broadcast transpose reverse "
     "!reshape !slice fft cholesky topk !rng-bit-generator !reduce-precision get-dimension-size "
     "domain while !all-gather-done !all-reduce-done !collective-permute-done !copy-done "
     "!copy-start !send-done !recv !recv-done !infeed"},
    {2,
     "add add-dependency and atan2 complex divide maximum minimum mulhi multiply or power "
     "remainder shift-left shift-right-arithmetic shift-right-logical !stochastic-convert "
     "subtract xor compare pad gather triangular-solve set-dimension-size !send !outfeed"},
    {3, "clamp select batch-norm-training ragged-dot select-and-scatter"},
    {4, "scaled-dot"},
    {5, "batch-norm-inference batch-norm-grad"},
    {-1,
     "tuple concatenate !dynamic-reshape !dynamic-slice !dynamic-update-slice scatter dot "
     "convolution reduce reduce-window map sort scan !rng after-all conditional call !fusion "
     "!custom-call !all-gather !all-gather-start !all-reduce !all-reduce-start !reduce-scatter "
     "!all-to-all !ragged-all-to-all !collective-broadcast !collective-permute "
     "!collective-permute-start !async-start !async-update !async-done"},
};

static const struct {
  unsigned flag;
  const char *texts;
} flags[] = {
    {OPF_ELEMENTWISE,
     "abs acos acosh add and asin asinh atan2 atanh bitcast-convert cbrt ceil clamp compare "
     "complex convert copy cosine cosh count-leading-zeros divide erf exponential "
     "exponential-minus-one floor imag is-finite log log-plus-one logistic maximum minimum mulhi "
     "multiply negate not or popcnt power real reduce-precision remainder round-nearest-afz "
     "round-nearest-even rsqrt select shift-left shift-right-arithmetic shift-right-logical sign "
     "sine sinh sqrt stochastic-convert subtract tan tanh xor"},
    {OPF_TRANSCENDENTAL,
     "acos acosh asin asinh atan2 atanh cbrt cosine cosh erf exponential exponential-minus-one "
     "log log-plus-one logistic power rsqrt sine sinh sqrt tan tanh"},
    /* HasSideEffectNoRecurse, as far as the opcode alone decides. */
    {OPF_SIDE_EFFECT,
     "all-gather-done all-gather-start all-reduce-done all-reduce-start collective-broadcast "
     "collective-permute-done collective-permute-start infeed outfeed recv recv-done rng "
     "rng-get-and-update-state send send-done"},
    {OPF_COLLECTIVE,
     "all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-broadcast "
     "ragged-all-to-all reduce-scatter"},
    {OPF_CHANNEL,
     "all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-broadcast "
     "collective-permute collective-permute-start ragged-all-to-all recv recv-done "
     "reduce-scatter send send-done"},
};

/* What begins, what ends it, and the operation as it is written in one. */
static const struct {
  Opcode start, done, whole;
} splits[] = {
    {OPCODE_ALL_GATHER_START, OPCODE_ALL_GATHER_DONE, OPCODE_ALL_GATHER},
    {OPCODE_ALL_REDUCE_START, OPCODE_ALL_REDUCE_DONE, OPCODE_ALL_REDUCE},
    {OPCODE_ASYNC_START, OPCODE_ASYNC_DONE, OPCODE_ASYNC_START},
    {OPCODE_COLLECTIVE_PERMUTE_START, OPCODE_COLLECTIVE_PERMUTE_DONE, OPCODE_COLLECTIVE_PERMUTE},
    {OPCODE_COPY_START, OPCODE_COPY_DONE, OPCODE_COPY},
    {OPCODE_RECV, OPCODE_RECV_DONE, OPCODE_RECV},
    {OPCODE_SEND, OPCODE_SEND_DONE, OPCODE_SEND},
};

static const struct {
  bool (*holds)(Opcode opcode);
  const char *name, *texts;
} predicates[] = {
    {opcode_begins_split, "begins_split",
     "all-gather-start all-reduce-start async-start collective-permute-start copy-start recv "
     "send"},
    {opcode_ends_split, "ends_split",
     "all-gather-done all-reduce-done async-done collective-permute-done copy-done recv-done "
     "send-done"},
    {opcode_is_split, "is_split",
     "all-gather-start all-reduce-start async-start collective-permute-start copy-start recv send "
     "all-gather-done all-reduce-done async-done collective-permute-done copy-done recv-done "
     "send-done async-update"},
    {opcode_is_copy, "is_copy", "copy copy-start copy-done"},
    {opcode_gives_async_state, "gives_async_state", "async-start async-update"},
    {opcode_takes_async_state, "takes_async_state", "async-update async-done"},
    {opcode_is_async, "is_async", "async-start async-update async-done"},
    {opcode_only_passes_on, "only_passes_on",
     "tuple get-tuple-element bitcast opt-barrier domain add-dependency"},
    {opcode_is_control_flow, "is_control_flow",
     "call conditional while async-start async-update async-done"},
};

/* The next blank-separated word; false at the end. */
static bool next_word(const char **pos, Str *word) {
  while (**pos == ' ')
    ++*pos;
  const char *begin = *pos;
  while (**pos && **pos != ' ')
    ++*pos;
  *word = str_make(begin, (size_t)(*pos - begin));
  return word->len > 0;
}

static bool has_word(const char *words, const char *text) {
  for (Str word; next_word(&words, &word);) {
    if (str_is(word, text)) return true;
  }
  return false;
}

static Opcode find_opcode(Str text) {
  for (int i = 0; i < NUM_OPCODES; i++) {
    if (str_is(text, opcode_text((Opcode)i))) return (Opcode)i;
  }
  ck_abort_msg("no opcode '%.*s'", (int)text.len, text.data);
  return NUM_OPCODES;
}

START_TEST(operand_counts_match_table) {
  int count = 0;
  bool seen[NUM_OPCODES] = {false};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    const char *pos = groups[i].texts;
    for (Str word; next_word(&pos, &word); count++) {
      bool needs_shape = word.data[0] == '!';
      Str text = needs_shape ? (Str){word.data + 1, word.len - 1} : word;
      Opcode opcode = find_opcode(text);
      const OpcodeInfo *info = opcode_info(opcode);
      ck_assert_msg(info->arity == groups[i].arity, "%s: %d operands", info->text, info->arity);
      ck_assert_msg(opcode_has(opcode, OPF_INFER) == !needs_shape, "%s: shape", info->text);
      ck_assert_msg(!seen[opcode], "%s twice", info->text);
      seen[opcode] = true;
    }
  }
  ck_assert_int_eq(count, NUM_OPCODES);
}
END_TEST

START_TEST(flags_match_table) {
  for (int i = 0; i < NUM_OPCODES; i++) {
    const char *text = opcode_text((Opcode)i);
    ck_assert_msg(opcode_has((Opcode)i, flags[_i].flag) == has_word(flags[_i].texts, text),
                  "%s, flag %u", text, flags[_i].flag);
  }
  const char *pos = flags[_i].texts;
  for (Str word; next_word(&pos, &word);)
    (void)find_opcode(word);
}
END_TEST

START_TEST(predicates_hold_for_their_opcodes) {
  for (int i = 0; i < NUM_OPCODES; i++) {
    const char *text = opcode_text((Opcode)i);
    ck_assert_msg(predicates[_i].holds((Opcode)i) == has_word(predicates[_i].texts, text), "%s: %s",
                  predicates[_i].name, text);
  }
}
END_TEST

START_TEST(halves_know_each_other) {
  Opcode start = splits[_i].start, done = splits[_i].done;
  ck_assert_int_eq(opcode_done_of(start), done);
  ck_assert_int_eq(opcode_start_of(done), start);
  ck_assert_int_eq(opcode_begun(start), splits[_i].whole);
  ck_assert_int_eq(opcode_begun(done), done);
  ck_assert_int_eq(opcode_begun(splits[_i].whole), splits[_i].whole);
}
END_TEST

static const struct {
  Opcode opcode;
  const char *text;
} enumerators[] = {
    {OPCODE_ABS, "abs"},
    {OPCODE_COUNT_LEADING_ZEROS, "count-leading-zeros"},
    {OPCODE_GET_TUPLE_ELEMENT, "get-tuple-element"},
    {OPCODE_OPT_BARRIER, "opt-barrier"},
    {OPCODE_WHILE, "while"},
    {OPCODE_XOR, "xor"},
};

START_TEST(enumerators_have_their_texts) {
  ck_assert_str_eq(opcode_text(enumerators[_i].opcode), enumerators[_i].text);
}
END_TEST

static char *read_dictionary(void) {
  FILE *file = fopen(TEST_SOURCE_DIR "/tests/fuzz/hlo.dict", "rb");
  ck_assert_ptr_nonnull(file);
  enum { ROOM = 1 << 16 };
  char *text = calloc(ROOM, 1);
  ck_assert_uint_lt(fread(text, 1, ROOM - 1, file), ROOM - 1);
  fclose(file);
  return text;
}

static void check_in_dictionary(const char *dictionary, const char *text) {
  char line[64];
  snprintf(line, sizeof line, "\n\"%s\"\n", text);
  ck_assert_msg(strstr(dictionary, line) != NULL, "tests/fuzz/hlo.dict lacks %s", text);
}

START_TEST(the_fuzzers_dictionary_is_complete) {
  char *dictionary = read_dictionary();
  for (int i = 0; i < NUM_OPCODES; i++)
    check_in_dictionary(dictionary, opcode_text((Opcode)i));
  for (int i = 0; i < NUM_TYPES; i++) {
    check_in_dictionary(dictionary, type_info((ElementType)i)->text);
  }
  free(dictionary);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("opcode");
  TCase *tc = tcase_create("opcode");
  tcase_add_test(tc, operand_counts_match_table);
  tcase_add_loop_test(tc, flags_match_table, 0, sizeof flags / sizeof *flags);
  tcase_add_loop_test(tc, predicates_hold_for_their_opcodes, 0,
                      sizeof predicates / sizeof *predicates);
  tcase_add_loop_test(tc, halves_know_each_other, 0, sizeof splits / sizeof *splits);
  tcase_add_loop_test(tc, enumerators_have_their_texts, 0,
                      sizeof enumerators / sizeof *enumerators);
  tcase_add_test(tc, the_fuzzers_dictionary_is_complete);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
