package proof

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/ledger/checkpoint"
)

type ambiguity struct {
	name  string
	of    string // the host of the bundle
	forge func(m members) []byte
	code  int // both end with it
}

func ambiguities(t testing.TB) []ambiguity {
	in := func(member, old, by string) func(m members) []byte {
		return func(m members) []byte { m.replace(t, member, old, by); return m.packed(t) }
	}
	more := func(member, text string) func(m members) []byte {
		return func(m members) []byte { m[member] = append(m[member], text...); return m.packed(t) }
	}
	ends := func(forge func(m members)) func(m members) []byte { // behind the packing, for manifest and ZIP file
		return func(m members) []byte {
			m.packed(t)
			forge(m)
			return m.zipped(t, slices.Collect(maps.Keys(m))...)
		}
	}
	manifest := func(old, by string) func(m members) []byte {
		return ends(func(m members) { m[manifestName] = bytes.Replace(m[manifestName], []byte(old), []byte(by), 1) })
	}
	flagged := func(change func(entry []byte)) func(m members) []byte {
		return func(m members) []byte {
			b := m.packed(t)
			change(b[bytes.Index(b, []byte("PK\x01\x02")):])
			return b
		}
	}
	forged := `"line":{"url":"http://%s/forged","decision":"allow","withheld":"` + strings.Repeat("0", 64) + `"}}` + "\n"
	return []ambiguity{
		{"nothing", "a.test", func(m members) []byte { return m.packed(t) }, 0},
		{"nothing of an absent host", "nobody.test", func(m members) []byte { return m.packed(t) }, 0},

		{"a forged line at the place of the last mark", "a.test", more(linesName, `{"index":12,`+fmt.Sprintf(forged, "a.test")), 3},
		{"one of an absent host", "nobody.test", more(linesName, `{"index":12,`+fmt.Sprintf(forged, "nobody.test")), 3},
		{"a line in full", "a.test", in(linesName, `,"withheld":"`, `,"salt":"00","withheld":"`), 3},

		{"a head before the one that is right", "a.test", func(m members) []byte {
			row, rest, _ := bytes.Cut(m[headsName], []byte("\n"))
			m[headsName] = bytes.Join([][]byte{bytes.Replace(row, []byte("GET /robots"), []byte("GET /forged"), 1), row, rest}, []byte("\n"))
			return m.packed(t)
		}, 3},
		{"a head behind the last newline", "a.test", more(headsName, `{"index":99,"request":"","answer":"forged"}`), 3},
		{"a head that ends elsewhere", "a.test", in(headsName, `\r\n\r\n","answer":"HTTP`, `\r\n\r\nHTTP","answer":"`), 3},
		{"a head with two requests", "a.test", in(headsName, `"request":`, `"request":"forged","request":`), 3},
		{"a head with a request in capitals", "a.test", in(headsName, `"request":`, `"Request":"forged","request":`), 3},

		{"a proof with two lists of nodes", "a.test", in(proofName, `"nodes":`, `"nodes":[],"nodes":`), 3},
		{"a proof with two counts", "a.test", in(proofName, `"count":`, `"count":9,"count":`), 3},
		{"a count with a point", "a.test", in(proofName, `"first":2`, `"first":2.0`), 3},
		{"a proof with something else", "a.test", in(proofName, `"nodes":`, `"x":NaN,"nodes":`), 3},
		{"an entry of nothing", "nobody.test", in(proofName, `"siblings":`, `"entry":{},"siblings":`), 3},
		{"a proof that goes on", "a.test", more(proofName, "{}"), 3},
		{"a proof with hashes in capitals", "a.test", func(m members) []byte {
			head, tail, _ := bytes.Cut(m[proofName], []byte(`["`))
			m[proofName] = append(append(append(head, `["`...), bytes.ToUpper(tail[:64])...), tail[64:]...)
			return m.packed(t)
		}, 3},

		{"a note without an end", "a.test", more(checkpointName, "forged"), 3},

		{"a manifest with two hosts", "a.test", manifest(`"host":`, `"host":"b.test","host":`), 1},
		{"a manifest with a host in capitals", "a.test", manifest(`"host":`, `"HOST":"b.test","host":`), 1},
		{"an absent host in capitals", "nobody.test", manifest("nobody", "Nobody"), 1},
		{"an absent host with a slash", "nobody.test", manifest("nobody.test", "a.test/"), 1},
		{"an absent host with a port", "nobody.test", manifest("nobody.test", "a.test:80"), 1},
		{"an absent host in Unicode", "nobody.test", manifest("nobody.test", "b\u00fccher.test"), 1},
		{"an absent host with a space", "nobody.test", manifest("nobody.test", " a.test"), 1},
		{"a manifest in UTF-16", "a.test", ends(func(m members) {
			wide := []byte{0xff, 0xfe}
			for _, c := range m[manifestName] {
				wide = append(wide, c, 0)
			}
			m[manifestName] = wide
		}), 1},
		{"a manifest with a member twice", "a.test", manifest(`"files":[`, `"files":[{"name":"index.html","octets":1,"sha256":"00"},`), -1},
		{"a manifest with a member that is not there", "a.test", manifest(`"files":[`, `"files":[{"name":"robots/x","octets":1,"sha256":"00"},`), 3},
		{"a member with another length", "a.test", manifest(`"octets":`, `"octets":1`), 3},
		{"a member that no bundle has", "a.test", func(m members) []byte { m["../evil.txt"] = nil; return m.packed(t) }, 3},
		{"no page", "a.test", func(m members) []byte { delete(m, pageName); return m.packed(t) }, 3},
		{"another format", "a.test", manifest(Format, "curtsy-proof/2"), 1},

		{"an encrypted member", "a.test", flagged(func(e []byte) { e[8] |= 1 }), 1},
		{"a member that is a patch", "a.test", flagged(func(e []byte) { e[8] |= 1 << 5 }), 1},
		{"a member that is packed in another way", "a.test", flagged(func(e []byte) { binary.LittleEndian.PutUint16(e[10:], 12) }), 1},
		{"a member larger than declared", "a.test", flagged(func(e []byte) {
			binary.LittleEndian.PutUint32(e[24:], binary.LittleEndian.Uint32(e[24:])-1)
		}), 3},
		{"a member smaller than declared", "a.test", flagged(func(e []byte) {
			binary.LittleEndian.PutUint32(e[24:], binary.LittleEndian.Uint32(e[24:])+1)
		}), 3},
		{"not a ZIP file", "a.test", func(members) []byte { return []byte("<html>") }, 1},
	}
}

