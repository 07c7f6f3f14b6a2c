/* Reads device profiles. A profile is one JSON object with these keys:
 *
 *   "name"              string, as on the command line
 *   "description"       string, one line for a list of profiles, with what had to be estimated
 *   "source"            string, the data sheets that the figures come from
 *   "memory_bytes"      integer, the size of the card's memory; 0 = unknown
 *   "memory_bandwidth"  bytes per second between the memory and the cores
 *   "flops"             object: dense matrix products (dot, convolution), operations per second by
 *                       operand type; a multiply-add is two, sparsity not counted
 *   "vector_flops"      object: all other operations per second, by operand type
 *   "transcendentals"   exp, log, tanh, …, results per second
 *   "host_to_device"    bytes per second from the host's memory, one direction
 *   "device_to_host"    bytes per second to the host's memory
 *   "interconnect"      bytes per second to other devices, one direction
 *   "kernel_seconds"    fixed cost of one kernel, may be 0
 *
 * and possibly these:
 *
 *   "matrix_share"      the share of "flops" that large products reach
 *   "memory_share"      the share of "memory_bandwidth" that kernels reach
 *   "block_bandwidth"   bytes per second that one block of a GPU's threads moves at most
 *   "product_serial"    of a product, the share of the shorter of its transfers and its work that
 *                       takes time beside the longer one: what loads before the first tiles, and
 *                       what is stored after the last ones
 *   "product_seconds"   what a product takes on top, however small it is; with it, the profile is
 *                       that of a GPU, and XLA:GPU's estimates in a text are used
 *   "known"             list of published ratios of times, {"of": [instructions], "to":
 *                       [instructions], "to_device": a profile, "ratio": number, "source": where
 *                       they were published}, which tests/unit/test_known_ratios.c checks
 *   "clock"             Hz, of the cycles in which XLA:TPU estimates times; with it, estimates in a
 *                       text are used
 *   "cores"             that share the windows of an instruction, if there are several
 *   "cycles"            object: the price of each unit of analysis/cost/units.def in such cycles,
 *                       and the figures at its end; with it, times are made of units instead of a
 *                       roofline; "clock" must be there, too
 *
 * The keys of "flops" and "vector_flops" are element types as HLO writes them ("bf16", "s8", …) and
 * "default", which must be there: it holds for every type without a rate of its own. Rates are
 * positive. */
#include "analysis/cost/device_profile.h"

#include <math.h>
#include <stddef.h>

#include "ir/chars.h"
#include "ir/json_read.h"

typedef enum KeyKind {
  KEY_STRING,
  KEY_BYTES,
  KEY_RATE,
  KEY_RATES,
  KEY_SECONDS,
  KEY_SHARE,
  KEY_PRICES,
  KEY_KNOWN
} KeyKind;

typedef struct Key {
  const char *name;
  KeyKind kind;
  size_t offset; /* offset of the field in DeviceProfile */
} Key;

static const Key keys[] = {
#define KEY(field, kind) \
  { #field, kind, offsetof(DeviceProfile, field) }
    KEY(name, KEY_STRING),
    KEY(description, KEY_STRING),
    KEY(source, KEY_STRING),
    KEY(memory_bytes, KEY_BYTES),
    KEY(memory_bandwidth, KEY_RATE),
    KEY(flops, KEY_RATES),
    KEY(vector_flops, KEY_RATES),
    KEY(transcendentals, KEY_RATE),
    KEY(host_to_device, KEY_RATE),
    KEY(device_to_host, KEY_RATE),
    KEY(interconnect, KEY_RATE),
    KEY(kernel_seconds, KEY_SECONDS),
    KEY(matrix_share, KEY_SHARE),
    KEY(memory_share, KEY_SHARE),
    KEY(block_bandwidth, KEY_RATE),
    KEY(product_serial, KEY_SHARE),
    KEY(product_seconds, KEY_SECONDS),
    KEY(clock, KEY_RATE),
    KEY(cycles, KEY_PRICES),
#undef KEY
    {"cores", KEY_RATE, offsetof(DeviceProfile, cycles.cores)},
    {"known", KEY_KNOWN, 0},
};
enum { NUM_KEYS = sizeof keys / sizeof *keys, NUM_OPTIONAL_KEYS = 9 }; /* which are the last */

typedef struct Reader {
  DeviceProfile *profile;
  Arena *out;
  rh_diags *diags;
} Reader;

static rh_status fail(const Reader *reader, const char *key, const char *what) {
  return diag_fail(reader->diags, RH_ERR_INPUT, DIAG_NOWHERE, "device profile: '%s' %s", key, what);
}

/* ---- values ---- */

static rh_status read_string(const Reader *reader, const cJSON *item, const Key *key) {
  const char **field = (const char **)(void *)((char *)reader->profile + key->offset);
  if (!cJSON_IsString(item)) return fail(reader, key->name, "must be a string");
  *field = arena_strndup(reader->out, item->valuestring, strlen(item->valuestring));
  return RH_OK;
}

static rh_status read_bytes(const Reader *reader, const cJSON *item, const Key *key) {
  int64_t *field = (int64_t *)(void *)((char *)reader->profile + key->offset);
  double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
  bool is_exact = value >= 0 && value < 0x1p53 && value == floor(value);
  if (!is_exact) return fail(reader, key->name, "must be a whole number of bytes, 0 or more");
  *field = (int64_t)value;
  return RH_OK;
}

static bool is_rate(const cJSON *item) {
  return cJSON_IsNumber(item) && item->valuedouble > 0 && isfinite(item->valuedouble);
}

static rh_status read_rate(const Reader *reader, const cJSON *item, const Key *key) {
  double *field = (double *)(void *)((char *)reader->profile + key->offset);
  if (!is_rate(item)) return fail(reader, key->name, "must be a number above 0");
  *field = item->valuedouble;
  return RH_OK;
}

static rh_status read_seconds(const Reader *reader, const cJSON *item, const Key *key) {
  double *field = (double *)(void *)((char *)reader->profile + key->offset);
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || !isfinite(item->valuedouble)) {
    return fail(reader, key->name, "must be a number, 0 or more");
  }
  *field = item->valuedouble;
  return RH_OK;
}

