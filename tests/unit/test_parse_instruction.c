/* Instructions: every opcode with its operands and attributes, operands in all their forms, names.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support.h"

#define COMPS                                                                                    \
  "HloModule m\n"                                                                                \
  "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"             \
  "lt { a = f32[] parameter(0) b = f32[] parameter(1)\n"                                         \
  "  ROOT c = pred[] compare(a, b), direction=LT }\n"                                            \
  "one { a = f32[] parameter(0) ROOT n = f32[] negate(a) }\n"                                    \
  "neg { a = f32[4,4] parameter(0) ROOT n = f32[4,4] negate(a) }\n"                              \
  "neg2 { a = f32[4,4] parameter(0) ROOT n = f32[4,4] negate(a) }\n"                             \
  "yes { a = f32[4,4] parameter(0) ROOT k = pred[] constant(true) }\n"                           \
  "step { a = f32[] parameter(0) b = f32[] parameter(1) ROOT t = (f32[], f32[]) tuple(a, b) }\n" \
  "ENTRY e {\n"                                                                                  \
  "  f = f32[4,4] parameter(0)\n  v = f32[4] parameter(1)\n  s = f32[] parameter(2)\n"           \
  "  i = s32[] parameter(3)\n  n = s32[4,4] parameter(4)\n  k = pred[] parameter(5)\n"           \
  "  m = pred[4,4] parameter(6)\n  z = c64[4,4] parameter(7)\n  t = token[] parameter(8)\n"      \
  "  u = u64[2] parameter(9)\n  p = (f32[4,4], s32[]) parameter(10)\n"                           \
  "  im = f32[1,8,8,3] parameter(11)\n  kn = f32[3,3,3,5] parameter(12)\n"                       \
  "  ix = s32[3,1] parameter(13)\n  up = f32[3,4] parameter(14)\n  iv = s32[2] parameter(15)\n"  \
  "  g = s64[2] parameter(16)\n  b3 = f32[2,4,4] parameter(17)\n"                                \
  "  as = ((f32[4,4]), f32[4,4], u32[]) async-start(f), calls=neg2\n"                            \
  "  cs = (f32[4,4], f32[4,4], u32[]) copy-start(f)\n"                                           \
  "  sd = (f32[4,4], u32[], token[]) send(f, t), channel_id=7\n"                                 \
  "  rc = (f32[4,4], u32[], token[]) recv(t), channel_id=8\n"

#define NEXT_PARAM "18"

/* `attrs` are joined by '|'. Without one that is marked the instruction is refused: '!' says that
 * the attribute is missing, '*' says something else. Operands are joined by ", ". */
typedef struct OpcodeCase {
  const char *opcodes; /* all of this form, joined by blanks */
  const char *shape, *operands, *attrs;
} OpcodeCase;

