/* What a search tries: orders, each with some prices, and lines that it goes on from. Trials are
 * independent of each other, so that they can run side by side. */
#ifndef REMAT_HLO_REMAT_SEARCH_TRIAL_H
#define REMAT_HLO_REMAT_SEARCH_TRIAL_H

#include "remat/search/price.h"
#include "remat/search/search.h"

enum {
  NUM_ORDER_RULES = 20,
  NUM_QUICK_ORDER_RULES = 5, /* the first ones are the best most often */
  NUM_PRICE_RULES = 7,
  FIRST_LONG_PRICES = 4, /* these have far more rounds, and come closer to the best prices */
  NUM_TRIALS = 4,        /* side by side, on however many threads */
};

/* What trials are judged by. It changes only between those that run side by side, so that results
 * are the same for any number of threads. */
typedef struct Goal {
  int64_t limit_bytes;
  const SearchRules *rules;
  double given_excess; /* of the line that the search begins from */
  Score best;          /* of the best line so far */
} Goal;

/* An order that decisions are made in, and the best merit of what they came to. */
typedef struct Order {
  Line line;
  double merit;
  Arena *arena;
} Order;

typedef enum TrialKind {
  TRIAL_NEW_ORDER,   /* makes an order, and prices it */
  TRIAL_KNOWN_ORDER, /* prices a known order */
  TRIAL_IMPROVE,     /* goes on from a line */
} TrialKind;

enum { MAX_FROM_TRIAL = 4 };

typedef struct Trial {
  TrialKind kind;
  uint32_t order_rules;       /* number of the rules that make the order */
  uint32_t price_rules;       /* number of those that it is priced by */
  uint32_t level;             /* how often candidates have been improved before */
  Order *order;               /* that is made, or known */
  const ScoredLine *improved; /* the line that it goes on from */
  /* what comes out */
  Patience patience;
  uint64_t num_spent_on_order;      /* steps */
  Line line;                        /* the order, in the arena of the trial */
  ScoredLine found[MAX_FROM_TRIAL]; /* likewise */
  bool is_end[MAX_FROM_TRIAL];      /* there is nothing to go on from */
  uint32_t num_found;
} Trial;

/* Some trials that run side by side. */
typedef struct Trials {
  Goal goal;
  const Line *given;
  const Order *orders; /* NUM_ORDER_RULES; those made so far have an arena */
  Patience *patience;
  Arena *scratch;
  Trial list[NUM_TRIALS];
  uint32_t len;
} Trials;

/* Is told what each trial has found, in their order. */
typedef void TrialKeepFn(void *context, const Trial *trial);

/* Runs the trials in the list, and empties it. The steps go to each of them in turn, as many as it
 * needs. */
void trials_run(Trials *trials, TrialKeepFn *keep, void *context);

/* The order that rules make of a line. `is_new` is false if it is known to be that of other rules.
 */
Line trial_make_order(const Goal *goal, const Line *given, uint32_t order_rules, Patience *patience,
                      bool *is_new, Arena *out, Arena *scratch);

/* A line with less excess by what it computes again besides, trimmed. */
ScoredLine trial_mended(const Goal *goal, const ScoredLine *scored, Patience *patience, Arena *out,
                        Arena *scratch);

#endif
