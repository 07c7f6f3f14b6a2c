/* The module: computations, instructions and everything that they refer to, in arrays.
 *
 * What was read from the text never changes, and copies share it: the text itself, InstSource,
 * CompSource, attributes, integers, metadata. Each copy has its own version of what a rewrite
 * changes: instructions, computations, and the pool of ids that holds operands, users and order.
 * module_copy() makes such a copy in O(instructions), so any number of candidates can be tried
 * after one load, also on several threads.
 *
 *   InstId root = comp_get(module, module->entry)->root;
 *   for (uint32_t i = 0; i < inst_get(module, root)->num_operands; i++)
 *     use(inst_operand(module, root, i));
 *
 * This also determines how a module is printed. An instruction that still equals its source is
 * printed as its bytes of the text. A changed instruction is printed as the bytes of its source
 * with the changed pieces replaced. Only an instruction without a source, such as a new
 * get-tuple-element, is written from the graph (text/printer.c). */
#ifndef REMAT_HLO_IR_MODULE_H
#define REMAT_HLO_IR_MODULE_H

#include "ir/attribute.h"
#include "ir/ids.h"
#include "ir/opcode.h"
#include "ir/shape.h"
#include "ir/target.h"
#include "ir/vec.h"

/* A list of ids in Module.ids. A list that outgrows its capacity moves to the end of the pool. The
 * capacity is the number before the first id; a list whose `begin` is 0 has none. */
typedef struct IdList {
  uint32_t begin;
  uint32_t len;
} IdList;

enum InstFlag {
  /* It is written `x#1` at its users and has no line of its own (XLA's compact dumps). */
  INST_COMPACT_GTE = 1 << 0,
  /* It is written inside the operand list of its user, as in `add(multiply(a, b), c)`. */
  INST_NESTED = 1 << 1,
  /* It was removed as dead code or replaced. It is in no list any more. */
  INST_DEAD = 1 << 2,
  /* Its operands, control predecessors, callees or name differ from the source. */
  INST_CHANGED = 1 << 3,
  /* Rematerialization made it: a clone, or a helper of a clone. */
  INST_REMAT = 1 << 4,
  /* It is the instruction of an async wrapper that `add-start(…)` implies. It has no text. */
  INST_IMPLIED = 1 << 5,
  INST_HAS_CHANNEL = 1 << 6,       /* `index` is a channel id */
  INST_CONSTRAINS_LAYOUT = 1 << 7, /* constrain_layout=true */
  INST_ELIDED_LITERAL = 1 << 8,    /* constant({...}): the value is not in the text */
  INST_CALL_SIDE_EFFECT = 1 << 9,  /* custom_call_has_side_effect=true */
  /* What else of a changed instruction differs from its text, apart from names. */
  INST_NEW_SHAPE = 1 << 10,
  INST_NEW_OPERANDS = 1 << 11, /* their number or the shape of one is different */
  INST_NEW_INDEX = 1 << 12,
  /* The backend_config in its text no longer holds and is not written. */
  INST_STALE_CONFIG = 1 << 13,
};

/* Every pass goes through the operands and users of all instructions, which are anywhere in memory.
 * So an instruction is as large as a line of the caches, at the beginning of which those that were
 * read or copied are, and what few passes ask for is elsewhere, in InstSource and in ControlDeps.
 */
typedef struct Instruction {
  const char *name; /* without `%`, not terminated */
  int64_t index;    /* parameter number, tuple index of get-tuple-element, or channel id; without a
                       source also a constant's value or a compare's direction, or a while's number of
                       iterations; of a while with
                       INST_NEW_INDEX the element of the state that is its counter */
  uint32_t name_len;
  ShapeId shape;
  CompId parent;
  InstId origin; /* the instruction whose text and attributes it has: itself if it was read, NO_ID
                    if it has no source */
  uint32_t operands; /* in Module.ids */
  uint32_t num_operands;
  IdList users;     /* without repetition, in the order of their registration (XLA's users()) */
  uint32_t control; /* in Module.control; 0 = no control dependencies */
  uint32_t callees; /* in Module.ids: called computations, in XLA's order */
  uint32_t num_callees;
  uint16_t opcode; /* Opcode */
  uint16_t flags;  /* InstFlag */
} Instruction;
_Static_assert(sizeof(Instruction) <= CACHE_LINE_BYTES, "an instruction fills one cache line");

typedef struct ControlDeps {
  IdList predecessors;
  IdList successors;
} ControlDeps;

