/* What the text of a plan says where: read.c reads by these tables, api/rh_emit_plan.c writes by
 * them, in their order. */
#ifndef REMAT_HLO_REMAT_PLAN_FIELDS_H
#define REMAT_HLO_REMAT_PLAN_FIELDS_H

#include "remat/plan/plan.h"

typedef enum FieldKind {
  FIELD_TEXT,      /* Str */
  FIELD_C_TEXT,    /* const char * */
  FIELD_TARGET,    /* the same, of a target */
  FIELD_SCHEDULER, /* the same, of a scheduler */
  FIELD_COMP,      /* PlanRef to a computation that is there */
  FIELD_NEW_COMP,  /* PlanRef to one that is made */
  FIELD_INST,      /* PlanRef to an instruction that is there */
  FIELD_NEW_INST,  /* PlanRef to one that is made, which may be written `x#1` */
  FIELD_NEW_NAME,  /* PlanRef: a name that an instruction gets */
  FIELD_COUNT,     /* int64_t, from 0 on */
  FIELD_BOOL,
  FIELD_HASH,      /* uint64_t */
  FIELD_VERSION,   /* has no place */
  FIELD_WORD,      /* an enumeration, whose values have `words` */
  FIELD_WORDS,     /* unsigned, a bit for each of `words` */
  FIELD_INSTS,     /* PlanRefs, of instructions */
  FIELD_POSITIONS, /* IdVec */
  FIELD_OBJECT,    /* members of the same struct in an object of their own */
  FIELD_OBJECTS,   /* VEC of what the object is */
  FIELD_NOTE,      /* neither read nor written here: for people */
} FieldKind;

enum {
  FIELD_NEEDED = 1 << 0,
  FIELD_SHORT = 1 << 1,  /* without the others it may stand for the object */
  FIELD_ALWAYS = 1 << 2, /* written even if there is nothing to say */
  FIELD_TOLD = 1 << 3,   /* written, not read */
  FIELD_LINES = 1 << 4,  /* a list: an object a line */
  FIELD_BREAK = 1 << 5,  /* begins a line */
};

typedef struct PlanField {
  const char *name; /* NULL behind the last one */
  FieldKind kind;
  unsigned flags;
  size_t offset;
  const void *of; /* words, `const char *const[]` with NULL behind the last one, or PlanObject */
} PlanField;

typedef struct PlanObject {
  const PlanField *fields;
  size_t size;
  const void *empty; /* what it is before it is read; NULL = zeros */
} PlanObject;

typedef VEC(void) AnyList; /* that a VEC is, whatever it is of */

extern const PlanObject plan_object, plan_step_object;
extern const PlanStep plan_empty_step;

#endif
