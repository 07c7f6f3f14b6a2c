/* Values of attributes, kind by kind: what is accepted, what it is decoded to, what is refused. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

#define COMPS                                                                          \
  "HloModule m\n"                                                                      \
  "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"   \
  "neg { a = f32[4,4] parameter(0) ROOT n = f32[4,4] negate(a) }\n"                    \
  "ENTRY e {\n"                                                                        \
  "  p = f32[4,4] parameter(0)\n  s = f32[] parameter(1)\n  i = s32[] parameter(2)\n"  \
  "  v = f32[4] parameter(3)\n  t = token[] parameter(4)\n  c = u64[2] parameter(5)\n" \
  "  k = pred[] parameter(6)\n"

/* One attribute behind these, as `attr=value`. */
#define CHOLESKY "f32[4,4] cholesky(p), "
#define IOTA "f32[4] iota(), "
#define REDUCE "f32[4] reduce(p, s), to_apply=add, "
#define CUSTOM "f32[4,4] custom-call(p), custom_call_target=\"t\", "
#define CUSTOM0 "f32[4,4] custom-call(p), "
#define NORM "(f32[4,4], f32[4], f32[4]) batch-norm-training(p, v, v), feature_index=1, "
#define COPY_START "(f32[4,4], f32[4,4], u32[]) copy-start(p), "
#define DOT "f32[4,4] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
#define CONV "f32[4,4] convolution(p, p), dim_labels=bf_io->bf, "
#define CONV0 "f32[4,4] convolution(p, p), "
#define PERMUTE "f32[4,4] collective-permute(p), "
#define WINDOW "f32[4,4] reduce-window(p, s), to_apply=add, window="
#define COMPARE "pred[4,4] compare(p, p), "
#define EXP "f32[4,4] exponential(p), result_accuracy="
#define COPY "f32[4,4] copy(p), "
#define OUTFEED "token[] outfeed(p, t), "
#define DOMAIN_OF "f32[4,4] domain(p), domain="
#define FUSION "f32[4,4] fusion(p), calls=neg, kind=kLoop, "

