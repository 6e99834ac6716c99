#include "cli/declare.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

kr_status kr_cli_declare_read(char *text, kr_contract *k, const char **method, kr_error *err) {
    char *part[4] = {NULL}, *rest = NULL;
    size_t n = 0;
    for (char *p = strtok_r(text, ",", &rest); p != NULL && n < 4; p = strtok_r(NULL, ",", &rest))
        part[n++] = p;
    if (n < 3)
        return kr_fail(err, KR_EINVAL, "TOLERANCE,RISK,CONFIDENCE[,METHOD] was expected");
    *method = part[3];
    kr_status st = kr_dec_parse_percent(part[0], &k->tolerance, err);
    if (st == KR_OK)
        st = kr_dec_parse_percent(part[1], &k->risk, err);
    if (st == KR_OK)
        st = kr_dec_parse_percent(part[2], &k->confidence, err);
    return st == KR_OK ? kr_contract_check(k, err) : st;
}

bool kr_cli_is_date(const char *s) {
    static const char form[] = "dddd-dd-dd";
    static const int longest[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 0, month = 0, day = 0;
    size_t i = 0;
    for (; form[i] != '\0'; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)s[i]) : s[i] != form[i])
            return false;
    if (s[i] != '\0' || sscanf(s, "%4d-%2d-%2d", &year, &month, &day) != 3)
        return false;
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= longest[month - 1] &&
           (leap || month != 2 || day <= 28);
}

bool kr_cli_today(char date[KR_CLI_DATE]) {
    time_t now = time(NULL);
    struct tm utc;
    return gmtime_r(&now, &utc) != NULL && strftime(date, KR_CLI_DATE, "%Y-%m-%d", &utc) > 0;
}
