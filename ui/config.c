#include "ui/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/file.h"

enum { MAX_CONFIG = 64 * 1024 };

static bool under(char *out, size_t cap, const char *variable, const char *home_part,
                  const char *rest) {
    const char *base = getenv(variable), *home = getenv("HOME");
    int n = -1;
    if (base != NULL && base[0] == '/')
        n = snprintf(out, cap, "%s/%s", base, rest);
    else if (home != NULL && home[0] == '/')
        n = snprintf(out, cap, "%s/%s/%s", home, home_part, rest);
    return n > 0 && (size_t)n < cap;
}

bool kr_config_path(char *out, size_t cap) {
    const char *own = getenv("KVRISK_CONFIG");
    if (own != NULL && *own != '\0')
        return (size_t)snprintf(out, cap, "%s", own) < cap;
    return under(out, cap, "XDG_CONFIG_HOME", ".config", "kvrisk/config");
}

static bool make_directories(const char *path) {
    char dir[1024];
    if ((size_t)snprintf(dir, sizeof dir, "%s", path) >= sizeof dir)
        return false;
    for (char *p = dir + 1; *p != '\0'; p++)
        if (*p == '/') {
            *p = '\0';
            if (mkdir(dir, 0700) != 0 && errno != EEXIST)
                return false;
            *p = '/';
        }
    return true;
}

bool kr_state_log_path(char *out, size_t cap) {
    return under(out, cap, "XDG_STATE_HOME", ".local/state", "kvrisk/log") && make_directories(out);
}

bool kr_state_reeval_path(char *out, size_t cap) {
    return under(out, cap, "XDG_STATE_HOME", ".local/state", "kvrisk/reeval") &&
           make_directories(out);
}

static bool on(const char *v) { return strcmp(v, "on") == 0; }

static bool known(kr_config *c, const char *key, const char *value) {
    if (strcmp(key, "theme") == 0)
        return kr_theme_find(value, &c->set.theme);
    if (strcmp(key, "plot") == 0)
        return kr_plot_alphabet_find(value, &c->set.alphabet);
    if (strcmp(key, "mouse") == 0)
        return c->set.mouse = on(value), true;
    if (strcmp(key, "ascii") == 0)
        return c->ascii = on(value), true;
    return false;
}

static void read_line(kr_config *c, const char *line, kr_buf *kept) {
    char key[64] = "", value[64] = "";
    if (line[0] == '\0')
        return;
    bool pair = line[0] != '#' && sscanf(line, " %63[a-z_] = %63s", key, value) == 2;
    if (pair && known(c, key, value))
        return;
    kr_buf_puts(kept, line);
    kr_buf_puts(kept, "\n");
    if (line[0] != '#' && c->unknown[0] == '\0')
        snprintf(c->unknown, sizeof c->unknown, "%.63s", key[0] != '\0' ? key : line);
}

void kr_config_read(const char *path, kr_config *out) {
    char *data = NULL, *rest = NULL;
    size_t len;
    kr_buf kept = {0};
    *out = (kr_config){.set = {.look = KR_LOOK_UTF8}};
    if (kr_file_read(path, MAX_CONFIG, &data, &len, NULL) != KR_OK)
        return;
    for (char *line = strtok_r(data, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        read_line(out, line, &kept);
    out->kept = kr_buf_take(&kept);
    kr_buf_free(&kept);
    free(data);
}

kr_status kr_config_write(const char *path, const kr_config *c, kr_error *err) {
    kr_buf b = {0};
    if (!make_directories(path))
        return kr_fail(err, KR_EIO, "cannot make the directory of %s: %s", path, strerror(errno));
    kr_buf_printf(&b, "%stheme = %s\nplot = %s\nmouse = %s\nascii = %s\n",
                  c->kept != NULL ? c->kept : "", kr_theme_name(c->set.theme),
                  kr_plot_alphabet_name(c->set.alphabet), c->set.mouse ? "on" : "off",
                  c->ascii ? "on" : "off");
    mode_t old = umask(077);
    kr_status st = b.failed ? kr_fail(err, KR_ENOMEM, "out of memory")
                            : kr_file_write(path, b.s, b.len, true, err);
    umask(old);
    kr_buf_free(&b);
    return st;
}

void kr_config_free(kr_config *c) {
    free(c->kept);
    c->kept = NULL;
}