static rh_status read_share(const Reader *reader, const cJSON *item, const Key *key) {
  double *field = (double *)(void *)((char *)reader->profile + key->offset);
  if (!is_rate(item) || item->valuedouble > 1) {
    return fail(reader, key->name, "must be a number above 0, at most 1");
  }
  *field = item->valuedouble;
  return RH_OK;
}

/* Ratios are for tests and for readers of the file; a profile whose figures have no source is
 * refused. */
static rh_status check_known(const Reader *reader, const cJSON *list, const Key *key) {
  const cJSON *item;
  if (!cJSON_IsArray(list)) return fail(reader, key->name, "must be a list of ratios");
  cJSON_ArrayForEach(item, list) {
    const cJSON *source = cJSON_GetObjectItemCaseSensitive(item, "source");
    if (!is_rate(cJSON_GetObjectItemCaseSensitive(item, "ratio")) || !cJSON_IsString(source)) {
      return fail(reader, key->name, "must have a ratio above 0 and a source in each item");
    }
  }
  return RH_OK;
}

/* NUM_TYPES for a word that is not a numeric type. */
static ElementType find_type(const char *word) {
  ElementType type = (ElementType)0;
  while (type < NUM_TYPES && strcmp(type_info(type)->text, word) != 0)
    type++;
  return type == TYPE_TOKEN || type == TYPE_OPAQUE ? NUM_TYPES : type;
}

static rh_status read_rates(const Reader *reader, const cJSON *item, const Key *key) {
  double *rates = (double *)(void *)((char *)reader->profile + key->offset);
  double fallback = 0;
  if (!cJSON_IsObject(item)) return fail(reader, key->name, "must be an object of rates by type");
  const cJSON *rate;
  cJSON_ArrayForEach(rate, item) {
    ElementType type = find_type(rate->string);
    bool is_default = strcmp(rate->string, "default") == 0;
    const char *full = arena_printf(reader->out, "%s.%s", key->name, rate->string);
    if (type == NUM_TYPES && !is_default) return fail(reader, full, "is no element type");
    double *place = is_default ? &fallback : &rates[type];
    if (*place > 0) return fail(reader, full, "is given twice");
    if (!is_rate(rate)) return fail(reader, full, "must be a number above 0");
    *place = rate->valuedouble;
  }
  if (fallback <= 0) {
    return fail(reader, arena_printf(reader->out, "%s.default", key->name), "is missing");
  }
  for (int type = 0; type < NUM_TYPES; type++) {
    if (rates[type] <= 0) rates[type] = fallback;
  }
  return RH_OK;
}

/* The place of a price in `prices`; NULL = there is no such unit. */
static double *price_of(UnitPrices *prices, const char *key) {
  for (int unit = 0; unit < NUM_UNITS; unit++) {
    if (strcmp(unit_key((CostUnit)unit), key) == 0) return &prices->of[unit];
  }
  return NULL;
}

