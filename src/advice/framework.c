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

const char *framework_words(Framework framework, const char *jax, const char *pytorch,
                            const char *tensorflow) {
  switch (framework) {
    case FRAMEWORK_PYTORCH: return pytorch;
    case FRAMEWORK_TENSORFLOW: return tensorflow;
    default: return jax;
  }
}

static Framework framework_of_inst(const Module *module, InstId id) {
  const Metadata *metadata = inst_metadata(module, id);
  if (!metadata) return FRAMEWORK_UNKNOWN;
  Str name = module_span(module, metadata->op_name), type = module_span(module, metadata->op_type);
  if (str_begins_with(type, "aten__") || str_begins_with(type, "xla__") ||
      str_begins_with(name, "aten__") || str_begins_with(name, "xla__"))
    return FRAMEWORK_PYTORCH;
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

/* The last part of a qualified name, `block` of `gpt.<locals>.block`, or of a scope that stands for
 * several, `Network/block_*`. */
static Str own_name(Str function, const char *otherwise) {
  uint32_t begin = 0;
  for (uint32_t i = 0; i < function.len; i++) {
    if (function.data[i] == '.' || function.data[i] == '/') begin = i + 1;
  }
  Str name = {function.data + begin, function.len - begin};
  bool is_several = name.len && name.data[name.len - 1] == '*';
  if (is_several) name.len--;
  if (is_several && name.len && name.data[name.len - 1] == '_') name.len--;
  bool is_name = name.len && name.data[0] != '<';
  return is_name ? name : str_make(otherwise, strlen(otherwise));
}

/* ---- modules of libraries ---- */

Library framework_library(const Module *module) {
  static const struct {
    const char *folder;
    Library library;
  } known[] = {{"/flax/nnx/", LIBRARY_NNX},
               {"/flax/", LIBRARY_LINEN},
               {"/equinox/", LIBRARY_EQUINOX},
               {"/haiku/", LIBRARY_HAIKU}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    for (uint32_t i = 0; i < module->source->file_names.len; i++) {
      Str file = module_span(module, module->source->file_names.data[i]);
      if (str_contains(file, known[k].folder)) return known[k].library;
    }
  }
  return LIBRARY_NONE;
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

/* What a library's checkpoint goes around, and its name; NULL where JAX's own will do. */
static const char *library_checkpoint(Library library, Str function, Str scope, Arena *out,
                                      const char **target) {
  Str owner = class_name(function, scope), name = own_name(function, "f");
  bool is_method = function.len && owner.len;
  if (!function.len && owner.len) name = owner; /* an instance, by the name of its scope */
  *target = is_method ? arena_printf(out, "%.*s.__call__", (int)owner.len, owner.data)
                      : arena_printf(out, "%.*s", (int)name.len, name.data);
  switch (library) {
    case LIBRARY_LINEN:
      *target = arena_printf(out, "%.*s", (int)owner.len, owner.data);
      return owner.len ? "nn.remat" : NULL;
    case LIBRARY_NNX: return "nnx.remat";
    case LIBRARY_EQUINOX: return "eqx.filter_checkpoint";
    case LIBRARY_HAIKU:
      if (is_method) *target = arena_printf(out, "%.*s(…)", (int)owner.len, owner.data);
      return "hk.remat";
    default: return NULL;
  }
}

const char *framework_checkpoint(const Module *module, Framework framework, Str function, Str scope,
                                 const char *policy, Arena *out) {
  bool is_lambda = str_contains(function, "<lambda>");
  Str name = own_name(function.len ? function : scope, is_lambda ? "lambda …" : "f");
  const char *target = arena_printf(out, "%.*s", (int)name.len, name.data), *wrap = NULL;
  if (framework == FRAMEWORK_PYTORCH)
    return arena_printf(out, "torch_xla.utils.checkpoint.checkpoint(%s, x)", target);
  if (framework == FRAMEWORK_TENSORFLOW) return arena_printf(out, "tf.recompute_grad(%s)", target);
  const char *module_target = NULL;
  if (!is_lambda)
    wrap = library_checkpoint(framework_library(module), function, scope, out, &module_target);
  if (wrap) target = module_target;
  if (!wrap) wrap = "jax.checkpoint";
  if (!policy) return arena_printf(out, "%s(%s)", wrap, target);
  return arena_printf(out, "%s(%s, policy=jax.checkpoint_policies.%s)", wrap, target, policy);
}

const char *framework_scan(const char *checkpoint) {
  if (strncmp(checkpoint, "nn.", 3) == 0) return "nn.scan";
  if (strncmp(checkpoint, "nnx.", 4) == 0) return "nnx.scan";
  if (strncmp(checkpoint, "hk.", 3) == 0) return "hk.scan";
  return "jax.lax.scan";
}
