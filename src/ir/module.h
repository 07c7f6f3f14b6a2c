/* The module: computations, instructions and everything that they refer to, in arrays.
 *
 * What was read from the text is immutable and shared between copies: the text itself, InstSource,
 * CompSource, attributes, integers, metadata. What a rewrite changes is per copy: instructions,
 * computations, and the pool of ids that hold operands, users and order. module_copy() makes such a
 * copy in O(instructions), so any number of candidates can be tried from one load, also on several
 * threads.
 *
 * Printing follows from that: an instruction that still equals its source is printed as its bytes
 * of the text; a changed one is its source's bytes with the changed pieces replaced; only what has
 * no source (a new get-tuple-element, say) is written out from the graph (text/printer.c). */
#ifndef REMAT_HLO_IR_MODULE_H
#define REMAT_HLO_IR_MODULE_H

#include "ir/attribute.h"
#include "ir/ids.h"
#include "ir/opcode.h"
#include "ir/shape.h"
#include "ir/target.h"
#include "ir/vec.h"

/* A list of ids in Module.ids. A list that outgrows its room moves to the end of the pool. */
typedef struct IdList {
  uint32_t begin;
  uint32_t len;
  uint32_t cap;
} IdList;

enum InstFlag {
  /* Written `x#1` at its users, without a line of its own (XLA's compact dumps). */
  INST_COMPACT_GTE = 1 << 0,
  /* Written inside its user's operand list, `add(multiply(a, b), c)`. */
  INST_NESTED = 1 << 1,
  /* Taken out by dead code removal or replaced; belongs to no list any more. */
  INST_DEAD = 1 << 2,
  /* Operands, control predecessors, callees or name differ from the source. */
  INST_CHANGED = 1 << 3,
  /* Made by rematerialization: a clone, or a helper that serves one. */
  INST_REMAT = 1 << 4,
  /* The instruction of an async wrapper that `add-start(…)` implies; it has no text. */
  INST_IMPLIED = 1 << 5,
  INST_HAS_CHANNEL = 1 << 6,       /* `index` is a channel id */
  INST_CONSTRAINS_LAYOUT = 1 << 7, /* constrain_layout=true */
  INST_ELIDED_LITERAL = 1 << 8,    /* constant({...}): the value is not in the text */
  INST_CALL_SIDE_EFFECT = 1 << 9,  /* custom_call_has_side_effect=true */
  /* What of a changed instruction is not as in its text beyond the names in it. */
  INST_NEW_SHAPE = 1 << 10,
  INST_NEW_OPERANDS = 1 << 11, /* another number of them, or of another shape */
  INST_NEW_INDEX = 1 << 12,
};

typedef struct Instruction {
  const char *name; /* without `%`, not terminated */
  uint32_t name_len;
  uint16_t opcode; /* Opcode */
  uint16_t flags;  /* InstFlag */
  ShapeId shape;
  CompId parent;
  InstId origin; /* the instruction whose text and attributes this one has; itself if it was read;
                    NO_ID if it was made from nothing */
  uint32_t operands; /* in Module.ids */
  uint32_t num_operands;
  IdList users;     /* unique, in the order of their registration (XLA's users()) */
  uint32_t control; /* in Module.control; 0 = no control dependencies */
  uint32_t callees; /* in Module.ids: called computations, in the order of XLA's list */
  uint32_t num_callees;
  uint32_t attrs; /* in ModuleSource.attrs */
  uint32_t num_attrs;
  int64_t index; /* parameter number, tuple index of get-tuple-element, or channel id; of what was
                    made from nothing also a constant's value and a compare's direction */
} Instruction;

typedef struct ControlDeps {
  IdList predecessors;
  IdList successors;
} ControlDeps;

enum CompFlag {
  COMP_NESTED = 1 << 0,  /* written inside an attribute: `to_apply={ … }` */
  COMP_IMPLIED = 1 << 1, /* the wrapper that `add-start(…)` implies; it has no text */
  COMP_DEAD = 1 << 2,
  COMP_CHANGED_NAME = 1 << 3,
  COMP_NEW_SIGNATURE = 1 << 4, /* parameters or result are not as in the text */
};

typedef struct Computation {
  const char *name;
  uint32_t name_len;
  uint32_t flags; /* CompFlag */
  CompId origin;  /* as Instruction.origin */
  InstId root;
  IdList insts;  /* in the order of their creation, which is that of the text */
  IdList params; /* by parameter number */
  Str thread;    /* execution_thread, "main" by default */
} Computation;