static const OpcodeCase opcode_cases[] = {
    {"abs ceil copy floor negate opt-barrier round-nearest-afz round-nearest-even sign bitcast "
     "convert bitcast-convert",
     "f32[4,4]", "f", ""},
    {"count-leading-zeros not popcnt", "s32[4,4]", "n", ""},
    {"imag real", "f32[4,4]", "z", ""},
    {"is-finite", "pred[4,4]", "f", ""},
    {"acos acosh asin asinh atanh cbrt cosine cosh erf exponential exponential-minus-one log "
     "log-plus-one logistic rsqrt sine sinh sqrt tan tanh",
     "f32[4,4]", "f", "result_accuracy={mode=highest}"},
    {"add atan2 divide maximum minimum multiply power remainder subtract", "f32[4,4]", "f, f", ""},
    {"and or xor shift-left shift-right-arithmetic shift-right-logical mulhi", "s32[4,4]", "n, n",
     ""},
    {"stochastic-convert", "s8[4,4]", "f, n", ""},
    {"complex", "c64[4,4]", "f, f", ""},
    {"add-dependency", "f32[4,4]", "f, t", ""},
    {"clamp", "f32[4,4]", "f, f, f", ""},
    {"select", "f32[4,4]", "m, f, f", ""},
    {"compare", "pred[4,4]", "f, f", "!direction=LT|type=TOTALORDER"},
    {"compare", "pred[4,4]", "f, f", "!direction=EQ|order=PARTIAL"},
    {"parameter", "f32[]", NEXT_PARAM, "parameter_replication={true}"},
    {"constant", "f32[2]", "{1, 2}", ""},
    {"iota", "s32[4]", "", "!iota_dimension=0"},
    {"tuple", "(f32[4,4], s32[])", "f, i", ""},
    {"get-tuple-element", "f32[4,4]", "p", "!index=0"},
    {"broadcast", "f32[4,4]", "f", "*dimensions={0,1}"},
    {"broadcast", "f32[]", "s", "dimensions={}"},
    {"transpose", "f32[4,4]{0,1}", "f", "!dimensions={1,0}"},
    {"reverse", "f32[4,4]", "f", "!dimensions={1}"},
    {"concatenate", "f32[8,4]", "f, f", "!dimensions={0}"},
    {"reshape", "f32[16]", "f", "inferred_dimension=0"},
    {"dynamic-reshape", "f32[<=16]", "f, i", ""},
    {"slice", "f32[2,4]", "f", "!slice={[0:2], [0:4:1]}"},
    {"dynamic-slice", "f32[2,4]", "f, i, i", "!dynamic_slice_sizes={2,4}"},
    {"dynamic-slice", "f32[2,4]", "f, iv", "!dynamic_slice_sizes={2,4}"},
    {"dynamic-update-slice", "f32[4,4]", "f, up, i, i", ""},
    {"dynamic-update-slice", "f32[4,4]", "f, up, iv", ""},
    {"pad", "f32[6,4]", "f, s", "!padding=1_1x0_0"},
    {"gather", "f32[3,4]", "f, ix",
     "!offset_dims={1}|!collapsed_slice_dims={0}|!start_index_map={0}|operand_batching_dims={}|"
     "start_indices_batching_dims={}|!index_vector_dim=1|!slice_sizes={1,4}|"
     "indices_are_sorted=true"},
    {"scatter", "f32[4,4]", "f, ix, up",
     "!update_window_dims={1}|!inserted_window_dims={0}|!scatter_dims_to_operand_dims={0}|"
     "input_batching_dims={}|scatter_indices_batching_dims={}|!index_vector_dim=1|"
     "indices_are_sorted=false|unique_indices=true|!to_apply=add"},
    {"dot", "f32[2,4,4]", "b3, b3",
     "lhs_batch_dims={0}|lhs_contracting_dims={2}|rhs_batch_dims={0}|rhs_contracting_dims={1}|"
     "operand_precision={high,high}|algorithm=dot_f32_f32_f32|sparsity_config={}|"
     "block_scaling_config={}"},
    {"ragged-dot", "f32[4,4]", "f, b3, g",
     "lhs_batch_dims={}|lhs_contracting_dims={1}|rhs_batch_dims={}|rhs_contracting_dims={1}|"
     "*lhs_ragged_dims={0}|*rhs_group_dims={0}|operand_precision={high,high}"},
    {"scaled-dot", "f32[4,4]", "f, f, f, f",
     "lhs_batch_dims={}|lhs_contracting_dims={1}|rhs_batch_dims={}|rhs_contracting_dims={0}|"
     "operand_precision={high,high}|algorithm=unset"},
    {"convolution", "f32[1,8,8,5]", "im, kn",
     "window={size=3x3 pad=1_1x1_1}|!dim_labels=b01f_01io->b01f|feature_group_count=1|"
     "batch_group_count=1|convolution_kind=fprop|operand_precision={high,high}|algorithm=unset|"
     "sparsity_config={}|block_scaling_config={}"},
    {"fft", "c64[4,4]", "z", "!fft_type=IFFT|!fft_length={4}"},
    {"cholesky", "f32[4,4]", "f", "lower=true"},
    {"triangular-solve", "f32[4,4]", "f, f",
     "left_side=true|lower=true|unit_diagonal=false|transpose_a=ADJOINT"},
    {"batch-norm-training", "(f32[4,4], f32[4], f32[4])", "f, v, v",
     "!epsilon=0.01|!feature_index=1"},
    {"batch-norm-inference", "f32[4,4]", "f, v, v, v, v", "!epsilon=0.01|!feature_index=1"},
    {"batch-norm-grad", "(f32[4,4], f32[4], f32[4])", "f, v, v, v, f",
     "!epsilon=0.01|!feature_index=1"},
    {"reduce", "f32[4]", "f, s", "!dimensions={1}|!to_apply=add"},
    {"reduce-window", "f32[2,4]", "f, s", "window={size=2x1 stride=2x1}|!to_apply=add"},
    {"select-and-scatter", "f32[4,4]", "f, f, s", "window={size=1x1}|!select=lt|!scatter=add"},
    {"map", "f32[4,4]", "f, f", "dimensions={0,1}|!to_apply=add"},
    {"sort", "f32[4,4]", "f", "!dimensions={0}|is_stable=true|!to_apply=lt"},
    {"scan", "(f32[4], f32[])", "v, s",
     "!dimensions={0}|!num_carries=1|is_reverse=true|is_associative=false|!to_apply=step"},
    {"topk", "(f32[4,2], s32[4,2])", "f", "!k=2|largest=true|is_stable=true"},
    {"rng", "f32[9]", "s, s", "!distribution=rng_normal"},
    {"rng-bit-generator", "(u64[2], u32[9])", "u", "!algorithm=rng_philox"},
    {"rng-get-and-update-state", "u64[2]", "", "!delta=4096"},
    {"reduce-precision", "f32[4,4]", "f", "!exponent_bits=5|!mantissa_bits=10"},
    {"get-dimension-size", "s32[]", "f", "!dimensions={0}"},
    {"set-dimension-size", "f32[<=4,4]", "f, i", "!dimensions={0}"},
    {"domain", "f32[4,4]", "f",
     "!domain={kind=\"sharding\", entry={replicated}, exit={maximal device=0}}"},
    {"after-all", "token[]", "t, t", ""},
    {"while", "f32[4,4]", "f", "!condition=yes|!body=neg"},
    {"conditional", "f32[4,4]", "k, f, f", "*true_computation=neg|*false_computation=neg"},
    {"conditional", "f32[4,4]", "i, f, f, f", "*branch_computations={neg, %neg, neg}"},
    {"call", "f32[4,4]", "f", "!to_apply=neg|is_composite=true"},
    {"fusion", "f32[4,4]", "f",
     "!kind=kCustom|output_to_operand_aliasing={{}: (0, {})}|!calls=neg"},
    {"custom-call", "f32[4,4]", "f, f",
     "window={size=1}|dim_labels=bf_io->bf|feature_group_count=2|batch_group_count=3|"
     "operand_precision={high}|padding_type=PADDING_SAME|!custom_call_target=\"t\"|"
     "operand_layout_constraints={f32[4,4]{0,1},f32[4,4]}|custom_call_has_side_effect=true|"
     "literal=f32[] 1|output_to_operand_aliasing={{}: (0, {})}|schedule=SCHEDULE_LATEST|"
     "api_version=API_VERSION_TYPED_FFI|called_computations={neg, add}"},
    {"custom-call", "f32[4,4]", "f", "!custom_call_target=\"t\"|to_apply=neg"},
    {"all-gather all-gather-start", "f32[8,4]", "f",
     "channel_id=1|replica_groups={{0,1}}|constrain_layout=true|!dimensions={0}|"
     "use_global_device_ids=true"},
    {"all-reduce all-reduce-start", "f32[4,4]", "f",
     "channel_id=1|replica_groups={}|constrain_layout=false|use_global_device_ids=false|"
     "mode=cross_replica|!to_apply=add"},
    {"reduce-scatter", "f32[2,4]", "f",
     "channel_id=1|replica_groups=[1,2]<=[2]|constrain_layout=true|use_global_device_ids=false|"
     "mode=cross_partition|!dimensions={0}|!to_apply=add"},
    {"all-to-all", "f32[4,4]", "f",
     "channel_id=1|replica_groups={{0,1}}|constrain_layout=true|dimensions={0}"},
    {"ragged-all-to-all", "f32[4,4]", "f, f, i, i, i, i",
     "channel_id=1|replica_groups={{0,1}}|dimensions={0}"},
    {"collective-broadcast", "f32[4,4]", "f",
     "channel_id=1|replica_groups={{0,1}}|has_dynamic_root=true"},
    {"collective-permute", "f32[4,4]", "f", "channel_id=1|!source_target_pairs={{0,1}}"},
    {"collective-permute", "f32[4,4]", "f, f, i, i",
     "channel_id=1|!source_target_pairs={{0,1}}|slice_sizes={{1,1}}"},
    {"collective-permute-start", "(f32[4,4], f32[4,4])", "f",
     "channel_id=1|!source_target_pairs={{0,1}}"},
    {"collective-permute-start", "(f32[4,4], f32[4,4])", "f, f, i, i",
     "channel_id=1|!source_target_pairs={{0,1}}|slice_sizes={{1,1}}"},
    {"all-gather-done all-reduce-done", "f32[4,4]", "f", ""},
    {"collective-permute-done copy-done", "f32[4,4]", "cs", ""},
    {"copy-start", "(f32[4,4], f32[4,4], u32[])", "f", "cross_program_prefetch_index=1"},
    {"send", "(f32[4,4], u32[], token[])", "f, t", "channel_id=1|is_host_transfer=true"},
    {"send-done", "token[]", "sd", "*channel_id=7|is_host_transfer=true"},
    {"recv", "(f32[4,4], u32[], token[])", "t", "channel_id=1|is_host_transfer=true"},
    {"recv-done", "(f32[4,4], token[])", "rc", "*channel_id=8|is_host_transfer=true"},
    {"infeed", "((f32[4,4], s32[]), token[])", "t", "infeed_config=\"c\""},
    {"outfeed", "token[]", "f, t", "outfeed_shape=f32[4,4]{0,1}|outfeed_config=\"c\""},
    {"partition-id replica-id", "u32[]", "", ""},
    {"async-start", "((f32[4,4]), f32[4,4], u32[])", "f",
     "async_execution_thread=\"main\"|output_to_operand_aliasing={{}: (0, {})}|!calls=neg2"},
    {"async-update", "((f32[4,4]), f32[4,4], u32[])", "as",
     "async_execution_thread=\"main\"|output_to_operand_aliasing={}|calls=neg2"},
    {"async-done", "f32[4,4]", "as", "async_execution_thread=\"main\"|calls=neg2"},
};

