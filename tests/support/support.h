/* What unit tests share. */
#ifndef REMAT_HLO_TESTS_SUPPORT_H
#define REMAT_HLO_TESTS_SUPPORT_H

#include <check.h>

#include "ir/handle.h"
#include "ir/module.h"
#include "ir/schedule.h"
#include "remat/job/algorithm.h"
#include "suite.h"
#include "text/print.h"

/* Parses a text that is valid; fails the test with the parser's message otherwise. */
Module *parse_or_fail(const char *text);

/* The instruction or computation of this name, which must exist. */
InstId find_inst(const Module *module, const char *name);
CompId find_comp(const Module *module, const char *name);

/* ---- texts in and out ---- */

/* As parse_or_fail for bytes that need not be a C string. */
Module *parse_bytes_or_fail(const char *text, size_t length);

/* The module as text_print writes it, NUL-terminated; free() it. `length` may be NULL. */
char *print_or_fail(const Module *module, const Schedule *schedule, PrintOrder order,
                    size_t *length);

/* `LINE:COLUMN: error: MESSAGE`, a line per diagnostic, without a place where it has none;
 * free() it. */
char *diags_as_text(const rh_diags *diags, const char *text, size_t length);

/* Fails unless the text is accepted, comes out again byte for byte, does so too from a copy whose
 * original is gone, and parses again, with as many instructions, when it is printed as scheduled.
 * Warnings must be as many as `num_warnings`. */
void check_accepted(const char *text, size_t length, size_t num_warnings);

/* Fails unless the text is refused with one error, whose message contains `why`. */
void check_refused(const char *text, size_t length, const char *why);

/* ---- modules to analyse ---- */

/* A module with arenas for what is found out about it; all of it goes at once. */
typedef struct Fixture {
  Module *module;
  Arena *out, *scratch;
} Fixture;

/* The module is valid and passes module_check. A relative path is one of the source tree. */
Fixture fixture_parse(const char *text);
Fixture fixture_parse_file(const char *path);

/* `comps`, then an entry computation `e` of the instructions in `body`. */
Fixture fixture_parse_body(const char *comps, const char *body);

/* The text is made as printf makes it. */
Fixture fixture_parse_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

void fixture_free(Fixture *fixture);

/* Appends to a text, behind a blank if it is not empty. `*text` may be NULL. */
void text_add(Arena *out, const char **text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Names joined by blanks, ROOT before that of a root. */
const char *names_of(const Module *module, const InstId *ids, uint32_t len, Arena *out);
const char *scheduled_names(const Fixture *fixture, const Schedule *schedule, const char *comp);

/* All computations: `f{p#0 a(p) ROOT b(a,p)} e{…}`, `#` before the index of a parameter or
 * get-tuple-element. */
const char *listing_of(const Module *module, Arena *out);

/* Fails, naming the case, when two texts differ. */
void check_text(const char *got, const char *wanted, const char *what);

/* How many bytes are not `value`. A check each would send as many messages to the test's parent. */
size_t count_other_bytes(const void *data, size_t length, unsigned char value);

/* Whether a conversion is by its name one to a narrower type, or back, that loses nothing. */
bool is_exact_conversion(const Module *module, InstId id);

/* What a module computes, as a number: the values that its entry returns, and what runs for its
 * side effects. Clones, names, the order of instructions, bitcasts in a row, elements taken from
 * tuples, copies, ways to narrower types and back, and the borders of fusions make no difference to
 * it. */
uint64_t module_meaning(const Module *module);

/* Fails unless the module, printed in this order, is parsed as the same instructions again. */
void check_prints_and_parses(const Module *module, const Schedule *schedule);

/* The module scheduled by the scheduler of this name; checks that the schedule is valid. */
Schedule fixture_schedule(const Fixture *fixture, const char *scheduler);

/* Fails when the schedule is not valid for the module. */
void check_schedule(const Module *module, const Schedule *schedule);

typedef struct RematSetup {
  const char *algorithm;    /* default: standard */
  const char *scheduler;    /* default: input */
  const char *memory_model; /* that limit_bytes is of, default: xla-remat */
  int64_t limit_bytes;
  int64_t min_remat_bytes;
  uint32_t block_size_limit; /* default: 1 */
  double block_factor;       /* default: 1 */
  uint32_t path_depth;       /* default: 10 */
  bool is_per_caller;
  bool clones_callees;
  const char *collection;       /* expressions of checkpoint=collection */
  unsigned modes;               /* default: the algorithm's, or to recompute */
  const DeviceProfile *profile; /* that offloading goes by */
} RematSetup;

typedef struct RematResult {
  Schedule schedule;
  int64_t before_bytes, after_bytes; /* of the memory model xla-remat, recounted */
  RematStats stats;
} RematResult;

/* Schedules the fixture's module, rematerializes it and takes out what is dead. Whatever comes out
 * is judged: the schedule is valid, the meaning is the same, and it prints and parses. */
RematResult fixture_remat(Fixture *fixture, const RematSetup *setup);

/* Peaks before, as the pass reports it (-1 = not), and after; `name` is for the message. */
void check_remat_bytes(const RematResult *result, int64_t before, int64_t reported, int64_t after,
                       const char *name);

/* Has a module be past copy-insertion or not, as if the library had made it so; RH_COPIES_AUTO = as
 * it looks. A text does not say, and what is made of the module goes by it. */
void take_copies_as(rh_module *module, rh_copies copies);

#endif
