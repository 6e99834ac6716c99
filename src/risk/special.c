#include "risk/special.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>

#define LN_SQRT_2PI 0.91893853320467274178

/* Stirling's series (Abramowitz and Stegun 6.1.41); from 15 on its first left-out term is below
 * 1e-16. */
static double series(double m) {
    double x = 1 / (m * m);
    return (1.0 / 12 - x * (1.0 / 360 - x * (1.0 / 1260 - x * (1.0 / 1680 - x / 1188)))) / m;
}

double kr_stirling_rest(double m) {
    static const double table[] = {
        0,
        0.08106146679532725822,
        0.041340695955409294094,
        0.027677925684998339149,
        0.020790672103765093112,
        0.016644691189821192163,
        0.013876128823070747999,
        0.011896709945891770095,
        0.010411265261972096497,
        0.0092554621827127329177,
        0.0083305634333628712565,
        0.007573675487951840795,
        0.0069428401072095298657,
        0.0064089941880042070684,
        0.0059513701127588477356,
        0.005554733551962801371,
    };
    if (m > 15)
        return series(m);
    if (m == floor(m) && m >= 1)
        return table[(int)m];
    return gsl_sf_lngamma(m + 1) - (m + 0.5) * log(m) + m - LN_SQRT_2PI;
}

double kr_deviance(double x, double mu, double lo) {
    double diff = (x - mu) - lo;
    if (x == 0)
        return mu + lo;
    if (!(fabs(diff) < 0.1 * (x + mu)))
        return x * log(x / mu) - diff;
    double v = diff / (x + mu), v2 = v * v;
    double sum = diff * v, term = 2 * x * v;
    for (int j = 1; j < 1000; j++) {
        term *= v2;
        double next = sum + term / (2 * j + 1);
        if (next == sum)
            break;
        sum = next;
    }
    return sum;
}

double kr_poisson_mass(double j, double mean) {
    if (!(mean > 0))
        return j == 0 ? 1 : 0;
    if (j == 0)
        return exp(-mean);
    return exp(-kr_deviance(j, mean, 0) - kr_stirling_rest(j) - LN_SQRT_2PI) / sqrt(j);
}