enum CompFlag {
  COMP_NESTED = 1 << 0,  /* written inside an attribute: `to_apply={ … }` */
  COMP_IMPLIED = 1 << 1, /* the wrapper that `add-start(…)` implies; it has no text */
  COMP_DEAD = 1 << 2,
  COMP_CHANGED_NAME = 1 << 3,
  COMP_NEW_SIGNATURE = 1 << 4, /* parameters or result differ from the text */
};

typedef struct Computation {
  const char *name;
  uint32_t name_len;
  uint32_t flags; /* CompFlag */
  CompId origin;  /* like Instruction.origin */
  InstId root;
  IdList insts;  /* in the order of their creation, which is their order in the text */
  IdList params; /* by parameter number */
  Str thread;    /* execution_thread; the default is "main" */
} Computation;

/* The place in the text of an instruction that was read. */
typedef struct InstSource {
  uint32_t lead;  /* where its part of the text begins, with the blanks and comments before it */
  Span text;      /* from ROOT or the name to the end of the last attribute */
  uint32_t name;  /* offset of the name with `%`, or of the opcode if it is nested */
  uint32_t paren; /* offset of the `(` that opens the operands */
  uint32_t close; /* offset of the `)` that closes them */
  uint32_t operand_offsets; /* in ModuleSource.operand_offsets: offset of each operand's name */
  uint32_t attrs;           /* in ModuleSource.attrs */
  uint32_t num_attrs;
} InstSource;

typedef struct CompSource {
  Span text;          /* from ENTRY or the name to the end of the last attribute after `}` */
  uint32_t name;      /* offset of the name with `%` */
  uint32_t body;      /* offset after `{` */
  uint32_t tail;      /* where the blanks and comments between the last instruction and `}` begin */
  uint32_t close;     /* offset of `}` */
  uint32_t num_insts; /* number of instructions that were read, with implied ones */
} CompSource;

typedef struct Metadata {
  Span op_name; /* raw text between the quotes; empty if absent */
  Span op_type;
  Span source_file;
  int32_t source_line;
  int32_t stack_frame_id;
} Metadata;

typedef struct FileLocation {
  int32_t file_name_id; /* all ids are positions, from 1 */
  int32_t function_name_id;
  int32_t line, end_line;
  uint32_t offset; /* in the text */
} FileLocation;

typedef struct StackFrame {
  int32_t file_location_id;
  int32_t parent_frame_id; /* 0 = none; the text's +1 is removed */
  uint32_t offset;
} StackFrame;

/* input_output_alias={ {output}: (param, {index}, kind) } */
typedef struct OutputAlias {
  uint32_t output_part; /* part number in the shape of the entry root */
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
  bool is_single_instruction; /* the text is a single instruction, not a module */
  bool is_scheduled;
  uint32_t attrs_offset;    /* after the module's name, where an attribute can be inserted */
  Span is_scheduled_value;  /* value of `is_scheduled=`; empty if absent */
  Span frontend_attributes; /* value of `frontend_attributes=`; empty if absent */
  int64_t num_partitions;
  int64_t replica_count;
  bool alias_passthrough_params;
  bool has_entry_layout;
  ShapeId entry_result;         /* from entry_computation_layout */
  uint32_t entry_layout_offset; /* offset of its '{' */
  VEC(ShapeId) entry_params;
  VEC(OutputAlias) aliases;
  VEC(BufferDonor) donors;
} ModuleHeader;

/* Whether XLA's copy-insertion has processed the module: analysis/flow/copy_stage.h. */
typedef enum CopyStage { /* ORDER rh_copies */
                         COPIES_OPEN,
                         COPIES_INSERTED,
                         COPIES_PENDING,
} CopyStage;

/* Everything that does not change after the module was loaded. */
typedef struct ModuleSource {
  const char *text;
  uint32_t length;
  ModuleHeader header;
  VEC(InstSource) insts; /* by InstId, for instructions that were read */
  VEC(CompSource) comps; /* by CompId, for computations that were read */
  VEC(uint32_t) operand_offsets;
  VEC(Attr) attrs;
  VEC(int64_t) ints;
  VEC(Metadata) metadata;
  VEC(Span) file_names; /* without the quotes */
  VEC(Span) function_names;
  VEC(FileLocation) file_locations;
  VEC(StackFrame) stack_frames;
  bool uses_compact_gte; /* the text has `x#1`, and so have new instructions */
  bool uses_percent;     /* names in the text begin with `%` */
  uint32_t num_elided_literals;
  CopyStage copies; /* what is known from where the text was found; COPIES_OPEN = nothing */
} ModuleSource;

