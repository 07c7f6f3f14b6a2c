#include "remat/rewrite/fuse_chains.h"

#include "analysis/flow/call_graph.h"
#include "analysis/flow/traverse.h"

/* An instruction that more fusions read is not repeated. MAX_FUSED: larger ones take long to
 * compile, so that XLA does not make them either. */
enum { MAX_GROUPS = 8, MAX_FUSED = 256 };

/* The fusions that an instruction becomes a part of, by the instruction that each of them ends in.
 */
typedef struct Groups {
  InstId ends[MAX_GROUPS];
  uint32_t len;
} Groups;

typedef enum Role {
  ROLE_NONE,
  ROLE_VIEW, /* it moves elements, and goes along with what reads it */
  ROLE_ELEMENTWISE,
  ROLE_REDUCTION,
} Role;

typedef struct Chains {
  Rewrite *rewrite;
  Groups *of;      /* by InstId */
  uint32_t *sizes; /* by InstId of an end: how many instructions its fusion has */
  IdVec *members;  /* by InstId of an end: they, operands before users */
  /* for the fusion that is being made, by InstId: its copy or parameter, valid if the stamp is that
   * of the fusion */
  InstId *images;
  uint32_t *stamps;
  uint32_t *visited;  /* for inst_post_order() */
  uint32_t num_insts; /* when these arrays were made */
  uint32_t num_made;
  Arena *scratch;
} Chains;

/* ---- what may be fused ---- */

static bool is_small(const Module *module, InstId id) {
  return shape_is_effective_scalar(inst_shape(module, id));
}

/* Whether a scalar, or an array that is made of nothing but one, so that each fusion makes its own.
 */
static bool is_made_of_scalar(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst_has_control(module, id)) return false;
  if (inst->opcode == OPCODE_IOTA) return true;
  if (inst->opcode == OPCODE_CONSTANT) return is_small(module, id);
  return inst->opcode == OPCODE_BROADCAST && is_small(module, inst_operand(module, id, 0));
}

/* A constraint of a sharding, which is gone when XLA fuses. */
static bool is_sharding(const Module *module, InstId id) {
  return inst_get(module, id)->opcode == OPCODE_CUSTOM_CALL &&
         str_is(inst_attr_string(module, id, ATTR_CUSTOM_CALL_TARGET), "Sharding");
}

static Role role_of(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  const Shape *shape = inst_shape(module, id);
  if (!shape_is_array(shape) || shape->has_dynamic || inst_has_control(module, id))
    return ROLE_NONE;
  switch (inst->opcode) {
    case OPCODE_REDUCE: return inst->num_operands == 2 ? ROLE_REDUCTION : ROLE_NONE;
    case OPCODE_BROADCAST:
    case OPCODE_IOTA:
    case OPCODE_SLICE: return ROLE_VIEW;
    case OPCODE_RESHAPE: {
      Opcode of = (Opcode)inst_get(module, inst_operand(module, id, 0))->opcode;
      return of == OPCODE_DYNAMIC_SLICE ? ROLE_NONE : ROLE_VIEW;
    }
    case OPCODE_CUSTOM_CALL: return is_sharding(module, id) ? ROLE_VIEW : ROLE_NONE;
    case OPCODE_COPY: return ROLE_NONE;
    default: break;
  }
  bool is_elementwise = opcode_has((Opcode)inst->opcode, OPF_ELEMENTWISE) && inst->num_operands > 0;
  return is_elementwise && inst->num_callees == 0 && !is_small(module, id) ? ROLE_ELEMENTWISE
                                                                           : ROLE_NONE;
}

/* The bytes that an instruction reads of an operand if the two are in one fusion. */
static int64_t bytes_read(const Module *module, InstId operand) {
  const Instruction *inst = inst_get(module, operand);
  if (is_made_of_scalar(module, operand)) return 0;
  bool is_spread = inst->opcode == OPCODE_BROADCAST;
  return inst_shape(module, is_spread ? inst_operand(module, operand, 0) : operand)->bytes;
}

/* Whether to compute the instruction where it is read takes no more reads than to read it. A fourth
 * is allowed, for masks. */
static bool is_cheap(const Module *module, InstId id) {
  Opcode opcode = (Opcode)inst_get(module, id)->opcode;
  if (role_of(module, id) == ROLE_VIEW) return true;
  bool is_slow = opcode_has(opcode, OPF_TRANSCENDENTAL) || opcode == OPCODE_DIVIDE ||
                 opcode == OPCODE_REMAINDER || role_of(module, id) != ROLE_ELEMENTWISE;
  if (is_slow) return false;
  int64_t read = 0, written = inst_shape(module, id)->bytes;
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++)
    read += bytes_read(module, inst_operand(module, id, i));
  return read <= written + written / 4;
}