/* Where an instruction that was read stands in the text. */
typedef struct InstSource {
  uint32_t lead;  /* where its part of the text begins: blanks and comments before it included */
  Span text;      /* from ROOT or the name to the end of the last attribute */
  uint32_t name;  /* offset of the name, `%` included; of the opcode when it is nested */
  uint32_t paren; /* offset of the `(` that opens the operands */
  uint32_t close; /* offset of the `)` that closes them */
  uint32_t operand_offsets; /* in Module.operand_offsets: offset of each operand's name */
} InstSource;

typedef struct CompSource {
  Span text;          /* from ENTRY or the name to the end of the last attribute after `}` */
  uint32_t name;      /* offset of the name, `%` included */
  uint32_t body;      /* offset just behind `{` */
  uint32_t tail;      /* where the blanks and comments between the last instruction and `}` begin */
  uint32_t close;     /* offset of `}` */
  uint32_t num_insts; /* that were read, implied ones included */
} CompSource;

typedef struct Metadata {
  Span op_name; /* raw text between the quotes, empty if absent */
  Span op_type;
  Span source_file;
  int32_t source_line;
  int32_t stack_frame_id;
} Metadata;

typedef struct FileLocation {
  int32_t file_name_id; /* all ids are 1-based positions */
  int32_t function_name_id;
  int32_t line;
  uint32_t offset; /* in the text, as below */
} FileLocation;

typedef struct StackFrame {
  int32_t file_location_id;
  int32_t parent_frame_id; /* 0 = none; already without the text's +1 */
  uint32_t offset;
} StackFrame;

/* input_output_alias={ {output}: (param, {index}, kind) } */
typedef struct OutputAlias {
  uint32_t output_part; /* of the entry root's shape */
  int64_t param;
  uint32_t param_part; /* NO_ID when there is no such parameter or part */
  bool is_must_alias;
  uint32_t offset;
} OutputAlias;

typedef struct BufferDonor {
  int64_t param;
  uint32_t param_part;
  uint32_t offset;
} BufferDonor;

typedef struct ModuleHeader {
  Str name;
  bool is_present;            /* false: the text has no HloModule line */
  bool is_single_instruction; /* the text is one instruction, not a module */
  bool is_scheduled;
  uint32_t attrs_offset;   /* behind the module's name: where an attribute can be put */
  Span is_scheduled_value; /* of `is_scheduled=`, empty if absent */
  int64_t num_partitions;
  int64_t replica_count;
  bool alias_passthrough_params;
  bool has_entry_layout;
  ShapeId entry_result;         /* of entry_computation_layout */
  uint32_t entry_layout_offset; /* of its '{' */
  VEC(ShapeId) entry_params;
  VEC(OutputAlias) aliases;
  VEC(BufferDonor) donors;
} ModuleHeader;

/* Everything that does not change after the load. */
typedef struct ModuleSource {
  const char *text;
  uint32_t length;
  ModuleHeader header;
  VEC(InstSource) insts; /* by InstId, for the instructions that were read */
  VEC(CompSource) comps; /* by CompId, likewise */
  VEC(uint32_t) operand_offsets;
  VEC(Attr) attrs;
  VEC(int64_t) ints;
  VEC(Metadata) metadata;
  VEC(Span) file_names; /* without quotes */
  VEC(Span) function_names;
  VEC(FileLocation) file_locations;
  VEC(StackFrame) stack_frames;
  bool uses_compact_gte; /* the text has `x#1`: new get-tuple-elements are written that way too */
  bool uses_percent;     /* names in the text begin with `%` */
  uint32_t num_elided_literals;
} ModuleSource;

/* What somebody knows of instructions by their names; a figure of -1 is not known. */
typedef struct KnownCost {
  const char *expression;
  int64_t flops, transcendentals, bytes;
} KnownCost;

/* Whether XLA's copy-insertion has been at work: analysis/flow/copy_stage.h. */
typedef enum CopyStage { /* ORDER rh_copies */
                         COPIES_OPEN,
                         COPIES_INSERTED,
                         COPIES_PENDING,
} CopyStage;

/* What becomes of a module once it is compiled, from the settings of a call; copies take it over.
 */
typedef struct Backend {
  CopyStage copies;
  const Target *target;
  const struct Packer *packer; /* of heaps, NULL = as XLA does; see heap_packer() */
  uint64_t max_pack_steps;
  int64_t heap_limit_bytes; /* of a heap, -1 = none: one for each memory space */
  const KnownCost *costs;   /* the first that matches holds; see cost_analyze */
  uint32_t num_costs;
} Backend;

