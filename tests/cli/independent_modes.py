"""Every claim of kvrisk against SciPy, on random calibration files.

usage: independent_modes.py KVRISK DIRECTORY FILES SEED
Writes FILES random calibration files (strata equal or not, ties, missing utilities, clusters, repeated
prompts, several methods, thresholds, test splits, extreme contracts, declared contracts of every kind),
reckons each claim by reckoning.py and compares counts, p-values, limits, levels, decisions and states
with `certify --mode all --json`, `certify --json`, `sweep`, `map`, `compare` and `export`.
"""
import json
import math
import os
import random
import subprocess
import sys
from fractions import Fraction

from reckoning import (NANO, Random, bernstein, chains, cp_lower, cp_upper, e_value, fixed_sequence, hb, kmax,
                       load, loss_of, mcnemar, mixture, nano, p_strat, quota, passes, sha256,
                       strat_lower, strat_upper, tau_hat, undecided, wsr_rounds)

WIDE = ["0", "0.01", "0.02", "0.03", "0.04", "0.05", "0.06", "0.08", "0.1", "0.12", "0.15", "0.2", "0.25",
        "0.3", "0.4", "0.5"]
RISKS = ["0.2", "0.15", "0.12", "0.1", "0.08", "0.06", "0.05", "0.04", "0.03", "0.02", "0.015", "0.01", "0.005"]
TABLES = ("tolerances", "risks", "map", "confidence")
CLUSTERS = ("cluster_one", "cluster_mean", "cluster_max")
COUNT = {"numbers": 0, "claims": 0, "locked": 0}


class Difference(Exception):
    pass


def same(name, got, want, tolerance=1e-8):
    COUNT["numbers"] += 1
    if isinstance(want, float) and want in (math.inf,):
        want = None
    if got is None or want is None or isinstance(want, (str, bool, list)):
        ok = got == want
    else:
        ok = abs(got - want) <= tolerance * abs(want) + 1e-12
    if not ok:
        raise Difference(f"{name}: kvrisk {got!r}, reckoned {want!r}")


# --- random files ---------------------------------------------------------------------------------------


def draw_contract(rng, tasks, methods, clustered):
    k = {"tolerance": rng.choice(["0", "0.05", "0.1", "0.1", "0.2", "0.35", "1"]),
         "risk": rng.choice(["0.05", "0.1", "0.2", "0.3", "0.02", "0.001", "0.5", "0.123", "0.9"]),
         "confidence": rng.choice(["0.95", "0.9", "0.8", "0.99", "0.5", "0.9999"])}
    kind = rng.randrange(9)
    if kind == 0:
        return None
    if kind in (1, 2):
        k["method"] = rng.choice(methods)
    if kind == 3:
        k["family"] = rng.choice([True, rng.sample(methods, rng.randint(1, len(methods)))])
    if kind >= 4 and rng.random() < 0.5:
        k["method"] = rng.choice(methods)
    if kind in (2, 3, 4) and Fraction(k["confidence"]) > Fraction(1, 2):
        delta = rng.choice(["0.05", "0.1", "0.25"])
        if 1 - Fraction(k["confidence"]) + Fraction(delta) <= Fraction(1, 2):
            e = k["explore"] = {"delta": delta}
            if rng.random() < 0.7:
                e["tolerances"] = sorted(rng.sample(["0", "0.05", "0.1", "0.2", "0.3"], rng.randint(1, 4)), key=float)
            if rng.random() < 0.7:
                e["risks"] = sorted(rng.sample(["0.02", "0.05", "0.1", "0.2"], rng.randint(1, 4)), key=float)
            if rng.random() < 0.5:
                e["confidence"] = True
    if kind >= 5:
        k["mode"] = rng.choice(["mixture", "subsample", "worst_task", "mean_drop"] +
                               (list(CLUSTERS) if clustered else []))
        k["mean"] = rng.choice(["wsr", "hb", "bernstein"])
        k["seed"] = rng.choice(["1", "7", "123456789"])
        if k["mode"] in ("mixture", "subsample"):
            k["weights"] = {t: rng.choice(["1", "2", "0.5", "3"]) for t in rng.sample(tasks, rng.randint(1, len(tasks)))}
    return k


