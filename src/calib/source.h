/* source.h - bytes of a file in order, hashed on the way, and a walk over a directory tree. */
#ifndef KR_CALIB_SOURCE_H
#define KR_CALIB_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

typedef struct kr_source_file kr_source_file;

/* Refuses what is not an ordinary file. The caller closes *out. */
kr_status kr_source_open(const char *path, kr_source_file **out, kr_error *err);
/* Has the signature of a kr_csv_read; ctx is the kr_source_file. */
ptrdiff_t kr_source_read(void *ctx, char *buf, size_t n);
uint64_t kr_source_bytes(const kr_source_file *f); /* delivered so far */
/* Reads what is left, and gives the SHA-256 of all bytes. KR_EIO when the file changed meanwhile. */
kr_status kr_source_finish(kr_source_file *f, char sha256[KR_SHA256_HEX], kr_error *err);
void kr_source_close(kr_source_file *f); /* NULL is allowed */

/* Ordinary files below a path, in byte order of their names. Hidden entries and links to
 * directories are left out; a path that is a file gives itself. */
typedef struct {
    char **path; /* [n] */
    size_t n, cap;
} kr_tree;

/* Adds to t (zero-initialise it). Refused: more than 200,000 files, directories nested deeper than
 * 16. After an error t holds what was found before and must still be freed. */
kr_status kr_tree_walk(const char *path, kr_tree *t, kr_error *err);
void kr_tree_free(kr_tree *t);

/* Last part of a path; "" for a path that ends in a slash. Borrowed. */
const char *kr_path_base(const char *path);
/* The path without its last part ("." when there is only one), allocated; NULL: out of memory. */
char *kr_path_dir(const char *path);
/* dir "/" name, allocated; NULL: out of memory. */
char *kr_path_join(const char *dir, const char *name);

#endif