/* A cost that the user gives for instructions whose names, or custom-call targets, match an
 * expression. A figure of -1 is unknown. */
typedef struct KnownCost {
  const char *expression;
  int64_t flops, transcendentals, bytes;
} KnownCost;

/* Which frame of the stack in which an instruction was traced gives its source position. ORDER
 * rh_frames */
typedef enum FrameChoice {
  FRAMES_INNERMOST,
  FRAMES_USER, /* the innermost one outside of libraries; if there is none, the innermost one */
  FRAMES_OUTERMOST,
} FrameChoice;

/* The properties of the platform for which a module is compiled, from the settings of a call, and
 * how its source positions are shown. Copies inherit them. */
typedef struct Backend {
  CopyStage copies;          /* given, or decided for the module that this one was made from */
  bool copies_are_guessed;   /* decided, and nothing excluded the other answer */
  const char *copies_reason; /* what it was decided by, a clause; NULL = it is given */
  const Target *target;
  const struct Packer *packer; /* packs heaps; NULL = as XLA does; see heap_packer() */
  uint64_t max_pack_steps;
  int64_t heap_limit_bytes; /* limit of one heap, one heap per memory space; -1 = none */
  TpuMemory tpu;
  const KnownCost *costs; /* the first match applies; see cost_analyze */
  uint32_t num_costs;
  const struct Times *times; /* measured, see ir/times.h; NULL = none */
  FrameChoice frames;
  const bool *is_library; /* by file name of the stack tables; NULL = none is */
  ExcessPrecision excess; /* of what the module is compiled by, as its text tells */
} Backend;

typedef struct Module {
  Arena *arena;
  Arena *text_arena;     /* arena of the text if the module owns the text and frees it; else NULL */
  struct Module *parent; /* the module of which this is a copy; its shapes and names are shared */
  _Atomic(uint32_t) num_owners; /* number of holders: its owner and its copies */
  ModuleSource *source;         /* in the arena of the original module */
  ShapeTable shapes;
  VEC(Instruction) insts;
  VEC(Computation) comps;
  VEC(uint32_t) ids;
  VEC(ControlDeps) control; /* element 0 is empty and shared; see Instruction.control */
  CompId entry;
  Backend backend;
} Module;

/* ---- access ---- */

static inline Instruction *inst_get(const Module *module, InstId id) {
  return &module->insts.data[id];
}

enum { FETCH_AHEAD = 8 }; /* iterations before an instruction is looked at it is fetched */

/* Fetches an instruction into the caches, for loops that soon come to it and go through
 * instructions in another order than that of memory. */