/* ---- grouping ---- */

static bool add_end(Groups *groups, InstId end) {
  for (uint32_t i = 0; i < groups->len; i++) {
    if (groups->ends[i] == end) return true;
  }
  if (groups->len == MAX_GROUPS) return false;
  groups->ends[groups->len++] = end;
  return true;
}

/* Collects the fusions of all users; false if there are too many, or a user is in none. */
static bool collect_users(const Chains *chains, InstId id, Groups *all) {
  const Module *module = chains->rewrite->module;
  const Instruction *inst = inst_get(module, id);
  if (inst_is_root(module, id) || inst->users.len == 0) return false;
  for (uint32_t i = 0; i < inst->users.len; i++) {
    InstId user = inst_users(module, id)[i];
    const Groups *groups = &chains->of[user];
    if (groups->len == 0) return false;
    if (inst_get(module, user)->opcode == OPCODE_REDUCE && inst_operand(module, user, 1) == id)
      return false;
    for (uint32_t k = 0; k < groups->len; k++) {
      if (!add_end(all, groups->ends[k])) return false;
    }
  }
  return true;
}

static void group(Chains *chains, InstId id) {
  const Module *module = chains->rewrite->module;
  Role role = role_of(module, id);
  if (role == ROLE_NONE) return;
  Groups users = {.len = 0};
  bool joins = role != ROLE_REDUCTION && collect_users(chains, id, &users) &&
               (users.len == 1 || is_cheap(module, id));
  for (uint32_t i = 0; joins && i < users.len; i++)
    joins = chains->sizes[users.ends[i]] < MAX_FUSED;
  if (joins) {
    chains->of[id] = users;
    for (uint32_t i = 0; i < users.len; i++)
      chains->sizes[users.ends[i]]++;
  } else if (role != ROLE_VIEW) {
    chains->of[id] = (Groups){.ends = {id}, .len = 1};
    chains->sizes[id] = 1;
  }
}

/* ---- making fusions ---- */

typedef struct Fused {
  CompId comp;
  IdVec operands; /* what the parameters stand for */
} Fused;

static void set_image(Chains *chains, InstId id, InstId image) {
  chains->images[id] = image;
  chains->stamps[id] = chains->num_made;
}

static Str fresh_name(Rewrite *rewrite, const char *stem) {
  return name_unique(&rewrite->inst_names, str_make(stem, strlen(stem)));
}

static InstId add_param(Chains *chains, Fused *fused, InstId operand) {
  Rewrite *rewrite = chains->rewrite;
  Module *module = rewrite->module;
  InstSpec spec = {.opcode = OPCODE_PARAMETER,
                   .name = fresh_name(rewrite, "param"),
                   .shape = inst_get(module, operand)->shape,
                   .index = fused->operands.len};
  InstId param = module_add_inst(module, fused->comp, &spec);
  comp_push_param(module, fused->comp, param);
  *vec_push(chains->scratch, &fused->operands) = operand;
  return param;
}

/* A copy under a name of its own of what is made of a scalar. */
static InstId copy_free(Chains *chains, Fused *fused, InstId id);

/* What a member of the fusion reads instead of `operand`. */
static InstId image_of(Chains *chains, Fused *fused, InstId operand) {
  /* What was made after the arrays is a fusion, which has an entry by what it has replaced. */
  bool is_known = operand < chains->num_insts;
  if (is_known && chains->stamps[operand] == chains->num_made) return chains->images[operand];
  if (!is_known) {
    for (uint32_t i = 0; i < fused->operands.len; i++) {
      if (fused->operands.data[i] == operand)
        return id_list(chains->rewrite->module,
                       comp_get(chains->rewrite->module, fused->comp)->params)[i];
    }
    return add_param(chains, fused, operand);
  }
  InstId image = is_made_of_scalar(chains->rewrite->module, operand)
                     ? copy_free(chains, fused, operand)
                     : add_param(chains, fused, operand);
  set_image(chains, operand, image);
  return image;
}

static InstId copy_free(Chains *chains, Fused *fused, InstId id) {
  Module *module = chains->rewrite->module;
  InstId operand = NO_ID;
  if (inst_get(module, id)->opcode == OPCODE_BROADCAST)
    operand = image_of(chains, fused, inst_operand(module, id, 0));
  Str name = name_unique(&chains->rewrite->inst_names, inst_name(module, id));
  return module_clone_inst(module, id, name, fused->comp, operand == NO_ID ? NULL : &operand);
}

