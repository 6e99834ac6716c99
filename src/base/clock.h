/* clock.h - time that passes. */
#ifndef KR_BASE_CLOCK_H
#define KR_BASE_CLOCK_H

/* Seconds of the monotonic clock: only differences mean something. */
double kr_clock(void);

#endif