def raw(value):
    """Decimals are strings here and numbers in the file."""
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + raw(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(raw(v) for v in value) + "]"
    if isinstance(value, str) and value[:1] in "0123456789":
        return value
    return json.dumps(value)


def draw_file(rng, path):
    tasks = [f"t{i}" for i in range(rng.randint(1, 5))]
    names = rng.sample(["snapkv", "adakv", "h2o", "knorm"], rng.randint(1, 3))
    each = rng.choice([1, 3, 12, 30, 60, 100])
    equal = rng.random() < 0.6
    sizes = [each if equal else rng.randint(1, 2 * each) for _ in tasks]
    if not equal and rng.random() < 0.2 and len(tasks) > 1:
        sizes[-1] = 0
    clustered, repeated = rng.random() < 0.35, rng.random() < 0.1
    policies = []
    for name in names:
        m = rng.randint(1, 5)
        if rng.random() < 0.25:
            policies += [{"method": name, "threshold": f"0.{j + 1}", "mean_retained": f"0.{9 - j}"} for j in range(m)]
        else:
            policies += [{"method": name, "retention": f"0.{8 - j}"} for j in range(m)]
    contract = draw_contract(rng, tasks, names, clustered)
    header = {"kvrisk": 1, "kind": "calibration", "utility": {"min": "0", "max": rng.choice(["1", "1", "2"])},
              "tasks": tasks, "policies": policies}
    if contract is not None:
        header["contract"] = contract
    harm = [rng.choice([0.0, 0.01, 0.03, 0.08, 0.2]) * (1 + j / 3) for j in range(len(policies))]
    rows, second = [], rng.random() < 0.3
    for split, share in (("cal", 1.0), ("test", 0.5 if rng.random() < 0.3 else 0)):
        for t, size in zip(tasks, sizes):
            for i in range(int(size * share)):
                full = rng.choice(["1", "0.9", "0.8", "0.6"])
                row = {"id": f"{t}-{split}-{i:03d}", "task": t, "full": None if rng.random() < 0.004 else full,
                       "utility": []}
                if split == "test":
                    row["split"] = "test"
                if clustered and rng.random() < 0.7:
                    row["cluster"] = f"c{rng.randrange(max(1, each))}"
                if repeated:
                    row["prompt"] = f"p{rng.randrange(10 * each)}"
                for h in harm:
                    u = rng.random()
                    bad = u < h * (4 if t == "t0" else 0.5)
                    loss = rng.choice([1, 1, 2, 3, 6]) if bad else rng.choice([0] * 9 + [-1])
                    row["utility"].append(None if rng.random() < 0.003 else
                                          str(min(10, max(0, round(float(full) * 10) - loss)) / 10))
                if second:
                    again = str(max(0, round(float(full) * 10) - rng.choice([0] * 12 + [3])) / 10)
                    row["full2"] = None if rng.random() < 0.02 else again
                rows.append(row)
    rng.shuffle(rows)
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(raw(x) for x in [header] + rows) + "\n")


# --- what has to come out ---------------------------------------------------------------------------------


