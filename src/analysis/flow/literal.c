#include "analysis/flow/literal.h"

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