static inline void inst_prefetch(const Module *module, InstId id) {
  const char *inst = (const char *)&module->insts.data[id];
  __builtin_prefetch(inst);
  __builtin_prefetch(inst + sizeof(Instruction) - 1);
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
typedef bool InstTest(const Module *module, InstId id);
/* Whether an instruction is meant or, if it is a fusion, one inside of it. */
bool inst_any_fused(const Module *module, InstId id, InstTest *is_meant);
/* The users as they are now, in `arena`, for a loop that changes who reads the instruction. */
IdSpan inst_copy_users(const Module *module, InstId id, Arena *arena);
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

/* In a scheduled module, the sequences have the order that control dependencies ask for, and XLA
 * keeps them. There a dependency goes away together with either of its instructions. */
static inline bool control_restates_order(const Module *module) {
  return module->source->header.is_scheduled;
}

/* Returns true for an instruction with OPF_PASS_THROUGH and without control dependencies. Its users
 * can read its operand instead. */
static inline bool inst_is_pass_through(const Module *module, InstId id) {
  return opcode_has((Opcode)inst_get(module, id)->opcode, OPF_PASS_THROUGH) &&
         !inst_has_control(module, id);
}

/* The value that a bitcast, or a bitcast of it, has under another shape. */
static inline InstId inst_without_bitcasts(const Module *module, InstId id) {
  while (inst_get(module, id)->opcode == OPCODE_BITCAST)
    id = inst_operand(module, id, 0);
  return id;
}

/* Returns true if the result may share the memory of an operand, or contain it as a part, in
 * another way than by bitcast or get-tuple-element. */
bool inst_keeps_operand_memory(const Module *module, InstId id);

/* Whether the instruction is a copy whose elements are of another type than its operand's. XLA:TPU
 * writes conversions so (its layout assignment merges a convert with a copy); nothing that holds
 * because a copy has its operand's value holds for such a copy. */
bool inst_is_converting_copy(const Module *module, InstId id);

/* Whether the instruction is a fusion that does nothing but to copy its only operand, such as those
 * within fusions by which XLA:TPU lays out an array anew of which a slice is read or written. */
bool inst_copies_layout(const Module *module, InstId id);

/* Whether the instruction has api_version=API_VERSION_UNSPECIFIED, which XLA prints for a custom
 * call whose message gives no version, and which its parser refuses. */
bool inst_has_unspecified_api(const Module *module, InstId id);

/* Whether an instruction only names memory in which nothing has been written yet: what XLA:TPU
 * makes of the initial value of a stack of which every slice is written. */
bool inst_allocates(const Module *module, InstId id);

/* Returns true if the instruction runs the computations that it names. Of the instructions of an
 * asynchronous operation, that is the start. */
bool inst_runs_callees(const Module *module, InstId id);

/* Whether a fusion has several results that are computed apart from each other, so that some of
 * them may go away: its computation bundles them as a tuple. Those of a variadic reduce-window are
 * computed together. */
bool fusion_bundles_results(const Module *module, InstId id);

/* Returns the instruction whose wrapper contains `id`, if `id` is implied by a form such as
 * `add-start(…)`. Returns NO_ID for every other instruction. */
InstId inst_implied_by(const Module *module, InstId id);

/* Returns the computation that runs as number `index` of those that an instruction calls. They run
 * in the order of the list. The exception is a loop, whose condition runs first although XLA lists
 * the body first. */
static inline CompId inst_callee_to_run(const Module *module, InstId id, uint32_t index) {
  bool is_loop = inst_get(module, id)->opcode == OPCODE_WHILE;
  return inst_callees(module, id)[is_loop ? 1 - index : index];
}

/* A count and access by index, for loops: `for (i = 0; i < num_insts(…); i++)`. */
static inline uint32_t comp_num_insts(const Module *module, CompId id) {
  return comp_get(module, id)->insts.len;
}
static inline InstId comp_inst(const Module *module, CompId id, uint32_t index) {
  return module->ids.data[comp_get(module, id)->insts.begin + index];
}

static inline bool inst_is_root(const Module *module, InstId id) {
  return comp_get(module, inst_get(module, id)->parent)->root == id;
}

/* Returns the text of a span of the module's source. */
static inline Str module_span(const Module *module, Span span) {
  return (Str){module->source->text + span.begin, span.end - span.begin};
}

/* The attributes that the text of an instruction has, in its order. */
typedef struct AttrSlice {
  const Attr *data;
  uint32_t len;
} AttrSlice;

static inline AttrSlice inst_attrs(const Module *module, InstId id) {
  InstId origin = inst_get(module, id)->origin;
  if (origin == NO_ID) return (AttrSlice){NULL, 0};
  const InstSource *source = &module->source->insts.data[origin];
  return (AttrSlice){module->source->attrs.data + source->attrs, source->num_attrs};
}

/* Returns an attribute by id, or NULL if the text has none. */
const Attr *inst_attr(const Module *module, InstId id, AttrId attr);

/* The integers of an attribute. An absent attribute has none. */
typedef struct IntSlice {
  const int64_t *data;
  uint32_t len;
} IntSlice;
IntSlice inst_attr_ints(const Module *module, InstId id, AttrId attr);
bool ints_have(IntSlice ints, int64_t value);

/* Returns the single integer of an attribute, or `fallback` if the attribute is absent. */
int64_t inst_attr_int(const Module *module, InstId id, AttrId attr, int64_t fallback);

/* Both return the text of an attribute's value, or an empty text if it is absent.
 * inst_attr_string() returns a string without its quotes; its escapes are kept. */
Str inst_attr_text(const Module *module, InstId id, AttrId attr);
Str inst_attr_string(const Module *module, InstId id, AttrId attr);

/* Where the `, name=` before an attribute's value begins in the text. */
uint32_t source_attr_begin(const ModuleSource *source, const Attr *attr);

/* Returns NULL if the instruction has none. */
const Metadata *inst_metadata(const Module *module, InstId id);

/* Returns the text of `op_name` in the metadata as it is written; empty if there is none. */
Str inst_op_name(const Module *module, InstId id);

/* Returns the number of operand positions of `user` at which `operand` occurs. */
uint32_t inst_count_operand(const Module *module, InstId user, InstId operand);

/* Returns the number of instructions of all live computations (HloModule::instruction_count). */
uint64_t module_num_instructions(const Module *module);

/* The number of instructions with this opcode that are not dead. O(instructions). */
uint32_t module_count(const Module *module, Opcode opcode);

/* Returns true if any of these is a fusion, which means that XLA's fusion passes have run. */
bool module_has_fusions(const Module *module);

/* ---- life ---- */

/* Returns an empty module over `text`, which must outlive the module and all its copies. */
Module *module_new(const char *text, uint32_t length, const ArenaOptions *options);

/* Returns a copy that can be changed freely. The original must not be changed while the copy lives.
 * It may be freed; its memory is then freed with its last copy. */
Module *module_copy(Module *module);

/* Returns a read-only view of a module that has its own arena, and whose backend can be set. The
 * view keeps the module alive as a copy does, and can be copied. The time is O(1). */
Module *module_view(Module *module, const ArenaOptions *options);
void module_free(Module *module);

/* Sets the backend of a module to a copy of `backend`, which need not live longer. It must be that
 * of a module with the same stack tables. */
void module_set_backend(Module *module, const Backend *backend);

/* The state of a module that a rewrite may change. Restoring it removes instructions and
 * computations that were added later; shapes are kept. */
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

/* Returns an empty list with room for so many ids, at the end of the pool. */
IdList id_list_reserve(Module *module, uint32_t capacity);

void id_list_push(Module *module, IdList *list, uint32_t id);

/* Makes an instruction of the computation its next parameter. */
void comp_push_param(Module *module, CompId comp, InstId param);

/* Removes the first occurrence and keeps the order of the rest. Returns false if the id is not in
 * the list. */
bool id_list_remove(Module *module, IdList *list, uint32_t id);

typedef struct InstSpec {
  Opcode opcode;
  Str name; /* it must be valid as long as the module */
  ShapeId shape;
  const InstId *operands;
  uint32_t num_operands;
  const CompId *callees;
  uint32_t num_callees;
  int64_t index;
  unsigned flags;
} InstSpec;

/* Adds an instruction at the end of the computation and registers it as a user of its operands. */
InstId module_add_inst(Module *module, CompId comp, const InstSpec *spec);

/* Adds a copy of `original` to `comp`, with the same attributes, callees and shape, but a new name.
 * `operands` are its operands, as many as the original has; NULL means the same ones. Control
 * dependencies are not copied. */
InstId module_clone_inst(Module *module, InstId original, Str name, CompId comp,
                         const InstId *operands);

/* Makes `user` read `operand` at position `index`, and updates the lists of users. If `user` reads
 * the old operand at no other position, it is removed from that operand's list as in
 * HloInstruction::ReplaceOperandWith, which moves the last entry into its place. */
void module_set_operand(Module *module, InstId user, uint32_t index, InstId operand);

/* Adds an operand after the others, and registers the user. */
void module_append_operand(Module *module, InstId user, InstId operand);

/* Removes the operands whose `keep` is false, by position, and updates the lists of users of these
 * operands. */
void module_keep_operands(Module *module, InstId id, const bool *keep);

/* Removes `user` from the users of an operand by moving the last user into its place. This is for
 * code that changes lists of operands in another way. */
void module_remove_user(Module *module, InstId operand, InstId user);

void module_add_control(Module *module, InstId predecessor, InstId successor);
void module_drop_control(Module *module, InstId id);
void module_drop_control_predecessors(Module *module, InstId id);
void module_copy_control(Module *module, InstId from, InstId to);

/* Moves the control successors of `from` to `to`. In the list of each successor, `to` takes the
 * place of `from`. */
void module_move_control_successors(Module *module, InstId from, InstId to);

/* Removes an instruction without users from the graph. It stays in its computation's list, marked
 * INST_DEAD, until module_sweep_comp is called, so that a pass that removes many instructions
 * sweeps once. */
void module_remove_inst(Module *module, InstId id);
void module_sweep_comp(Module *module, CompId comp);

/* Replaces one of an instruction's called computations. */
void module_set_callee(Module *module, InstId id, uint32_t index, CompId callee);

/* A computation without source (`origin` NO_ID) is printed before the one that calls it. */
CompId module_add_comp(Module *module, Str name, CompId origin);

#endif
