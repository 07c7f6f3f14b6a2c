/* Computes sums over the live set, and the differences between the sums of two reports. */
#include <stdlib.h>

#include "emit/report/report.h"
#include "ir/hash.h"
#include "ir/pointers.h"

typedef struct SumTable {
  VEC(rh_sum) list;
  IdTable table;
  Arena *arena;
} SumTable;

static uint64_t hash_of(rh_text name, int64_t line) {
  return hash_mix(hash_bytes(HASH_SEED, name.data, name.length), (uint64_t)line);
}

static bool is_key(const rh_sum *sum, rh_text name, int64_t line) {
  return sum->line == line && sum->name.length == name.length &&
         (name.length == 0 || memcmp(sum->name.data, name.data, name.length) == 0);
}

static uint32_t find_sum(const SumTable *sums, rh_text name, int64_t line) {
  uint32_t id;
  for (IdProbe probe = id_table_probe(&sums->table, hash_of(name, line));
       id_probe_next(&probe, &id);) {
    if (is_key(&sums->list.data[id], name, line)) return id;
  }
  return NO_ID;
}

static uint32_t find_or_add(SumTable *sums, rh_text name, int64_t line) {
  uint32_t id = find_sum(sums, name, line);
  if (id != NO_ID) return id;
  id = sums->list.len;
  *vec_push(sums->arena, &sums->list) = (rh_sum){.name = name, .line = line};
  id_table_add(&sums->table, sums->arena, hash_of(name, line), id);
  return id;
}

static int by_name_then_line(rh_text a, int64_t a_line, rh_text b, int64_t b_line) {
  int order = str_compare(str_make(a.data, a.length), str_make(b.data, b.length));
  if (order) return order;
  return (a_line > b_line) - (a_line < b_line);
}

static int by_bytes_then_name(const void *pa, const void *pb) {
  const rh_sum *a = pa, *b = pb;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return by_name_then_line(a->name, a->line, b->name, b->line);
}

/* ---- sums of a report ---- */

static void add_to(SumTable *sums, rh_text name, int64_t line, int64_t bytes, uint64_t num_values) {
  uint32_t id = find_or_add(sums, name, line);
  rh_sum *sum = &sums->list.data[id];
  sum->bytes += bytes;
  sum->num_values += num_values;
}

static rh_text op_name_of(const rh_live_value *value, Arena *out) {
  Str parts[MAX_SCOPE_DEPTH];
  uint32_t num_parts = scope_of_value(value, parts);
  Str joined = scope_join(parts, num_parts, out);
  return (rh_text){joined.data, joined.len};
}

static rh_text key_of(const rh_live_value *value, rh_sum_kind kind) {
  switch (kind) {
    case RH_BY_CATEGORY: return (rh_text){value->category, strlen(value->category)};
    case RH_BY_OPCODE: return value->opcode;
    case RH_BY_SOURCE: return value->source_file;
    case RH_BY_COMPUTATION: return value->computation;
    case RH_BY_OP_NAME:
    case RH_NUM_SUMS: break;
  }
  return (rh_text){"", 0};
}

/* The beginning of the path of an argument: `params` of `params['w'][0]`. */
static rh_text argument_of(const rh_live_value *value) {
  rh_text path = value->argument;
  const char *index = memchr(path.data, '[', path.length);
  return index > path.data ? (rh_text){path.data, (size_t)(index - path.data)} : path;
}

static void add_values(SumTable *sums, const rh_report *report, rh_sum_kind kind) {
  for (size_t i = 0; i < report->num_live; i++) {
    const rh_live_value *value = report->live[i];
    if (kind == RH_BY_SOURCE && value->argument.length) {
      add_to(sums, argument_of(value), -1, value->bytes, 1);
      continue;
    }
    int64_t line = kind == RH_BY_SOURCE ? value->source_line : 0;
    add_to(sums, key_of(value, kind), line, value->bytes, 1);
  }
}

static void add_operations(SumTable *sums, const rh_report *report, Arena *out) {
  Operations operations = report_operations(report, sums->arena);
  for (uint32_t i = 0; i < operations.len; i++) {
    const Operation *operation = &operations.data[i];
    add_to(sums, op_name_of(operation->value, out), 0, operation->bytes, operation->num_values);
  }
}

static rh_sums sum_by(const rh_report *report, rh_sum_kind kind, Arena *out, Arena *scratch) {
  ArenaMark mark = arena_mark(scratch);
  SumTable sums = {.arena = scratch};
  if (kind == RH_BY_OP_NAME) {
    add_operations(&sums, report, out);
  } else {
    add_values(&sums, report, kind);
  }
  uint32_t len = sums.list.len;
  rh_sum *list = arena_array(out, rh_sum, len);
  if (len) {
    memcpy(list, sums.list.data, len * sizeof *list);
    qsort(list, len, sizeof *list, by_bytes_then_name);
  }
  arena_reset(scratch, mark);
  return (rh_sums){pointers_to(list, len, sizeof *list, out), len};
}

void report_sums(rh_report *report, Arena *out, Arena *scratch) {
  rh_sums *sums = arena_array(out, rh_sums, RH_NUM_SUMS);
  for (int kind = 0; kind < RH_NUM_SUMS; kind++)
    sums[kind] = sum_by(report, (rh_sum_kind)kind, out, scratch);
  report->sums = sums;
}

/* ---- differences between sums ---- */

static int64_t distance_of(const rh_change *change) {
  int64_t distance = change->after_bytes - change->before_bytes;
  return distance < 0 ? -distance : distance;
}

static int by_distance_then_name(const void *pa, const void *pb) {
  const rh_change *a = pa, *b = pb;
  if (distance_of(a) != distance_of(b)) return distance_of(a) > distance_of(b) ? -1 : 1;
  return by_name_then_line(a->name, a->line, b->name, b->line);
}

typedef struct Comparison {
  SumTable sums;
  VEC(rh_change) changes; /* by the ids of `sums` */
} Comparison;

static rh_change *change_of(Comparison *comparison, const rh_sum *sum) {
  uint32_t id = find_or_add(&comparison->sums, sum->name, sum->line);
  if (id == comparison->changes.len) {
    *vec_push(comparison->sums.arena, &comparison->changes) =
        (rh_change){.name = sum->name, .line = sum->line};
  }
  return &comparison->changes.data[id];
}

void sums_compare(rh_sums before, rh_sums after, rh_change_fn visit, void *context,
                  Arena *scratch) {
  Comparison comparison = {.sums.arena = scratch};
  for (size_t i = 0; i < before.len; i++) {
    rh_change *change = change_of(&comparison, before.list[i]);
    change->before_bytes = before.list[i]->bytes;
    change->before_num_values = before.list[i]->num_values;
  }
  for (size_t i = 0; i < after.len; i++) {
    rh_change *change = change_of(&comparison, after.list[i]);
    change->after_bytes = after.list[i]->bytes;
    change->after_num_values = after.list[i]->num_values;
  }
  rh_change *changes = comparison.changes.data;
  uint32_t len = comparison.changes.len;
  if (len) qsort(changes, len, sizeof *changes, by_distance_then_name);
  for (uint32_t i = 0; i < len; i++) {
    if (distance_of(&changes[i])) visit(context, &changes[i]);
  }
}
