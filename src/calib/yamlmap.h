/* yamlmap.h - a flat view of a small YAML mapping (an evaluation's config.yaml), read with libyaml. */
#ifndef KR_CALIB_YAMLMAP_H
#define KR_CALIB_YAMLMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct kr_yamlmap kr_yamlmap;

/* Reads s[0..len), at most 1 MiB, as one mapping. Nested names are joined by dots
 * (`model_kwargs.dtype`), items of a sequence by number (`needle_depth.0`). Refused: no mapping at
 * the top, a name twice, more than 4096 entries, nesting beyond 16, anchors and aliases (no config
 * has them and they can blow up). `name` is the file for messages. The caller frees *out. */
kr_status kr_yamlmap_parse(const char *name, const char *s, size_t len, kr_yamlmap **out,
                           kr_error *err);
void kr_yamlmap_free(kr_yamlmap *m); /* NULL is allowed */

/* Text of an entry, NULL when absent or null (plain `null`, `~` or nothing). Lives as long as m. */
const char *kr_yamlmap_get(const kr_yamlmap *m, const char *key);

/* Whether the name is there at all, null or not, or as a nested mapping or sequence. */
bool kr_yamlmap_has(const kr_yamlmap *m, const char *key);

#endif
