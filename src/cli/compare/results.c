#include "compare/results.h"

#include <string.h>
#include <sys/stat.h>

#include "path.h"

rh_status results_check_log(const Options *options) {
  struct stat kind;
  bool is_free = !options->json || options->resume || options->overwrite ||
                 output_is_stdout(options->json) || stat(options->json, &kind) != 0 ||
                 !S_ISREG(kind.st_mode) || kind.st_size == 0;
  if (is_free) return RH_OK;
  fprintf(stderr,
          "remat-hlo: error: '%s' is not empty: --resume adds the runs that it does not have, "
          "--overwrite throws away what it has\n",
          options->json);
  return RH_ERR_USAGE;
}

rh_status results_claim(const Options *options, Places *places) {
  const struct {
    const char *option, *path;
  } results[] = {{"--json", options->json}, {"--csv", options->csv}, {"--pareto", options->pareto}};
  rh_status status = RH_OK;
  for (size_t i = 0; i < sizeof results / sizeof *results && status == RH_OK; i++) {
    if (!results[i].path) continue;
    status = places_claim(places, results[i].path, results[i].option, PLACE_OF_ALL);
  }
  return status;
}

static bool is_stdout_taken(const Options *options) {
  return output_is_stdout(options->json) || output_is_stdout(options->csv) ||
         output_is_stdout(options->pareto) || output_is_stdout(options->output);
}

rh_status results_open(const Options *options, Results *results) {
  *results = (Results){0};
  rh_status status = RH_OK;
  if (options->csv) {
    status = output_open(options->csv, options, &results->csv);
    results->has_csv = status == RH_OK;
  }
  if (status == RH_OK && options->pareto) {
    status = output_open(options->pareto, options, &results->pareto);
    results->has_pareto = status == RH_OK;
  }
  return status;
}

rh_status results_close(const Comparison *comparison, Results *results, bool keep) {
  rh_status worst = RH_OK, status;
  if (results->has_csv) {
    if (keep) compare_write_csv(comparison, &results->csv);
    worst = output_close(&results->csv, keep);
  }
  if (results->has_pareto) {
    bool is_page = path_ends_in(comparison->options->pareto, ".html");
    if (keep) compare_write_pareto(comparison, is_page, &results->pareto);
    status = output_close(&results->pareto, keep);
    if (status > worst) worst = status;
  }
  return worst;
}

void results_print(const Comparison *comparison) {
  if (comparison->options->quiet) return;
  Terminal terminal = terminal_of(is_stdout_taken(comparison->options) ? stderr : stdout);
  compare_print(comparison, &terminal);
}
