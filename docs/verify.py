#!/usr/bin/env python3
"""Checks a bundle of "curtsy ledger prove", with nothing but Python's standard library. Its format: reference/ledger.md.

Exit code 0: the proof holds. 3: it does not, and each reason is printed. 1: the file cannot be read.
"""
import argparse, base64, functools, hashlib, json, os, re, sys, zipfile

# Ed25519 by RFC 8032, 5.1, in extended coordinates (X, Y, Z, T).
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, I = -121665 * pow(121666, P - 2, P) % P, pow(2, (P - 1) // 4, P)

def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P
def mul(n, p):
    q = (0, 1, 1, 0)
    for bit in bin(n)[2:]:
        q = add(add(q, q), p) if bit == "1" else add(q, q)
    return q
def point(octets):
    y = int.from_bytes(octets, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    u, v = y * y - 1, D * y * y + 1  # x * x = u / v
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    x = x if v * x * x % P == u % P else x * I % P
    if v * x * x % P != u % P or y >= P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P
BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))
def ed25519(key, text, sig):
    a, s = point(key), int.from_bytes(sig[32:], "little")
    if len(sig) != 64 or a is None or s >= L:
        return False
    k = int.from_bytes(hashlib.sha512(sig[:32] + key + text).digest(), "little") % L
    q = add(mul(s, BASE), mul(k, (P - a[0], a[1], 1, P - a[3])))  # sB - kA
    z = pow(q[2], P - 2, P)
    x, y = q[0] * z % P, q[1] * z % P
    return (y | (x & 1) << 255).to_bytes(32, "little") == sig[:32]
def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()
class Bad(Exception): pass
def need(holds, message):
    if not holds: raise Bad(message)
def once(pairs):
    need(len(dict(pairs)) == len(pairs) and all(re.fullmatch("[a-z0-9_]+", k) for k, _ in pairs), "an odd name")
    return dict(pairs)
def read(raw):  # JSON of which all readers make the same
    return json.loads(raw.decode(), object_pairs_hook=once, parse_int=lambda n: int(n) if len(n) < 20 else n,
                      parse_float=str, parse_constant=lambda c: need(0, "%s is no JSON" % c))
unhex = lambda text: bytes.fromhex(re.fullmatch("[0-9a-f]{64}", text)[0])
def verifier_key(text):
    name, _, octets = text.strip().split("+", 2)
    octets = base64.b64decode(octets, validate=True)
    need(octets[:1] == b"\1" and len(octets) == 33, "%s: not a key of Ed25519" % name)
    return name, octets[1:]
def key_or_file(text):
    return verifier_key(open(text).read(2000) if os.path.exists(text) else text)
def note(raw):
    text, _, rest = raw.decode().rpartition("\n\n")
    signatures = [re.fullmatch("\u2014 ([^ +]+) (\\S+)", s) for s in rest.split("\n")[:-1]]
    need(text and raw[-1:] == b"\n" and all(signatures) and len(signatures) <= 100 and len(raw) <= 65536, "no note")
    return (text + "\n").encode(), [(s[1], base64.b64decode(s[2], validate=True)) for s in signatures]
def by(kind, signatures, key):
    start = sha(key[0].encode(), b"\n", kind, key[1])[:4]
    return [s[4:] for n, s in signatures if n == key[0] and s[:4] == start]
def signed(text, signatures, key):
    return any(ed25519(key[1], text, s) for s in by(b"\1", signatures, key))
def cosigned(text, signatures, key):
    for t, s in [(int.from_bytes(s[:8], "big"), s[8:]) for s in by(b"\4", signatures, key)]:
        if ed25519(key[1], b"cosignature/v1\ntime %d\n" % t + text, s):
            return t
def split(raw):
    need(raw == b"" or raw.endswith(b"\n"), "a last row without an end")
    return raw.split(b"\n")[:-1]
def rows(raw, size):
    before = -1
    for raw_row in split(raw):
        m = re.fullmatch(rb'\{"index":(0|[1-9]\d{0,18}),"line":(\{.*\})\}', raw_row)
        need(m and b',"salt":"' not in m[2] and before < int(m[1]) < size, "no row, or out of order: %.80r" % raw_row)
        before, line, stub = int(m[1]), read(m[2]), m[2].startswith(b'{"redacted":')
        need(not re.search(rb"\s", re.sub(rb'"(\\.|[^"\\])*"', b"", m[2])) and all(re.fullmatch(rb".{26}Z", t) for t in
             re.findall(rb'"(?:time|began|modified)":"(.*?)"', m[2])), "entry %d is not in its one form" % before)
        need(not stub or re.fullmatch(rb'\{"redacted":"[0-9a-f]{64}"\}', m[2]), "entry %d is no stub" % before)
        yield before, bytes.fromhex(line["redacted"]) if stub else sha(b"\0", m[2]), m[2], line
