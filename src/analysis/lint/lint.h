/* Findings about a module that XLA's parser takes: what its HloVerifier would refuse, and what is
 * wrong with the parts that XLA drops in silence. The rules are rows of rules.def.
 *
 * Contradictions that nothing can be computed of are errors of ir/module_check.h; instructions with
 * one are not looked at here. Linear but for sorts. Source: xla/service/hlo_verifier.cc. */
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
  Module *module;           /* a view of the caller's with a table of shapes of its own */
  const Schedule *schedule; /* NULL = none */
  Arena *tables;            /* lives as long as this */
  Arena *scratch;           /* reset behind each instruction */
  rh_diags *diags;
  rh_severity severity;
  uint64_t num_findings, max_findings; /* those beyond are only counted */
  const bool *is_broken;               /* by InstId: contradicts itself */
  const InstId *callers;               /* by CompId: the first that calls it, NO_ID = none */
  const InstId
      *starts; /* by InstId: the async-start that an update or done goes back to directly */
  const char **shape_faults; /* by ShapeId of the caller's module */
  const bool *has_buffers;   /* likewise */
  InstId first_all_reduce;
  bool misses_frames; /* said already */
} Lint;

typedef struct LintInput {
  Module *module;
  const Schedule *schedule; /* NULL = none */
  rh_severity severity;
  uint64_t max_findings; /* 0 = all */
} LintInput;

/* Diagnoses contradictions as errors and findings as `severity`. RH_ERR_INPUT when there is an
 * error among them; `*num_findings`, of both kinds, may be larger than what `diags` got. */
rh_status lint_module(const LintInput *input, uint64_t *num_findings, rh_diags *diags);

const char *lint_rule_name(LintRule rule);

/* ---- for the files of the rules ---- */

/* A finding. Returns false. */
bool lint_find(Lint *lint, LintRule rule, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A finding about an instruction, at its name or at `place`; the name goes before the message. */
bool lint_find_inst(Lint *lint, LintRule rule, InstId id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool lint_find_at(Lint *lint, LintRule rule, InstId id, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Where things stand; what has no text of its own is where it is called. */
DiagPlace lint_place(const Lint *lint, InstId id);
DiagPlace lint_place_attr(const Lint *lint, InstId id, AttrId attr);
DiagPlace lint_place_operand(const Lint *lint, InstId id, uint32_t index);

/* The same with a computation's definition to go back to. */
DiagPlace lint_place_callee(const Lint *lint, InstId id, CompId callee);

/* A shape without layout for a message, in scratch. */
const char *lint_shown(const Lint *lint, ShapeId shape);

static inline ShapeId lint_operand_shape(const Lint *lint, InstId id, uint32_t index) {
  return inst_get(lint->module, inst_operand(lint->module, id, index))->shape;
}

/* Compatible as XLA's ShapeUtil::Compatible has it, with as many parts. */
bool lint_fits(const Lint *lint, ShapeId a, ShapeId b);

/* An instruction as the rules of shape inference take it; refers to `*spec`. */
Inference lint_inference(Lint *lint, InstId id, InferSpec *spec);

/* The value of a key in frontend_attributes, without quotes; false when there is none. */
bool lint_frontend(const Lint *lint, InstId id, const char *key, Str *value); /* frontend.c */

/* The next number of a list from `*at` on, which is then behind it; false when there is none before
 * `end`. One that is beyond 64 bits is only large. */
bool lint_next_number(const char *text, uint32_t *at, uint32_t end, int64_t *number);

/* More dimensions than anybody has: then no shapes are told, as that takes quadratic time. */
enum { MAX_RANK = 1024 };
bool lint_is_oversized(const Lint *lint, InstId id);

/* ---- the rules, a file each ---- */

void lint_header(Lint *lint);       /* header.c */
void lint_stack_frames(Lint *lint); /* stack_frames.c */
void lint_frame_of_inst(Lint *lint, InstId id);
bool lint_calls(Lint *lint, InstId id);   /* calls.c; false = shapes cannot be told */
void lint_buffers(Lint *lint, InstId id); /* buffers.c */
const bool *lint_shapes_with_buffers(const ShapeTable *shapes, Arena *out);
void lint_fusion(Lint *lint, InstId id); /* fusion.c */
void lint_aliasing(Lint *lint, InstId id);
void lint_origin(Lint *lint, InstId id);                  /* origin.c */
void lint_sharding(Lint *lint, InstId id);                /* sharding.c */
void lint_shapes(Lint *lint, InstId id);                  /* shapes.c */
void lint_collective(Lint *lint, InstId id);              /* collectives.c */
void lint_groups(Lint *lint, InstId id, bool has_shapes); /* groups.c; they fit */
void lint_async(Lint *lint, InstId id);                   /* async.c */
void lint_pairs(Lint *lint, InstId id);                   /* pairs.c */
void lint_channels(Lint *lint);

#endif
