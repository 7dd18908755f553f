package proof

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/ledger/hostmap"
)

// large is a crawl of 100,000 lines and 1,000 hosts, whose lines lie between each other as in a crawl.
var large = sync.OnceValues(func() (*world, []byte) {
	w := newWorld(nobody{}, 1)
	shas := map[string]string{}
	for turn := range 100 {
		for n := range 1000 {
			host := largeHost(n)
			switch turn {
			case 0:
				w.visit(host, 0)
				shas[host] = digest([]byte(testRobots + "# " + host + "\n"))
			case 1: // visit has given it two lines
			default:
				w.page(host, fmt.Sprintf("/path-%04d-%02d", n, turn), shas[host])
			}
		}
	}
	return w, w.commit()
})

func largeHost(n int) string { return fmt.Sprintf("name-%04d.test", n) }

type nobody struct{ testing.TB }

func (nobody) Helper()                  {}
func (nobody) Context() context.Context { return context.Background() }
func (nobody) Fatal(args ...any)        { panic(fmt.Sprint(args...)) }

func TestABundleIsItsLinesAndLittleMore(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a ledger of 100,000 lines")
	}
	w, note := large()
	require.Equal(t, 100_003, len(w.lines), "lines")
	b := w.bundle(largeHost(500), note)
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	sizes := map[string]uint64{}
	for _, f := range z.File {
		sizes[f.Name] = f.CompressedSize64
	}
	if more := len(b) - int(sizes[linesName]); more > 64<<10 {
		t.Errorf("%d octets beside the lines: %v", more, sizes)
	}
	t.Logf("%d octets: %v", len(b), sizes)
	r := verified(t, b, Options{Key: w.signer.Key()})
	if !r.Holds || r.Summary.Lines != 100 || r.Hosts != 1000 {
		t.Errorf("%+v", r)
	}
}

func TestBundle_NamesNoOtherHost(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes a ledger of 100,000 lines")
	}
	w, note := large()
	m := unpacked(t, w.bundle(largeHost(500), note))
	var all bytes.Buffer
	for name, b := range m {
		all.WriteString(name + "\n")
		all.Write(b)
	}
	for _, name := range []string{`name-(\d{4})`, `path-(\d{4})`} {
		found := regexp.MustCompile(name).FindAllStringSubmatch(all.String(), -1)
		for _, f := range found {
			assert.Equal(t, "0500", f[1], f[0])
		}
		assert.GreaterOrEqualf(t, len(found), 90, "%s: found %d times: is it looked for in the right place?", name, len(found))
	}
	digests := map[string]bool{}
	for _, d := range regexp.MustCompile(`[0-9a-f]{64}`).FindAllString(all.String(), -1) {
		digests[d] = true
	}
	assert.True(t, digests[digest([]byte(testRobots+"# "+largeHost(500)+"\n"))], "the host's own robots.txt is not found: the search is broken")
	for n := range 1000 {
		host := largeHost(n)
		if n == 500 {
			continue
		}
		for what, d := range map[string]string{
			"name": digest([]byte(host)), "key": hostmap.Key(w.origin, host).String(),
			"robots.txt": digest([]byte(testRobots + "# " + host + "\n")), "digest": w.hosts[host].Digest.String(),
		} {
			assert.Falsef(t, digests[d], "the digest of %s's %s is in it", host, what)
		}
	}
	// A node of the proof may be the entry hash of one neighbouring line. Its salt keeps it from being guessed; a line's
	// withheld fields are in none.
	if strings.Contains(all.String(), "elsewhere.test") || strings.Contains(all.String(), `"salt"`) {
		t.Error("it has withheld fields")
	}
	for i, line := range w.lines[:2000] {
		if _, salt, ok := bytes.Cut(line, []byte(`"salt":"`)); ok && bytes.Contains(all.Bytes(), salt[:32]) {
			t.Errorf("the salt of entry %d is in it: %s", i, hex.EncodeToString(salt[:4]))
		}
	}
}

func TestManyTextsAreCounted(t *testing.T) {
	s := newSummary()
	for i := range 2 * maxTexts {
		s.take(&storage.Line{URL: "http://a.test/", RobotsSHA256: fmt.Sprintf("%064x", i), Decision: storage.DecisionAllow})
	}
	if len(s.Texts) != maxTexts || s.Lines != 2*maxTexts {
		t.Errorf("%d texts, %d lines", len(s.Texts), s.Lines)
	}
}
