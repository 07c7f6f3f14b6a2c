/* Tables of the members in the text of a plan. read.c reads by these tables; api/rh_emit_plan.c
 * writes by them, in their order. */
#ifndef REMAT_HLO_REMAT_PLAN_FIELDS_H
#define REMAT_HLO_REMAT_PLAN_FIELDS_H

#include "remat/plan/plan.h"

typedef enum FieldKind {
  FIELD_TEXT,      /* Str */
  FIELD_C_TEXT,    /* const char * */
  FIELD_TARGET,    /* const char *, the name of a target */
  FIELD_SCHEDULER, /* const char *, the name of a scheduler */
  FIELD_COMP,      /* PlanRef to a computation that exists */
  FIELD_NEW_COMP,  /* PlanRef to a computation that is made */
  FIELD_INST,      /* PlanRef to an instruction that exists */
  FIELD_NEW_INST,  /* PlanRef to an instruction that is made; it may be written `x#1` */
  FIELD_NEW_NAME,  /* PlanRef, a new name of an instruction */
  FIELD_COUNT,     /* int64_t, not negative */
  FIELD_BOOL,
  FIELD_HASH,      /* uint64_t */
  FIELD_VERSION,   /* the version of the format, which is not stored */
  FIELD_WORD,      /* an enumeration whose values have the names `words` */
  FIELD_WORDS,     /* unsigned, with one bit for each of `words` */
  FIELD_INSTS,     /* PlanRefs to instructions */
  FIELD_POSITIONS, /* IdVec */
  FIELD_OBJECT,    /* an object of its own whose members are in the same struct */
  FIELD_OBJECTS,   /* VEC of the struct that the object describes */
  FIELD_NOTE,      /* for human readers; these tables neither read nor write it */
} FieldKind;

enum {
  FIELD_NEEDED = 1 << 0,
  FIELD_SHORT = 1 << 1,  /* if all other members are absent, its value may replace the object */
  FIELD_ALWAYS = 1 << 2, /* written even if it is empty */
  FIELD_WRITTEN_ONLY = 1 << 3, /* written, but ignored when a plan is read */
  FIELD_LINES = 1 << 4,        /* a list with one object per line */
  FIELD_BREAK = 1 << 5,        /* begins a new line */
};

typedef struct PlanField {
  const char *name; /* NULL after the last one */
  FieldKind kind;
  unsigned flags;
  size_t offset;
  const void *of; /* FIELD_WORD, FIELD_WORDS: `const char *const[]` with NULL after the last word;
                     objects: PlanObject */
} PlanField;

typedef struct PlanObject {
  const PlanField *fields;
  size_t size;
  const void *empty; /* the initial value of the struct; NULL = zeros */
} PlanObject;

typedef VEC(void) AnyList; /* the layout of every VEC, whatever its elements are */

extern const PlanObject plan_object, plan_step_object;
extern const PlanStep plan_empty_step;

#endif