static const struct {
  const char *inst;
  AttrId attr;
  const char *ints; /* decoded */
} accepted[] = {
    {CHOLESKY "lower=true", ATTR_LOWER, "1"},
    {CHOLESKY "lower=false", ATTR_LOWER, "0"},
    {CHOLESKY "lower= true", ATTR_LOWER, "1"},
    {IOTA "iota_dimension=0", ATTR_IOTA_DIMENSION, "0"},
    {IOTA "iota_dimension=-7", ATTR_IOTA_DIMENSION, "-7"}, /* unchecked */
    {IOTA "iota_dimension=18446744073709551615", ATTR_IOTA_DIMENSION, "-1"},
    {IOTA "iota_dimension=999999999999999999", ATTR_IOTA_DIMENSION, "999999999999999999"},
    {IOTA "iota_dimension=-999999999999999999", ATTR_IOTA_DIMENSION, "-999999999999999999"},
    {IOTA "iota_dimension=9999999999999999999", ATTR_IOTA_DIMENSION, "-8446744073709551617"},
    {IOTA "iota_dimension=9223372036854775807", ATTR_IOTA_DIMENSION, "9223372036854775807"},
    {COPY_START "cross_program_prefetch_index=2147483647", ATTR_CROSS_PROGRAM_PREFETCH_INDEX,
     "2147483647"},
    {COPY_START "cross_program_prefetch_index=-2147483648", ATTR_CROSS_PROGRAM_PREFETCH_INDEX,
     "-2147483648"},
    {NORM "epsilon=1", ATTR_EPSILON, ""},
    {NORM "epsilon=0.001", ATTR_EPSILON, ""},
    {NORM "epsilon=-3.4e38", ATTR_EPSILON, ""},
    {NORM "epsilon=1e-60", ATTR_EPSILON, ""},
    {CUSTOM0 "custom_call_target=\"a\\\"b\"", ATTR_CUSTOM_CALL_TARGET, ""},
    {CUSTOM0 "custom_call_target='a\"b'", ATTR_CUSTOM_CALL_TARGET, ""},
    {CUSTOM "backend_config=\"\"", ATTR_BACKEND_CONFIG, ""},
    {CUSTOM "backend_config='{a'", ATTR_BACKEND_CONFIG, ""},
    {CUSTOM "backend_config={}", ATTR_BACKEND_CONFIG, ""},
    {CUSTOM "backend_config={\"a\":{\"}\":[1,2]}}", ATTR_BACKEND_CONFIG, ""},
    {CUSTOM "backend_config={ what(ever) ; }", ATTR_BACKEND_CONFIG, ""},
    {REDUCE "dimensions={1}", ATTR_DIMENSIONS, "1"},
    {REDUCE "dimensions={}", ATTR_DIMENSIONS, ""},
    {REDUCE "dimensions={ 0 , 1 }", ATTR_DIMENSIONS, "0 1"},
    {REDUCE "dimensions={/*a*/-1,9223372036854775807}", ATTR_DIMENSIONS, "-1 9223372036854775807"},
    {PERMUTE "source_target_pairs={{0,1},{2,3}}", ATTR_SOURCE_TARGET_PAIRS, "0 1 2 3"},
    {PERMUTE "source_target_pairs={}", ATTR_SOURCE_TARGET_PAIRS, ""},
    {"f32[4,4] collective-permute(p, p, i, i), source_target_pairs={{0,1}}, "
     "slice_sizes={{1},{},{2,3}}",
     ATTR_PERMUTE_SLICE_SIZES, "1 2 3"},

    {"f32[2,4] slice(p), slice={[0:4:2], [0:4]}", ATTR_SLICE, "0 4 2 0 4 1"},
    {"f32[4] slice(v), slice={}", ATTR_SLICE, ""},
    {"f32[4] slice(v), slice={[ -1 : 5 ]}", ATTR_SLICE, "-1 5 1"},
    {"f32[9] pad(v, s), padding=1_2", ATTR_PADDING, "1 2 0"},
    {"f32[9,9] pad(p, s), padding=-1_2x3_-4_5", ATTR_PADDING, "-1 2 0 3 -4 5"},
    {"f32[9] pad(v, s), padding=1_2x3_4x5_6", ATTR_PADDING, "1 2 0 3 4 0 5 6 0"},

    {WINDOW "{}", ATTR_WINDOW, ""},
    {WINDOW "{size=2x3}", ATTR_WINDOW, "2 1 0 0 1 1 0 3 1 0 0 1 1 0"},
    {WINDOW "{size=2x3 stride=4x5 pad=1_2x3_4 lhs_dilate=6x7 rhs_dilate=8x9 rhs_reversal=1x0}",
     ATTR_WINDOW, "2 4 1 2 6 8 1 3 5 3 4 7 9 0"},
    {WINDOW "{rhs_reversal=0x1 pad=-1_2x0_0 size=1x1}", ATTR_WINDOW,
     "1 1 -1 2 1 1 0 1 1 0 0 1 1 1"},
    {WINDOW "{size=3 stride=-2 pad=1_1}", ATTR_WINDOW, "3 -2 1 1 1 1 0"},
    {WINDOW "{size=2 rhs_reversal=7}", ATTR_WINDOW, "2 1 0 0 1 1 0"},
    {CONV0 "dim_labels=b01f_01io->b01f", ATTR_DIM_LABELS, "2 0 3 1 2 2 3 0 1 0 3 1 2"},
    {CONV0 "dim_labels=fb_oi->bf", ATTR_DIM_LABELS, "0 1 0 1 0 0 1"},
    {CONV0 "dim_labels=0bf1_io01->f1b0", ATTR_DIM_LABELS, "2 1 2 0 3 0 1 2 3 2 0 3 1"},
    {CONV0 "dim_labels=b?0f_0?io->bf0?", ATTR_DIM_LABELS, "1 0 3 2 2 3 0 0 1 2"},
    {CONV0 "dim_labels=bf?_io->?bf", ATTR_DIM_LABELS, "0 0 1 0 1 1 2"},

    {DOT "operand_precision={default,HIGHEST}", ATTR_OPERAND_PRECISION, "0 2"},
    {DOT "operand_precision={}", ATTR_OPERAND_PRECISION, ""},
    {DOT "sparsity_config={}", ATTR_SPARSITY_CONFIG, "0 0 0 0 0 0 0 0"},
    {DOT "sparsity_config={lhs={sparsity=2x4 dimension=1 stride=1 idx=2} rhs={}}",
     ATTR_SPARSITY_CONFIG, "1 2 4 1 1 0 0 0"},
    {CONV "block_scaling_config={lhs={scale_idx=2} rhs={scale_idx=3}}", ATTR_BLOCK_SCALING_CONFIG,
     ""},
    {FUSION "output_to_operand_aliasing={{}: (0, {})}", ATTR_OUTPUT_TO_OPERAND_ALIASING, "0 0 0"},
    {FUSION "output_to_operand_aliasing={{1,2}: (3, {4}), {0}: (1, {5,6}),}",
     ATTR_OUTPUT_TO_OPERAND_ALIASING, "2 1 2 3 1 4 1 0 1 2 5 6"},
    {FUSION "output_to_operand_aliasing={}", ATTR_OUTPUT_TO_OPERAND_ALIASING, ""},

    {EXP "{mode=default}", ATTR_RESULT_ACCURACY, ""},
    {EXP "{mode=Highest}", ATTR_RESULT_ACCURACY, ""},
    {EXP "{tolerance={atol=1,rtol=0.5,ulps=2}}", ATTR_RESULT_ACCURACY, ""},
    {EXP "{tolerance={ulps=2}}", ATTR_RESULT_ACCURACY, ""},
    {EXP "{tolerance={}}", ATTR_RESULT_ACCURACY, ""},
    {OUTFEED "outfeed_shape=(f32[4,4]{0,1}, s32[])", ATTR_OUTFEED_SHAPE, NULL},
    {CUSTOM "operand_layout_constraints={f32[4,4]{0,1}}", ATTR_OPERAND_LAYOUT_CONSTRAINTS, NULL},
    {"f32[4,4] custom-call(), custom_call_target=\"t\", operand_layout_constraints={}",
     ATTR_OPERAND_LAYOUT_CONSTRAINTS, ""},
    {CUSTOM "literal=(s32[] 1, f32[2]{0} {1,2})", ATTR_LITERAL, ""},
    {DOMAIN_OF "{kind=\"sharding\", entry={replicated}, exit={maximal device=1}}", ATTR_DOMAIN, ""},
    {DOMAIN_OF "{exit={replicated} entry={replicated} kind='sharding'}", ATTR_DOMAIN, ""},

    /* attributes of all instructions */
    {COPY "frontend_attributes={}", ATTR_FRONTEND_ATTRIBUTES, ""},
    {COPY "frontend_attributes={a=\"b\", c='d' , e={\"f\": \"}\"}}", ATTR_FRONTEND_ATTRIBUTES, ""},
    {COPY "frontend_attributes={a=\"b\",a=\"c\"}", ATTR_FRONTEND_ATTRIBUTES, ""},
    {COPY "frontend_attributes={a.b-c_1=\"x\"}", ATTR_FRONTEND_ATTRIBUTES, ""},
    {COPY "statistics={}", ATTR_STATISTICS, ""},
    {COPY "statistics={visualizing_index=1}", ATTR_STATISTICS, ""},
    {COPY "statistics={visualizing_index=0,a=1.5,b=2}", ATTR_STATISTICS, ""},
    {COPY "origin={}", ATTR_ORIGIN, ""},
    {COPY "origin={{\"a\"}}", ATTR_ORIGIN, ""},
    {COPY "origin={({\"a\" {0,1}}, ({}, {\"b\"}))}", ATTR_ORIGIN, ""},
    {COPY "origin={[synthetic_call]}", ATTR_ORIGIN, ""},
    {COPY "origin={{\"a\"},[\"call\"]}", ATTR_ORIGIN, ""},
    {COPY "metadata={}", ATTR_METADATA, "0"},
    {COPY "metadata={op_type=\"a\" op_name='b', source_file=\"c\" source_line=1 source_end_line=2 "
          "source_column=3 source_end_column=4 profile_type={0,1,2,3} deduplicated_name=\"d\" "
          "scheduling_name=\"e\" stack_frame_id=5 metadata_payload=\"f\"}",
     ATTR_METADATA, "0"},
    {COPY "metadata={op_name=\"a\\\"b\\n\"}", ATTR_METADATA, "0"},
    {COPY "metadata={source_line=-2147483648}", ATTR_METADATA, "0"},
    {COPY "control-predecessors={p}", ATTR_CONTROL_PREDECESSORS, ""},
    {COPY "control-predecessors={%p, s,i}", ATTR_CONTROL_PREDECESSORS, ""},
    {COPY "control-predecessors={p,p}", ATTR_CONTROL_PREDECESSORS, ""},
    {"(f32[4], f32[]) parameter(7), parameter_replication={true,false}", ATTR_PARAMETER_REPLICATION,
     "1 0"},

    /* called computations */
    {"f32[4,4] call(p), to_apply=neg", ATTR_TO_APPLY, ""},
    {"f32[4,4] call(p), to_apply=%neg", ATTR_TO_APPLY, ""},
    {"f32[4,4] call(p), to_apply={ a = f32[4,4] parameter(0) ROOT b = f32[4,4] abs(a) }",
     ATTR_TO_APPLY, ""},
    {CUSTOM "called_computations={}", ATTR_CALLED_COMPUTATIONS, ""},
    {CUSTOM "called_computations={neg, %add,{ ROOT q = f32[] parameter(0) }}",
     ATTR_CALLED_COMPUTATIONS, ""},
    {CUSTOM "to_apply=neg", ATTR_TO_APPLY, ""},
};

