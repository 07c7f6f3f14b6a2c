/* The processing of one file by `remat`: its steps, their results, and the functions that show
 * them. */
#ifndef REMAT_HLO_CLI_REMAT_RUN_H
#define REMAT_HLO_CLI_REMAT_RUN_H

#include "load.h"
#include "plan_file.h"
#include "remat/outputs.h"
#include "spaces.h"

/* The measurements of a module. */
typedef struct Figures {
  rh_module_info info;
  rh_memory memory;
  rh_cost cost;
  int64_t counted_bytes; /* the part of the peak that the budget bounds */
} Figures;

typedef struct LiveList {
  rh_live_buffer *buffers; /* largest first; owned */
  size_t len, room;
} LiveList;

/* An rh_way whose value is its own. */
typedef struct Way {
  rh_way way;
  char value[96];
} Way;

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
  const rh_profile *profile; /* NULL until the input is read, unless all inputs share one */
  rh_profile *own_profile;
  bool is_device_assumed; /* the input does not tell for which device it was compiled */
  const PlanFile *plan;   /* NULL if an algorithm decides */
  Places *places;
  size_t number; /* number of the input in `places` */
  Loaded loaded;
  rh_module *baseline;  /* in the order in which it would run without this tool */
  rh_module *scheduled; /* in the order that the options ask for; may be the baseline */
  rh_module *result;    /* rematerialized */
  Figures before;       /* of the baseline */
  Figures middle;       /* of `scheduled` */
  Figures after;        /* of the result as it is written */
  Spaces spaces_before; /* of the baseline */
  Spaces spaces_after;  /* of the result */
  rh_remat_options remat;
  rh_remat_result outcome;
  bool is_met;          /* always true if the limit is `min` or none */
  bool was_interrupted; /* by a signal, after which the result may be less than what can be found */
  rh_recomputed *recomputed; /* in the result; NULL if nothing was */
  LiveList blocking; /* buffers that are live at the peak, if the limit is `min` or not met */
  Way *ways;         /* what may help then; owned */
  size_t num_ways;
  char *written[NUM_REMAT_OUTPUTS]; /* paths, owned */
  int num_written;
  double phase_seconds[NUM_PHASES];
  double start_seconds;
} RematRun;

static inline bool job_has_limit(const RematRun *job) {
  return job->options->limit.kind != BUDGET_NONE;
}

/* Returns the lower bound, in bytes, of the memory that the budget bounds. */
int64_t job_lower_bound(const RematRun *job);

/* Whether the memory model counts the parameters of the module. */
bool job_counts_parameters(const RematRun *job);

/* Returns the added modelled time as a fraction of the time before. */
double job_overhead(const RematRun *job);

/* The algorithm that `auto` has chosen; NULL if another one was asked for. */
const char *job_chosen_algorithm(const RematRun *job);

double seconds_now(void);

/* Returns the options of rematerialization that the command line asks for. */
rh_remat_options job_remat_options(const Options *options);

/* Reads the module and reports properties that limit what its figures mean or what the result can
 * be used for. */
rh_status job_read(RematRun *job, const char *path);

/* Schedules the module as the options ask for, and makes the baseline unless it exists already. */
rh_status job_schedule(RematRun *job);

/* These measure a module that has an order, and the two modules that exist before
 * rematerialization. */
rh_status job_measure(RematRun *job, const rh_module *module, Figures *figures);
rh_status job_measure_before(RematRun *job);

/* Measures the result. If nothing was done to the module, its figures are those before. */
rh_status job_measure_after(RematRun *job);

/* Returns the budget in bytes, or INT64_MAX if there is none. */
int64_t job_limit(const RematRun *job);

/* Makes the result. `is_met` is then whether it fits. */
rh_status job_rematerialize(RematRun *job);

/* Adds the time since `start` to the time of a phase. Returns `status`. */
rh_status job_end_phase(RematRun *job, Phase phase, double start, rh_status status);

/* Writes the files that the options ask for, except the summary. */
rh_status job_write(RematRun *job);

/* Prints the summary for people. */
void job_print_summary(const RematRun *job, FILE *out);

/* Returns the summary as JSON text, to be freed with free(), or NULL if out of memory. */
char *job_json(const RematRun *job);

#endif
