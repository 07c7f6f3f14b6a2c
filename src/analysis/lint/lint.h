/* Lint: findings about a module that XLA's parser accepts. They are what its HloVerifier would
 * refuse, and errors in the parts of the text that XLA silently drops. The rules are rows of
 * rules.def.
 *
 * Contradictions with which no analysis is possible are errors of ir/module_check.h; instructions
 * with one are not checked here. Linear except for sorting. Source: xla/service/hlo_verifier.cc.
 *
 * Example: in `a = f32[4] add(x, y)` with x and y of shape f32[8] the rule result-shape finds "its
 * shape is f32[4], its operands give f32[8]". */
#ifndef REMAT_HLO_ANALYSIS_LINT_LINT_H
#define REMAT_HLO_ANALYSIS_LINT_LINT_H

#include "ir/diag.h"
#include "ir/infer/infer_shape_internal.h"
#include "ir/schedule.h"

typedef enum LintRule {
#define RULE(id, name, summary) LINT_##id,
#include "analysis/lint/rules.def"
  NUM_LINT_RULES
} LintRule;

typedef struct Lint {
  Module *module;           /* a view of the caller's module with its own table of shapes */
  const Schedule *schedule; /* NULL = none */
  Arena *tables;            /* lives as long as this struct */
  Arena *scratch;           /* reset after each instruction */
  rh_diags *diags;
  rh_severity severity;
  uint64_t num_findings, max_findings; /* findings beyond the maximum are only counted */
  const bool *is_broken;               /* by InstId: has an error of module_check */
  const InstId *callers;               /* by CompId: its first caller, NO_ID = none */
  const InstId *starts; /* by InstId: the async-start that an update or done follows, directly or
                           through updates */
  const char **shape_faults; /* by ShapeId of the caller's module: the fault of its layout */
  const bool *has_buffers;   /* by ShapeId of the caller's module: contains a buffer */
  InstId first_all_reduce;
  bool is_for_tpu;    /* XLA:TPU mixes precisions, and its bitcasts keep the bytes with padding */
  bool is_extracted;  /* XLA:TPU dumps computations for the SparseCore as modules of their own, with
                         the layouts and frames of the module that they are from */
  bool misses_frames; /* the missing table has been reported */
} Lint;

typedef struct LintInput {
  Module *module;
  const Schedule *schedule; /* NULL = none */
  rh_severity severity;
  uint64_t max_findings; /* 0 = all */
} LintInput;

/* Reports contradictions as errors, and findings as `severity`. Returns RH_ERR_INPUT when there is
 * an error among them. `*num_findings` counts both kinds, and may be larger than the number in
 * `diags`. */
rh_status lint_module(const LintInput *input, uint64_t *num_findings, rh_diags *diags);

const char *lint_rule_name(LintRule rule);

/* ---- for the rules' files ---- */

/* Reports a finding. Returns false. */
bool lint_find(Lint *lint, LintRule rule, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Reports a finding about an instruction, at its name or at `place`; its name precedes the
 * message. */
bool lint_find_inst(Lint *lint, LintRule rule, InstId id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool lint_find_at(Lint *lint, LintRule rule, InstId id, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Places in the text. An instruction without text of its own has its caller's place. */
DiagPlace lint_place(const Lint *lint, InstId id);
DiagPlace lint_place_attr(const Lint *lint, InstId id, AttrId attr);
DiagPlace lint_place_operand(const Lint *lint, InstId id, uint32_t index);

/* The instruction's place, with the computation's definition as the place referred to. */
DiagPlace lint_place_callee(const Lint *lint, InstId id, CompId callee);

/* A shape without layout for a message. Allocated in scratch. */
const char *lint_shown(const Lint *lint, ShapeId shape);

static inline ShapeId lint_operand_shape(const Lint *lint, InstId id, uint32_t index) {
  return inst_get(lint->module, inst_operand(lint->module, id, index))->shape;
}

/* Compatible as in XLA's ShapeUtil::Compatible, with the same number of parts. */
bool lint_fits(const Lint *lint, ShapeId a, ShapeId b);

/* An instruction in the form that the rules of shape inference take. It refers to `*spec`. */
Inference lint_inference(Lint *lint, InstId id, InferSpec *spec);

/* The value of a key in frontend_attributes, without quotes; false when there is none. */
bool lint_frontend(const Lint *lint, InstId id, const char *key, Str *value);

/* Reads the next number of a list from `*at` on, and sets `*at` to the character after it. False
 * when there is none before `end`. A number beyond 64 bits is only known to be large. */
bool lint_next_number(const char *text, uint32_t *at, uint32_t end, int64_t *number);

/* No real array has more dimensions. Shapes with more are not inferred, which takes quadratic
 * time. */
enum { MAX_RANK = 1024 };
bool lint_is_oversized(const Lint *lint, InstId id);

/* ---- the rules, in a file each ---- */

void lint_header(Lint *lint);       /* header.c */
void lint_stack_frames(Lint *lint); /* sources.c */
void lint_frame_of_inst(Lint *lint, InstId id);
void lint_origin(Lint *lint, InstId id);
bool lint_calls(Lint *lint, InstId id);   /* calls.c; false = shapes cannot be inferred */
void lint_buffers(Lint *lint, InstId id); /* buffers.c */
const bool *lint_shapes_with_buffers(const ShapeTable *shapes, Arena *out);
void lint_fusion(Lint *lint, InstId id); /* fusion.c */
void lint_aliasing(Lint *lint, InstId id);
void lint_sharding(Lint *lint, InstId id);                /* sharding.c */
void lint_shapes(Lint *lint, InstId id);                  /* shapes.c */
void lint_collective(Lint *lint, InstId id);              /* collectives.c */
void lint_groups(Lint *lint, InstId id, bool has_shapes); /* groups.c; has_shapes: the shapes fit */
void lint_async(Lint *lint, InstId id);                   /* async.c */
void lint_pairs(Lint *lint, InstId id);
void lint_channels(Lint *lint);

/* ---- explicit shapes (explicit.c) ---- */

/* Shape rules for opcodes whose shape cannot be inferred from the operands alone, and must be
 * written: the shape that the operands and the written shape give together.
 *
 * Example: `f32[4] convert(s32[4])` is correct, because only the element type is taken from the
 * written shape; `f32[5] convert(s32[4])` gives f32[4]. */
typedef enum LintExplicit {
  EXPLICIT_NO_RULE,      /* the opcode has no such rule */
  EXPLICIT_SHAPE,        /* the shape is in `result` */
  EXPLICIT_FAULT,        /* the operands do not fit; the reason is in `why` */
  EXPLICIT_BITCAST_SIZE, /* a bitcast changes the size; the reason is in `why` */
} LintExplicit;

/* `written` is the shape in the text. The result is that shape when nothing contradicts it. */
LintExplicit lint_explicit(Inference *inf, bool is_scheduled, ShapeId written);

#endif