enum { NUM_CASES = sizeof opcode_cases / sizeof *opcode_cases, MAX_ATTRS = 16 };

/* The `index`-th piece between separators; false when there are not so many. */
static bool piece_of(const char *list, char separator, int index, Str *piece) {
  for (;; index--) {
    const char *end = strchr(list, separator);
    size_t len = end ? (size_t)(end - list) : strlen(list);
    if (index == 0) {
      *piece = str_make(list, len);
      return len > 0;
    }
    if (!end) return false;
    list = end + 1;
  }
}

/* The text of an instruction; `shape` may be NULL, the attribute number `without` is left out. */
static char *instruction_of(Str opcode, const char *shape, const char *operands, const char *attrs,
                            int without, Arena *arena) {
  char *text = arena_printf(arena, "%s%s%.*s(%s)", shape ? shape : "", shape ? " " : "",
                            (int)opcode.len, opcode.data, operands);
  Str attr;
  for (int i = 0; piece_of(attrs, '|', i, &attr); i++) {
    if (i == without) continue;
    bool is_marked = attr.data[0] == '!' || attr.data[0] == '*';
    text = arena_printf(arena, "%s, %.*s", text, (int)attr.len - is_marked, attr.data + is_marked);
  }
  return text;
}

static char *module_of(const char *inst, Arena *arena) {
  return arena_printf(arena, COMPS "  ROOT x = %s\n}\n", inst);
}

