#include "advice/print.h"

#include <cjson/cJSON.h>

#include "emit/json.h"

/* As many digits as cJSON gives a number, with a point in every locale. */
static void put_number(Writer *out, const char *key, double value) {
  char digits[64];
  cJSON number = {.type = cJSON_Number, .valuedouble = value};
  write_format(out, ",\"%s\":", key);
  if (cJSON_PrintPreallocated(&number, digits, (int)sizeof digits, false)) {
    write_text(out, digits);
  } else {
    out->has_failed = true;
  }
}

static void put_text(Writer *out, const char *key, rh_text text) {
  if (text.length) {
    json_string_field(out, key, text);
  } else {
    write_format(out, ",\"%s\":null", key);
  }
}

static void put_known(Writer *out, const char *key, int64_t value) {
  if (value > 0) {
    json_int_field(out, key, value);
  } else {
    write_format(out, ",\"%s\":null", key);
  }
}

static void put_bool(Writer *out, const char *key, bool value) {
  write_format(out, ",\"%s\":%s", key, value ? "true" : "false");
}

static void put_parameters(Writer *out, const rh_remedy *remedy) {
  write_text(out, ",\"parameters\":[");
  for (size_t i = 0; i < remedy->num_parameters; i++) {
    if (i) write_text(out, ",");
    json_int(out, remedy->parameters[i]);
  }
  write_text(out, "]");
}

static void put_remedy(Writer *out, const rh_remedy *remedy) {
  write_format(out, "{\"kind\":\"%s\",\"confidence\":\"%s\"", remedy->kind, remedy->confidence);
  put_text(out, "title", remedy->title);
  put_text(out, "code", remedy->code);
  put_text(out, "explanation", remedy->explanation);
  put_text(out, "source_file", remedy->source_file);
  put_known(out, "source_line", remedy->source_line);
  put_text(out, "function", remedy->function);
  put_known(out, "first_line", remedy->first_line);
  put_known(out, "last_line", remedy->last_line);
  put_bool(out, "is_step", remedy->is_step);
  put_text(out, "scope", remedy->scope);
  put_text(out, "argument", remedy->argument);
  put_parameters(out, remedy);
  put_text(out, "policy", remedy->policy);
  put_known(out, "num_instances", remedy->num_instances);
  json_int_field(out, "every", remedy->every > 1 ? remedy->every : 1);
  put_known(out, "segment", remedy->segment);
  put_known(out, "num_chunks", remedy->num_chunks);
  json_int_field(out, "bytes_at_peak", remedy->bytes_at_peak);
  json_int_field(out, "counted_bytes", remedy->counted_bytes);
  json_int_field(out, "saved_bytes", remedy->saved_bytes);
  json_int_field(out, "temp_bytes", remedy->temp_bytes);
  put_text(out, "peak_instruction", remedy->peak_instruction);
  put_text(out, "peak_op_name", remedy->peak_op_name);
  put_text(out, "peak_source_file", remedy->peak_source_file);
  put_known(out, "peak_source_line", remedy->peak_source_line);
  put_number(out, "added_seconds", remedy->added_seconds);
  put_number(out, "added_fraction", remedy->added_fraction);
  put_number(out, "usual_error", remedy->usual_error);
  put_bool(out, "is_met", remedy->is_met);
  write_text(out, "}");
}

static void put_list(Writer *out, const char *key, const rh_remedy *const *list, size_t count) {
  write_format(out, ",\n\"%s\":[", key);
  for (size_t i = 0; i < count; i++) {
    write_text(out, i ? ",\n" : "\n");
    put_remedy(out, list[i]);
  }
  write_text(out, "]");
}

static const char *counts_word(rh_limit_counts counts) {
  switch (counts) {
    case RH_COUNT_TEMP: return "temp";
    case RH_COUNT_TEMP_OUTPUTS: return "temp+outputs";
    default: return "total";
  }
}

void advice_print(const rh_advice *advice, Writer *out) {
  write_format(out, "{\"schema\":1");
  put_text(out, "module", advice->module);
  write_format(out, ",\"framework\":\"%s\",\"target\":\"%s\"", advice->framework, advice->target);
  if (advice->limit_bytes == INT64_MAX) {
    write_text(out, ",\"limit_bytes\":null");
  } else {
    json_int_field(out, "limit_bytes", advice->limit_bytes);
  }
  write_format(out, ",\"limit_counts\":\"%s\"", counts_word(advice->limit_counts));
  json_int_field(out, "counted_bytes", advice->counted_bytes);
  json_int_field(out, "total_bytes", advice->memory->total_bytes);
  json_int_field(out, "temp_bytes", advice->memory->temp_bytes);
  json_int_field(out, "parameter_bytes", advice->memory->parameter_bytes);
  json_int_field(out, "output_bytes", advice->memory->output_bytes);
  json_int_field(out, "aliased_bytes", advice->memory->aliased_bytes);
  put_text(out, "peak_instruction", advice->peak_instruction);
  put_text(out, "peak_op_name", advice->peak_op_name);
  put_text(out, "peak_source_file", advice->peak_source_file);
  put_known(out, "peak_source_line", advice->peak_source_line);
  put_bool(out, "is_met", advice->is_met);
  put_text(out, "summary", advice->summary);
  put_list(out, "plan", advice->plan, advice->num_plan);
  put_list(out, "remedies", advice->remedies, advice->num_remedies);
  write_text(out, "}\n");
}
