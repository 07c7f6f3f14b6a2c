/* Running the suite of a test program. */
#ifndef REMAT_HLO_TESTS_SUITE_H
#define REMAT_HLO_TESTS_SUITE_H

#include <check.h>

/* What CTest takes as skipped. */
enum { EXIT_SKIPPED = 77 };

/* Runs a suite and returns main's result: EXIT_SKIPPED when no case is left that can run. A case
 * that cannot run everywhere has a tag, which makes it a test of its own in CTest (`tag_unit_test`
 * in tests/CMakeLists.txt), and is added only where it can run. */
int run_suite(Suite *suite);

/* The same with each test in a process of its own, whatever CK_FORK says. */
int run_suite_forked(Suite *suite);

#endif
