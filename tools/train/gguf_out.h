/* gguf_out.h - writes a trained network as a GGUF file (version 3) of architecture llama in F16. */
#ifndef KR_TRAIN_GGUF_OUT_H
#define KR_TRAIN_GGUF_OUT_H

#include "base/status.h"
#include "sample/words.h"
#include "tools/train/net.h"

/* Rounds every matrix to half precision in place, as the file will hold it. */
void kr_train_round(const kr_net_shape *s, kr_net_params *p);

/* The vocabulary becomes a SentencePiece one: the words, every beginning of a word (so that
 * merging letter by letter arrives at the word), single letters and digits, and the 256 bytes.
 * Rows of pieces that are no words hold the embedding of <unk>, which training teaches never to
 * come. context: trained length, stated in the file. */
kr_status kr_train_write(const char *path, const kr_words *w, const kr_net_shape *s,
                         const kr_net_params *p, size_t context, const char *about, kr_error *err);

#endif