def host_of(url):
    _, found, host = url.partition("://")
    host = re.sub(r":[0-9]*\Z", "", re.split(r"[/?#\\]", host, maxsplit=1)[0].rpartition("@")[2])
    return "".join(c.lower() if "A" <= c <= "Z" else c for c in host) if found else ""
def plain_host(host):
    return host.isascii() and host.isprintable() and " " not in host and host_of("http://%s/" % host) == host
def tree_root(entries, nodes, lo, hi):
    if not entries or hi - lo == 1:
        need(len(entries) == 1 or nodes and not entries, "a node is missing, or an entry has two rows")
        return entries[0][1] if entries else nodes.pop()
    mid = lo + (1 << (hi - lo - 1).bit_length() - 1)
    at = next((i for i, e in enumerate(entries) if e[0] >= mid), len(entries))
    return sha(b"\1", tree_root(entries[:at], nodes, lo, mid), tree_root(entries[at:], nodes, mid, hi))

MEMBER = r"checkpoint|(lines|marks|heads)\.jsonl|proof\.json|index\.html|robots/[0-9a-f]{64}\.txt"
def check(archive, manifest, known, witnesses):
    files = {f["name"]: archive.read(f["name"]) for f in manifest["files"]}
    for f in manifest["files"]:
        name, raw = f["name"], files[f["name"]]
        need(re.fullmatch(MEMBER, name) and len(raw) == f["octets"] == archive.getinfo(name).file_size and
             sha(raw).hex() == f["sha256"], "%.80s: not as the manifest says" % name)
    need(sorted(archive.namelist()) == sorted([f["name"] for f in manifest["files"]] + ["manifest.json"]) and
         "index.html" in files, "a member that the manifest does not have, or has twice, or no page")
    text, signatures = note(files["checkpoint"])
    origin, size, root = text.decode().split("\n")[:3]
    size, root, host = int(size), base64.b64decode(root), manifest["host"]
    marks, lines = list(rows(files["marks.jsonl"], size)), list(rows(files["lines.jsonl"], size))
    need(all(r[2].startswith(b'{"mark":"') for r in marks) and not any(r[2].startswith(b'{"mark":"') for r in lines),
         "a line among the marks, or a mark among the lines")
    begin, hosts = marks[0][3], marks[-1][3]
    need(marks[0][0] == 0 and begin["mark"] == "begin" and begin["schema"] == 3 and begin["origin"] == origin,
         "the first entry does not begin a log of schema 3 and %s" % origin)
    need(marks[-1][0] == size - 1 and hosts["mark"] == "hosts" and 0 <= hosts["size"] < size, "no map at the end")
    need(size - 1 - hosts["size"] <= max(4096, hosts["size"]), "lines may be hidden behind what the map is of")

    proof = read(files["proof.json"])
    need(set(proof) == {"nodes", "map"} and set(proof["map"]) <= {"siblings", "entry", "other"}, "odd proof.json")
    nodes = [unhex(n) for n in reversed(proof["nodes"])]
    need(tree_root(sorted(marks + lines, key=lambda r: r[0]), nodes, 0, size) == root and not nodes,
         "lines and marks are not in the tree of the checkpoint")
    own, trusted = None, {known} if known else set()
    for m in (m[3] for m in marks):
        if m["mark"] == "run" and m.get("key"):
            own = verifier_key(m["key"])
        if m["mark"] == "key":
            body, both = note(m["note"].encode())
            title, old, own = body.decode().split("\n")[:3]
            old, own = verifier_key(old), verifier_key(own)
            need(title == "curtsy key rotation" and signed(body, both, old) and signed(body, both, own), "no rotation")
            trusted |= {own} if old in trusted else set()
    need(own is None or signed(text, signatures, own), "the checkpoint is not signed by the key that its log names")
    need(not known or any(signed(text, signatures, k) for k in trusted), "not signed by the key that was given")
    print("signed by " + known[0] if known else "signer unknown: give --key")
    for w in witnesses:
        t = cosigned(text, signatures, w)
        need(t is not None, "the checkpoint is not cosigned by " + w[0])
        print("cosigned by %s at %d (seconds since 1970)" % (w[0], t))

    redacted = {i for m in marks if m[3]["mark"] == "redaction" for i in m[3]["entries"] if i < m[0]}
    inside = [l for l in lines if l[0] < hosts["size"]]
    d = functools.reduce(lambda d, l: sha(d, l[1]), inside, bytes(32))
    key, entry, other = sha(origin.encode(), b"\n", host.encode()), proof["map"].get("entry"), proof["map"].get("other")
    siblings = [unhex(s) for s in proof["map"]["siblings"]]
    bits, h = lambda k: "{:0256b}".format(int.from_bytes(k, "big")), bytes(32)
    need(len(siblings) <= 256 and (entry is None or other is None) and (entry or not inside), "a host, or none?")
    if entry is not None:
        want = [("count", len(inside)), ("digest", d.hex()), ("first", inside[0][0] if inside else -1)]
        need(repr(sorted(entry.items())) == repr(want), "the lines are not all that the map has")
        h = sha(b"\0", key, sha(b"%d %d %s" % (entry["first"], entry["count"], entry["digest"].encode())))
    elif other is not None:
        k, h = unhex(other["key"]), sha(b"\0", unhex(other["key"]), unhex(other["value"]))
        need(k != key and bits(k).startswith(bits(key)[: len(siblings)]), "the other host lies elsewhere")
    for bit, s in reversed(list(zip(bits(key), siblings))):
        h = sha(b"\1", s, h) if bit == "1" else sha(b"\1", h, s)
    need(h.hex() == hosts["root"], "what is said of the map is not in it")

    last, heads, texts = -1, {}, {n[7:-4] for n in files if n.startswith("robots/")}
    for j in map(read, split(files["heads.jsonl"])):
        need(last < j["index"] and j["request"].find("\r\n\r\n") == len(j["request"]) - 4, "no head, or out of order")
        last, heads[j["index"]] = j["index"], sha((j["request"] + j["answer"]).encode("latin-1")).hex()
    for name in texts:
        need(sha(files["robots/%s.txt" % name]).hex() == name, "robots/%s.txt was changed" % name)
    for index, _, raw, line in lines:
        stub = raw.startswith(b'{"redacted":')
        need(not stub or index in redacted, "entry %d was taken out, and no mark says so" % index)
        need(stub or host_of(line["url"]) == host, "entry %d is of another host" % index)
        need(heads.get(index) in (None, line.get("heads_sha256")), "the heads of entry %d were changed" % index)
    need(set(heads) <= {l[0] for l in lines if l[3].get("record")}, "heads of no exchange")
    need(texts <= {l[3].get("robots_sha256") for l in lines}, "a robots.txt that no line names")
    print("%d lines, %d heads and %d robots.txt of %s; no others in the first %d of %d entries" % (
        len(lines), len(heads), len(texts), host, hosts["size"], size))