static char *module_of(const char *inst) {
  size_t room = sizeof COMPS + strlen(inst) + 32;
  char *text = malloc(room);
  snprintf(text, room, COMPS "  ROOT x = %s\n}\n", inst);
  return text;
}

START_TEST(accepted_values_are_decoded) {
  char *text = module_of(accepted[_i].inst);
  check_accepted(text, strlen(text), 0);
  Module *module = parse_or_fail(text);
  IntSlice ints = inst_attr_ints(module, find_inst(module, "x"), accepted[_i].attr);
  ck_assert_msg(inst_attr(module, find_inst(module, "x"), accepted[_i].attr) != NULL,
                "%s: no such attribute", accepted[_i].inst);
  char shown[512] = "";
  for (uint32_t i = 0; i < ints.len; i++) {
    size_t len = strlen(shown);
    snprintf(shown + len, sizeof shown - len, "%s%" PRId64, i ? " " : "", ints.data[i]);
  }
  if (accepted[_i].ints) {
    ck_assert_msg(strcmp(shown, accepted[_i].ints) == 0, "%s: %s", accepted[_i].inst, shown);
  }
  module_free(module);
  free(text);
}
END_TEST

static const struct {
  const char *inst, *why;
} refused[] = {
    {CHOLESKY "lower=1", "true or false"},
    {CHOLESKY "lower=True", "true or false"},
    {CHOLESKY "lower={true}", "true or false"},
    {CHOLESKY "lower=", "true or false"},
    {CHOLESKY "lower", "'=' and a value"},
    {CHOLESKY "lower =true", "'=' and a value"},
    {CHOLESKY "lower=true,", "an attribute after ','"},
    {CHOLESKY "lower=true lower=true", "expected ',' before the attribute 'lower'"},
    {CHOLESKY "lower=true, lower=true", "given twice"},
    {CHOLESKY "upper=true", "cholesky has no attribute 'upper'; its own are lower"},
    {"f32[4,4] negate(p), upper=true", "negate has no attribute 'upper'"},
    {CHOLESKY "dimensions={0}", "cholesky has no attribute 'dimensions'"},
    {CHOLESKY "outer_dimension_partitions={0}", "has no attribute"},
    {"f32[4,4] cholesky(p) lower=true", "expected ',' before the attribute 'lower'"},
    {IOTA "iota_dimension=0.0", "an integer"},
    {IOTA "iota_dimension=x", "an integer"},
    {IOTA "iota_dimension={0}", "an integer"},
    {IOTA "iota_dimension=99999999999999999999", "64 bits"},
    {COPY_START "cross_program_prefetch_index=2147483648", "32 bits"},
    {COPY_START "cross_program_prefetch_index=-2147483649", "32 bits"},
    {NORM "epsilon=3.5e38", "out of range for a float"},
    {NORM "epsilon=1e999", "out of range for a double"},
    {NORM "epsilon=x", "a number"},
    {NORM "epsilon=\"1\"", "a number"},
    {CUSTOM0 "custom_call_target=t", "a string"},
    {CUSTOM0 "custom_call_target=1", "a string"},
    {CUSTOM0 "custom_call_target={}", "a string"},
    {CUSTOM0 "custom_call_target=\"\\z\"", "unknown escape"},
    {CUSTOM "backend_config=x", "a string or a JSON dict"},
    {CUSTOM "backend_config=[1]", "a string or a JSON dict"},
    {CUSTOM "backend_config={{", "the JSON dict is never closed"},
    {CUSTOM "backend_config={\"}", "the JSON dict is never closed"},
    {REDUCE "dimensions=0", "'{' before a list"},
    {REDUCE "dimensions=[0]", "'{' before a list"},
    {REDUCE "dimensions={0,}", "an integer"},
    {REDUCE "dimensions={,0}", "an integer"},
    {REDUCE "dimensions={0 1}", "'}' to close the list"},
    {REDUCE "dimensions={0, metadata={}", "to close the list before the attribute 'metadata'"},
    {REDUCE "dimensions={0.5}", "'}' to close the list, found '.'"},
    {REDUCE "dimensions={0x1}", "'}' to close the list"},
    {REDUCE "dimensions={a}", "an integer"},
    {PERMUTE "source_target_pairs={0,1}", "'{' before a list"},
    {PERMUTE "source_target_pairs={{0}}", "a pair of integers"},
    {PERMUTE "source_target_pairs={{0,1,2}}", "a pair of integers"},
    {PERMUTE "source_target_pairs={{}}", "a pair of integers"},
    {PERMUTE "source_target_pairs={{0,1},}", "'{' before a list"},

    {"f32[4] slice(v), slice={[0]}", "a slice is [start:limit]"},
    {"f32[4] slice(v), slice={[0:1:2:3]}", "a slice is [start:limit]"},
    {"f32[4] slice(v), slice={[]}", "a slice is [start:limit]"},
    {"f32[4] slice(v), slice={[0:4],}", "'[' before a list"},
    {"f32[4] slice(v), slice=[0:4]", "'{' before the slice"},
    {"f32[9] pad(v, s), padding=1", "padding such as 0_0x1_1"},
    {"f32[9] pad(v, s), padding=1_", "padding such as 0_0x1_1"},
    {"f32[9] pad(v, s), padding={1_1}", "padding such as 0_0x1_1"},
    {"f32[9] pad(v, s), padding=99999999999999999999_0", "out of range"},
    {WINDOW "{size=2x2, stride=1x1}", "a field of the window"},
    {WINDOW "{size=2x2 size=2x2}", "given twice"},
    {WINDOW "{size=2x2 stride=1}", "stride has 1 dimensions, its size 2"},
    {WINDOW "{stride=1x1}", "stride has 2 dimensions, its size 0"},
    {WINDOW "{size=2x2 pad=1_1}", "pad has 1 dimensions, its size 2"},
    {WINDOW "{size=2 pad=1_1_1}", "three numbers"},
    {WINDOW "{size=2 pad=1}", "padding such as"},
    {WINDOW "{size=2_2}", "sizes such as 3x3"},
    {WINDOW "{size=x}", "sizes such as 3x3"},
    {WINDOW "{sice=2}", "no field 'sice'"},
    {WINDOW "{size=2, metadata={}", "'}' or, after a blank, a field of the window"},
    {WINDOW "{size=99999999999999999999x1}", "out of range"},
    {CONV0 "dim_labels=b01f_01io", "dimension labels such as"},
    {CONV0 "dim_labels=\"b01f_01io->b01f\"", "dimension labels such as"},
    {CONV0 "dim_labels=bb_io->bf", "'b' comes twice"},
    {CONV0 "dim_labels=bf00_01io->b01f", "'0' comes twice"},
    {CONV0 "dim_labels=b02f_01io->b01f", "'2' is no label"},
    {CONV0 "dim_labels=b0f_01io->b01f", "1, 2 and 2 spatial dimensions"},
    {DOT "operand_precision={default,}", "one of default, high, highest"},
    {DOT "operand_precision={low}", "one of default, high, highest"},
    {DOT "operand_precision=default", "'{' before the precisions"},
    {DOT "sparsity_config={x=1}", "lhs=, rhs= or '}'"},
    {DOT "sparsity_config={lhs={x=1}}", "no field 'x'"},
    {DOT "sparsity_config={lhs={sparsity=3}}", "two numbers"},
    {DOT "sparsity_config={lhs={},rhs={}}", "lhs=, rhs= or '}'"},
    {DOT "block_scaling_config={lhs={sparsity=2x4}}", "no field 'sparsity'"},
    {FUSION "output_to_operand_aliasing={0: (0, {})}", "'{' before a shape index"},
    {FUSION "output_to_operand_aliasing={{} (0, {})}", "':'"},
    {FUSION "output_to_operand_aliasing={{}: 0}", "'(' before the operand"},
    {FUSION "output_to_operand_aliasing={{}: (0)}", "',' after the operand's number"},
    {FUSION "output_to_operand_aliasing={{}: (0, {}) {}: (0, {})}", "'}' to close the aliases"},

    {EXP "{}", "mode= or tolerance="},
    {EXP "{mode=low}", "default or highest"},
    {EXP "{mode=\"default\"}", "default or highest"},
    {EXP "{tolerance={abs=1}}", "atol=, rtol= or ulps="},
    {EXP "{tolerance={atol=1,}}", "atol=, rtol= or ulps="},
    {EXP "{tolerance={ulps=-1}}", "not negative"},
    {EXP "{tolerance={atol=nan}}", "not negative"},
    {EXP "default", "'{' before the result accuracy"},
    {OUTFEED "outfeed_shape=f32", "'['"},
    {OUTFEED "outfeed_shape={f32[]}", "a shape"},
    {CUSTOM "operand_layout_constraints={}", "0 operand layout constraints for 1 operands"},
    {CUSTOM "operand_layout_constraints={f32[4,4],f32[4,4]}",
     "2 operand layout constraints for 1 operands"},
    {CUSTOM "operand_layout_constraints={f32[4]}", "layout constraint 0 is"},
    {CUSTOM "operand_layout_constraints={f32[4,4],}", "a shape"},
    {DOMAIN_OF "{kind=\"sharding\", entry={replicated}}", "lacks exit="},
    {DOMAIN_OF "{kind=\"other\", entry={replicated}, exit={replicated}}", "domain kind"},
    {DOMAIN_OF "{kind=\"sharding\", kind=\"sharding\", entry={replicated}, exit={replicated}}",
     "given twice"},
    {DOMAIN_OF "{}", "lacks kind="},
    {DOMAIN_OF "{x=1}", "kind=, entry= or exit="},

    {COPY "frontend_attributes={a}", "`key=`"},
    {COPY "frontend_attributes={a=b}", "a string or a JSON dict"},
    {COPY "frontend_attributes={a=\"b\" c=\"d\"}", "'}' to close the frontend attributes"},
    {COPY "frontend_attributes={a=\"b\",}", "`key=`"},
    {COPY "frontend_attributes={a =\"b\"}", "`key=`"},
    {COPY "frontend_attributes={1=\"b\"}", "`key=`"},
    {COPY "statistics={visualizing_index=1.5}", "an integer"},
    {COPY "statistics={visualizing_index=1,a=x}", "a number"},
    {COPY "statistics={1}", "`visualizing_index=`"},
    {COPY "origin={{a}}", "'}' to close the original array"},
    {COPY "origin={[other]}", "synthetic_call"},
    {COPY "origin={x}", "an original array or '}'"},
    {COPY "origin={{\"a\"},[\"b\"],[\"c\"]}", "given twice"},
    {COPY "metadata={op_name=x}", "a string"},
    {COPY "metadata={source_line=\"1\"}", "an integer"},
    {COPY "metadata={source_line=2147483648}", "32 bits"},
    {COPY "metadata={op_name=\"a\" op_name=\"b\"}", "given twice"},
    {COPY "metadata={preserve_layout=true}", "metadata has no field 'preserve_layout'"},
    {COPY "metadata={size_of_generated_code_in_bytes=1}", "metadata has no field"},
    {COPY "metadata={profile_type={4}}", "profile type 4 is not between 0 and 3"},
    {COPY "metadata={profile_type={-1}}", "profile type -1"},
    {COPY "metadata={op_name=\"a\",,op_type=\"b\"}", "a field of the metadata"},
    {COPY "metadata={op_name=\"a\",}", "a field of the metadata"},
    {COPY "metadata=\"a\"", "'{' before the metadata"},
    {COPY "metadata={op_name=\"a\"; ", "found '"},
    {COPY "control-predecessors={}", "a name"},
    {COPY "control-predecessors={p,}", "a name"},
    {COPY "control-predecessors={x}", "'x' is not defined above"},
    {COPY "control-predecessors={nobody}", "'nobody' is not defined above"},
    {COPY "control-predecessors=p", "'{' before the instructions"},
    {COPY "metadata={}, metadata={}", "given twice"},

    {"f32[4,4] call(p), to_apply=nobody", "'nobody' is not defined above"},
    {"f32[4,4] call(p), to_apply=e", "'e' is not defined above"},
    {"f32[4,4] call(p), to_apply=\"neg\"", "a name"},
    {"f32[4,4] call(p), to_apply={}", "at least one instruction"},
    {"f32[4,4] call(p), to_apply={neg}", "'='"},
    {CUSTOM "called_computations=neg", "'{' before the computations"},
    {CUSTOM "called_computations={neg,}", "a name"},
};

