"""The bundled model through a second implementation: a GGUF reader, a SentencePiece tokenizer and the
llama forward pass written from the format's description alone, sharing nothing with kvrisk.

usage: mini_llama.py MODEL PROMPT.txt IDS.json LOGITS.f32
Compares the token ids of the prompt and the logits of every fed position with those that
`kvrisk generate --json --logits` gave. With --write OUT behind them it also stores the prompt's ids, the
greedy tokens, and the 20 largest logits at the prompt's end: tests/fixtures/mini-llama-logits.txt."""
import json
import struct
import sys

import numpy as np

SIZES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, code):
        v = struct.unpack_from("<" + code, self.data, self.at)[0]
        self.at += struct.calcsize("<" + code)
        return v

    def text(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n:self.at].decode()

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            inner, n = self.take("I"), self.take("Q")
            return [self.value(inner) for _ in range(n)]
        return self.take(SIZES[kind])


def read(path):
    r = Reader(open(path, "rb").read())
    assert r.data[:4] == b"GGUF"
    r.at = 4
    assert r.take("I") == 3
    n_tensors, n_keys = r.take("Q"), r.take("Q")
    keys, infos, tensors = {}, [], {}
    for _ in range(n_keys):
        name = r.text()
        keys[name] = r.value(r.take("I"))
    for _ in range(n_tensors):
        name = r.text()
        shape = [r.take("Q") for _ in range(r.take("I"))]
        infos.append((name, shape, r.take("I"), r.take("Q")))
    start = -(-r.at // keys["general.alignment"]) * keys["general.alignment"]
    for name, shape, kind, offset in infos:
        v = np.frombuffer(r.data, {0: "<f4", 1: "<f2"}[kind], int(np.prod(shape)), start + offset)
        tensors[name] = v.astype(np.float64).reshape(shape[::-1])
    return keys, tensors


def tokenize(keys, text):
    tokens = {t: i for i, t in enumerate(keys["tokenizer.ggml.tokens"])}
    scores = keys["tokenizer.ggml.scores"]
    parts = list(("\u2581" + text.replace(" ", "\u2581")))
    while True:
        best = None
        for i in range(len(parts) - 1):
            t = tokens.get(parts[i] + parts[i + 1])
            if t is not None and (best is None or scores[t] > scores[best[1]]):
                best = (i, t)
        if best is None:
            break
        parts[best[0]:best[0] + 2] = [parts[best[0]] + parts[best[0] + 1]]
    ids = [keys["tokenizer.ggml.bos_token_id"]]
    for p in parts:
        ids += [tokens[p]] if p in tokens else [tokens["<0x%02X>" % b] for b in p.encode()]
    return ids


def forward(keys, w, ids):
    heads, kv = keys["llama.attention.head_count"], keys["llama.attention.head_count_kv"]
    dim, eps = keys["llama.attention.key_length"], keys["llama.attention.layer_norm_rms_epsilon"]
    n = len(ids)
    angle = np.arange(n)[:, None] * keys["llama.rope.freq_base"] ** (-np.arange(0, dim, 2) / dim)
    turn = np.exp(1j * angle)[:, None]

    def rms(x, g):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * g

    def rotate(x):
        z = (x[..., 0::2] + 1j * x[..., 1::2]) * turn
        return np.stack([z.real, z.imag], -1).reshape(x.shape)

    x = w["token_embd.weight"][ids]
    for layer in range(keys["llama.block_count"]):
        def m(name):
            return w["blk.%d.%s.weight" % (layer, name)]
        h = rms(x, m("attn_norm"))
        q = rotate((h @ m("attn_q").T).reshape(n, heads, dim))
        k = rotate((h @ m("attn_k").T).reshape(n, kv, dim))
        v = (h @ m("attn_v").T).reshape(n, kv, dim)
        k, v = (np.repeat(t, heads // kv, axis=1) for t in (k, v))
        s = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(dim)
        s = np.where(np.tri(n, dtype=bool), s, -np.inf)
        p = np.exp(s - s.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        x = x + np.einsum("hqk,khd->qhd", p, v).reshape(n, -1) @ m("attn_output").T
        h = rms(x, m("ffn_norm"))
        g = h @ m("ffn_gate").T
        x = x + (g / (1 + np.exp(-g)) * (h @ m("ffn_up").T)) @ m("ffn_down").T
    return rms(x, w["output_norm.weight"]) @ w["token_embd.weight"].T


def main():
    model, prompt, ids_path, logits_path = sys.argv[1:5]
    keys, weights = read(model)
    assert keys["general.architecture"] == "llama"
    given = json.load(open(ids_path))
    ids = tokenize(keys, open(prompt).read())
    if ids != given["prompt_tokens"]:
        sys.exit("token ids differ")
    fed = ids + given["tokens"][:-1]
    ours = forward(keys, weights, fed)
    theirs = np.fromfile(logits_path, "<f4").reshape(len(fed), -1)
    scale, worst = np.abs(ours).max(), np.abs(ours - theirs).max()
    print("note: mini-llama, %d tokens: same ids; logits differ by %.2g of at most %.3g" %
          (len(fed), worst, scale))
    greedy = ours[len(ids) - 1:].argmax(-1).tolist()
    if greedy != given["tokens"]:
        sys.exit("greedy tokens differ: %r, kvrisk %r" % (greedy, given["tokens"]))
    if not worst < 1e-4 * scale:
        sys.exit("logits differ by %g" % worst)
    if len(sys.argv) > 6 and sys.argv[5] == "--write":
        last = ours[len(ids) - 1]
        top = np.argsort(-last, kind="stable")[:20]
        with open(sys.argv[6], "w") as f:
            print(len(ids), *ids, file=f)
            print(len(greedy), *greedy, file=f)
            for i in top:
                print(i, "%.6f" % last[i], file=f)


main()
