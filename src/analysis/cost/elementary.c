#include "analysis/cost/elementary.h"

#include <math.h>

/* ln 2 in two parts; small whole multiples of the first one are exact. */
static const double LN2_HIGH = 0x1.62e42feep-1, LN2_LOW = 0x1.a39ef35793c76p-33;

/* log(m) = 2 artanh((m - 1) / (m + 1)), m between the roots of 1/2 and 2. */
double steady_log(double value) {
  enum { TERMS = 14 };
  int exponent;
  double m = frexp(value, &exponent);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    exponent--;
  }
  double s = (m - 1) / (m + 1), square = s * s, sum = 0;
  for (int k = TERMS; k-- > 0;)
    sum = sum * square + 1.0 / (2 * k + 1);
  return exponent * LN2_HIGH + (2 * s * sum + exponent * LN2_LOW);
}

double steady_exp(double value) {
  enum { TERMS = 18 };
  double count = floor(value / (LN2_HIGH + LN2_LOW) + 0.5);
  double rest = value - count * LN2_HIGH - count * LN2_LOW, sum = 1;
  for (int k = TERMS; k > 0; k--)
    sum = 1 + sum * rest / k;
  return ldexp(sum, (int)count);
}

double power_of_ten(int exponent) {
  double power = 1;
  for (; exponent > 0; exponent--)
    power *= 10;
  return power;
}

int exponent_of_ten(double value) {
  enum { MOST = 300 };
  int exponent = 0;
  while (exponent < MOST && value >= power_of_ten(exponent + 1))
    exponent++;
  while (exponent > -MOST && exponent <= 0 && value * power_of_ten(-exponent) < 1)
    exponent--;
  return exponent;
}
