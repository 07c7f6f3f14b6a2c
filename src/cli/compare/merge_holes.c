/* What is missing in logs: whole shards, inputs that a worker did not come to, and single runs.
 * Only the logs of shards say what there should be. */
#include <stdlib.h>

#include "compare/merge_job.h"

static size_t count_rows(const Comparison *comparison, const CompareFile *file) {
  size_t count = 0;
  for (size_t i = 0; i < comparison->runs_per_file; i++)
    count += file->runs[i].has_row;
  return count;
}

static void find_missing_runs(Merge *merge, const MergedInput *input, const CompareFile *file) {
  char text[256];
  Input place = {.path = input->begin->input, .form = (MessageForm)merge->options->diagnostics};
  if (!input->plan) return;
  const char *shard = merge_text(input->plan, "shard"),
             *log = merge->options->files[input->plan->log];
  if (!input->last) {
    snprintf(text, sizeof text, "none of its runs is there (shard %s, %s)", shard, log);
    merge_say_hole(merge, &place, text);
    return;
  }
  size_t wanted = merge_number(input->last, "runs"), count = count_rows(merge->comparison, file);
  if (file->is_bad) {
    merge_say(merge, &place, RH_SEVERITY_ERROR, "it could not be read or measured (shard %s, %s)",
              shard, log);
    if (merge->worst < RH_ERR_INPUT) merge->worst = RH_ERR_INPUT;
  } else if (count < wanted) {
    snprintf(text, sizeof text, "%zu of %zu runs are missing (shard %s, %s)", wanted - count,
             wanted, shard, log);
    merge_say_hole(merge, &place, text);
  }
}

typedef struct Coverage {
  size_t num_inputs; /* of the whole list */
  uint32_t num_shards;
  bool is_one_list, is_one_split;
} Coverage;

/* Finds out of how many inputs and shards the logs are, if they agree. */
static Coverage coverage_of(const Merge *merge) {
  Coverage coverage = {.is_one_list = true, .is_one_split = true};
  for (size_t i = 0; i < merge->num_inputs; i++) {
    const LogLine *plan = merge->inputs[i].plan;
    Shard shard;
    if (!plan || !parse_shard(merge_text(plan, "shard"), &shard)) continue;
    size_t num_inputs = merge_number(plan, "inputs");
    if (coverage.num_inputs && coverage.num_inputs != num_inputs) coverage.is_one_list = false;
    if (coverage.num_shards && coverage.num_shards != shard.count) coverage.is_one_split = false;
    if (num_inputs > coverage.num_inputs) coverage.num_inputs = num_inputs;
    if (shard.count > coverage.num_shards) coverage.num_shards = shard.count;
  }
  return coverage;
}

/* The inputs are sorted by their numbers. */
static size_t count_inputs(const Merge *merge) {
  size_t count = 0, last = 0;
  for (size_t i = 0; i < merge->num_inputs; i++) {
    size_t number = merge->inputs[i].number;
    count += number > last;
    last = number;
  }
  return count;
}

static bool *mark_shards(const Merge *merge, const Coverage *coverage) {
  bool *has_shard = calloc(coverage->num_shards + 1, sizeof *has_shard);
  for (size_t i = 0; i < merge->num_inputs && has_shard; i++) {
    const LogLine *plan = merge->inputs[i].plan;
    Shard shard;
    if (plan && parse_shard(merge_text(plan, "shard"), &shard)) has_shard[shard.index] = true;
  }
  return has_shard;
}

/* Writes numbers of shards as `1-3, 7`, as many as there is room for. */
static void print_missing(const bool *has_shard, uint32_t num_shards, char *text, size_t room) {
  size_t length = 0;
  text[0] = 0;
  for (uint32_t first = 1, last; first <= num_shards; first = last + 1) {
    last = first;
    if (has_shard[first]) continue;
    while (last < num_shards && !has_shard[last + 1])
      last++;
    if (length + 32 > room) {
      snprintf(text + length, room - length, ", ...");
      return;
    }
    int more = snprintf(text + length, room - length, last > first ? "%s%u-%u" : "%s%u",
                        length ? ", " : "", first, last);
    length += (size_t)more;
  }
}

/* Shards without a line are empty if the others have all inputs. Where the lists differ, their
 * numbers say nothing. */
static void say_missing_shards(Merge *merge, const Coverage *coverage, const bool *has_shard) {
  Input place = {.path = "remat-hlo", .form = (MessageForm)merge->options->diagnostics};
  size_t count = count_inputs(merge);
  char shards[200], inputs[80] = "some inputs may be", text[400];
  print_missing(has_shard, coverage->num_shards, shards, sizeof shards);
  bool has_all = coverage->is_one_list ? count >= coverage->num_inputs : !shards[0];
  if (has_all) return;
  if (coverage->is_one_list) {
    snprintf(inputs, sizeof inputs, "%zu of %zu inputs are", coverage->num_inputs - count,
             coverage->num_inputs);
  }
  snprintf(text, sizeof text, "%s in no log: there is no line of shard %s of %u", inputs, shards,
           coverage->num_shards);
  if (!shards[0]) snprintf(text, sizeof text, "%s in no log: some log is not whole", inputs);
  merge_say_hole(merge, &place, text);
}

static void say_differences(Merge *merge, const Coverage *coverage) {
  Input place = {.path = "remat-hlo", .form = (MessageForm)merge->options->diagnostics};
  if (!coverage->is_one_list) {
    merge_say(merge, &place, RH_SEVERITY_WARNING,
              "the shards are of different lists: files were added or removed in between");
  }
  if (!coverage->is_one_split) {
    merge_say(merge, &place, RH_SEVERITY_WARNING, "the logs are of different numbers of shards");
  }
}

rh_status merge_find_holes(Merge *merge) {
  for (size_t i = 0; i < merge->num_inputs; i++)
    find_missing_runs(merge, &merge->inputs[i], &merge->comparison->files[i]);
  Coverage coverage = coverage_of(merge);
  bool *has_shard = mark_shards(merge, &coverage);
  if (!has_shard) return input_out_of_memory(&(Input){.path = "remat-hlo"});
  say_differences(merge, &coverage);
  say_missing_shards(merge, &coverage, has_shard);
  free(has_shard);
  return RH_OK;
}
