/* What unit tests share. */
#ifndef REMAT_HLO_TESTS_SUPPORT_H
#define REMAT_HLO_TESTS_SUPPORT_H

#include <check.h>

#include "ir/module.h"
#include "ir/schedule.h"

/* Parses a text that is valid; fails the test with the parser's message otherwise. */
Module *parse_or_fail(const char *text);

/* As parse_or_fail for a file below the source tree. The text lives as long as the process. */
Module *parse_file_or_fail(const char *path);

/* The instruction or computation of this name, which must exist. */
InstId find_inst(const Module *module, const char *name);
CompId find_comp(const Module *module, const char *name);

/* Runs a suite and returns main's result. */
int run_suite(Suite *suite);

#endif