def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("file")
    a.add_argument("--key", type=key_or_file, help="the operator's verifier key, or a file with it")
    a.add_argument("--witness-key", type=key_or_file, action="append", default=[], help="of a witness; repeatable")
    o = a.parse_args()
    try:
        archive = zipfile.ZipFile(o.file)
        names, most = archive.namelist(), 120 * os.path.getsize(o.file) + (1 << 20)
        need(sum(i.file_size for i in archive.infolist()) <= most, "it unfolds to more than 120 times its size")
        need(not any(i.flag_bits & ~0x80E or i.compress_type not in (0, 8) for i in archive.infolist()), "odd members")
        need(len(set(names)) == len(names) and "manifest.json" in names, "it is no bundle")
        manifest = read(archive.read("manifest.json"))
        need(manifest["format"] == "curtsy-proof/1" and plain_host(manifest["host"]), "another format, or an odd host")
    except Exception as e:
        sys.exit("%s cannot be read: %r" % (o.file, e))
    try:
        check(archive, manifest, o.key, o.witness_key)
    except Exception as e:  # Bad, or a part that is not of the format, in one of the many ways there are
        sys.exit(print("the proof does not hold:", e if isinstance(e, Bad) else "a part is unreadable: %r" % e) or 3)
    print("the proof holds; index.html was not read")
main()
