#include "analysis/flow/copy_stage.h"

#include <string.h>

#include "analysis/flow/call_graph.h"
#include "analysis/flow/copy_need.h"
#include "analysis/flow/guess_target.h"

static InstId skip_elements(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_GET_TUPLE_ELEMENT ||
         inst_get(module, id)->opcode == OPCODE_BITCAST) {
    id = inst_operand(module, id, 0);
  }
  return id;
}

static bool is_copy(const Module *module, InstId id) {
  return opcode_is_copy((Opcode)inst_get(module, id)->opcode);
}

static bool is_donated(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  const ModuleHeader *header = &module->source->header;
  if (inst->opcode != OPCODE_PARAMETER || inst->parent != module->entry) return false;
  for (uint32_t i = 0; i < header->aliases.len; i++) {
    if (header->aliases.data[i].param == inst->index) return true;
  }
  return false;
}

/* Whether a value is a copy, or a tuple with an element that is a copy. */
static bool has_copy(const Module *module, InstId id) {
  id = skip_elements(module, id);
  if (is_copy(module, id)) return true;
  const Instruction *inst = inst_get(module, id);
  if (inst->opcode != OPCODE_TUPLE) return false;
  for (uint32_t i = 0; i < inst->num_operands; i++) {
    if (is_copy(module, skip_elements(module, inst_operand(module, id, i)))) return true;
  }
  return false;
}

/* What shows that copy-insertion may have seen the instruction; NULL = nothing. */
static const char *sign_of_copies(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  if (is_copy(module, id)) {
    InstId source = skip_elements(module, inst_operand(module, id, 0));
    if (inst_get(module, source)->opcode == OPCODE_CONSTANT) return "a constant is copied";
    return is_donated(module, source) ? "a donated parameter is copied" : NULL;
  }
  /* Frameworks set backend_config on custom calls only. On any other instruction XLA's backends set
   * it. */
  if (inst->opcode != OPCODE_CUSTOM_CALL && inst_attr(module, id, ATTR_BACKEND_CONFIG))
    return "an instruction has the backend_config of a compiled module";
  bool is_update = inst->opcode == OPCODE_DYNAMIC_UPDATE_SLICE || inst->opcode == OPCODE_SCATTER;
  if (is_update && inst->num_operands && has_copy(module, inst_operand(module, id, 0)))
    return "what is updated in place is copied";
  /* XLA:CPU moves small loops into calls after copy-insertion. */
  for (uint32_t i = 0; inst->opcode == OPCODE_CALL && i < inst->num_operands; i++)
    if (has_copy(module, inst_operand(module, id, i))) return "an operand of a call is copied";
  if (inst->opcode != OPCODE_WHILE && inst->opcode != OPCODE_CONDITIONAL) return NULL;
  if (inst->opcode == OPCODE_WHILE && has_copy(module, inst_operand(module, id, 0)))
    return "the initial value of a loop is copied";
  for (uint32_t i = 0; i < inst->num_callees; i++) {
    if (has_copy(module, comp_get(module, inst_callees(module, id)[i])->root))
      return "a loop's body or a branch returns a copy";
  }
  return NULL;
}

static bool has_small_call(const Module *module) {
  for (InstId id = 0; id < module->insts.len; id++) {
    bool is_dead = inst_get(module, id)->flags & INST_DEAD;
    if (!is_dead && call_is_compiled_alone(module, id)) return true;
  }
  return false;
}

static CopyFinding from_text(const Module *module) {
  if (has_small_call(module))
    return (CopyFinding){true, true, false, "XLA:CPU has made a call of a small loop"};
  const char *reason = needs_copy(module);
  bool is_scheduled = module->source->header.is_scheduled;
  /* What XLA:TPU does to a module after copy-insertion is not public. */
  bool is_doubtful = reason && is_scheduled && guess_target(module)->pads_tiles;
  if (reason && !is_doubtful) return (CopyFinding){false, true, false, reason};
  if (is_scheduled) return (CopyFinding){true, !is_doubtful, false, "it is scheduled"};
  if (module_has_fusions(module)) return (CopyFinding){true, false, false, "it has fusions"};
  for (InstId id = 0; id < module->insts.len && !reason; id++)
    if (!(inst_get(module, id)->flags & INST_DEAD)) reason = sign_of_copies(module, id);
  if (reason) return (CopyFinding){true, false, false, reason};
  return (CopyFinding){false, false, false, "it has neither fusions nor a schedule nor copies"};
}

CopyFinding copies_find(const Module *module) {
  CopyStage known = module->source->copies;
  const Backend *backend = &module->backend;
  if (backend->copies != COPIES_OPEN) {
    const char *reason = backend->copies_reason ? backend->copies_reason : "it is given";
    bool is_sure = !backend->copies_are_guessed;
    return (CopyFinding){backend->copies == COPIES_INSERTED, is_sure, is_sure, reason};
  }
  bool is_known =
      known == COPIES_INSERTED || (known == COPIES_PENDING && !module->source->header.is_scheduled);
  if (is_known)
    return (CopyFinding){known == COPIES_INSERTED, true, true, "the file's name or place says so"};
  return from_text(module);
}

void copies_decide(Module *module, const CopyFinding *finding) {
  module->backend.copies = finding->is_inserted ? COPIES_INSERTED : COPIES_PENDING;
  module->backend.copies_are_guessed = !finding->is_sure;
  module->backend.copies_reason = finding->reason;
}

bool copies_are_inserted(const Module *module) {
  return copies_find(module).is_inserted;
}

/* ---- names of files ---- */

static bool cut_ending(Str *name, const char *ending) {
  size_t len = strlen(ending);
  if (name->len < len || memcmp(name->data + name->len - len, ending, len) != 0) return false;
  name->len -= (uint32_t)len;
  return true;
}

/* Whether the name is a stage's, or ends in it after `.` or `_`. */
static bool ends_in_stage(Str name, const char *stage) {
  return cut_ending(&name, stage) && (cut_ending(&name, ".") || cut_ending(&name, "_"));
}

/* The names are made in xla/service/dump.cc: a dump between two passes is called
 * `PREFIX.NUMBER.PIPELINE.after_PASS.before_PASS.txt`. XLA:GPU writes `before_config_assignment`
 * before it inserts copies; the last four are XLA:TPU's. */
CopyStage copies_by_file_name(Str name) {
  if (!cut_ending(&name, ".gz")) cut_ending(&name, ".zst");
  cut_ending(&name, "_proto.pb");
  cut_ending(&name, ".pb");
  if (!cut_ending(&name, ".txt") && !cut_ending(&name, ".hlo")) return COPIES_OPEN;
  if (cut_ending(&name, ".before_copy-insertion")) return COPIES_PENDING;
  if (str_contains(name, ".after_copy-insertion.before_")) return COPIES_INSERTED;
  if (ends_in_stage(name, "before_optimizations")) return COPIES_PENDING;
  if (ends_in_stage(name, "before_config_assignment")) return COPIES_PENDING;
  static const char *const later[] = {
      "after_optimizations", "after_optimizations_before_buffer_assignment",
      "after_optimizations_after_buffer_assignment", "oom_intermediate_module", "after_codegen"};
  for (size_t i = 0; i < sizeof later / sizeof *later; i++)
    if (ends_in_stage(name, later[i])) return COPIES_INSERTED;
  return COPIES_OPEN;
}
