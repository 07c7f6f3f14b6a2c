#include "remat/job/parameters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  int64_t value, least, most;
  size_t offset;
} table[] = {
#define PARAMETER(id, name, value, least, most, what) \
  {name, value, least, most, offsetof(RematParameters, id)},
#include "remat/job/parameters.def"
};

enum { NUM_PARAMETERS = sizeof table / sizeof *table };

static int64_t *place_of(RematParameters *parameters, size_t index) {
  return (int64_t *)(void *)((char *)parameters + table[index].offset);
}

RematParameters parameters_default(void) {
  RematParameters parameters;
  for (size_t i = 0; i < NUM_PARAMETERS; i++)
    *place_of(&parameters, i) = table[i].value;
  return parameters;
}

/* The message shows 100 characters of a name at most. */
static rh_status fail_name(const char *name, size_t length, rh_diags *diags) {
  char word[101] = "";
  const char *names[NUM_PARAMETERS];
  for (size_t i = 0; i < NUM_PARAMETERS; i++)
    names[i] = table[i].name;
  memcpy(word, name, length < sizeof word ? length : sizeof word - 1);
  return diag_fail_unknown(diags, "parameter", word, names, NUM_PARAMETERS);
}

static rh_status set_one(RematParameters *parameters, const char *line, size_t length,
                         rh_diags *diags) {
  const char *equals = memchr(line, '=', length);
  if (!equals) {
    return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                     "'%.*s' is not NAME=VALUE", (int)(length < 100 ? length : 100), line);
  }
  size_t name_length = (size_t)(equals - line), index = 0;
  while (index < NUM_PARAMETERS && (strlen(table[index].name) != name_length ||
                                    memcmp(table[index].name, line, name_length) != 0))
    index++;
  if (index == NUM_PARAMETERS) return fail_name(line, name_length, diags);
  char *end;
  errno = 0;
  long long value = strtoll(equals + 1, &end, 10);
  bool is_number = end == line + length && end != equals + 1 && errno == 0;
  if (!is_number || value < table[index].least || value > table[index].most) {
    return diag_fail(diags, RH_ERR_USAGE, DIAG_ABOUT(RH_CODE_BAD_OPTION, NO_OFFSET),
                     "%s is a whole number from %lld to %lld, not '%.*s'", table[index].name,
                     (long long)table[index].least, (long long)table[index].most,
                     (int)(length - name_length - 1 < 100 ? length - name_length - 1 : 100),
                     equals + 1);
  }
  *place_of(parameters, index) = value;
  return RH_OK;
}

rh_status parameters_read(const char *text, RematParameters *parameters, rh_diags *diags) {
  rh_status status = RH_OK;
  for (const char *line = text; line && *line && status == RH_OK;) {
    size_t length = strcspn(line, "\n");
    if (length) status = set_one(parameters, line, length, diags);
    line += length + (line[length] == '\n');
  }
  return status;
}
