/* The public function that writes a device profile. */
#include <cjson/cJSON.h>
#include <string.h>

#include "api/call.h"
#include "api/measure.h"
#include "emit/json.h"

/* As many digits as cJSON gives a number, with a point in every locale. */
static void put_number(Writer *out, double value) {
  char digits[64];
  cJSON number = {.type = cJSON_Number, .valuedouble = value};
  if (cJSON_PrintPreallocated(&number, digits, (int)sizeof digits, false)) {
    write_text(out, digits);
  } else {
    out->has_failed = true;
  }
}

static void put_key(Writer *out, const char *key) {
  write_format(out, ",\n  \"%s\": ", key);
}

static void put_string(Writer *out, const char *key, const char *text) {
  put_key(out, key);
  json_string(out, text, strlen(text));
}

static void put_figure(Writer *out, const char *key, double value) {
  put_key(out, key);
  put_number(out, value);
}

/* The rate that most types have; of several the one of the first type. */
static double usual_rate(const double rates[NUM_TYPES]) {
  int best = 0, most = 0;
  for (int type = 0; type < NUM_TYPES; type++) {
    int count = 0;
    for (int other = 0; other < NUM_TYPES; other++)
      count += rates[other] == rates[type];
    if (count > most) {
      most = count;
      best = type;
    }
  }
  return rates[best];
}

static void put_rates(Writer *out, const char *key, const double rates[NUM_TYPES]) {
  double usual = usual_rate(rates);
  put_key(out, key);
  write_text(out, "{");
  for (int type = 0; type < NUM_TYPES; type++) {
    if (rates[type] == usual) continue;
    write_format(out, "\n    \"%s\": ", type_info((ElementType)type)->text);
    put_number(out, rates[type]);
    write_text(out, ",");
  }
  write_text(out, "\n    \"default\": ");
  put_number(out, usual);
  write_text(out, "\n  }");
}

static void put_price(Writer *out, const char *key, double price) {
  write_format(out, "\n    \"%s\": ", key);
  put_number(out, price);
}

static void put_prices(Writer *out, const UnitPrices *prices) {
  put_key(out, "cycles");
  write_text(out, "{");
  for (int unit = 0; unit < NUM_UNITS; unit++) {
    if (unit > 0) write_text(out, ",");
    put_price(out, unit_key((CostUnit)unit), prices->of[unit]);
  }
  write_text(out, "\n  }");
}

static rh_status print_profile(const DeviceProfile *profile, rh_write_fn write, void *context,
                               Arena *scratch) {
  Writer *out = arena_alloc(scratch, sizeof *out);
  writer_init(out, write, context);
  write_text(out, "{\n  \"name\": ");
  json_string(out, profile->name, strlen(profile->name));
  put_string(out, "description", profile->description);
  put_string(out, "source", profile->source);
  put_figure(out, "memory_bytes", (double)profile->memory_bytes);
  put_figure(out, "memory_bandwidth", profile->memory_bandwidth);
  put_rates(out, "flops", profile->flops);
  put_rates(out, "vector_flops", profile->vector_flops);
  put_figure(out, "transcendentals", profile->transcendentals);
  put_figure(out, "host_to_device", profile->host_to_device);
  put_figure(out, "device_to_host", profile->device_to_host);
  put_figure(out, "interconnect", profile->interconnect);
  put_figure(out, "kernel_seconds", profile->kernel_seconds);
  if (profile->block_bandwidth > 0) {
    put_figure(out, "block_bandwidth", profile->block_bandwidth);
  }
  if (profile->product_serial > 0) put_figure(out, "product_serial", profile->product_serial);
  if (profile->product_seconds > 0) {
    put_figure(out, "product_seconds", profile->product_seconds);
  }
  if (profile->clock > 0) put_figure(out, "clock", profile->clock);
  if (profile->cycles.cores > 0) put_figure(out, "cores", profile->cycles.cores);
  if (profile->has_units) put_prices(out, &profile->cycles);
  write_text(out, "\n}\n");
  return writer_finish(out);
}

rh_status rh_profile_print(const rh_profile *profile, rh_write_fn write, void *context,
                           rh_diags *diags) {
  CALL_OPEN(call, diags, RH_CODE_OTHER);
  ArenaOptions memory = call_memory(call, 0);
  Arena *scratch = arena_new(&memory);
  rh_status status = print_profile(profile_of(profile), write, context, scratch);
  arena_free(scratch);
  return call_close(call, status);
}
