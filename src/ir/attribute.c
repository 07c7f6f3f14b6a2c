#include "ir/attribute.h"

static const AttrInfo attr_infos[NUM_ATTRS] = {
#define ATTR(id, text, kind) [ATTR_##id] = {text, ATTR_KIND_##kind},
#include "ir/attrs.def"
};

const AttrInfo *attribute_info(AttrId id) {
  return &attr_infos[id];
}

typedef struct EnumWords {
  uint8_t kind;
  bool ignores_case;
  const char *const *words;
} EnumWords;

#define WORDS(...)        \
  (const char *const[]) { \
    __VA_ARGS__, NULL     \
  }

/* The words that XLA's parser accepts: xla_data.proto, comparison_util.cc, hlo_instruction.cc.
 * Those that messages have are in the order of their numbers; of versions of an API the first is 1.
 * API_VERSION_UNSPECIFIED is one that XLA prints and its parser refuses. */
static const EnumWords enum_words[] = {
    {ATTR_KIND_API_VERSION, true,
     WORDS("API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
           "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI",
           "API_VERSION_UNSPECIFIED")},
    {ATTR_KIND_COLLECTIVE_MODE, false,
     WORDS("cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id")},
    {ATTR_KIND_COMPARISON_DIRECTION, false, WORDS("EQ", "NE", "GE", "GT", "LE", "LT")},
    {ATTR_KIND_COMPARISON_ORDER, false, WORDS("TOTAL", "PARTIAL")},
    {ATTR_KIND_COMPARISON_TYPE, false, WORDS("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")},
    {ATTR_KIND_CONVOLUTION_KIND, false, WORDS("unset", "fprop", "wgrad", "dgrad")},
    {ATTR_KIND_CUSTOM_CALL_SCHEDULE, true,
     WORDS("SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST")},
    {ATTR_KIND_DOT_ALGORITHM, true,
     WORDS("unset", "dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum", "dot_f16_f16_f16",
           "dot_f16_f16_f32", "dot_bf16_bf16_bf16", "dot_bf16_bf16_f32", "dot_bf16_bf16_f32_x3",
           "dot_bf16_bf16_f32_x6", "dot_tf32_tf32_f32", "dot_tf32_tf32_f32_x3", "dot_f32_f32_f32",
           "dot_f64_f64_f64", "dot_bf16_bf16_f32_x9")},
    {ATTR_KIND_FFT_TYPE, false, WORDS("FFT", "IFFT", "RFFT", "IRFFT")},
    {ATTR_KIND_FUSION_KIND, false, WORDS("kLoop", "kInput", "kOutput", "kCustom")},
    {ATTR_KIND_PADDING_TYPE, false, WORDS("PADDING_INVALID", "PADDING_VALID", "PADDING_SAME")},
    {ATTR_KIND_PRECISION, true, WORDS("default", "high", "highest")},
    {ATTR_KIND_RNG_ALGORITHM, true, WORDS("rng_default", "rng_three_fry", "rng_philox")},
    {ATTR_KIND_RNG_DISTRIBUTION, true, WORDS("rng_invalid", "rng_uniform", "rng_normal")},
    {ATTR_KIND_TRANSPOSE, false,
     WORDS("TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")},
};

const char *const *attribute_enum_words(AttrKind kind, bool *ignores_case) {
  for (size_t i = 0; i < sizeof enum_words / sizeof *enum_words; i++) {
    if (enum_words[i].kind == kind) {
      *ignores_case = enum_words[i].ignores_case;
      return enum_words[i].words;
    }
  }
  return NULL;
}

bool attribute_is_annotation(AttrId id) {
  switch (id) {
    case ATTR_CONTROL_PREDECESSORS:
    case ATTR_FRONTEND_ATTRIBUTES:
    case ATTR_METADATA:
    case ATTR_ORIGIN:
    case ATTR_PARAMETER_REPLICATION:
    case ATTR_SHARDING:
    case ATTR_STATISTICS: return true;
    default: return false;
  }
}

uint32_t alias_pair_read(const int64_t *ints, AliasPair *pair) {
  pair->output_len = (uint32_t)ints[0];
  pair->output = ints + 1;
  pair->operand = pair->output[pair->output_len];
  pair->input_len = (uint32_t)pair->output[pair->output_len + 1];
  pair->input = pair->output + pair->output_len + 2;
  return pair->output_len + pair->input_len + 3;
}
