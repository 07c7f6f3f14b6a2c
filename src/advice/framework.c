#include "advice/framework.h"

#include "ir/attribute.h"

const char *framework_name(Framework framework) {
  switch (framework) {
    case FRAMEWORK_JAX: return "jax";
    case FRAMEWORK_PYTORCH: return "pytorch";
    case FRAMEWORK_TENSORFLOW: return "tensorflow";
    default: return "unknown";
  }
}

static Framework framework_of_inst(const Module *module, InstId id) {
  const Metadata *metadata = inst_metadata(module, id);
  if (!metadata) return FRAMEWORK_UNKNOWN;
  Str name = module_span(module, metadata->op_name), type = module_span(module, metadata->op_type);
  if (str_begins_with(type, "aten__") || str_begins_with(type, "xla__")) return FRAMEWORK_PYTORCH;
  if (str_begins_with(name, "jit(") || str_begins_with(name, "pmap(")) return FRAMEWORK_JAX;
  bool has_type = type.len && type.data[0] >= 'A' && type.data[0] <= 'Z';
  return has_type ? FRAMEWORK_TENSORFLOW : FRAMEWORK_UNKNOWN;
}

Framework framework_of(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    Framework framework = framework_of_inst(module, id);
    if (framework != FRAMEWORK_UNKNOWN) return framework;
  }
  return FRAMEWORK_UNKNOWN;
}

/* The last part of a qualified name: `block` of `gpt.<locals>.block`. */
static Str own_name(Str function, const char *otherwise) {
  uint32_t begin = 0;
  for (uint32_t i = 0; i < function.len; i++) {
    if (function.data[i] == '.') begin = i + 1;
  }
  Str name = {function.data + begin, function.len - begin};
  bool is_name = name.len && name.data[0] != '<';
  return is_name ? name : str_make(otherwise, strlen(otherwise));
}

const char *framework_checkpoint(Framework framework, Str function, const char *policy,
                                 Arena *out) {
  bool is_lambda = str_contains(function, "<lambda>");
  Str name = own_name(function, is_lambda ? "lambda …" : "f");
  int len = (int)name.len;
  switch (framework) {
    case FRAMEWORK_PYTORCH:
      return arena_printf(out, "torch_xla.utils.checkpoint.checkpoint(%.*s, x)", len, name.data);
    case FRAMEWORK_TENSORFLOW: return arena_printf(out, "tf.recompute_grad(%.*s)", len, name.data);
    default: break;
  }
  if (!policy) return arena_printf(out, "jax.checkpoint(%.*s)", len, name.data);
  return arena_printf(out, "jax.checkpoint(%.*s, policy=jax.checkpoint_policies.%s)", len,
                      name.data, policy);
}

bool framework_has_flax(const Module *module) {
  for (uint32_t i = 0; i < module->source->file_names.len; i++) {
    Str file = module_span(module, module->source->file_names.data[i]);
    if (str_contains(file, "/flax/")) return true;
  }
  return false;
}

/* The part before `.__call__`, or the last part of a scope without its number. */
static Str class_name(Str function, Str scope) {
  static const char suffix[] = ".__call__";
  Str name = function.len ? function : scope;
  uint32_t length = sizeof suffix - 1, begin = 0;
  bool is_call =
      function.len > length && memcmp(function.data + function.len - length, suffix, length) == 0;
  if (function.len && !is_call) return (Str){0};
  if (is_call) name.len -= length;
  for (uint32_t i = 0; i < name.len; i++) {
    if (name.data[i] == '.' || name.data[i] == '/') begin = i + 1;
  }
  name = (Str){name.data + begin, name.len - begin};
  while (name.len && (name.data[name.len - 1] == '*' || name.data[name.len - 1] == '_'))
    name.len--;
  return name;
}

const char *framework_flax_remat(Str function, Str scope, const char *policy, Arena *out) {
  Str name = class_name(function, scope);
  if (!name.len) return "";
  int len = (int)name.len;
  if (!policy) return arena_printf(out, "nn.remat(%.*s)", len, name.data);
  return arena_printf(out, "nn.remat(%.*s, policy=jax.checkpoint_policies.%s)", len, name.data,
                      policy);
}
