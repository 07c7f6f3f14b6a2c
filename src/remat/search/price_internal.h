/* What the files of pricing share: price_decide.c decides for all gaps between readers under given
 * prices, price_forms.c knows what keeping a value in another form over a gap would cost, and
 * price.c makes the line that comes out and changes the prices. */
#ifndef REMAT_HLO_REMAT_SEARCH_PRICE_INTERNAL_H
#define REMAT_HLO_REMAT_SEARCH_PRICE_INTERNAL_H

#include "ir/sort.h"
#include "remat/search/line_link.h"
#include "remat/search/price.h"
#include "remat/search/runs.h"

/* Somebody needs a value of a step at a place. */
typedef struct Demand {
  StepId place; /* before this step, if a clone needs it; else by this step */
  StepId until; /* the reader holds it until then; `place` for readers that compute */
  RunId reader;
  uint32_t operand;               /* of the reader */
  uint32_t next;                  /* of the same step */
  uint32_t first_part, num_parts; /* of the step, that the reader reads */
} Demand;

/* What a step reads by one operand, as lines have it, in one place. */
typedef struct Need {
  int64_t bytes; /* of the memory that it reads, which may be that of another step */
  StepId source;
  StepId until;                   /* the first step that overwrites some of it; NO_ID = none */
  uint32_t first_part, num_parts; /* of the source */
  bool is_settled; /* what lives all the time anyway: nothing depends on who else reads it */
} Need;

/* What the cost of a step's recomputation depends on. */
typedef struct StepCost {
  double seconds;
  int64_t bytes;  /* live while it runs: what it reads and makes */
  uint32_t stamp; /* the closure that last went through the step */
  bool can_clone;
  bool has_form; /* its value can be kept in another form */
  bool forwards; /* it holds parts of operands */
  bool can_gain; /* it holds memory, or loses what it holds to a step that overwrites it */
} StepCost;

/* How the price of a step changed last. */
typedef struct PriceMotion {
  float rate; /* of its logarithm, in one round */
  bool is_rising, has_moved;
} PriceMotion;

typedef struct Pricing {
  const Line *line;
  const LineMemory *memory; /* of the line */
  StepId *owner;            /* by part of the line: its step */
  StepId *overwriter;       /* by part of the line, if it owns memory, as LineOverwrites.by */
  bool *is_unread;          /* by step: nobody reads it in the line */
  double *price;            /* by step */
  PriceMotion *motions;     /* by step */
  double least_price;       /* so that prices can rise again */
  const PriceRules *rules;
  double *sum; /* by step: of the prices up to and with it; one entry before the first */
  VEC(Demand) demands;
  uint32_t *first_demand; /* by step; NO_ID = none */
  Runs runs;              /* of this round, with clones and copies */
  AddedRunVec last_added; /* of the round before */
  VEC(SortItem) sorted;   /* demands of the step being visited, the last place first */
  VEC(StepId) held_until; /* for each of them: until when those of earlier places hold the step */
  uint8_t *is_needed;     /* by part of the node being visited */
  /* For each of the demands, if they are for different parts: the index of its first part in
   * `part_until`, which has by part until when demands of earlier places hold it. */
  VEC(uint32_t) first_until;
  VEC(StepId) part_until;
  StepId *needed_until; /* by part of the node being visited, if it is needed: until when demands
                           of earlier places than those looked at hold it; at the end, of a tuple:
                           until when it must be held */
  StepCost *costs;      /* by step */
  Need *needs;          /* as Line.sources */
  uint32_t num_closures;
  uint32_t num_visited, most_visited; /* steps, for one recomputation */
  int64_t closure_bytes;              /* live at most while a step of the closure runs */
  uint64_t num_looked;                /* demands and steps in a round, steps as so many demands */
  bool keeps_places;
  double *begin_seconds; /* by step, one entry more, if values can be kept on the host: the time of
                            all steps before it */
  double link_price;     /* of a second of the link to the host, in seconds */
  LinkLoad load;         /* of the link, as rounds have had it on average */
  Arena *arena;
} Pricing;

static inline double sum_before(const Pricing *pricing, StepId step) {
  return pricing->sum[step]; /* prices of steps 0 … step - 1 */
}
static inline double sum_through(const Pricing *pricing, StepId step) {
  return pricing->sum[step + 1];
}

static inline const SearchNode *node_of(const Pricing *pricing, StepId step) {
  return &pricing->line->graph->nodes[pricing->line->nodes[step]];
}

/* Decides for all steps, from the last to the first: which clones there are, and what each run
 * reads. */
void pricing_decide(Pricing *pricing);

/* What it would cost to keep a value in another form between two readers. */
typedef struct FormGap {
  uint32_t form;      /* NO_ID = it has none, or the gap is too short */
  StepId there, back; /* the copies run before these steps */
  double cost;        /* in seconds; infinite if there is none */
} FormGap;

/* Copies into one form and back whose source is not known yet: it is the run before them. */
typedef struct PendingForm {
  uint32_t form;    /* NO_ID = none */
  StepId there;     /* the copy into the form runs before this step */
  RunId first_back; /* the first of the copies back */
  uint32_t num_backs;
} PendingForm;

/* The cheapest form of a step's value from `held_until`, when somebody else holds it last, to
 * `place`. Copies back that are pending can read the same copy. */
FormGap form_gap(const Pricing *pricing, StepId step, StepId held_until, StepId place,
                 const PendingForm *pending);

/* Adds a copy back, which later joins a copy into the form; returns its number. */
RunId form_add_back(Pricing *pricing, const FormGap *gap, PendingForm *pending);

/* Adds the copy into the form that is pending, if one is. It reads `run`. */
void form_add_there(Pricing *pricing, RunId run, PendingForm *pending);

/* Prepares for copies over the link, if the graph has any. */
void form_begin_link(Pricing *pricing);

/* Lets the copies over the link of a round's line take longer where there is memory for that, and
 * notes how busy the link was. Uses up what the line's memory says. */
Line form_stretch_copies(Pricing *pricing, const Line *priced, LineMemory *memory,
                         int64_t limit_bytes, const StepId *place_of, Arena *arena);

/* The link's price for the next round: higher where steps waited for copies, else lower. */
void form_change_link_price(Pricing *pricing, const LineMemory *memory);

#endif
