#include "analysis/flow/literal.h"

#include "ir/chars.h"

#include "ir/bytes.h"

bool literal_integer(const Module *module, InstId constant, int64_t *value) {
  const Instruction *inst = inst_get(module, constant);
  if (inst->origin == NO_ID) { /* a rewrite made it */
    *value = inst->index;
    return true;
  }
  if (inst->flags & INST_ELIDED_LITERAL || inst->origin >= module->source->insts.len) return false;
  const InstSource *source = &module->source->insts.data[inst->origin];
  const char *p = module->source->text + source->paren + 1;
  const char *end = module->source->text + source->close;
  while (p < end && strchr(" \t\r\n{", *p))
    p++;
  while (end > p && strchr(" \t\r\n}", end[-1]))
    end--;
  Str text = {p, (uint32_t)(end - p)};
  if (str_is(text, "true") || str_is(text, "false")) {
    *value = str_is(text, "true");
    return true;
  }
  bool is_negative = p < end && *p == '-';
  if (is_negative) p++;
  if (p == end) return false;
  for (*value = 0; p < end; p++) {
    if (*p < '0' || *p > '9' || !mul_bytes(*value, 10, value)) return false;
    if (!add_bytes(*value, is_negative ? '0' - *p : *p - '0', value)) return false;
  }
  return true;
}

/* Reads the digits of a decimal number without its sign as an integer, and the power of ten by
 * which that is to be multiplied. */
static bool read_decimal(Str text, uint64_t *digits, int *exponent) {
  uint32_t pos = 0;
  bool has_point = false;
  *digits = 0;
  *exponent = 0;
  for (; pos < text.len && (char_is_digit(text.data[pos]) || text.data[pos] == '.'); pos++) {
    if (text.data[pos] == '.') {
      if (has_point) return false;
      has_point = true;
      continue;
    }
    uint64_t next;
    if (__builtin_mul_overflow(*digits, (uint64_t)10, &next) ||
        __builtin_add_overflow(next, (uint64_t)(text.data[pos] - '0'), &next))
      return false;
    *digits = next;
    *exponent -= has_point;
  }
  if (pos == text.len) return pos > 0;
  if (text.data[pos] != 'e') return false;
  pos++;
  bool is_negative = pos < text.len && text.data[pos] == '-';
  if (pos < text.len && (text.data[pos] == '-' || text.data[pos] == '+')) pos++;
  int power = 0;
  for (; pos < text.len && char_is_digit(text.data[pos]) && power < 1000; pos++)
    power = power * 10 + (text.data[pos] - '0');
  *exponent += is_negative ? -power : power;
  return pos == text.len;
}

bool literal_is_power_of_two(const Module *module, InstId constant) {
  InstId origin = inst_get(module, constant)->origin;
  if (inst_get(module, constant)->opcode != OPCODE_CONSTANT || origin == NO_ID ||
      inst_get(module, constant)->flags & INST_ELIDED_LITERAL)
    return false;
  const InstSource *source = &module->source->insts.data[origin];
  Str text = module_span(module, (Span){source->paren + 1, source->close});
  if (text.len && text.data[0] == '-') text = (Str){text.data + 1, text.len - 1};
  uint64_t digits;
  int exponent;
  if (!read_decimal(text, &digits, &exponent) || digits == 0) return false;
  /* digits * 10^exponent is digits * 5^exponent times a power of two. */
  for (; exponent < 0; exponent++) {
    if (digits % 5) return false;
    digits /= 5;
  }
  return exponent == 0 && (digits & (digits - 1)) == 0;
}

bool literal_is_nan(const Module *module, InstId constant) {
  InstId origin = inst_get(module, constant)->origin;
  if (inst_get(module, constant)->opcode != OPCODE_CONSTANT || origin == NO_ID) return false;
  const InstSource *source = &module->source->insts.data[origin];
  Str text = module_span(module, (Span){source->paren + 1, source->close});
  for (uint32_t i = 0; i + 3 <= text.len; i++) {
    if (memcmp(text.data + i, "nan", 3) == 0) return true;
  }
  return false;
}
