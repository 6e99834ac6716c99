/* config.h - the few settings that are kept: theme, plot alphabet, ascii, mouse. */
#ifndef KR_UI_CONFIG_H
#define KR_UI_CONFIG_H

#include "base/status.h"
#include "ui/app.h"

/* $KVRISK_CONFIG, else $XDG_CONFIG_HOME/kvrisk/config, else ~/.config/kvrisk/config. False when
 * there is no such place. */
bool kr_config_path(char *out, size_t cap);
/* $XDG_STATE_HOME/kvrisk/log or ~/.local/state/kvrisk/log, its directory made; false: no place. */
bool kr_state_log_path(char *out, size_t cap);
/* The same for "reeval": how jobs of re-evaluation were run last. */
bool kr_state_reeval_path(char *out, size_t cap);

typedef struct {
    kr_app_settings set;
    bool ascii;       /* "ascii = on" was given */
    char unknown[64]; /* first key that is not known, "" none */
    char *kept;       /* lines that are not ours, written back as they were; owned, may be NULL */
} kr_config;

/* A missing file gives the defaults. Bad values are ignored and reported in `unknown`. */
void kr_config_read(const char *path, kr_config *out);
/* Atomically, mode 0600, directories made. */
kr_status kr_config_write(const char *path, const kr_config *c, kr_error *err);
void kr_config_free(kr_config *c);

#endif