static void check(const char *inst, const char *why, Arena *arena) {
  char *text = module_of(inst, arena);
  if (why) {
    check_refused(text, strlen(text), why);
  } else {
    check_accepted(text, strlen(text), 0);
  }
}

/* The name in front of `=`. */
static Str attr_name(Str attr) {
  bool is_marked = attr.data[0] == '!' || attr.data[0] == '*';
  const char *equals = memchr(attr.data, '=', attr.len);
  return str_make(attr.data + is_marked, (size_t)(equals - attr.data) - is_marked);
}

START_TEST(each_opcode_takes_its_attributes) {
  const OpcodeCase *row = &opcode_cases[_i];
  Arena *arena = arena_new(NULL);
  Str opcode, attr;
  for (int k = 0; piece_of(row->opcodes, ' ', k, &opcode); k++) {
    check(instruction_of(opcode, row->shape, row->operands, row->attrs, -1, arena), NULL, arena);
    for (int i = 0; piece_of(row->attrs, '|', i, &attr); i++) {
      char *inst = instruction_of(opcode, row->shape, row->operands, row->attrs, i, arena);
      Str name = attr_name(attr);
      const char *why = attr.data[0] == '!'
                            ? arena_printf(arena, "%.*s lacks the attribute '%.*s'",
                                           (int)opcode.len, opcode.data, (int)name.len, name.data)
                        : attr.data[0] == '*' && !str_is(opcode, "ragged-dot") ? ""
                                                                               : NULL;
      check(inst, why, arena);
    }
  }
  arena_free(arena);
}
END_TEST

/* All attributes that an opcode does not take are refused, and all are tried. */
START_TEST(each_opcode_takes_no_other_attributes) {
  const OpcodeCase *row = &opcode_cases[_i];
  Arena *arena = arena_new(NULL);
  Str opcode, attr;
  piece_of(row->opcodes, ' ', 0, &opcode);
  for (int id = 0; id < NUM_ATTRS; id++) {
    const char *text = attribute_info((AttrId)id)->text;
    bool is_known = attribute_is_annotation((AttrId)id) || id == ATTR_BACKEND_CONFIG;
    for (int other = 0; other < NUM_CASES && !is_known; other++) { /* of any row of the opcode */
      Str first;
      piece_of(opcode_cases[other].opcodes, ' ', 0, &first);
      if (!str_equal(first, opcode)) continue;
      for (int i = 0; piece_of(opcode_cases[other].attrs, '|', i, &attr); i++) {
        is_known |= str_is(attr_name(attr), text);
      }
    }
    if (is_known) continue;
    char *inst = instruction_of(opcode, row->shape, row->operands, row->attrs, -1, arena);
    check(arena_printf(arena, "%s, %s=1", inst, text),
          arena_printf(arena, "has no attribute '%s'", text), arena);
  }
  arena_free(arena);
}
END_TEST

START_TEST(each_opcode_takes_its_number_of_operands) {
  const OpcodeCase *row = &opcode_cases[_i];
  Arena *arena = arena_new(NULL);
  Str opcode;
  for (int k = 0; piece_of(row->opcodes, ' ', k, &opcode); k++) {
    int arity = -1;
    for (int id = 0; id < NUM_OPCODES; id++) {
      if (str_is(opcode, opcode_text((Opcode)id))) arity = opcode_info((Opcode)id)->arity;
    }
    if (arity < 0 || str_is(opcode, "parameter") || str_is(opcode, "constant")) continue;
    char *why = arena_printf(arena, "%.*s takes %d operand%s, not %d", (int)opcode.len, opcode.data,
                             arity, arity == 1 ? "" : "s", arity + 1);
    char *more = arena_printf(arena, "%s%ss", row->operands, arity ? ", " : "");
    if (!str_is(opcode, "async-done")) /* XLA lets it have more */
      check(instruction_of(opcode, row->shape, more, row->attrs, -1, arena), why, arena);
    if (arity == 0) continue;
    why = arena_printf(arena, "%.*s takes %d operand%s, not %d", (int)opcode.len, opcode.data,
                       arity, arity == 1 ? "" : "s", arity - 1);
    char *fewer = arena_strndup(arena, row->operands, strlen(row->operands));
    char *comma = strrchr(fewer, ',');
    *(comma ? comma : fewer) = '\0';
    check(instruction_of(opcode, row->shape, fewer, row->attrs, -1, arena), why, arena);
  }
  arena_free(arena);
}
END_TEST

/* The shape may be left out where XLA can infer it, and there the inferred one is the written one.
 */
