/* special.h - the two functions that keep binomial and Poisson masses accurate at large counts
 * (Loader 2000), shared inside the room. */
#ifndef KR_RISK_SPECIAL_H
#define KR_RISK_SPECIAL_H

/* ln Gamma(m + 1) - (m + 1/2) ln m + m - ln sqrt(2 pi) for any real m > 0. */
double kr_stirling_rest(double m);

/* x ln(x/mu) + mu - x for x >= 0, mu > 0, without cancellation near x = mu. `lo` is what rounding
 * took from mu (the true one is mu + lo); 0 where that does not matter. */
double kr_deviance(double x, double mu, double lo);

/* P[Poisson(mean) = j], mean >= 0, j >= 0. */
double kr_poisson_mass(double j, double mean);

#endif
