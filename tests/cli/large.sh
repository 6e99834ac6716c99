#!/bin/sh
# Ten million requests: verdicts and p-values of counts files beside sums of 50 digits, on both sides of the
# largest count that certifies.
set -u
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
"$python" - "$d" <<'P'
import json, math, subprocess, sys
from decimal import Decimal as D, getcontext
getcontext().prec = 50
d, n = sys.argv[1], 10**7
PI = D("3.14159265358979323846264338327950288419716939937510582097494459")

def ln_factorial(k):
    if k < 2000:
        return D(math.factorial(k)).ln()
    x = D(k)
    tail = sum(D(a) / b / x**p for a, b, p in ((1, 12, 1), (-1, 360, 3), (1, 1260, 5), (-1, 1680, 7), (1, 1188, 9),
                                               (-691, 360360, 11), (1, 156, 13)))
    return x * x.ln() - x + (2 * PI * x).ln() / 2 + tail

def cdf(k, n, eps):
    """P[Bin(n, eps) <= k], summed downward from k, where k is below the mean."""
    term = (ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k) + k * eps.ln() + (n - k) * (1 - eps).ln()).exp()
    odds, total = (1 - eps) / eps, D(0)
    while k >= 0 and (total == 0 or term > total * D("1e-30")):
        total += term
        term *= odds * k / (n - k + 1)
        k -= 1
    return total

def certify(events, eps, delta):
    with open(f"{d}/f.json", "w") as f:
        json.dump({"kvrisk": 1, "kind": "counts", "model": "m", "benchmark": "b", "tolerance": 0.1, "n": n,
                   "policies": [{"method": "a", "retention": 0.5, "events": events}]}, f)
    r = subprocess.run(["./kvrisk", "certify", f"{d}/f.json", "--risk", str(eps), "--confidence", str(1 - delta),
                        "--json"], capture_output=True, text=True)
    assert r.returncode in (0, 3), r.stderr
    return json.loads(r.stdout)

worst, points = 0, 0
for eps, delta in (("0.05", "0.05"), ("0.05", "0.000000001"), ("0.000001", "0.05"), ("0.0000123", "0.01"),
                   ("0.29", "0.2"), ("0.5", "0.001"), ("0.999", "0.05"), ("0.001", "0.0000001")):
    eps, delta = D(eps), D(delta)
    kmax = certify(0, eps, delta)["max_events"]
    assert 0 <= kmax <= n * eps - 1, (eps, delta, kmax)
    for events in (kmax, kmax + 1, kmax - 3 if kmax > 3 else 0):
        exact = cdf(events, n, eps)
        out = certify(events, eps, delta)["methods"][0]
        guard = events <= n * eps - 1
        assert (out["decision"] == "certified") == (guard and exact <= delta), (eps, delta, events, exact, out)
        p = out["candidates"][0]["p_value"]
        if guard:
            worst = max(worst, abs(float((D(p) - exact) / exact)))
        else:
            assert p == 1
        points += 1
assert worst < 5e-12, worst
print(f"note: {points} verdicts at 10000000 requests agree with sums of 50 digits; p-values within {worst:.1g}")
P
