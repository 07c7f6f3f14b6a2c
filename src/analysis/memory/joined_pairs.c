#include "analysis/memory/joined_pairs.h"

/* ---- which ones ---- */

static bool is_collective(Opcode opcode) {
  return opcode_info(opcode)->flags & OPF_COLLECTIVE || opcode == OPCODE_COLLECTIVE_PERMUTE;
}

/* Whether an instruction begins a single collective over all parameters of what it calls. */
static bool begins_collective(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_ASYNC_START || inst->num_callees != 1) return false;
  CompId comp = inst_callees(module, id)[0];
  InstId root = comp_get(module, comp)->root;
  if (!is_collective((Opcode)inst_get(module, root)->opcode)) return false;
  for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
    InstId inner = comp_inst(module, comp, i);
    if (inner != root && inst_get(module, inner)->opcode != OPCODE_PARAMETER) return false;
  }
  return true;
}

/* AsyncCollectiveAnnotator notes where asynchronous execution is switched off. */
static bool is_marked(const Module *module, InstId start) {
  static const char mark[] = "\"is_sync\":true";
  Str config = inst_attr_text(module, start, ATTR_BACKEND_CONFIG);
  size_t length = sizeof mark - 1;
  for (size_t i = 0; i + length <= config.len; i++) {
    if (memcmp(config.data + i, mark, length) == 0) return true;
  }
  return false;
}

static bool is_no_work(Opcode opcode) {
  return opcode == OPCODE_PARAMETER || opcode == OPCODE_CONSTANT || opcode == OPCODE_BITCAST ||
         opcode == OPCODE_GET_TUPLE_ELEMENT;
}

typedef struct Pairs {
  IdVec dones;
} Pairs;

/* Marked pairs are gone before the others are looked for. */
static void find_pairs(const Module *module, Sequence order, bool *is_open, Pairs *pairs,
                       Arena *scratch) {
  IdVec open = {0};
  for (SchedPos pos = 0; pos < order.len; pos++) {
    InstId id = order.ids[pos];
    Opcode opcode = (Opcode)inst_get(module, id)->opcode;
    bool is_done = opcode == OPCODE_ASYNC_DONE;
    InstId start = is_done ? inst_operand(module, id, 0) : id;
    if (begins_collective(module, start)) {
      bool is_joined = is_done && (is_open[start] || is_marked(module, start));
      if (is_joined) *vec_push(scratch, &pairs->dones) = id;
      if (!is_done && !is_marked(module, start)) {
        is_open[start] = true;
        *vec_push(scratch, &open) = start;
      }
    } else if (!is_no_work(opcode)) {
      for (uint32_t i = 0; i < open.len; i++)
        is_open[open.data[i]] = false;
      open.len = 0;
    }
  }
}

/* ---- joining them ---- */

static void drop_operands(Module *module, InstId id) {
  uint32_t count = inst_get(module, id)->num_operands;
  bool *keep = arena_zarray(module->arena, bool, count);
  module_keep_operands(module, id, keep);
}

/* The end gets the opcode, the attributes and the callees of what was wrapped. */
static void join(Module *module, InstId done) {
  InstId start = inst_operand(module, done, 0);
  const Instruction *root =
      inst_get(module, comp_get(module, inst_callees(module, start)[0])->root);
  Instruction *whole = inst_get(module, done);
  uint32_t operands = root->operands, num_operands = root->num_operands;
  whole->opcode = root->opcode;
  whole->origin = root->origin;
  whole->index = root->index;
  whole->callees = root->callees;
  whole->num_callees = root->num_callees;
  whole->flags = root->flags;
  drop_operands(module, done);
  for (uint32_t i = 0; i < num_operands; i++) {
    const Instruction *param = inst_get(module, module->ids.data[operands + i]);
    module_append_operand(module, done, inst_operand(module, start, (uint32_t)param->index));
  }
  drop_operands(module, start);
  Instruction *rest = inst_get(module, start);
  rest->opcode = OPCODE_INFEED;
  rest->origin = NO_ID;
  rest->num_callees = 0;
}

static void release(void *module) {
  module_free(module);
}

/* A module belongs to nobody who only reads it, but keeps its copies in mind. */
static Module *copy_of(const Module *module) {
  return module_copy((Module *)(uintptr_t)module);
}

const Module *joined_pairs_module(const Module *module, const Schedule *schedule, Arena *out,
                                  Arena *scratch) {
  if (!module->backend.target->gpu_sharing) return NULL;
  ArenaMark mark = arena_mark(scratch);
  bool *is_open = arena_zarray(scratch, bool, module->insts.len);
  Pairs pairs = {0};
  for (CompId comp = 0; comp < schedule->num_comps; comp++)
    find_pairs(module, schedule->of[comp], is_open, &pairs, scratch);
  Module *joined = NULL;
  if (pairs.dones.len) {
    void **owned = arena_own(out, release);
    joined = copy_of(module);
    *owned = joined;
  }
  for (uint32_t i = 0; i < pairs.dones.len; i++)
    join(joined, pairs.dones.data[i]);
  arena_reset(scratch, mark);
  return joined;
}