static rh_status read_prices(const Reader *reader, const cJSON *item, const Key *key) {
  enum { NOT_GIVEN = -1 };
  UnitPrices *prices = &reader->profile->cycles;
  if (!cJSON_IsObject(item)) return fail(reader, key->name, "must be an object of prices by unit");
  for (int unit = 0; unit < NUM_UNITS; unit++)
    prices->of[unit] = NOT_GIVEN;
  const cJSON *price;
  cJSON_ArrayForEach(price, item) {
    const char *full = arena_printf(reader->out, "%s.%s", key->name, price->string);
    double *place = price_of(prices, price->string);
    if (!place) return fail(reader, full, "is no unit");
    if (*place >= 0) return fail(reader, full, "is given twice");
    if (!cJSON_IsNumber(price) || !(price->valuedouble >= 0) || !isfinite(price->valuedouble)) {
      return fail(reader, full, "must be a number, 0 or more");
    }
    *place = price->valuedouble;
  }
  for (int unit = 0; unit < NUM_UNITS; unit++) {
    if (prices->of[unit] >= 0) continue;
    return fail(reader, arena_printf(reader->out, "%s.%s", key->name, unit_key((CostUnit)unit)),
                "is missing");
  }
  reader->profile->has_units = true;
  return RH_OK;
}

static rh_status read_value(const Reader *reader, const cJSON *item, const Key *key) {
  switch (key->kind) {
    case KEY_STRING: return read_string(reader, item, key);
    case KEY_BYTES: return read_bytes(reader, item, key);
    case KEY_RATE: return read_rate(reader, item, key);
    case KEY_RATES: return read_rates(reader, item, key);
    case KEY_SECONDS: return read_seconds(reader, item, key);
    case KEY_SHARE: return read_share(reader, item, key);
    case KEY_PRICES: return read_prices(reader, item, key);
    case KEY_KNOWN: return check_known(reader, item, key);
  }
  return RH_OK;
}

/* ---- the object ---- */

/* From here on the rates are those that are reached. Types without a matrix unit multiply at the
 * rate of the other operations. */
static void apply_shares(DeviceProfile *profile) {
  if (profile->memory_share > 0) profile->memory_bandwidth *= profile->memory_share;
  for (int type = 0; type < NUM_TYPES && profile->matrix_share > 0; type++) {
    double least = fmin(profile->flops[type], profile->vector_flops[type]);
    profile->flops[type] = fmax(profile->flops[type] * profile->matrix_share, least);
  }
}

static rh_status read_keys(const Reader *reader, const cJSON *root) {
  bool is_given[NUM_KEYS] = {false};
  const cJSON *item;
  cJSON_ArrayForEach(item, root) {
    size_t i = 0;
    while (i < NUM_KEYS && strcmp(keys[i].name, item->string) != 0)
      i++;
    if (i == NUM_KEYS) return fail(reader, item->string, "is an unknown key");
    if (is_given[i]) return fail(reader, item->string, "is given twice");
    is_given[i] = true;
    rh_status status = read_value(reader, item, &keys[i]);
    if (status != RH_OK) return status;
  }
  for (size_t i = 0; i < NUM_KEYS - NUM_OPTIONAL_KEYS; i++) {
    if (!is_given[i]) return fail(reader, keys[i].name, "is missing");
  }
  if (reader->profile->has_units && reader->profile->clock <= 0) {
    return fail(reader, "clock", "is missing, which 'cycles' needs");
  }
  apply_shares(reader->profile);
  return RH_OK;
}

/* cJSON stops after the first value. Only blanks may follow it. */
static const char *skip_blanks(const char *p, const char *end) {
  while (p < end && char_is_space(*p))
    p++;
  return p;
}

rh_status device_profile_parse(const char *json, size_t length, DeviceProfile *profile, Arena *out,
                               rh_diags *diags) {
  *profile = (DeviceProfile){0};
  Reader reader = {.profile = profile, .out = out, .diags = diags};
  const char *stop = NULL;
  Arena *inner = arena_new(arena_options(out));
  const cJSON *root = json_read(json, length, &stop, inner);
  if (root) stop = skip_blanks(stop, json + length);
  rh_status status;
  if (!root || stop < json + length) {
    uint32_t offset = stop ? (uint32_t)(stop - json) : 0;
    status = diag_fail(diags, RH_ERR_INPUT, DIAG_ABOUT(RH_CODE_JSON, offset),
                       "device profile: not valid JSON here");
  } else if (!cJSON_IsObject(root)) {
    status = diag_fail(diags, RH_ERR_INPUT, DIAG_AT(0), "device profile: must be a JSON object");
  } else {
    status = read_keys(&reader, root);
  }
  arena_free(inner);
  return status;
}

DeviceProfile device_profile_default(void) {
  DeviceProfile device = {.name = "default",
                          .memory_bandwidth = 1.5e12,
                          .transcendentals = 4e12,
                          .host_to_device = 25e9,
                          .device_to_host = 25e9,
                          .interconnect = 300e9};
  for (int i = 0; i < NUM_TYPES; i++) {
    device.flops[i] = 150e12;
    device.vector_flops[i] = 20e12;
  }
  return device;
}
