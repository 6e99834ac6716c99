"""Every claim reckoned from its definition alone, in SciPy and exact fractions.

Nothing here is taken from kvrisk's code but what its documentation fixes: the file format, the order
of rows (task, then id) and the generator behind a seed (SplitMix64, Lemire's bounded numbers).
"""
import functools
import hashlib
import json
import math
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import betainc, betaln
from scipy.stats import beta, binom

NANO = 10**9
MISSING = float("inf")


def nano(text):
    """A decimal's text as integer units of 1e-9, or None."""
    return None if text is None else round(Fraction(text) * NANO)


@functools.lru_cache(maxsize=8)
def load(path, split):
    return Calibration(path, split)


class Calibration:
    """A native file with one split's drops[policy][row] in nano-units, MISSING where one is."""

    def __init__(self, path, split="cal"):
        with open(path, encoding="utf-8") as f:
            lines = [line for line in f if line.strip()]
        self.header = json.loads(lines[0], parse_float=str, parse_int=str)
        rows = [json.loads(line, parse_float=str, parse_int=str) for line in lines[1:]]
        self.all_rows = rows
        self.tasks = self.header["tasks"]
        rows = [r for r in rows if r.get("split", "cal") == split]
        rows.sort(key=lambda r: (self.tasks.index(r["task"]), r["id"].encode()))
        self.rows, self.n = rows, len(rows)
        self.task = [self.tasks.index(r["task"]) for r in rows]
        self.n_h = [self.task.count(h) for h in range(len(self.tasks))]
        self.drops = []
        for j in range(len(self.header["policies"])):
            column = []
            for r in rows:
                full, kept = nano(r["full"]), nano(r["utility"][j])
                column.append(MISSING if full is None or kept is None else full - kept)
            self.drops.append(column)
        self.methods = []
        for j, p in enumerate(self.header["policies"]):
            if not self.methods or self.methods[-1][0] != p["method"]:
                self.methods.append((p["method"], []))
            self.methods[-1][1].append(j)
        u = self.header["utility"]
        self.range = nano(u["max"]) - nano(u["min"])
        self.uniform = len(set(self.n_h)) == 1
        self.units = units_of(rows)
        self.dependent = len(set(self.units)) < self.n

    def events(self, policy, tolerance):
        limit = nano(tolerance)
        return [d > limit for d in self.drops[policy]]

    @functools.lru_cache(maxsize=None)
    def count(self, policy, tolerance):
        return sum(self.events(policy, tolerance))

    def by_task(self, policy, tolerance):
        k = [0] * len(self.tasks)
        for h, e in zip(self.task, self.events(policy, tolerance)):
            k[h] += e
        return k


def units_of(rows):
    """Requests that share a cluster or a prompt, directly or through others, are one unit."""
    parent = list(range(len(rows)))

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for key in ("cluster", "prompt"):
        seen = {}
        for i, r in enumerate(rows):
            if r.get(key) is None:
                continue
            j = seen.setdefault(r[key], i)
            a, b = root(i), root(j)
            parent[max(a, b)] = min(a, b)
    return [root(i) for i in range(len(rows))]


def near(p, level):
    return abs(p - float(level)) <= 1e-10 * float(level)


def passes(p, level):
    """A near tie is not certified."""
    return p <= float(level) and not near(p, level)


# --- section 3: the exact test ------------------------------------------------------------------------


def p_strat(k, n, eps):
    eps = Fraction(eps)
    return float(binom.cdf(k, n, float(eps))) if n > 0 and k + 1 <= n * eps else 1.0


def cp_upper(k, n, a):
    return 1.0 if k >= n else float(beta.isf(a, k + 1, n - k))


def cp_lower(k, n, a):
    return 0.0 if k <= 0 else float(beta.ppf(a, k, n - k + 1))


def strat_upper(k, n, a):
    return 1.0 if n == 0 else min(1.0, max(cp_upper(k, n, a), (k + 1) / n))


def strat_lower(k, n, a):
    return 0.0 if n == 0 else max(0.0, min(cp_lower(k, n, a), (k - 1) / n))


def kmax(n, eps, level):
    top = math.floor(n * Fraction(eps)) - 1
    p = binom.cdf(np.arange(top + 1), n, float(eps)) if top >= 0 else []
    return fixed_sequence(p, level) - 1


# --- section 4: bounded losses ------------------------------------------------------------------------