class Case:
    def __init__(self, path, split, options, family, given):
        self.c = load(path, split)
        d = self.c.header.get("contract")
        self.d = d or {}
        home = {k: self.d.get(k, v) for k, v in (("tolerance", "0.1"), ("risk", "0.05"), ("confidence", "0.95"))}
        self.home = home
        self.k = {**home, **given}
        self.delta = 1 - Fraction(self.k["confidence"])
        self.eps = Fraction(self.k["risk"])
        self.family = family or bool(self.d.get("family"))
        self.at_home = d is not None and split == "cal" and all(Fraction(self.k[x]) == Fraction(home[x]) for x in home)
        self.split, self.free = split, "--assume-independent" in options
        self.refused = self.c.dependent and not self.free
        self.mode = self.d.get("mode", "events")
        self.M = len(self.c.methods)
        own = self.d.get("weights")
        self.declared_weights = own
        if own:
            total = sum(Fraction(v) for v in own.values())
            self.w = [Fraction(own.get(t, "0")) / total for t in self.c.tasks]
        else:
            present = [h for h, n in enumerate(self.c.n_h) if n > 0]
            self.w = [Fraction(h in present, len(present)) for h in range(len(self.c.tasks))]
        self.seed = int(self.d.get("seed", "1"))
        self.mean = self.d.get("mean", "wsr")
        if not self.c.uniform:
            self.mean = "hb"

    def counts(self, method, tolerance):
        return [self.c.count(j, tolerance) for j in self.c.methods[method][1]]

    def line_declared(self, name):
        f = self.d.get("family")
        if f:
            return self.family and (f is True or name in f)
        return "method" not in self.d or (not self.family and self.d["method"] == name)

    # one claim: p-values in order, level, n, largest count, upper limits
    def claim(self, mode, m):
        c, n, name = self.c, self.c.n, self.c.methods[m][0]
        share = self.M if self.family else 1
        level = self.delta / share
        x = {"n": n, "kmax": -1, "events": [None] * len(c.methods[m][1]), "upper": None, "applies": True, "all": True}
        policies = c.methods[m][1]
        count = len(policies)
        if mode == "events":
            ks = self.counts(m, self.k["tolerance"])
            x["p"] = [p_strat(k, n, self.eps) for k in ks]
            if self.family:
                ps = [[p_strat(k, n, self.eps) for k in self.counts(i, self.k["tolerance"])] for i in range(self.M)]
                rejected, x["adjusted"] = chains(ps, self.delta)
                x["adjusted"] = x["adjusted"][m]
                # the share in the end: handed on by completed chains
                done, level = self.shares(ps, m)
                assert (rejected[m] == count) == done
            else:
                x["adjusted"] = [max(x["p"][:j + 1]) for j in range(count)]
            x["kmax"] = kmax(n, self.eps, level)
            x["events"] = ks
            x["upper"] = [strat_upper(k, n, float(level)) for k in ks]
        elif mode in TABLES:
            level = self.table(mode, m, x)
        elif mode == "mixture":
            x["p"], x["upper"] = [], None
            for j in policies:
                x["p"].append(mixture(c.by_task(j, self.k["tolerance"]), c.n_h, self.w, self.eps))
        elif mode == "worst_task":
            x["p"], x["upper"] = [], []
            for j in policies:
                k = c.by_task(j, self.k["tolerance"])
                x["p"].append(max(p_strat(a, b, self.eps) for a, b in zip(k, c.n_h)))
                x["upper"].append(max(strat_upper(a, b, float(level)) for a, b in zip(k, c.n_h)))
        elif mode == "mean_drop":
            self.mean_drop(policies, level, x)
        else:
            self.rows(mode, policies, level, x)
        x["level"] = level
        return x

    def shares(self, ps, m):
        """Methods that passed to their end hand on their share, all of one round together; a method's
        level is the share it was tested at last."""
        share, done, used = [Fraction(1, self.M)] * self.M, [False] * self.M, [Fraction(0)] * self.M
        while True:
            used = [u if d else s for u, d, s in zip(used, done, share)]
            ready = [i for i in range(self.M) if not done[i] and
                     fixed_sequence(ps[i], share[i] * self.delta) == len(ps[i])]
            if not ready:
                return done[m], used[m] * self.delta
            for i in ready:
                done[i] = True
                left = [k for k in range(self.M) if not done[k]]
                for k in left:
                    share[k] += share[i] / len(left)

    def grids(self):
        e = self.d.get("explore", {})
        return e.get("tolerances"), e.get("risks")

    def table_of(self, mode):
        t, r = self.grids()
        return "map" if mode in ("tolerances", "risks") and t and r else mode

    def table(self, mode, m, x):
        t, r = self.grids()
        count, share = len(self.c.methods[m][1]), self.M if self.family else 1
        table = self.table_of(mode)
        if mode == "confidence":
            level = self.delta / share
            ks = self.counts(m, self.k["tolerance"])
            x["p"] = [min(1.0, 1 / max(1e-300, e_value(k, self.c.n, self.eps))) for k in ks]
            x["events"] = ks
            x["kmax"] = -1
            while x["kmax"] < self.c.n and passes(1 / e_value(x["kmax"] + 1, self.c.n, self.eps), level):
                x["kmax"] += 1
            return level
        own = {"tolerances": t, "risks": r, "map": t and r}[table]
        budget = Fraction(self.d["explore"]["delta"]) if {"tolerances": t, "risks": r, "map": t and r}[mode] \
            else 1 - Fraction(self.home["confidence"])
        k = dict(self.k)
        if table == "map":
            gt, gr = (t, r) if own else (WIDE, RISKS)
            parts = min(len(gt) * len(gr), count * min(len(gt), len(gr)))
            moves = {"tolerance": gt, "risk": gr}
        elif own:
            parts = min(count, len(own))
            moves = {"tolerance" if table == "tolerances" else "risk": own}
        else:
            parts, moves = count, {}
        level = budget / parts / share
        for key, grid in moves.items():
            below = [v for v in grid if Fraction(v) <= Fraction(k[key])]
            if not below:
                x["applies"] = False
                return level
            k[key] = max(below, key=Fraction)
        eps = Fraction(k["risk"])
        x["events"] = self.counts(m, k["tolerance"])
        x["p"] = [p_strat(e, self.c.n, eps) for e in x["events"]]
        x["kmax"] = kmax(self.c.n, eps, level)
        if table == "risks":
            a = float(budget / count / share)
            u = [strat_upper(e, self.c.n, a) for e in x["events"]]
            x["upper"] = [max(u[:j + 1]) for j in range(count)]
            if not own and not undecided(x["p"], level):
                passed = fixed_sequence(x["p"], level)
                assert passed == sum(1 for v in x["upper"] if v <= float(eps)), "7.4: two forms of one table"
        if mode == "tolerances":
            taus = [tau_hat(self.c.drops[j], x["kmax"]) for j in self.c.methods[m][1]]
            x["tau"] = []
            for j in range(count):
                x["tau"].append(None if None in taus[:j + 1] else max(taus[:j + 1]) / NANO)
        return level

    def mean_drop(self, policies, level, x):
        c = self.c
        x["p"], x["upper"] = [], []
        for j in policies:
            losses = [loss_of(d, c.range) for d in c.drops[j]]
            if self.mean == "wsr":
                tasks = [h for h in range(len(c.tasks)) if c.n_h[h] > 0]
                per = {h: [v for v, t in zip(losses, c.task) if t == h] for h in tasks}
                losses = [per[h][i] for i in range(len(losses) // len(tasks)) for h in tasks]
                p, u = wsr_rounds(losses, len(tasks), self.eps, level)
            else:
                p, u = {"hb": hb, "bernstein": bernstein}[self.mean](losses, self.eps, level)
            x["p"].append(p)
            x["upper"].append(u)

    def rows(self, mode, policies, level, x):
        c = self.c
        keep = list(range(c.n))
        if mode == "subsample":
            take = quota(c.n_h, self.w)
            if sum(take) == 0:
                x["applies"] = False
                return
            keep = []
            for h, amount in enumerate(take):
                rows = [i for i in range(c.n) if c.task[i] == h]
                Random(self.seed, h).shuffle(rows)
                keep += rows[:amount]
        units = {}
        for i in range(c.n):
            units.setdefault(c.units[i], []).append(i)
        if mode in CLUSTERS and not c.dependent:
            x["applies"] = False
            return
        if mode == "cluster_one":
            keep = [u[Random(self.seed, u[0]).below(len(u))] for u in units.values()]
        x["p"], x["upper"], x["events"] = [], [], []
        for j in policies:
            bad = c.events(j, self.k["tolerance"])
            if mode == "cluster_mean":
                losses = [-(-sum(bad[i] for i in u) * NANO // len(u)) for u in units.values()]
                p, up = hb(losses, self.eps, level)
                x["p"].append(p), x["upper"].append(up), x["events"].append(None)
                x["n"] = len(losses)
                continue
            k = sum(bad[i] for i in keep) if mode != "cluster_max" else \
                sum(any(bad[i] for i in u) for u in units.values())
            x["n"] = len(keep) if mode != "cluster_max" else len(units)
            x["p"].append(p_strat(k, x["n"], self.eps))
            x["upper"].append(strat_upper(k, x["n"], float(level)))
            x["events"].append(k)
        if mode != "cluster_mean":
            x["kmax"] = kmax(x["n"], self.eps, level)

    def best_possible(self, mode, level):
        """p-value of a policy that degrades nothing."""
        c = self.c
        if mode == "mixture":
            return mixture([0] * len(c.n_h), c.n_h, self.w, self.eps)
        if mode == "worst_task":
            return max(p_strat(0, n, self.eps) for n in c.n_h)
        if mode == "cluster_mean":
            return hb([0] * len(set(c.units)), self.eps, level)[0]
        if mode == "mean_drop":
            tasks = sum(n > 0 for n in c.n_h)
            return wsr_rounds([0] * c.n, tasks, self.eps, level)[0] if self.mean == "wsr" else \
                {"hb": hb, "bernstein": bernstein}[self.mean]([0] * c.n, self.eps, level)[0]
        return None

    def state(self, mode, m, x):
        name = self.c.methods[m][0]
        if mode not in CLUSTERS and self.refused:
            return "REFUSED"
        if x["applies"]:
            never = x["kmax"] < 0 if x["kmax"] is not None and mode in ("events", "subsample", "cluster_one",
                                                                        "cluster_max") + TABLES else \
                not passes(self.best_possible(mode, x["level"]), x["level"])
            if never:
                return "N TOO SMALL"
        if x["applies"] and undecided(x["p"], x["level"]):
            return "UNDECIDED"
        if mode == "events":
            ok = self.mode == "events" and self.line_declared(name) and self.at_home
            ok = ok and not (self.family and "method" in self.d)
        elif mode in TABLES:
            t, r = self.grids()
            own = {"tolerances": t, "risks": r, "map": t and r,
                   "confidence": self.d.get("explore", {}).get("confidence")}[self.table_of(mode)]
            same_t = Fraction(self.k["tolerance"]) == Fraction(self.home["tolerance"])
            same_r = Fraction(self.k["risk"]) == Fraction(self.home["risk"])
            rest = {"tolerances": same_r, "risks": same_t, "map": True, "confidence": same_t and same_r}
            mine = (self.line_declared(name) and (self.family or "method" in self.d)) or self.M == 1
            ok = bool(own) and self.mode == "events" and self.split == "cal" and bool(self.d) and mine and \
                rest[self.table_of(mode)]
        else:
            ok = self.mode == mode and self.at_home and self.line_declared(name)
            ok = ok and not (self.family and "method" in self.d)
        return "LOCKED" if ok else "WHAT-IF"


def check_claim(case, got):
    mode = got["mode"]
    m = [name for name, _ in case.c.methods].index(got["method"])
    x = case.claim(mode, m)
    where = f"{mode} {got['method']}"
    COUNT["claims"] += 1
    state = case.state(mode, m, x)
    same(where + " state", got["state"], state)
    COUNT["locked"] += state == "LOCKED"
    if state == "REFUSED" or not x["applies"]:
        same(where + " refused", got["status"], "refused")
        same(where + " decision", got["decision"], "fallback")
        return
    same(where + " level", got["level"], float(x["level"]), 1e-14)
    passed = fixed_sequence(x["p"], x["level"])
    same(where + " decision", got["decision"], "certified" if passed else "fallback")
    same(where + " n", got["n"], x["n"])
    same(where + " max_events", got["max_events"], x["kmax"])
    policies = case.c.methods[m][1]
    if passed:
        p = case.c.header["policies"][policies[passed - 1]]
        same(where + " retention", got["retention"], float(p.get("retention", p.get("mean_retained"))))
        same(where + " p", got["p_value"], x["p"][passed - 1])
        same(where + " events", got["events"], x["events"][passed - 1])
    loose = 1e-6 if mode in ("mixture", "mean_drop", "cluster_mean") else 1e-8
    for j, each in enumerate(got["candidates"]):
        if mode not in ("events",) + TABLES and j > passed:
            break
        same(f"{where} {j} p", each["p_value"], x["p"][j], loose if mode == "mixture" else 1e-8)
        same(f"{where} {j} events", each["events"], x["events"][j])
        same(f"{where} {j} verdict", each["verdict"],
             "pass" if j < passed else "stop" if j == passed else "untested")
        if x["upper"] is not None:
            same(f"{where} {j} upper", each["upper_bound"], x["upper"][j], loose)
        if mode == "mixture":  # the limit is where the p-value meets the level
            u = each["upper_bound"]
            k = case.c.by_task(policies[j], case.k["tolerance"])
            for off, side in ((1 + 1e-6, True), (1 - 1e-6, False)):
                e = min(u * off, 1 - 1e-12)
                below = mixture(k, case.c.n_h, case.w, Fraction(e)) <= float(x["level"]) * (1 + 1e-9 * side)
                exact = len({case.w[h] / case.c.n_h[h] for h in range(len(case.w)) if case.w[h] > 0}) == 1
                if 0 < e < 1 - 1e-9 and not exact and below != side:
                    raise Difference(f"{where} {j}: limit {u} is not where p = level")
        if "tau" in x:
            same(f"{where} {j} tolerance", each["tolerance_bound"], x["tau"][j])
    check_room(case, mode, m, x, passed, got["room"], where)


def check_room(case, mode, m, x, passed, room, where):
    if mode not in ("events", "mixture", "subsample") or passed == 0 or len(case.c.tasks) < 2:
        same(where + " room", room, None)
        return
    w = case.w if mode != "events" else [Fraction(n, case.c.n) for n in case.c.n_h]
    uppers = x["upper"][:passed] if x["upper"] else None
    eps = float(case.eps)
    answers = []
    if uppers:
        answers.append(("declared", max(uppers)))
    if mode == "events" and len(x["p"]) == 1:
        answers.append(("after_looking", max(uppers)))
    elif mode == "events" and case.table_of("risks") == "risks":
        t, r = case.grids()
        budget = Fraction(case.d["explore"]["delta"]) if r else 1 - Fraction(case.home["confidence"])
        a = float(budget / len(x["p"]) / (case.M if case.family else 1))
        answers.append(("after_looking", max(strat_upper(k, case.c.n, a) for k in x["events"][:passed])))
    for name, u in answers:
        same(f"{where} growth {name}", room["growth_" + name], max(1.0, eps / u), 1e-6)
        for h, t in enumerate(case.c.tasks):
            most = 1.0 if w[h] == 0 else min(1.0, u / float(w[h]))
            reach = 0.0 if u >= eps else 1.0 if most <= eps else (eps - u) / (most - u)
            if abs(u - eps) > 1e-6:
                same(f"{where} reach {t}", room["moves"][h][name], reach, 1e-4)


def run(program, *words):
    r = subprocess.run([program, *words], capture_output=True, text=True)
    if r.returncode not in (0, 3):
        raise Difference(f"exit {r.returncode}: {' '.join(words)}: {r.stderr}")
    return r.stdout


def check_lines(case, got, one=None):
    states = set()
    for line in got["methods"]:
        m = [name for name, _ in case.c.methods].index(line["method"])
        x = case.claim("events", m)
        state = case.state("events", m, x)
        states.add(state)
        same(f"line {line['method']} state", line["state"], state)
        for j, each in enumerate(line["candidates"]):
            same(f"line {line['method']} {j} p", each["p_value"], x["p"][j])
            same(f"line {line['method']} {j} adjusted", each["adjusted_p"], x["adjusted"][j])
            same(f"line {line['method']} {j} upper", each["upper_bound"], x["upper"][j])
            if not case.refused:
                tau = tau_hat(case.c.drops[case.c.methods[m][1][j]], x["kmax"])
                same(f"line {line['method']} {j} tau", each["tolerance_bound"], None if tau is None else tau / NANO)
        if not case.refused:
            passed = fixed_sequence(x["p"], x["level"])
            same(f"line {line['method']}", line["decision"], "certified" if passed else "fallback")
            plug = 0
            while plug < len(x["p"]) and x["events"][plug] <= case.c.n * case.eps:
                plug += 1
            same(f"line {line['method']} empirical", line["empirical"]["events"], x["events"][plug - 1] if plug else None)
    if got["state"] == "LOCKED" and "LOCKED" not in states:
        raise Difference("LOCKED at the top, no line is")
    return states


def check_noise(case, got):
    measured = [(nano(r["full"]), nano(r["full2"])) for r in case.c.rows if "full2" in r]
    if not measured:
        same("noise", got, None)
        return
    limit, n = nano(case.k["tolerance"]), len(measured)
    k = sum(a is None or b is None or a - b > limit for a, b in measured)
    half = float(case.delta / 2)
    same("noise events", got["events"], k)
    same("noise lower", got["lower"], strat_lower(k, n, half))
    same("noise upper", got["upper"], strat_upper(k, n, half))


def check_export(program, path, case, options, out):
    for m, (name, policies) in enumerate(case.c.methods):
        run(program, "export", path, "--method", name, "-o", out, "--force", *options)
        with open(out, encoding="utf-8") as f:
            e = json.load(f)
        x = case.claim("events", m)
        same("export state", e["state"], case.state("events", m, x))
        same("export point state", e["point"]["state"], e["state"])
        check_noise(case, e["noise_floor"])
        text = "".join(f"{p['method']}\t{p.get('retention', p.get('threshold'))}\n" for p in case.c.header["policies"])
        same("order", e["order"]["sha256"], sha256(text))
        same("strata", [s["n"] for s in e["strata"]], case.c.n_h)
        passed = 0 if case.refused else fixed_sequence(x["p"], x["level"])
        if passed == 0:
            same("export tasks", e["point"]["tasks"], None)
            continue
        a = float(case.delta / len(case.c.tasks) / 2)
        low, high = [], []
        for row, k, n in zip(e["point"]["tasks"], case.c.by_task(policies[passed - 1], case.k["tolerance"]), case.c.n_h):
            lower, upper = cp_lower(k, n, a), cp_upper(k, n, a)
            same("task events", row["events"], k)
            same("task lower", row["lower"], lower)
            same("task upper", row["upper"], upper)
            low += [row["task"]] if lower > float(case.eps) else []
            high += [row["task"]] if upper > float(case.eps) else []
        same("violating", e["point"]["violating_tasks"], low)
        same("not shown", e["point"]["not_shown_tasks"], high)
        for claim in e["modes"]:
            check_claim(case, claim)


def check_points(program, path, rng, split, options, family, given):
    over = rng.choice(["tolerance", "risk", "confidence"])
    a, b = {"tolerance": ("0", "0.4"), "risk": ("0.02", "0.4"), "confidence": ("0.8", "0.98")}[over]
    rest = [w for k, v in given.items() if k != over for w in ("--" + k, v)]
    got = json.loads(run(program, "sweep", path, "--over", over, "--from", a, "--to", b, "--steps", "3", "--json",
                         *options, *rest))["points"]
    cells = json.loads(run(program, "map", path, "--tolerances", "0,0.1,0.25", "--risks", "0.3,0.05", "--json",
                           *options, *(w for k, v in given.items() if k == "confidence" for w in ("--" + k, v))))["cells"]
    for cell in got + cells:
        k = {x: str(cell[x]) for x in ("tolerance", "risk", "confidence")}
        case = Case(path, split, options, family, k)
        m = [name for name, _ in case.c.methods].index(cell["method"])
        table = {"tolerance": "tolerances", "risk": "risks", "confidence": "confidence"}[over] if cell in got else "map"
        for part, mode in ((cell, "events"), (cell["joint"], table)):
            x = case.claim(mode, m)
            where = f"{'sweep' if cell in got else 'map'} {mode} {k} {cell['method']}"
            passed = 0 if case.refused or not x["applies"] else fixed_sequence(x["p"], x["level"])
            same(where, part["decision"], "certified" if passed else "fallback")
            same(where + " max events", part["max_events"], x["kmax"])
            if passed:
                p = case.c.header["policies"][case.c.methods[m][1][passed - 1]]
                same(where, part["retention"], float(p.get("retention", p.get("mean_retained"))))
            if part["state"] == "LOCKED" and case.state(mode, m, x) not in ("LOCKED", "N TOO SMALL"):
                raise Difference(where + ": LOCKED, not covered")


def check_compare(program, path, case, rng, words):
    policies = case.c.header["policies"]
    i, j = rng.randrange(len(policies)), rng.randrange(len(policies))
    names = [f"{p['method']}:{p.get('retention', p.get('threshold'))}" for p in (policies[i], policies[j])]
    got = json.loads(run(program, "compare", path, *names, "--json", *words))
    a, b = case.c.events(i, case.k["tolerance"]), case.c.events(j, case.k["tolerance"])
    only_a, only_b = sum(x and not y for x, y in zip(a, b)), sum(y and not x for x, y in zip(a, b))
    same("compare a", got["only_a"], only_a)
    same("compare b", got["only_b"], only_b)
    for key, value in mcnemar(only_a, only_b, case.c.n, case.delta).items():
        same("compare " + key, got[key], float(value))


def check_file(program, path, rng, out):
    with open(path, encoding="utf-8") as f:
        has_test = '"split": "test"' in (text := f.read()) or '"split":"test"' in text
    for turn in range(2):
        options, given, split = [], {}, "cal"
        if turn == 1:
            if rng.random() < 0.3:
                options.append("--assume-independent")
            if rng.random() < 0.3 and has_test:
                options += ["--split", "test"]
                split = "test"
            if rng.random() < 0.3:
                options.append("--family")
            if rng.random() < 0.5:
                given = {"tolerance": rng.choice(["0.1", "0.07", "0.3"]), "risk": rng.choice(["0.05", "0.07", "0.25"])}
        words = options + [w for k, v in given.items() for w in ("--" + k, v)]
        family = "--family" in options
        case = Case(path, split, options, family, given)
        if case.c.n == 0:
            continue
        if any(w > 0 and n == 0 for w, n in zip(case.w, case.c.n_h)):
            continue  # a weight without requests is refused
        for claim in json.loads(run(program, "certify", path, "--mode", "all", "--json", *words))["claims"]:
            check_claim(case, claim)
        if case.mode == "events":
            check_lines(case, json.loads(run(program, "certify", path, "--json", *words)))
            name = rng.choice(case.c.methods)[0]
            one = json.loads(run(program, "certify", path, "--json", "--method", name, *words))
            check_lines(case, one)
            same("state of one line", one["state"], one["methods"][0]["state"])
        check_export(program, path, case, words, out)
        check_points(program, path, rng, split, options, family, given)
        check_compare(program, path, case, rng, words)


def main():
    program, directory, files, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    for i in range(files):
        rng = random.Random(f"{seed}-{i}")
        path = os.path.join(directory, f"random-{i}.jsonl")
        draw_file(rng, path)
        try:
            check_file(program, path, rng, os.path.join(directory, "point.json"))
        except (Difference, AssertionError) as e:
            sys.exit(f"file {i} of seed {seed} ({path}): {e}")
        os.remove(path)
    print(f"note: {COUNT['claims']} claims ({COUNT['locked']} LOCKED) on {files} random files, "
          f"{COUNT['numbers']} values agree with SciPy")


if __name__ == "__main__":
    main()
