#include <inttypes.h>
#include <stdlib.h>

#include "command.h"
#include "exit_code.h"
#include "load.h"
#include "messages.h"
#include "output.h"
#include "rows.h"

typedef struct PackJob {
  const Options *options;
  Loaded loaded; /* its module is not used */
  rh_live_ranges *ranges;
  int64_t *offsets;
  uint32_t *heaps; /* NULL if there is no limit */
  rh_pack_result result;
} PackJob;

static rh_status read_ranges(PackJob *job) {
  const Options *options = job->options;
  rh_status status = load_text(options->files[0], options, &job->loaded);
  if (status != RH_OK) return status;
  rh_parse_options parse = load_parse_options(options);
  status = rh_live_ranges_parse(job->loaded.input.text, job->loaded.input.length, &parse,
                                &job->ranges, job->loaded.diags);
  return load_report(&job->loaded, status);
}

static rh_status pack(PackJob *job) {
  rh_pack_options pack = job->options->pack;
  if (job->options->packing) pack.packing = job->options->packing;
  pack.max_memory_bytes = (size_t)job->options->max_memory_bytes;
  size_t count = rh_live_ranges_len(job->ranges);
  job->offsets = calloc(count + 1, sizeof *job->offsets);
  if (pack.heap_limit_bytes >= 0) job->heaps = calloc(count + 1, sizeof *job->heaps);
  if (!job->offsets || (pack.heap_limit_bytes >= 0 && !job->heaps)) {
    return input_out_of_memory(&job->loaded.input);
  }
  rh_status status = rh_pack(rh_live_ranges_data(job->ranges), count, &pack, job->offsets,
                             job->heaps, &job->result, job->loaded.diags);
  return load_report(&job->loaded, status);
}

static rh_status write_offsets(PackJob *job) {
  Output output;
  rh_status status =
      output_open(job->options->output ? job->options->output : "-", job->options, &output);
  if (status != RH_OK) return status;
  rh_status written = rh_live_ranges_print(job->ranges, job->offsets, job->heaps, output_write,
                                           &output, job->loaded.diags);
  return output_close(&output, written == RH_OK);
}

/* Prints the heights of the heaps. If there are many, the last ones are left out. */
static rh_status print_heaps(const PackJob *job) {
  enum { MAX_SHOWN = 16 };
  uint32_t num_heaps = job->result.num_heaps;
  int64_t *heights = calloc(num_heaps, sizeof *heights);
  if (!heights) return input_out_of_memory(&job->loaded.input);
  const rh_live_range *ranges = rh_live_ranges_data(job->ranges);
  for (size_t i = 0; i < rh_live_ranges_len(job->ranges); i++) {
    int64_t end = job->offsets[i] + ranges[i].bytes;
    if (end > heights[job->heaps[i]]) heights[job->heaps[i]] = end;
  }
  char limit[RH_FORMAT_CHARS], count[RH_FORMAT_CHARS];
  rh_format_bytes(job->options->pack.heap_limit_bytes, limit);
  rh_format_count(num_heaps, count);
  fprintf(stderr, "%s: %s heaps with a limit of %s, bytes: ", job->loaded.input.path, count, limit);
  for (uint32_t i = 0; i < num_heaps && i < MAX_SHOWN; i++)
    fprintf(stderr, "%s%" PRId64, i ? ", " : "", heights[i]);
  fputs(num_heaps > MAX_SHOWN ? ", ...\n" : "\n", stderr);
  free(heights);
  return RH_OK;
}

static void print_summary(const PackJob *job) {
  const rh_pack_result *result = &job->result;
  int64_t bound = result->lower_bound_bytes, over = result->height_bytes - bound;
  char steps[RH_FORMAT_CHARS];
  rh_format_count(result->num_steps, steps);
  fprintf(stderr,
          "%s: height %" PRId64 " bytes%s, lower bound %" PRId64 ", fragmentation %" PRId64
          " (%.2f %%), steps %s, seconds %.3f\n",
          job->loaded.input.path, result->height_bytes, result->is_optimal ? " (optimal)" : "",
          bound, over, bound ? 100.0 * (double)over / (double)bound : 0.0, steps, result->seconds);
}

static rh_status write_rows(const PackJob *job) {
  static const char *const columns[] = {
      "input",      "packing", "buffers", "height_bytes",     "lower_bound_bytes",
      "is_optimal", "steps",   "seconds", "heap_limit_bytes", "heaps",
      NULL};
  const Options *options = job->options;
  const rh_pack_result *result = &job->result;
  rh_pack_options usual = RH_PACK_OPTIONS_INIT;
  Rows rows;
  rh_status status = rows_open(columns, options->csv, options->json, options, &rows);
  if (status == RH_OK) {
    rows.is_one = true;
    rows_word(&rows, job->loaded.input.path);
    rows_word(&rows, options->packing ? options->packing : usual.packing);
    rows_int(&rows, (int64_t)rh_live_ranges_len(job->ranges), 0);
    rows_int(&rows, result->height_bytes, 0);
    rows_int(&rows, result->lower_bound_bytes, 0);
    rows_bool(&rows, result->is_optimal);
    rows_int(&rows, (int64_t)result->num_steps, 0);
    rows_double(&rows, result->seconds);
    rows_int(&rows, options->pack.heap_limit_bytes, 0);
    rows_int(&rows, job->heaps ? (int64_t)result->num_heaps : -1, 0);
  }
  rh_status closed = rows_close(&rows, status == RH_OK);
  return closed > status ? closed : status;
}

static void say_capacity(const PackJob *job) {
  int64_t capacity = job->options->pack.capacity_bytes;
  messages_say(&job->loaded.input, RH_SEVERITY_ERROR,
               "the height of %" PRId64 " bytes is above the capacity of %" PRId64 "%s",
               job->result.height_bytes, capacity,
               capacity < job->result.lower_bound_bytes ? "; so is what lives at one time" : "");
}

rh_status cmd_pack(const Options *options) {
  const char *paths[] = {options->output ? options->output : "-", options->json, options->csv};
  PackJob job = {.options = options, .result = RH_PACK_RESULT_INIT};
  rh_status status = output_check(paths, sizeof paths / sizeof *paths);
  if (status != RH_OK) return status;
  status = read_ranges(&job);
  if (status == RH_OK) status = pack(&job);
  if (is_answer(status)) {
    rh_status written = write_offsets(&job);
    if (written == RH_OK) written = write_rows(&job);
    if (!options->quiet) print_summary(&job);
    if (!options->quiet && job.heaps && written == RH_OK) written = print_heaps(&job);
    if (status == RH_OVER_LIMIT) say_capacity(&job);
    if (written != RH_OK) status = written;
  }
  free(job.heaps);
  free(job.offsets);
  rh_live_ranges_free(job.ranges);
  load_free(&job.loaded);
  return status;
}