def loss_of(drop, span):
    if drop == MISSING or drop >= span:
        return NANO
    return 0 if drop <= 0 else -(-drop * NANO // span)


def kl(a, b):
    left = 0.0 if a == 0 else a * math.log(a / b)
    right = 0.0 if a == 1 else (1 - a) * math.log((1 - a) / (1 - b))
    return left + right


def hb(losses, alpha, level):
    n, s = len(losses), sum(losses)
    alpha, level = float(alpha), float(level)
    if n == 0:
        return 1.0, 1.0
    mean, ceil = s / (n * NANO), -(-s // NANO)
    p_kl = math.exp(-n * kl(min(mean, alpha), alpha))
    p = min(1.0, p_kl, math.e * binom.cdf(ceil, n, alpha))
    u_kl = 1.0
    if mean < 1 and n * kl(mean, 1 - 1e-15) > -math.log(level):
        u_kl = brentq(lambda r: n * kl(mean, r) + math.log(level), max(mean, 1e-300), 1 - 1e-15, xtol=1e-15)
    return p, min(u_kl, cp_upper(ceil, n, level / math.e))


def bernstein(losses, alpha, level):
    n = len(losses)
    alpha, level = float(alpha), float(level)
    if n < 2:
        return 1.0, 1.0
    x = np.array(losses) / NANO
    mean, var = x.mean(), x.var(ddof=1)
    log = math.log(2 / level)
    upper = min(1.0, mean + math.sqrt(2 * var * log / n) + 7 * log / (3 * (n - 1)))
    if mean >= alpha:
        return 1.0, upper
    a, b = 7 / (3 * (n - 1)), math.sqrt(2 * var / n)
    s = (-b + math.sqrt(b * b + 4 * a * (alpha - mean))) / (2 * a)
    return min(1.0, 2 * math.exp(-s * s)), upper


def wsr_rounds(losses, rounds, alpha, level):
    """losses round robin, `rounds` requests in each."""
    n = len(losses) - len(losses) % rounds
    x = np.array(losses[:n]) / NANO
    level = float(level)
    bets, mu, s2 = [], 0.5, 0.25
    total, squares = 0.5, 0.25
    for i, v in enumerate(x):
        if i % rounds == 0:
            nu = min(1.0, math.sqrt(2 * math.log(1 / level) / (n * s2)))
        bets.append(nu)
        total += v
        mu = total / (i + 2)
        squares += (v - mu) ** 2
        s2 = squares / (i + 2)
    bets = np.array(bets)

    def best(r):
        with np.errstate(divide="ignore"):
            path = np.cumsum(np.log1p(bets * (r - x)))[rounds - 1::rounds]
        return max(0.0, path.max()) if n else 0.0

    p = math.exp(-best(float(alpha)))
    goal = -math.log(level)
    upper = 1.0 if best(1.0) < goal else brentq(lambda r: best(r) - goal, 0, 1, xtol=1e-14)
    return p, upper


# --- sections 5 and 6 -----------------------------------------------------------------------------------


def fixed_sequence(ps, level):
    passed = 0
    while passed < len(ps) and passes(ps[passed], level):
        passed += 1
    return passed


def undecided(ps, level):
    """The walk stops at a p-value that floating point cannot tell from the level."""
    passed = fixed_sequence(ps, level)
    return passed < len(ps) and near(ps[passed], level)


def chains(ps, delta):
    """Parallel chains as a graph, by its textbook update on the full matrix: how many of each chain
    are rejected, and the adjusted p-values."""
    where = [(c, j) for c, chain in enumerate(ps) for j in range(len(chain))]
    at = {x: i for i, x in enumerate(where)}
    m, heads = len(where), [c for c, chain in enumerate(ps) if chain]
    w = [Fraction(0)] * m
    g = [[Fraction(0)] * m for _ in range(m)]
    for c in heads:
        w[at[c, 0]] = Fraction(1, len(ps))
        for j in range(len(ps[c]) - 1):
            g[at[c, j]][at[c, j + 1]] = Fraction(1)
        for d in heads:
            if d != c:
                g[at[c, len(ps[c]) - 1]][at[d, 0]] = Fraction(1, len(ps) - 1)
    alive, adjusted, running = set(range(m)), [[1.0] * len(c) for c in ps], 0.0
    rejected = [0] * len(ps)
    while True:
        ready = [i for i in alive if w[i] > 0]
        if not ready:
            return rejected, adjusted
        i = min(ready, key=lambda i: (ps[where[i][0]][where[i][1]] / float(w[i]), i))
        c, j = where[i]
        running = max(running, ps[c][j] / float(w[i]))
        adjusted[c][j] = min(1.0, running)
        rejected[c] += running <= float(delta)
        alive.remove(i)
        for k in alive:
            w[k] += w[i] * g[i][k]
        old = [row[:] for row in g]
        for a in alive:
            back = 1 - old[a][i] * old[i][a]
            for b in alive:
                g[a][b] = Fraction(0) if a == b or back == 0 else (old[a][b] + old[a][i] * old[i][b]) / back
        w[i] = Fraction(0)


# --- section 7 --------------------------------------------------------------------------------------------


def e_value(k, n, eps):
    eps = float(eps)
    inside = betainc(k + 0.5, n - k + 0.5, eps)
    if inside <= 0:
        return 1e-300
    cut = betaln(0.5, 0.5) + math.log(betainc(0.5, 0.5, eps))
    return math.exp(min(700, betaln(k + 0.5, n - k + 0.5) + math.log(inside) - cut - k * math.log(eps)
                        - (n - k) * math.log1p(-eps)))


def tau_hat(drops, k):
    """D_(n-k) ascending, None where nothing is certified; not below 0."""
    if k < 0:
        return None
    d = sorted(drops)
    v = d[len(d) - k - 1]
    return None if v == MISSING else max(0, v)


# --- section 9 --------------------------------------------------------------------------------------------


def mixture(events, n, weight, eps):
    """Exact where every request weighs the same, else min(p_C, p_B, p_H)."""
    use = [h for h in range(len(n)) if weight[h] > 0]
    a = [weight[h] / n[h] for h in use]
    total = sum(x * events[h] for x, h in zip(a, use))
    size = sum(n[h] for h in use)
    if len(set(a)) == 1:
        return p_strat(sum(events[h] for h in use), size, eps)
    eps = Fraction(eps)
    q = eps / (size * max(a))
    c = -(-total / max(a) // 1)
    p_b = min(1.0, math.e * binom.cdf(int(c), size, float(q)))
    gap = max(0, eps - total)
    p_h = math.exp(-2 * float(gap) ** 2 / float(sum(weight[h] ** 2 / n[h] for h in use)))
    return min(p_b, p_h, chernoff([float(weight[h]) for h in use], [n[h] for h in use],
                                  float(total), float(eps)))


def chernoff(w, n, total, eps):
    if total >= eps:
        return 1.0
    w, n = np.array(w), np.array(n)

    def moment(log_l):
        lam = math.exp(log_l)
        c = -np.expm1(-lam * w / n)

        def risks(v):
            return np.clip(1 / c - v * n / w, 0, 1)

        v = brentq(lambda v: w @ risks(v) - eps, 0, (w / (n * c)).max(), xtol=1e-16, rtol=1e-15)
        return lam * total + float((n * np.log1p(-np.minimum(risks(v) * c, 1 - 1e-16))).sum())

    scale = math.log((n / w).max())
    grid = np.linspace(scale - 12, scale + 7, 77)
    values = [moment(x) for x in grid]
    i = int(np.argmin(values))
    r = minimize_scalar(moment, bounds=(grid[max(0, i - 1)], grid[min(76, i + 1)]), method="bounded",
                        options={"xatol": 1e-9})
    return min(1.0, math.exp(min(r.fun, min(values))))


def quota(n, weight):
    """Largest self-weighting subsample: rows per task."""
    unit = math.lcm(*(w.denominator for w in weight))
    times = min(n[h] // int(w * unit) for h, w in enumerate(weight) if w > 0)
    return [int(w * unit) * times for w in weight]


# --- section 13: the generator ---------------------------------------------------------------------------

MASK = 2**64 - 1


class Random:
    def __init__(self, seed, stream):
        self.state = stream
        a, b = self.next(), self.next()
        self.state = ((seed ^ a) * (b | 1)) & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        m = self.next() * n
        if m & MASK < n:
            least = (2**64 - n) % n
            while m & MASK < least:
                m = self.next() * n
        return m >> 64

    def shuffle(self, a):
        for i in range(len(a), 1, -1):
            j = self.below(i)
            a[i - 1], a[j] = a[j], a[i - 1]


def mcnemar(b, c, n, level):
    tail = binom.cdf(min(b, c), b + c, 0.5)
    a = float(level) / 4
    return {"p_two_sided": min(1.0, 2 * tail), "p_a_better": binom.cdf(b, b + c, 0.5),
            "p_b_better": binom.cdf(c, b + c, 0.5),
            "p_mid": 1.0 if b + c == 0 else min(1.0, 2 * tail - binom.pmf(min(b, c), b + c, 0.5)),
            "difference_lower": strat_lower(b, n, a) - strat_upper(c, n, a),
            "difference_upper": strat_upper(b, n, a) - strat_lower(c, n, a)}


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()
