package proof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
)

// ambiguous is a bundle that one reader might take for this and another one for that.
type ambiguous struct {
	name  string
	of    string // the host of the bundle
	forge func(m members) []byte
	code  int // both end with it
}

func ambiguities(t testing.TB) []ambiguous {
	in := func(member, old, by string) func(m members) []byte {
		return func(m members) []byte {
			t.Helper()
			require.Truef(t, bytes.Contains(m[member], []byte(old)), "%s has no %q", member, old)
			m[member] = bytes.Replace(m[member], []byte(old), []byte(by), 1)
			return m.packed(t)
		}
	}
	more := func(member, text string) func(m members) []byte {
		return func(m members) []byte {
			m[member] = append(m[member], text...)
			return m.packed(t)
		}
	}
	ends := func(forge func(m members)) func(m members) []byte { // behind the packing, for manifest and ZIP file
		return func(m members) []byte {
			m.packed(t)
			forge(m)
			names := make([]string, 0, len(m))
			for n := range m {
				names = append(names, n)
			}
			return m.zipped(t, names...)
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
	return []ambiguous{
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
		{"a member that unfolds to more than it says", "a.test", flagged(func(e []byte) {
			binary.LittleEndian.PutUint32(e[24:], binary.LittleEndian.Uint32(e[24:])-1)
		}), 3},
		{"a member that unfolds to less than it says", "a.test", flagged(func(e []byte) {
			binary.LittleEndian.PutUint32(e[24:], binary.LittleEndian.Uint32(e[24:])+1)
		}), 3},
		{"not a ZIP file", "a.test", func(members) []byte { return []byte("<html>") }, 1},
	}
}

// What two readers could take for two things is refused by both, with one exit code.
func TestNoReaderReadsWhatAnotherDoesNot(t *testing.T) {
	python := program(t, "python3")
	w := newWorld(t, 1)
	w.visit("a.test", 3)
	w.visit("b.test", 3)
	note := w.commit()
	o := Options{Key: w.signer.Key()}
	for _, a := range ambiguities(t) {
		b := a.forge(unpacked(t, w.bundle(a.of, note)))
		ours := 1
		r, err := Verify(t.Context(), bytes.NewReader(b), int64(len(b)), o)
		switch {
		case err == nil && r.Holds:
			ours = 0
		case err == nil:
			ours = 3
		case !errors.Is(err, ErrNoBundle):
			t.Errorf("%s: %v", a.name, err)
		}
		theirs, said := byPython(t, python, b, o)
		if want := a.code; want >= 0 && (ours != want || theirs != want) || ours == 0 != (theirs == 0) {
			t.Errorf("%s: %d, and Python %d, want %d: %+v %v; %s", a.name, ours, theirs, want, r, err, said)
		}
	}
}

// Lines that the completeness map is not of are never said to be all: whoever has the key could hide others there.
func TestAMapOfTheBeginningAloneIsSaid(t *testing.T) {
	python := program(t, "python3")
	for past, holds := range map[int]bool{30: true, mostPast + 30: false} {
		w := newWorld(t, 1)
		for i := range past {
			w.line(storage.Line{URL: fmt.Sprintf("http://a.test/%d", i), Decision: storage.DecisionRefuse})
		}
		w.mark(`{"mark":"hosts","time":"` + w.clock() + `","size":2,"hosts":0,"root":"` + strings.Repeat("0", 64) + `"}`)
		note, err := w.signer.Sign(w.head())
		require.NoError(t, err)
		w.at, w.sorted = nil, nil // the operator shows none of them
		b := w.bundle("a.test", note)
		r := verified(t, b, Options{Key: w.signer.Key()})
		if r.Holds != holds || r.Covered != 2 || !strings.Contains(r.CannotShow[0], fmt.Sprintf("whether the last %d of", past)) {
			t.Errorf("%d: %+v %q", past, r.Findings, r.CannotShow)
		}
		code, said := byPython(t, python, b, Options{Key: w.signer.Key()})
		if code != map[bool]int{true: 0, false: 3}[holds] || holds && !strings.Contains(said, "no others in the first 2 of") {
			t.Errorf("%d: Python ends with %d: %s", past, code, said)
		}
		assert.True(t, bytes.Contains(unpacked(t, b)[pageName], fmt.Appendf(nil, "its last %d lines excluded", past)), "the page does not say it")
	}
}

// A page of a version that never was is found, and one of a later version is not said to be checked.
func TestAPageThatCannotBeCheckedIsSaid(t *testing.T) {
	w := newWorld(t, 1)
	w.visit("a.test", 1)
	honest := w.bundle("a.test", w.commit())
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