static void add_member(Chains *chains, Fused *fused, InstId id) {
  Module *module = chains->rewrite->module;
  uint32_t num_operands = inst_get(module, id)->num_operands;
  InstId *read = arena_array(chains->scratch, InstId, num_operands);
  for (uint32_t i = 0; i < num_operands; i++)
    read[i] = image_of(chains, fused, inst_operand(module, id, i));
  Str name = inst_name(module, id);
  if (chains->of[id].len > 1) name = name_unique(&chains->rewrite->inst_names, name);
  set_image(chains, id, module_clone_inst(module, id, name, fused->comp, read));
}

/* A single instruction is no fusion, unless it reads what is made of a scalar. */
static bool is_worth_it(const Module *module, const IdVec *members) {
  if (members->len > 1) return true;
  InstId id = members->data[0];
  for (uint32_t i = 0; i < inst_get(module, id)->num_operands; i++) {
    InstId operand = inst_operand(module, id, i);
    if (is_made_of_scalar(module, operand) && !is_small(module, operand)) return true;
  }
  return false;
}

/* `members`: in an order in which operands come before users; the last one is the end. */
static void make_fusion(Chains *chains, const IdVec *members) {
  Rewrite *rewrite = chains->rewrite;
  Module *module = rewrite->module;
  InstId end = members->data[members->len - 1];
  chains->num_made++;
  Str stem = str_make("fused_computation", strlen("fused_computation"));
  Fused fused = {.comp = module_add_comp(module, name_unique(&rewrite->comp_names, stem), NO_ID)};
  CompId parent = inst_get(module, end)->parent;
  comp_get(module, fused.comp)->thread = comp_get(module, parent)->thread;
  for (uint32_t i = 0; i < members->len; i++)
    add_member(chains, &fused, members->data[i]);
  comp_get(module, fused.comp)->root = chains->images[end];
  InstSpec spec = {
      .opcode = OPCODE_FUSION,
      .name = name_unique(&rewrite->inst_names,
                          name_with_suffix(inst_name(module, end), "fused", module->arena)),
      .shape = inst_get(module, end)->shape,
      .operands = fused.operands.data,
      .num_operands = fused.operands.len,
      .callees = &fused.comp,
      .num_callees = 1};
  InstId fusion = module_add_inst(module, parent, &spec);
  rewrite_replace_all_uses(rewrite, end, fusion, chains->scratch);
}

static void fuse_comp(Chains *chains, CompId comp) {
  Module *module = chains->rewrite->module;
  Sequence order = inst_post_order(module, comp, chains->visited, chains->scratch, chains->scratch);
  for (uint32_t i = order.len; i-- > 0;)
    group(chains, order.ids[i]);
  for (uint32_t i = 0; i < order.len; i++) {
    const Groups *groups = &chains->of[order.ids[i]];
    for (uint32_t k = 0; k < groups->len; k++)
      *vec_push(chains->scratch, &chains->members[groups->ends[k]]) = order.ids[i];
  }
  for (uint32_t i = 0; i < order.len; i++) {
    const IdVec *own = &chains->members[order.ids[i]];
    if (own->len && is_worth_it(module, own)) make_fusion(chains, own);
  }
}

uint32_t fuse_chains(Rewrite *rewrite, Arena *scratch) {
  Module *module = rewrite->module;
  Arena *arena = arena_new(arena_options(scratch));
  CallGraph graph = call_graph_build(module, arena, scratch);
  uint32_t num_insts = module->insts.len;
  Chains chains = {.rewrite = rewrite,
                   .of = arena_zarray(arena, Groups, num_insts),
                   .sizes = arena_zarray(arena, uint32_t, num_insts),
                   .members = arena_zarray(arena, IdVec, num_insts),
                   .visited = arena_zarray(arena, uint32_t, num_insts),
                   .images = arena_array(arena, InstId, num_insts),
                   .stamps = arena_zarray(arena, uint32_t, num_insts),
                   .num_insts = num_insts,
                   .scratch = arena};
  for (uint32_t i = 0; i < graph.num_reachable; i++) {
    CompId comp = graph.post_order[i];
    if (comp_is_sequential(&graph, comp) && !comp_is_started(module, &graph, comp))
      fuse_comp(&chains, comp);
  }
  arena_free(arena);
  return chains.num_made;
}