START_TEST(refused_values_say_why) {
  char *text = module_of(refused[_i].inst);
  check_refused(text, strlen(text), refused[_i].why);
  free(text);
}
END_TEST

/* XLA overlooks that a number is missing here. */
START_TEST(a_missing_operand_number_is_warned_about) {
  char *text = module_of(FUSION "output_to_operand_aliasing={{}: (, {})}");
  check_accepted(text, strlen(text), 1);
  free(text);
}
END_TEST

/* A `%s` for the word of an enumeration. */
static const struct {
  AttrKind kind;
  const char *format;
} enums[] = {
    {ATTR_KIND_API_VERSION, CUSTOM "api_version=%s"},
    {ATTR_KIND_COLLECTIVE_MODE, "f32[] all-reduce(s), to_apply=add, mode=%s"},
    {ATTR_KIND_COMPARISON_DIRECTION, COMPARE "direction=%s"},
    {ATTR_KIND_COMPARISON_ORDER, COMPARE "direction=LT, order=%s"},
    {ATTR_KIND_CONVOLUTION_KIND, CONV "convolution_kind=%s"},
    {ATTR_KIND_CUSTOM_CALL_SCHEDULE, CUSTOM "schedule=%s"},
    {ATTR_KIND_DOT_ALGORITHM, DOT "algorithm=%s"},
    {ATTR_KIND_FFT_TYPE, "c64[4,4] fft(p), fft_length={4}, fft_type=%s"},
    {ATTR_KIND_FUSION_KIND, "f32[4,4] fusion(p), calls=neg, kind=%s"},
    {ATTR_KIND_PADDING_TYPE, CUSTOM "padding_type=%s"},
    {ATTR_KIND_PRECISION, DOT "operand_precision={%s}"},
    {ATTR_KIND_RNG_ALGORITHM, "(u64[2], u32[4]) rng-bit-generator(c), algorithm=%s"},
    {ATTR_KIND_RNG_DISTRIBUTION, "f32[4] rng(s, s), distribution=%s"},
};