typedef struct Module {
  Arena *arena;
  Arena *text_arena;     /* of the text, if that is the module's own and goes with it; else NULL */
  struct Module *parent; /* the module that this is a copy of: its shapes and names are shared */
  _Atomic(uint32_t) num_owners; /* whoever holds it, and its copies */
  ModuleSource *source;         /* in the arena of the first of the line */
  ShapeTable shapes;
  VEC(Instruction) insts;
  VEC(Computation) comps;
  VEC(uint32_t) ids;
  VEC(ControlDeps) control; /* element 0 is empty and shared by all without dependencies */
  CompId entry;
  Backend backend;
} Module;

/* ---- access ---- */

static inline Instruction *inst_get(const Module *module, InstId id) {
  return &module->insts.data[id];
}
static inline Computation *comp_get(const Module *module, CompId id) {
  return &module->comps.data[id];
}
static inline Str inst_name(const Module *module, InstId id) {
  const Instruction *inst = inst_get(module, id);
  return (Str){inst->name, inst->name_len};
}
static inline Str comp_name(const Module *module, CompId id) {
  const Computation *comp = comp_get(module, id);
  return (Str){comp->name, comp->name_len};
}
static inline const Shape *inst_shape(const Module *module, InstId id) {
  return shape_get(&module->shapes, inst_get(module, id)->shape);
}
static inline const uint32_t *id_list(const Module *module, IdList list) {
  return module->ids.data + list.begin;
}
static inline const InstId *inst_operands(const Module *module, InstId id) {
  return module->ids.data + inst_get(module, id)->operands;
}
static inline InstId inst_operand(const Module *module, InstId id, uint32_t index) {
  return module->ids.data[inst_get(module, id)->operands + index];
}
static inline const InstId *inst_users(const Module *module, InstId id) {
  return id_list(module, inst_get(module, id)->users);
}
static inline const CompId *inst_callees(const Module *module, InstId id) {
  return module->ids.data + inst_get(module, id)->callees;
}
static inline const ControlDeps *inst_control(const Module *module, InstId id) {
  return &module->control.data[inst_get(module, id)->control];
}

static inline bool inst_has_control(const Module *module, InstId id) {
  const ControlDeps *deps = inst_control(module, id);
  return deps->predecessors.len || deps->successors.len;
}

/* OPF_PASS_THROUGH of an instruction that nothing waits for, and that waits for nothing: its users
 * can read its operand instead. */
static inline bool inst_is_pass_through(const Module *module, InstId id) {
  return opcode_has((Opcode)inst_get(module, id)->opcode, OPF_PASS_THROUGH) &&
         !inst_has_control(module, id);
}

/* Whether the result may lie in an operand's memory, or hold it as a part, other than by bitcast or
 * get-tuple-element. */
bool inst_keeps_operand_memory(const Module *module, InstId id);

/* Whether the instruction, of all that name a computation, is the one that runs it: of an
 * asynchronous operation the start. */
bool inst_runs_callees(const Module *module, InstId id);

/* The instruction whose asynchronous form `add-start(…)` is, in the wrapper that it implies; NO_ID
 * for everything else. */
InstId inst_implied_by(const Module *module, InstId id);

/* The computation that runs as number `index` of those that an instruction calls. They run in the
 * order of the list, but for a loop's, where XLA lists the body first: its condition comes first.
 */
static inline CompId inst_callee_to_run(const Module *module, InstId id, uint32_t index) {
  bool is_loop = inst_get(module, id)->opcode == OPCODE_WHILE;
  return inst_callees(module, id)[is_loop ? 1 - index : index];
}

/* A count with its list, for loops: `for (i = 0; i < num_insts(…); i++)`. */
static inline uint32_t comp_num_insts(const Module *module, CompId id) {
  return comp_get(module, id)->insts.len;
}
static inline InstId comp_inst(const Module *module, CompId id, uint32_t index) {
  return module->ids.data[comp_get(module, id)->insts.begin + index];
}

static inline bool inst_is_root(const Module *module, InstId id) {
  return comp_get(module, inst_get(module, id)->parent)->root == id;
}

/* The text of a span of the module's source. */
static inline Str module_span(const Module *module, Span span) {
  return (Str){module->source->text + span.begin, span.end - span.begin};
}

/* An attribute by id, NULL when the text has none. */
const Attr *inst_attr(const Module *module, InstId id, AttrId attr);

