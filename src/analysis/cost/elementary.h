/* Logarithm, exponential function and powers of ten from sums, products and quotients alone, which
 * IEEE 754 rounds in one way: what is decided by them is decided alike on every machine. The last
 * bits of the C library's functions depend on its version and on the processor. (Its sqrt(),
 * fabs(), floor(), round(), frexp() and ldexp() are exact, or rounded in one way, too.) */
#ifndef REMAT_HLO_ANALYSIS_COST_ELEMENTARY_H
#define REMAT_HLO_ANALYSIS_COST_ELEMENTARY_H

/* The natural logarithm of a finite number above 0, with an error of some 1e-15 of it or of 1. */
double steady_log(double value);

/* e to the power of a number between -700 and 700. */
double steady_exp(double value);

/* The largest power of ten, 1e-300 to 1e300, that is not above a finite number above 0: its
 * exponent. */
int exponent_of_ten(double value);

/* 10^exponent for an exponent that is not negative; exact up to 22. */
double power_of_ten(int exponent);

#endif
