#!/bin/sh
# Every member of a certificate is compared with what the ledger and the file give.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export XDG_STATE_HOME="$tmp/state"
python=$([ -x /usr/bin/python3 ] && echo /usr/bin/python3 || echo python3)
exec "$python" - "$tmp" <<'END'
import copy, json, os, subprocess, sys

tmp = sys.argv[1]
f = tmp + "/f.jsonl"

def kvrisk(*args):
    r = subprocess.run(["./kvrisk", *args], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr

def need(status, *args):
    got, text = kvrisk(*args)
    assert got == status, (args, got, text)
    return text

def write(path, doc):
    with open(path, "w") as out:
        out.write(doc if isinstance(doc, str) else json.dumps(doc))

head = {"kvrisk": 1, "kind": "calibration", "model": "m", "utility": {"min": 0, "max": 1}, "tasks": ["a", "b"],
        "policies": [{"method": "x", "retention": 0.8}, {"method": "x", "retention": 0.6}, {"method": "x", "retention": 0.4},
                     {"method": "y", "threshold": 0.1}, {"method": "y", "threshold": 0.2}]}
def row(i, bad):
    u = [1, 1, 0 if i % 5 == 0 or bad else 1, 1, 0.5 if i % 40 == 0 else 1]
    return {"id": "r%d" % i, "task": "ab"[i % 2], "full": 1, "full2": 1, "utility": u, "retained": [0.8, 0.6, 0.4, 0.7 + i / 1000, 0.5]}
rows = [row(i, False) for i in range(160)]
def save(rows):
    write(f, "\n".join(json.dumps(x) for x in [head] + rows) + "\n")
save(rows)

need(0, "ledger", "start", f, "--explore", "0", "--budget", "0.4")
need(0, "lock", f, "--method", "x", "--looks", "160,260")
need(0, "lock", f, "--method", "y", "--tolerances", "0.1,0.2,0.6", "--risk", "0.06")
need(0, "lock", f, "--family")
certificates = []
for lock in ["2", "3", "4"]:
    certificates.append(tmp + "/c%s.json" % lock)
    need(0, "confirm", f, "--lock", lock, "-o", certificates[-1])
certificates.append(tmp + "/again.json")
need(0, "confirm", f, "--lock", "2", "-o", certificates[-1])
need(0, "lock", f, "--method", "x", "--tolerance", "0.3")
certificates.append(tmp + "/explored.json")
need(3, "confirm", f, "-o", certificates[-1])

def verify(path, status=0):
    return need(status, "ledger", "verify", f, "--certificate", path)

for c in certificates:
    text = verify(c)
    assert "verified: decision follows from the counts; counts follow from" in text, text
assert "entry 5 of" in verify(certificates[0])

# order of members and blanks do not matter
doc = json.load(open(certificates[0]))
def turned(x):
    if isinstance(x, dict):
        return {k: turned(x[k]) for k in reversed(x)}
    return [turned(v) for v in x] if isinstance(x, list) else x
write(tmp + "/e.json", json.dumps(turned(doc), indent=7))
verify(tmp + "/e.json")

# every member of a certificate, each edited (tests/ledger/test_verify.c does more to each)
free = {"input", "kvrisk_version", "ledger.rerun"}
tried = 0

def leaves(x, path=()):
    if isinstance(x, (dict, list)) and x:
        for k in (x if isinstance(x, dict) else range(len(x))):
            yield from leaves(x[k], path + (k,))
    else:
        yield path, x

def edited(v):
    if isinstance(v, bool):
        return not v
    if isinstance(v, (int, float)):
        return v * 1.001 + 1e-9
    return v + " " if isinstance(v, str) else 0

def name(path):
    s = ""
    for k in path:
        s += "[%d]" % k if isinstance(k, int) else ("." if s else "") + k
    return s

for path, value in list(leaves(doc)):
    changed = copy.deepcopy(doc)
    x = changed
    for k in path[:-1]:
        x = x[k]
    x[path[-1]] = edited(value)
    write(tmp + "/e.json", changed)
    text = verify(tmp + "/e.json", 0 if name(path) in free else 1)
    if name(path) not in free:
        tried += 1
        assert name(path) in ("ledger.head", "ledger.entries", "ledger.entry") or \
            "e.json: %s is " % name(path) in text and "the ledger and the file give" in text, (path, text)

# the sentence names both values
doc = json.load(open(certificates[0]))
doc["point"]["retention"] = 0.4
write(tmp + "/e.json", doc)
assert "e.json: point.retention is 0.4, the ledger and the file give 0.6" in verify(tmp + "/e.json", 1)

# not certificates at all
text = open(certificates[0]).read()
for bad in ["", "[]", "{}", "null", text[:-3], text + "{}", text.replace('"level":', '"level":0', 1), "[" * 5000,
            text.replace('{"version":1,', '{"version":1,"version":1,', 1), text.replace('"n":160', '"n":0160', 1),
            text.replace('"entry":5', '"entry":99', 1), text.replace('"entry":5', '"entry":2', 1),
            text.replace('"entry":5', '"entry":6', 1), text.replace('"entry":5', '"entry":-5', 1)]:
    assert bad != text
    write(tmp + "/e.json", bad)
    verify(tmp + "/e.json", 1)

# the file grew: older certificates still follow; what may differ is said
old = rows[:]
rows += [row(i, False) for i in range(160, 260)]
save(rows)
need(0, "confirm", f, "--lock", "2", "-o", tmp + "/second.json")
for c in certificates + [tmp + "/second.json"]:
    verify(c)
assert "grown" in verify(certificates[1])
doc = json.load(open(certificates[0]))
doc["point"]["candidates"][0]["events"] += 1
write(tmp + "/e.json", doc)
verify(tmp + "/e.json", 1)

# results that changed since
rows[3] = row(3, True)
save(rows)
for c in certificates[:3]:
    assert "are not those that are there now" in verify(c, 1)
print("note: %d edited members of a certificate refused, each by its name" % tried)
END
