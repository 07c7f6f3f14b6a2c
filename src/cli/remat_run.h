/* What `remat` finds out about one file, and who shows it. */
#ifndef REMAT_HLO_CLI_REMAT_JOB_H
#define REMAT_HLO_CLI_REMAT_JOB_H

#include "load.h"
#include "plan_file.h"
#include "remat_outputs.h"

/* A module, measured. */
typedef struct Figures {
  rh_module_info info;
  rh_memory memory;
  rh_cost cost;
  int64_t counted_bytes; /* of the peak: what the budget bounds */
} Figures;

typedef struct LiveList {
  rh_live_buffer *buffers; /* largest first; owned */
  size_t len, room;
} LiveList;

typedef enum Phase {
  PHASE_PARSE,
  PHASE_SCHEDULE,
  PHASE_MEASURE,
  PHASE_REMAT,
  PHASE_VERIFY,
  PHASE_EMIT,
  NUM_PHASES,
} Phase;

typedef struct RematRun {
  const Options *options;
  const rh_profile *profile;
  const PlanFile *plan; /* NULL = an algorithm decides */
  Places *places;
  size_t number; /* of the input there */
  Loaded loaded;
  rh_module *baseline;  /* in the order that it would run in without us */
  rh_module *scheduled; /* in the order that the options ask for; may be the baseline */
  rh_module *result;    /* rematerialized */
  Figures before;       /* of the baseline */
  Figures middle;       /* of `scheduled` */
  Figures after;        /* of the result, as it is written */
  rh_remat_options remat;
  rh_remat_result outcome;
  bool is_met;                      /* always, when the limit is `min` or none */
  LiveList blocking;                /* what lives at the peak, when the limit is `min` or not met */
  char *written[NUM_REMAT_OUTPUTS]; /* paths, owned */
  int num_written;
  double phase_seconds[NUM_PHASES];
  double start_seconds;
} RematRun;

static inline bool job_has_limit(const RematRun *job) {
  return job->options->limit.kind != BUDGET_NONE;
}

/* The lower bound of what the budget bounds, bytes. */
int64_t job_lower_bound(const RematRun *job);

/* Modelled seconds added, as a fraction. */
double job_overhead(const RematRun *job);

double seconds_now(void);

/* How the options have it done. */
rh_remat_options job_remat_options(const Options *options);

/* Reads the module. What its figures or the result cannot be taken for is told. */
rh_status job_read(RematRun *job, const char *path);

/* Gives it the order asked for; makes the baseline unless it is there. */
rh_status job_schedule(RematRun *job);

/* Measures a module that has an order; the two that are there before anything is recomputed. */
rh_status job_measure(RematRun *job, const rh_module *module, Figures *figures);
rh_status job_measure_before(RematRun *job);

/* The budget in bytes; INT64_MAX = none. */
int64_t job_limit(const RematRun *job);

/* Makes the result; whether it fits is in `is_met`. */
rh_status job_rematerialize(RematRun *job);

/* Adds the time since `start` to that of a phase. Returns `status`. */
rh_status job_end_phase(RematRun *job, Phase phase, double start, rh_status status);

/* Writes the files that the options ask for but for the summary. */
rh_status job_write(RematRun *job);

/* The summary for people. */
void job_print_summary(const RematRun *job, FILE *out);

/* The summary as JSON text, to be freed with free(); NULL without memory. */
char *job_json(const RematRun *job);

#endif