START_TEST(each_opcode_needs_its_shape_or_not) {
  const OpcodeCase *row = &opcode_cases[_i];
  Arena *arena = arena_new(NULL);
  Str opcode;
  for (int k = 0; piece_of(row->opcodes, ' ', k, &opcode); k++) {
    Opcode id = 0;
    while (!str_is(opcode, opcode_text(id)))
      id++;
    char *inst = instruction_of(opcode, NULL, row->operands, row->attrs, -1, arena);
    const char *why = NULL;
    if (!opcode_has(id, OPF_INFER)) {
      why = arena_printf(arena, "%s needs its shape written", opcode_text(id));
    } else if (id == OPCODE_OPT_BARRIER) {
      why = "cannot be inferred";
    }
    check(inst, why, arena);
    /* Of an array, XLA takes the dimensions for sizes. */
    if (why || (id == OPCODE_BROADCAST && row->operands[0] == 'f')) continue;
    char *text = module_of(inst, arena);
    Module *module = parse_or_fail(text);
    Module *written = parse_or_fail(
        module_of(instruction_of(opcode, row->shape, row->operands, row->attrs, -1, arena), arena));
    InstId x = comp_get(module, module->entry)->root;
    Str inferred = shape_text(&module->shapes, inst_get(module, x)->shape, true, arena);
    Str wanted = shape_text(&written->shapes, inst_get(written, x)->shape, true, arena);
    ck_assert_msg(str_equal(inferred, wanted), "%s: %.*s, not %.*s", inst, (int)inferred.len,
                  inferred.data, (int)wanted.len, wanted.data);
    module_free(module);
    module_free(written);
  }
  arena_free(arena);
}
END_TEST

/* A nested instruction takes no attributes, so opcodes that need some cannot be nested. */
START_TEST(opcodes_without_required_attributes_nest) {
  const OpcodeCase *row = &opcode_cases[_i];
  Arena *arena = arena_new(NULL);
  bool needs_attrs = strpbrk(row->attrs, "!*") != NULL;
  Str opcode;
  piece_of(row->opcodes, ' ', 0, &opcode);
  if (!str_is(opcode, "ragged-dot")) {
    char *inst = instruction_of(opcode, row->shape, row->operands, "", -1, arena);
    check(arena_printf(arena, "(f32[4,4], %s) tuple(f, %s)", row->shape, inst),
          needs_attrs ? "" : NULL, arena);
  }
  arena_free(arena);
}
END_TEST

START_TEST(every_opcode_has_a_case) {
  for (int id = 0; id < NUM_OPCODES; id++) {
    bool is_found = false;
    for (int i = 0; i < NUM_CASES; i++) {
      Str opcode;
      for (int k = 0; piece_of(opcode_cases[i].opcodes, ' ', k, &opcode); k++) {
        is_found |= str_is(opcode, opcode_text((Opcode)id));
      }
    }
    ck_assert_msg(is_found, "%s", opcode_text((Opcode)id));
  }
}
END_TEST

/* ---- operands ---- */

static const char *const accepted_operands[] = {
    "f32[4,4] add(%f, %f)",
    "f32[4,4] add(f32[4,4] f, f32[4,4]{0,1} %f)", /* layouts need not agree */
    "f32[4,4] add(f32[<=4,4] f, f32[?,?] f)",
    "f32[4,4] add(/*a*/f/*b*/,/*c*/f/*d*/) // e",
    "f32[4,4]add(f,f)",
    "f32[4,4]\nadd\n(\nf\n,\nf\n)",
    "f32[4,4] add(f: , f:)", /* a colon belongs to a name */
    "f32[9] add(f, i)",      /* shapes are not compared */
    "f32[4,4] negate(p#0)",
    "f32[4,4] negate(f32[4,4] p # 0)",
    "(s32[], f32[4,4], s32[]) tuple(%p#1, p#0, p#1)",
    "f32[] negate(f32[] constant(2))",
    "f32[4,4] add(multiply(f, f), f)",
    "f32[4,4] add(f32[4,4] multiply(f32[4,4] f, negate(f)), abs(f))",
    "f32[4,4] add(f, f32[4,4] broadcast(f32[] constant(1)))",
    "(f32[], f32[]) tuple(s, f32[] parameter(18))",
    "(((f32[]))) tuple(tuple(tuple(s)))",
    "f32[4,4] negate(get-dimension-size)", /* a name that is an opcode's */
    "token[] after-all()",
    "token[] after-all( )",
};

START_TEST(operands_in_all_their_forms) {
  Arena *arena = arena_new(NULL);
  char *text =
      arena_printf(arena, COMPS "  get-dimension-size = f32[4,4] negate(f)\n  ROOT x = %s\n}",
                   accepted_operands[_i]);
  check_accepted(text, strlen(text), 0);
  arena_free(arena);
}
END_TEST