// judged is a bundle, and the exit code that our verifier and docs/verify.py end with: one of 1 and 3, if it is -1.
type judged struct {
	name   string
	bundle []byte
	o      Options
	code   int
}

func (j judged) verify(t testing.TB) (int, *Result) {
	t.Helper()
	r, err := Verify(t.Context(), bytes.NewReader(j.bundle), int64(len(j.bundle)), j.o)
	switch {
	case errors.Is(err, ErrNoBundle):
		return 1, r
	case err == nil && r.Holds:
		return 0, r
	}
	require.NoError(t, err)
	return 3, r
}

func ambiguous(t testing.TB) (all []judged) {
	w := newWorld(t, 1)
	w.visit("a.test", 3)
	w.visit("b.test", 3)
	note := w.commit()
	for _, a := range ambiguities(t) {
		all = append(all, judged{a.name, a.forge(unpacked(t, w.bundle(a.of, note))), Options{Key: w.signer.Key()}, a.code})
	}
	return all
}

func rotated(t testing.TB) []judged {
	w := newWorld(t, 1)
	w.visit("a.test", 2)
	before, after := w.signer, testSigner(t, 5)
	note, err := checkpoint.Rotate(before, after, w.now)
	require.NoError(t, err)
	w.mark(fmt.Sprintf(`{"mark":"key","time":"%s","note":%s}`, w.clock(), quoted(string(note))))
	w.signer = after
	w.visit("a.test", 1)
	b := w.bundle("a.test", w.commit())
	return []judged{
		{"the old key", b, Options{Key: before.Key()}, 0},
		{"the new key", b, Options{Key: after.Key()}, 0},
		{"another key", b, Options{Key: testSigner(t, 7).Key()}, 3},
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always can
	return string(b)
}

func TestReaders_AgreeOnContent(t *testing.T) {
	for _, j := range append(ambiguous(t), rotated(t)...) {
		if code, r := j.verify(t); code != j.code && (j.code >= 0 || code == 0) {
			t.Errorf("%s: %d, want %d: %+v", j.name, code, j.code, r)
		}
	}
}

func mappedUpTo2(t testing.TB, lines int) (*world, []byte) {
	w := newWorld(t, 1)
	for i := range lines {
		w.line(storage.Line{URL: fmt.Sprintf("http://a.test/%d", i), Decision: storage.DecisionRefuse})
	}
	w.mark(`{"mark":"hosts","time":"` + w.clock() + `","size":2,"hosts":0,"root":"` + strings.Repeat("0", 64) + `"}`)
	note, err := w.signer.Sign(w.head())
	require.NoError(t, err)
	w.at, w.sorted = nil, nil // the operator shows none of them
	return w, w.bundle("a.test", note)
}

func TestVerify_ReportsPartialMap(t *testing.T) {
	for past, holds := range map[int]bool{30: true, mostPast + 30: false} {
		w, b := mappedUpTo2(t, past)
		r := verified(t, b, Options{Key: w.signer.Key()})
		if r.Holds != holds || r.Covered != 2 || !strings.Contains(r.CannotShow[0], fmt.Sprintf("whether the last %d of", past)) {
			t.Errorf("%d: %+v %q", past, r.Findings, r.CannotShow)
		}
		assert.True(t, bytes.Contains(unpacked(t, b)[pageName], fmt.Appendf(nil, "its last %d lines excluded", past)), "the page lacks it")
	}
}

func TestVerify_ReportsUncheckedPage(t *testing.T) {
	_, honest := visited(t, 1)
	for version, holds := range map[int]bool{-1: false, 0: false, 1: true, pageVersion: false, pageVersion + 1: true} {
		m := unpacked(t, honest)
		m[pageName] = []byte("lies")
		m[manifestName] = bytes.Replace(m[manifestName], fmt.Appendf(nil, `"page": %d`, pageVersion), fmt.Appendf(nil, `"page": %d`, version), 1)
		if r := verified(t, m.packed(t), Options{}); r.Holds != holds || holds && r.PageChecked {
			t.Errorf("%d: %+v", version, r)
		}
	}
	assert.True(t, verified(t, honest, Options{}).PageChecked, "an honest page was not checked")
}
