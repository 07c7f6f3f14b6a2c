/* Sums over the recomputations that rematerialization added. They are described as the values of a
 * report are, so that the same functions sum them up. */
#include "emit/report/recomputed.h"

#include "analysis/memory/remat_memory.h"
#include "emit/report/describe.h"
#include "emit/report/report.h"
#include "ir/handle.h"
#include "ir/pointers.h"

/* The bytes of the result once for each run, limited so that no sum overflows. */
static int64_t bytes_of(const Module *module, InstId id, double runs) {
  int64_t most = INT64_MAX / ((int64_t)module->insts.len + 1);
  int64_t bytes = result_device_bytes(module, id);
  if (bytes < 0 || bytes > most) return most;
  if (runs <= 1) return bytes;
  return (double)bytes * runs < (double)most ? (int64_t)((double)bytes * runs) : most;
}

/* Finds the recomputations. The report has nothing else. */
static rh_report find_values(const Module *module, const ValueAnalysis *values, RematMarks marks,
                             const double *runs, Arena *out, Arena *scratch) {
  rh_report report = {0};
  if (!marks) return report;
  Describer describer = describer_new(module, values, out, scratch);
  VEC(rh_live_value) list = {0};
  for (CompId comp = 0; comp < module->comps.len; comp++) {
    if (!comp_is_sequential(&values->graph, comp)) continue;
    for (uint32_t i = 0; i < comp_num_insts(module, comp); i++) {
      InstId id = comp_inst(module, comp, i);
      if (marks[id].kind != REMAT_KIND_CLONE) continue;
      rh_live_value value = describe_value(&describer, id, 0);
      value.bytes = bytes_of(module, id, runs[comp]);
      *vec_push(scratch, &list) = value;
    }
  }
  report.live = pointers_to(list.data, list.len, sizeof(rh_live_value), scratch);
  report.num_live = list.len;
  return report;
}

/* ---- the scope of a line ---- */

/* The parts that the scopes of all its values begin with. */
typedef struct Common {
  Str parts[MAX_SCOPE_DEPTH];
  uint32_t num_parts;
  bool is_set;
} Common;

static void narrow(Common *common, const rh_live_value *value) {
  Str parts[MAX_SCOPE_DEPTH];
  uint32_t num_parts = value->op_name.length ? scope_of_value(value, parts) : 0, same = 0;
  if (!common->is_set) {
    memcpy(common->parts, parts, num_parts * sizeof *parts);
    common->num_parts = num_parts;
    common->is_set = true;
    return;
  }
  while (same < num_parts && same < common->num_parts &&
         str_equal(parts[same], common->parts[same]))
    same++;
  common->num_parts = same;
}

static bool is_same(rh_text a, rh_text b) {
  return str_equal(str_make(a.data, a.length), str_make(b.data, b.length));
}

static bool is_on(const rh_live_value *value, const rh_sum *line) {
  if (value->argument.length) {
    size_t len = line->name.length;
    bool begins = line->line < 0 && value->argument.length >= len &&
                  memcmp(value->argument.data, line->name.data, len) == 0;
    return begins && (value->argument.length == len || value->argument.data[len] == '[');
  }
  return value->source_line == line->line && is_same(value->source_file, line->name);
}

/* O(values) for each line. The lines beyond MAX_SCOPES, which are those with the fewest bytes, have
 * no scope. */
static rh_text scope_of_line(const rh_report *report, const rh_sum *line, Arena *out) {
  Common common = {.is_set = false};
  for (size_t i = 0; i < report->num_live; i++) {
    if (is_on(report->live[i], line)) narrow(&common, report->live[i]);
  }
  return text_of_str(scope_join(common.parts, common.num_parts, out));
}

static void list_lines(const rh_report *report, rh_recomputed *recomputed, Arena *out) {
  enum { MAX_SCOPES = 1000 };
  rh_sums sums = report->sums[RH_BY_SOURCE];
  rh_recomputed_line *lines = arena_array(out, rh_recomputed_line, sums.len);
  for (size_t i = 0; i < sums.len; i++) {
    const rh_sum *sum = sums.list[i];
    bool is_argument = sum->line < 0;
    rh_text none = {"", 0};
    lines[i] = (rh_recomputed_line){
        .source_file = is_argument ? none : sum->name,
        .source_line = is_argument ? 0 : sum->line,
        .argument = is_argument ? sum->name : none,
        .scope = i < MAX_SCOPES ? scope_of_line(report, sum, out) : none,
        .bytes = sum->bytes,
        .num_values = sum->num_values,
    };
  }
  recomputed->lines = pointers_to(lines, (uint32_t)sums.len, sizeof *lines, out);
  recomputed->num_lines = sums.len;
}

void recomputed_fill(const Module *module, const ValueAnalysis *values, RematMarks marks,
                     const double *runs, rh_recomputed *recomputed, Arena *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  rh_report report = find_values(module, values, marks, runs, out, scratch);
  for (size_t i = 0; i < report.num_live; i++)
    recomputed->bytes += report.live[i]->bytes;
  recomputed->num_values = report.num_live;
  report_sums(&report, out, scratch);
  report_scopes(&report, out, scratch);
  list_lines(&report, recomputed, out);
  recomputed->scopes = report.scopes;
  recomputed->num_scopes = report.num_scopes;
  arena_reset(scratch, mark);
}