static const struct {
  const char *inst, *why;
} refused_insts[] = {
    {"f32[4,4] negate(nobody)", "operand 'nobody' is not defined above"},
    {"f32[4,4] negate(x)", "operand 'x' is not defined above"},
    {"f32[4,4] negate(later)", "operand 'later' is not defined above"},
    {"f32[4,4] negate(a)", "operand 'a' is not defined above"}, /* of another computation */
    {"f32[4,4] negate(add)", ""}, /* a computation, or an opcode without operands */
    {"f32[4,4] negate(f32[4] f)", "operand is declared f32[4], but 'f' is f32[4,4]"},
    {"f32[4,4] negate(s32[4,4] f)", "operand is declared s32[4,4]"},
    {"s32[] negate(f32[4,4] p#1)", "operand is declared f32[4,4], but 'p#1' is s32[]"},
    {"f32[] negate((f32[4,4]) p)", "operand is declared (f32[4,4])"},
    {"f32[4,4] negate(p#2)", "'p' has 2 elements, '#2' is none of them"},
    {"f32[4,4] negate(p#-1)", "'p' has 2 elements"},
    {"f32[4,4] negate(f#0)", "'f' is no tuple"},
    {"f32[4,4] negate(p#1#0)", "'p#1' is no tuple"},
    {"f32[4,4] negate(nobody#0)", "operand 'nobody' is not defined above"},
    {"f32[4,4] negate(p#)", "an integer"},
    {"f32[4,4] negate(p#x)", "an integer"},
    {"f32[4,4] add(f f)", "',' or ')' after an operand"},
    {"f32[4,4] add(f, f", "',' or ')' after an operand"},
    {"f32[4,4] add f, f)", "'(' before the operands"},
    {"f32[4,4] add{f, f}", "'(' before the operands"},
    {"f32[4,4] negate(f32[])", ""},
    {"f32[4,4] negate(,)", ""},
    {"f32[4,4] add(f,)", ""},
    {"f32[4,4] negate(f32[4,4] reduce(f, s))", "lacks the attribute"},
    {"f32[4,4] negate(negate(f), dimensions={0})", ""},
    {"f32[4,4] negate(\"f\")", "an operand"},
    {"f32[4,4] negate(1)", "an operand"},
    {"f32[4,4] negate({f})", "an operand"},
    {"f32[4,4] negate(f32[4,4] nobody(f))", "'nobody'"},
    {"f32[] parameter()", "an integer"},
    {"f32[] parameter(-1)", "parameter numbers begin at 0"},
    {"f32[] parameter(x)", "an integer"},
    {"f32[] parameter(18", "')' to close"},
    {"f32[] parameter(3)", "parameter 3 is already defined"},
    {"f32[] parameter(19)", "the numbers have a gap"},
    {"f32[] parameter(18446744073709551616)", "64 bits"},

    /* opcodes */
    {"f32[4,4] Negate(f)", "unknown opcode 'Negate'"},
    {"f32[4,4] foo(f)", "unknown opcode 'foo'"},
    {"f32[4,4] foo-start(f)", "unknown opcode 'foo-start'"},
    {"f32[4,4] all-reduce-update(f)", "unknown opcode 'all-reduce-update'"},
    {"f32[4,4] send-start(f)", "unknown opcode 'send-start'"},
    {"f32[4,4] copy-update(f)", "unknown opcode 'copy-update'"},
    {"f32[4,4] -start(f)", "a number is expected"},
    {"f32[4,4] %negate(f)", "an opcode"},
    {"f32[4,4] negate: (f)", "an opcode"},
    {"f32[4,4] (f)", "an opcode"},
    {"f32[4,4]", "'later'"},
    {"\"f32[4,4]\"", "an opcode"},
    {"", "'later'"},
    {"f32[4,4] negate(f) dimensions={0}", "attribute"},
    {"f32[4,4] negate(f), ", "an attribute after ','"},
    {"f32[4,4] negate(f), , metadata={}", "an attribute after ','"},
    {"f32[4,4] negate(f); ", "found '"},

    /* rules of single opcodes */
    {"f32[4] tuple(s)", "has the shape"},
    {"(f32[], f32[]) tuple(s)", "has the shape"},
    {"f32[5] reshape(f)", "keeps the number of elements"},
    {"(f32[16]) reshape(f)", "keeps the number of elements"},
    {"f32[<=5] dynamic-reshape(f, i)", "keeps the number of elements"},
    {"f32[4,<=4] dynamic-reshape(f, i)", "one size for each dimension"},
    {"f32[2,2] dynamic-slice(f, i), dynamic_slice_sizes={2,2}", "one start index"},
    {"f32[2,2] dynamic-slice(f, i, i, i), dynamic_slice_sizes={2,2}", "one start index"},
    {"f32[2,2] dynamic-slice(), dynamic_slice_sizes={2,2}", "lacks operands"},
    {"f32[4,4] dynamic-update-slice(f)", "lacks operands"},
    {"f32[4,4] dynamic-update-slice(f, up, i)", "one start index"},
    {"f32[4] reduce(f, s, s), dimensions={1}, to_apply=add", "even number of operands"},
    {"f32[4] reduce-window(), to_apply=add", "even number of operands"},
    {"f32[4,4] scatter(f, ix, up, up), update_window_dims={}, inserted_window_dims={}, "
     "scatter_dims_to_operand_dims={}, index_vector_dim=1, to_apply=add",
     "odd number of operands"},
    {"f32[4,4] dot(f), lhs_contracting_dims={1}", "at least 2 operands"},
    {"f32[4,4] sort(f), dimensions={0,1}, to_apply=lt", "takes one dimension"},
    {"f32[8,4] concatenate(f, f), dimensions={}", "takes one dimension"},
    {"f32[4,4] all-to-all(f), dimensions={0,1}", "takes one dimension"},
    {"s32[] get-dimension-size(f), dimensions={}", "takes one dimension"},
    {"f32[4,4] all-reduce(f), use_global_device_ids=true, to_apply=add", "needs a channel_id"},
    {"f32[4,4] collective-permute(f), source_target_pairs={{0,1}}, slice_sizes={{1}}",
     "takes 4 operands"},
    {"pred[4,4] compare(f, f), direction=LT, type=FLOAT, order=TOTAL", "not both"},
    {"f32[4,4] conditional(), branch_computations={neg}", "an operand to decide on"},
    {"f32[4,4] conditional(f, f), branch_computations={neg}", "scalar of type pred or s32"},
    {"f32[4,4] conditional(s, f), branch_computations={neg}", "scalar of type pred or s32"},
    {"f32[4,4] conditional(k, f), branch_computations={neg}", "true_computation"},
    {"f32[4,4] conditional(i, f, f), true_computation=neg, false_computation=neg",
     "branch_computations"},
    {"f32[4,4] conditional(i, f, f), branch_computations={neg}", "1 branches and 2 operands"},
    {"f32[4,4] conditional(i), branch_computations={}", "at least one branch"},
    {"token[] send-done(sd), channel_id=9", "another channel_id"},
    {"(f32[4,4], token[]) recv-done(f), channel_id=8", "takes a tuple"},
    {"f32[4,4] recv(t), channel_id=1", "non-empty tuple"},
    {"() infeed(t)", "non-empty tuple"},
    {"f32[] partition-id()", "has the shape u32[]"},
    {"u32[1] replica-id()", "has the shape u32[]"},
    {"(f32[], f32[4]) scan(s), dimensions={0}, num_carries=1, to_apply=step", "1 operands"},
    {"(f32[], f32[4]) scan(s, v), dimensions={0}, num_carries=3, to_apply=step",
     "fewer operands than carries"},
    {"(f32[], f32[4]) scan(s, v), dimensions={0}, num_carries=-1, to_apply=step",
     "negative number"},
    {"f32[4,4] opt-barrier(f), metadata={}, metadata={}", "given twice"},
};