/* Its integers; an absent attribute has none. */
typedef struct IntSlice {
  const int64_t *data;
  uint32_t len;
} IntSlice;
IntSlice inst_attr_ints(const Module *module, InstId id, AttrId attr);

/* The single integer of an attribute, `fallback` when it is absent. */
int64_t inst_attr_int(const Module *module, InstId id, AttrId attr, int64_t fallback);

/* The value's text, empty when absent; a string without its quotes, escapes kept. */
Str inst_attr_text(const Module *module, InstId id, AttrId attr);
Str inst_attr_string(const Module *module, InstId id, AttrId attr);

/* NULL when the instruction has none. */
const Metadata *inst_metadata(const Module *module, InstId id);

/* Number of operand positions at which `operand` occurs in `user`. */
uint32_t inst_count_operand(const Module *module, InstId user, InstId operand);

/* Instructions of all live computations (HloModule::instruction_count). */
uint64_t module_num_instructions(const Module *module);

/* Whether any of them is a fusion: XLA has fused, then. */
bool module_has_fusions(const Module *module);

/* ---- life ---- */

/* An empty module over `text`, which must outlive it and all its copies. */
Module *module_new(const char *text, uint32_t length, const ArenaOptions *options);

/* A module of its own that can be changed freely. The original must not change any more while the
 * copy lives, but may be freed: it goes with its last copy. */
Module *module_copy(Module *module);

/* The same module, to be read only, with an arena of its own and a backend that can be set. It
 * holds the first as a copy does; copies can be made of it. O(1). */
Module *module_view(Module *module, const ArenaOptions *options);
void module_free(Module *module);

/* Sets the backend of a module to that of another one, which need not stay. */
void module_set_backend(Module *module, const Backend *backend);

/* What a rewrite changes of a module, to come back to. Instructions and computations that were
 * added later are gone then; shapes stay. */
typedef struct ModuleSnapshot {
  Instruction *insts;
  Computation *comps;
  uint32_t *ids;
  ControlDeps *control;
  uint32_t num_insts, num_comps, num_ids, num_control;
} ModuleSnapshot;

ModuleSnapshot module_snapshot(const Module *module, Arena *out);
void module_restore(Module *module, const ModuleSnapshot *snapshot);

/* ---- building and editing (module_edit.c) ---- */

void id_list_push(Module *module, IdList *list, uint32_t id);

/* Removes the first occurrence, keeping the order of the rest. False when it is not there. */
bool id_list_remove(Module *module, IdList *list, uint32_t id);

typedef struct InstSpec {
  Opcode opcode;
  Str name; /* must stay valid as long as the module */
  ShapeId shape;
  const InstId *operands;
  uint32_t num_operands;
  const CompId *callees;
  uint32_t num_callees;
  int64_t index;
  unsigned flags;
} InstSpec;

/* Adds an instruction at the end of the computation and registers it with its operands. */
InstId module_add_inst(Module *module, CompId comp, const InstSpec *spec);

/* A copy of `original` in `comp` with the same attributes, callees and shape under a new name, and
 * with other operands (`operands`, as many; NULL = the same ones); not its control dependencies. */
InstId module_clone_inst(Module *module, InstId original, Str name, CompId comp,
                         const InstId *operands);

/* Makes `user` read `operand` at position `index`; user lists follow (the old operand's entry is
 * swapped out when no other position reads it, as HloInstruction::ReplaceOperandWith). */
void module_set_operand(Module *module, InstId user, uint32_t index, InstId operand);

/* Takes `user` out of the operand's list of users, the last one moving into its place; for whoever
 * changes operand lists by other means. */
void module_remove_user(Module *module, InstId operand, InstId user);

void module_add_control(Module *module, InstId predecessor, InstId successor);
void module_drop_control(Module *module, InstId id);
void module_copy_control(Module *module, InstId from, InstId to);

/* What waits for `from` waits for `to` instead, in the same place of its list. */
void module_move_control_successors(Module *module, InstId from, InstId to);

/* Takes an instruction without users out of the graph. It stays in its computation's list, marked
 * INST_DEAD, until module_sweep_comp: a pass removes many and sweeps once. */
void module_remove_inst(Module *module, InstId id);
void module_sweep_comp(Module *module, CompId comp);

/* Replaces all of an instruction's called computations; the count stays. */
void module_set_callee(Module *module, InstId id, uint32_t index, CompId callee);

/* A computation made from nothing (`origin` NO_ID) is printed before the one that calls it. */
CompId module_add_comp(Module *module, Str name, CompId origin);

#endif
