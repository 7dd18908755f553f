package proof

import (
	"bytes"
	"crypto/sha256"
	"curtsy/storage/htmlpage"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestABundleProvesTheLinesOfItsHost(t *testing.T) {
	w := newWorld(t, 1)
	w.visit("a.test", 5)
	w.visit("b.test", 7)
	w.visit("c.test", 2)
	note := cosigned(t, w.commit(), testWitness(t))
	for host, lines := range map[string]int64{"a.test": 7, "b.test": 9, "c.test": 4} {
		b := w.bundle(host, note)
		for name, c := range map[string]struct {
			o    Options
			want Level
		}{
			"an unknown key": {Options{}, SelfConsistent},
			"the key":        {Options{Key: w.signer.Key()}, Signed},
			"and a witness":  {Options{Key: w.signer.Key(), Witnesses: keysOf(testWitness(t))}, Cosigned},
		} {
			r := verified(t, b, c.o)
			if !r.Holds || r.Level != c.want || r.Summary.Lines != lines || r.Heads.Right != lines-1 || r.Robots.Right != lines-1 {
				t.Errorf("%s, %s: %+v %+v", host, name, r, r.Findings)
			}
		}
		assert.Equalf(t, b, w.bundle(host, note), "%s: made twice, it differs", host)
	}
}

func TestAnAbsentHostIsProvenAbsent(t *testing.T) {
	w := newWorld(t, 1)
	for _, h := range []string{"a.test", "b.test", "c.test", "d.test"} {
		w.visit(h, 1)
	}
	note := w.commit()
	for _, host := range []string{"nobody.test", "x.test", "y.test", "z.test", ""} {
		r := verified(t, w.bundle(host, note), Options{Key: w.signer.Key()})
		if !r.Holds || !r.Absent || r.Level != Signed {
			t.Errorf("%s: %+v", host, r)
		}
	}
	// That of another host does not prove it.
	m := unpacked(t, w.bundle("x.test", note))
	m[manifestName] = bytes.Replace(m[manifestName], []byte("x.test"), []byte("a.test"), 1)
	if r := verified(t, m.packed(t), Options{}); r.Holds || r.Counts[BadMap] == 0 {
		t.Errorf("%+v", r)
	}
}

var update = flag.Bool("update", false, "write the page of this version in testdata anew")

// A change of the page needs another pageVersion: else older bundles seem forged.
func TestThePageOfAVersionStaysAsItIs(t *testing.T) {
	w := newWorld(t, 1)
	w.visit("a.test", 3)
	w.forget("a.test", 3, 4, "asked for by the owner")
	page := bytes.Replace(unpacked(t, w.bundle("a.test", w.commit()))[pageName], []byte(htmlpage.Style()), fmt.Appendf(nil, "/* SHA-256 %x */", sha256.Sum256([]byte(htmlpage.Style()))), 1)
	golden := filepath.Join("testdata", "page-"+strconv.Itoa(pageVersion)+".html")
	if *update {
		require.NoError(t, os.WriteFile(golden, page, 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equalf(t, want, page, "the page is not that of %s any more: count up pageVersion, and write that one's with -update", golden)
}