START_TEST(refused_instructions_say_why) {
  Arena *arena = arena_new(NULL);
  char *text = arena_printf(arena, COMPS "  ROOT x = %s\n  later = f32[] negate(s)\n}\n",
                            refused_insts[_i].inst);
  check_refused(text, strlen(text), refused_insts[_i].why);
  arena_free(arena);
}
END_TEST

/* What XLA drops in silence: the operand that it could not read. */
static const struct {
  const char *inst;
  uint32_t num_operands;
} dropped[] = {
    {"(f32[4,4]) tuple(f,)", 1},
    {"f32[4,4] negate(,f)", 1},
    {"f32[4,4] negate(f,)", 1},
    {"f32[] custom-call(,f), custom_call_target=\"t\"", 1},
    {"f32[] custom-call(f, f32[2]), custom_call_target=\"t\"", 1},
    {"f32[] custom-call(f32[2,2] broadcast(f), s), custom_call_target=\"t\"", 1},
    {"f32[] custom-call(,,,), custom_call_target=\"t\"", 0},
};

START_TEST(dropped_operands_are_warned_about) {
  Arena *arena = arena_new(NULL);
  char *text = module_of(dropped[_i].inst, arena);
  check_accepted(text, strlen(text), 1);
  Module *module = parse_or_fail(text);
  InstId root = comp_get(module, module->entry)->root;
  ck_assert_uint_eq(inst_get(module, root)->num_operands, dropped[_i].num_operands);
  module_free(module);
  arena_free(arena);
}
END_TEST

/* They nest no deeper for being many. */
START_TEST(many_operands_are_dropped) {
  char text[2000] = "ENTRY e { ROOT x = f32[] custom-call(";
  memset(text + strlen(text), ',', 1000);
  strcat(text, "), custom_call_target=\"t\" }");
  check_accepted(text, strlen(text), 1);
}
END_TEST

START_TEST(compact_elements_are_shared) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e { p = (f32[], (s32[], pred[])) parameter(0)\n"
      " a = f32[] negate(p#0)\n b = s32[] negate(p#1#0)\n"
      " ROOT t = (f32[], s32[], pred[]) tuple(p#0, p#1#0, %p#1#1) }");
  ck_assert(module->source->uses_compact_gte);
  ck_assert_uint_eq(module_num_instructions(module), 8);
  InstId first = find_inst(module, "p#0"), t = find_inst(module, "t");
  InstId second = find_inst(module, "p#1"), third = find_inst(module, "p#1#0");
  ck_assert_uint_eq(inst_get(module, first)->opcode, OPCODE_GET_TUPLE_ELEMENT);
  ck_assert_uint_eq(inst_get(module, first)->flags, INST_COMPACT_GTE);
  ck_assert_uint_eq(inst_get(module, first)->users.len, 2);
  ck_assert_uint_eq(inst_operand(module, t, 0), first);
  ck_assert_uint_eq(inst_operand(module, third, 0), second);
  ck_assert_int_eq(inst_get(module, second)->index, 1);
  ck_assert_int_eq(inst_get(module, third)->index, 0);
  ck_assert_uint_eq(inst_shape(module, third)->type, TYPE_S32);
  module_free(module);
}
END_TEST