static void check_word(const char *format, const char *word, bool is_accepted) {
  char inst[256];
  snprintf(inst, sizeof inst, format, word);
  char *text = module_of(inst);
  if (is_accepted) {
    check_accepted(text, strlen(text), 0);
  } else {
    check_refused(text, strlen(text), "expected one of ");
  }
  free(text);
}

static bool changes_case(const char *word, char *other, size_t room) {
  size_t i = 0;
  for (; word[i] && i + 1 < room; i++) {
    char c = word[i];
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    other[i] = is_letter ? (char)(c ^ 0x20) : c;
  }
  other[i] = '\0';
  return strcmp(word, other) != 0;
}

START_TEST(words_of_enumerations) {
  bool ignores_case;
  const char *const *words = attribute_enum_words(enums[_i].kind, &ignores_case);
  for (int i = 0; words[i]; i++) {
    char other[64];
    check_word(enums[_i].format, words[i], true);
    if (changes_case(words[i], other, sizeof other)) {
      check_word(enums[_i].format, other, ignores_case);
    }
    snprintf(other, sizeof other, "%sx", words[i]);
    check_word(enums[_i].format, other, false);
  }
  check_word(enums[_i].format, "1", false);
  check_word(enums[_i].format, "true", false);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parse_attribute");
  TCase *tc = tcase_create("parse_attribute");
  tcase_add_loop_test(tc, accepted_values_are_decoded, 0, sizeof accepted / sizeof *accepted);
  tcase_add_loop_test(tc, refused_values_say_why, 0, sizeof refused / sizeof *refused);
  tcase_add_test(tc, a_missing_operand_number_is_warned_about);
  tcase_add_loop_test(tc, words_of_enumerations, 0, sizeof enums / sizeof *enums);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