START_TEST(nested_operands_stand_before_their_user) {
  Module *module = parse_or_fail(
      "HloModule m\nENTRY e { p = f32[] parameter(0)\n"
      " ROOT a = f32[] add(multiply(p, f32[] constant(2)), multiply(p, p)) }");
  static const char *const names[] = {"p", "constant.anon", "multiply.anon", "multiply.anon.1",
                                      "a"};
  ck_assert_uint_eq(comp_num_insts(module, module->entry), 5);
  ck_assert(!module->source->uses_compact_gte);
  for (uint32_t i = 0; i < 5; i++) {
    InstId id = comp_inst(module, module->entry, i);
    bool is_nested = i > 0 && i < 4;
    ck_assert_int_eq((inst_get(module, id)->flags & INST_NESTED) != 0, is_nested);
    if (!is_nested) ck_assert_uint_eq(id, find_inst(module, names[i]));
  }
  InstId a = find_inst(module, "a");
  ck_assert_uint_eq(inst_operand(module, a, 0), comp_inst(module, module->entry, 2));
  ck_assert_uint_eq(inst_operand(module, a, 1), comp_inst(module, module->entry, 3));
  module_free(module);
}
END_TEST

/* XLA makes a tuple of what is sent, and dies on a layout that does not fit. */
START_TEST(what_is_sent_has_a_valid_shape) {
  static const char text[] =
      "HloModule m\nENTRY e { p = f32[2]{5} parameter(0)\n t = token[] after-all()\n"
      "ROOT s = (f32[2], u32[], token[]) send(p, t), channel_id=1 }\n";
  check_refused(text, sizeof text - 1, "what send takes is invalid");
}
END_TEST

/* XLA dies on an element that is not there; a wrong shape is for its verifier. */
START_TEST(elements_of_tuples_must_be_there) {
  static const struct {
    const char *inst;
    const char *why; /* NULL = accepted */
  } cases[] = {{"f32[3] get-tuple-element(t), index=1", NULL},
               {"f32[] get-tuple-element(p), index=5", NULL},
               {"f32[] get-tuple-element(t), index=2", "element 2 of a tuple of 2"},
               {"f32[] get-tuple-element(t), index=-1", "element -1 of a tuple of 2"},
               {"get-tuple-element(t), index=2", "element 2 of a tuple of 2"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    int length = snprintf(text, sizeof text,
                          "HloModule m\nENTRY e { p = f32[] parameter(0)\n"
                          "t = (f32[], f32[]) tuple(p, p)\n ROOT g = %s }\n",
                          cases[i].inst);
    if (cases[i].why) {
      check_refused(text, (size_t)length, cases[i].why);
    } else {
      check_accepted(text, (size_t)length, 0);
    }
  }
}
END_TEST

/* One flag an array, whatever the opcode; an empty tuple has none. */
START_TEST(replication_flags_are_counted) {
  static const struct {
    const char *inst;
    const char *why; /* NULL = accepted */
  } cases[] = {
      {"(f32[], s32[]) parameter(0), parameter_replication={true,false}", NULL},
      {"() parameter(0), parameter_replication={}", NULL},
      {"() parameter(0), parameter_replication={true}", "1 flags, the shape has 0 arrays"},
      {"f32[] parameter(0), parameter_replication={}", "0 flags, the shape has 1 arrays"},
      {"f32[] constant(1), parameter_replication={true}", "belongs to parameters"},
      /* XLA makes the literal and dies; elsewhere it does not look. */
      {"f32[2,2]{1,1} constant({...})", "no literal has this shape"},
      {"f32[2,2]{1,1} parameter(0)", NULL},
      {"s32[]{:T()} constant(1)", "empty tile"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    int length =
        snprintf(text, sizeof text, "HloModule m\nENTRY e { ROOT g = %s }\n", cases[i].inst);
    if (cases[i].why) {
      check_refused(text, (size_t)length, cases[i].why);
    } else {
      check_accepted(text, (size_t)length, 0);
    }
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("parse_instruction");
  TCase *tc = tcase_create("opcodes");
  tcase_set_timeout(tc, 60); /* the sanitizers are slow */
  tcase_add_loop_test(tc, each_opcode_takes_its_attributes, 0, NUM_CASES);
  tcase_add_loop_test(tc, each_opcode_takes_no_other_attributes, 0, NUM_CASES);
  tcase_add_loop_test(tc, each_opcode_takes_its_number_of_operands, 0, NUM_CASES);
  tcase_add_loop_test(tc, each_opcode_needs_its_shape_or_not, 0, NUM_CASES);
  tcase_add_loop_test(tc, opcodes_without_required_attributes_nest, 0, NUM_CASES);
  tcase_add_test(tc, every_opcode_has_a_case);
  tcase_add_test(tc, elements_of_tuples_must_be_there);
  tcase_add_test(tc, replication_flags_are_counted);
  tcase_add_test(tc, what_is_sent_has_a_valid_shape);
  suite_add_tcase(suite, tc);
  tc = tcase_create("operands");
  tcase_add_loop_test(tc, operands_in_all_their_forms, 0,
                      sizeof accepted_operands / sizeof *accepted_operands);
  tcase_add_loop_test(tc, refused_instructions_say_why, 0,
                      sizeof refused_insts / sizeof *refused_insts);
  tcase_add_loop_test(tc, dropped_operands_are_warned_about, 0, sizeof dropped / sizeof *dropped);
  tcase_add_test(tc, many_operands_are_dropped);
  tcase_add_test(tc, compact_elements_are_shared);
  tcase_add_test(tc, nested_operands_stand_before_their_user);
  suite_add_tcase(suite, tc);
  return run_suite(suite);
}
