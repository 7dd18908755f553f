package proof

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/scratch"
	"curtsy/storage/warc"
)

func TestMain(m *testing.M) { os.Exit(scratch.Run(m.Run)) }

type site struct {
	t      testing.TB
	dir    string
	book   *ledger.Writer
	signer *checkpoint.Signer
	index  *cdxj.Store
	warc   *warc.Writer
	now    time.Time
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), signer: testSigner(t, 3), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s.open()
	var err error
	s.index, err = cdxj.Open(t.Context(), s.dir, cdxj.Options{})
	require.NoError(t, err)
	s.warc, err = warc.Open(warc.Options{Dir: filepath.Join(s.dir, "warc"), Name: "curtsy", Index: s.index})
	require.NoError(t, err)
	return s
}

func (s *site) open() {
	s.t.Helper()
	var err error
	s.book, err = ledger.Open(ledger.Options{Dir: filepath.Join(s.dir, "ledger"), Software: "curtsy/test", Signer: s.signer})
	require.NoError(s.t, err)
	require.NoError(s.t, s.book.Begin(s.t.Context()))
}

func (s *site) line(l storage.Line) {
	s.t.Helper()
	if l.Time.IsZero() {
		l.Time = s.now
	}
	require.NoError(s.t, s.book.Append(s.t.Context(), l))
}

func (s *site) exchange(l storage.Line, head, body string) {
	s.t.Helper()
	s.now = s.now.Add(2 * time.Second)
	host, path, _ := strings.Cut(strings.TrimPrefix(l.URL, "http://"), "/")
	l.Attempt, l.Began, l.Took = 1, s.now, 50*time.Millisecond
	r := storage.Record{URL: l.URL, Time: s.now, Line: &l, HeadSize: int64(len(head)),
		Request:  []byte("GET /" + path + " HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: curtsy/test\r\n\r\n"),
		Response: io.NewSectionReader(strings.NewReader(head+body), 0, int64(len(head)+len(body))),
	}
	l.Status, _ = warc.StatusAndType([]byte(head))
	if head == "" {
		r.Response = nil
	}
	kept, err := s.warc.Record(s.t.Context(), r)
	require.NoError(s.t, err)
	l.Record, l.Blocks, l.Heads = kept.ID, kept.Blocks, kept.Heads
	s.line(l)
}

func (s *site) commit() {
	s.t.Helper()
	require.NoError(s.t, s.book.Commit(s.t.Context()))
}

func (s *site) proven(host string) (*Made, *Result) {
	s.t.Helper()
	b, made := s.bundle(host)
	r := verified(s.t, b, Options{Key: s.signer.Key()})
	if !r.Holds {
		s.t.Errorf("%s: %+v", host, r.Findings)
	}
	return made, r
}

func (s *site) bundle(host string) ([]byte, *Made) {
	s.t.Helper()
	g, err := s.gathered(host)
	require.NoError(s.t, err)
	defer g.Close()
	var b bytes.Buffer
	made, err := Make(s.t.Context(), &b, g.Source)
	require.NoError(s.t, err)
	return b.Bytes(), made
}

func (s *site) gathered(host string) (*gathered, error) {
	index, err := cdxj.Files(filepath.Join(s.dir, "index"))
	require.NoError(s.t, err)
	return Of(context.Background(), Crawl{Ledger: filepath.Join(s.dir, "ledger"), Archive: filepath.Join(s.dir, "warc"), Index: index, TempDir: s.t.TempDir()}, host)
}

func sum(b string) string { return digest([]byte(b)) }

func (s *site) refuse(url string) {
	s.t.Helper()
	s.line(storage.Line{URL: url, Decision: storage.DecisionRefuse, Reason: "scope:host"})
}

const html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"

func TestHeadsAndRobotsComeFromTheArchive(t *testing.T) {
	s := newSite(t)
	const rules, packed = "User-agent: *\nDisallow: /no\n", "User-agent: *\nDisallow: /packed\n"
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, err := io.WriteString(w, packed)
	require.NoError(t, errors.Join(err, w.Close()))
	s.exchange(storage.Line{URL: "http://a.test/robots.txt", Decision: storage.DecisionRobots, Reason: "status 301", Standard: "rfc9309"},
		"HTTP/1.1 301 Moved\r\nLocation: http://b.test/robots.txt\r\n\r\n", "")
	s.exchange(storage.Line{URL: "http://b.test/robots.txt", Via: "http://a.test/robots.txt", Decision: storage.DecisionRobots, RobotsSHA256: sum(rules), Standard: "rfc9309"}, html, rules)
	s.exchange(storage.Line{URL: "http://c.test/robots.txt", Decision: storage.DecisionRobots, RobotsSHA256: sum(packed), Standard: "rfc9309"},
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", z.String())
	for i := range 40 {
		for host, sha := range map[string]string{"a.test": sum(rules), "c.test": sum(packed)} {
			s.exchange(storage.Line{URL: fmt.Sprintf("http://%s/%d", host, i), Decision: storage.DecisionAllow, RobotsSHA256: sha, Standard: "rfc9309",
				Outcome: storage.OutcomeFetched}, html, strings.Repeat("\x1f\x8b\x08", 100)+fmt.Sprint(i))
		}
	}
	s.exchange(storage.Line{URL: "http://a.test/silent", Decision: storage.DecisionAllow, RobotsSHA256: sum(rules), Standard: "rfc9309", Outcome: storage.OutcomeFailed}, "", "")
	s.commit()
	check := func() {
		t.Helper()
		made, r := s.proven("a.test")
		if made.Texts != 1 || r.Robots.Right != 41 || r.Heads.Right != 41 || r.Heads.NotThere != 1 || made.Lacking != 1 {
			t.Errorf("a.test: %+v %+v %+v", made, r.Heads, r.Robots)
		}
		made, r = s.proven("c.test")
		if made.Texts != 1 || r.Robots.Right != 40 || r.Heads.Right != 41 || r.Heads.NotThere != 0 {
			t.Errorf("c.test: %+v %+v %+v", made, r.Heads, r.Robots)
		}
	}
	check() // while it runs
	for _, close := range []func() error{s.warc.Close, s.index.Close, s.book.Close} {
		require.NoError(t, close())
	}
	check()
}

func TestForgottenLinesAreThoseOfTheDigest(t *testing.T) {
	for name, forget := range map[string]func(of map[string][]int64) [][]int64{
		"some of one host":         func(of map[string][]int64) [][]int64 { return [][]int64{of["a.test"][1:3]} },
		"all of it":                func(of map[string][]int64) [][]int64 { return [][]int64{of["a.test"]} },
		"of two hosts, one by one": func(of map[string][]int64) [][]int64 { return [][]int64{of["a.test"][2:4], of["b.test"][:2]} },
		"of two hosts, all at once": func(of map[string][]int64) [][]int64 {
			return [][]int64{append(slices.Clone(of["a.test"][:2]), of["b.test"][:2]...)}
		},
		"of the other host, all of it": func(of map[string][]int64) [][]int64 { return [][]int64{of["b.test"]} },
	} {
		s := newSite(t)
		for i := range 5 {
			for _, host := range []string{"a.test", "b.test", "c.test"} {
				s.refuse(fmt.Sprintf("http://%s/%d", host, i))
			}
		}
		require.NoError(t, s.book.Close())
		book, of := filepath.Join(s.dir, "ledger"), map[string][]int64{}
		for e, err := range ledger.Skim(book) {
			require.NoError(t, err)
			if e.Problem == nil && e.Mark == nil {
				host := strings.SplitN(e.Line.URL, "/", 4)[2]
				of[host] = append(of[host], e.Index)
			}
		}
		s.open()
		forgotten := map[int64]bool{}
		for _, entries := range forget(of) {
			slices.Sort(entries)
			for _, i := range entries {
				forgotten[i] = true
			}
			require.NoError(t, s.book.Redact(t.Context(), ledger.Redaction{Extent: ledger.ExtentAll, Reason: "requested", Subject: sum(name), Entries: entries}))
		}
		require.NoError(t, s.book.Close())
		require.NoError(t, ledger.Forget(book, slices.Sorted(maps.Keys(forgotten))))
		require.NoError(t, ledger.ForgetHosts(book, []string{"a.test"}))
		for host, entries := range of {
			want := int64(0)
			for _, i := range entries {
				if forgotten[i] {
					want++
				}
			}
			if _, r := s.proven(host); r.Summary.Redacted != want || r.Summary.Lines != 5 {
				t.Errorf("%s: %s: %d of %d lines are declared redacted, want %d", name, host, r.Summary.Redacted, r.Summary.Lines, want)
			}
		}
	}
}

func TestGather_MapReplaced(t *testing.T) {
	s := newSite(t)
	s.refuse("http://a.test/")
	s.refuse("http://b.test/")
	s.commit()
	g, err := s.gathered("a.test")
	require.NoError(t, err)
	defer g.Close()
	s.refuse("http://c.test/")
	s.commit()
	_, err = Make(t.Context(), io.Discard, g.Source)
	assert.NoError(t, err)
	require.NoError(t, s.book.Redact(t.Context(), ledger.Redaction{Extent: ledger.ExtentAll, Reason: "requested", Subject: sum("b"), Entries: []int64{3}}))
	require.NoError(t, s.book.Close())
	book := filepath.Join(s.dir, "ledger")
	require.NoError(t, ledger.Forget(book, []int64{3}))
	hosts, err := os.ReadFile(filepath.Join(book, ledger.HostsName))
	require.NoError(t, err)
	require.NoError(t, errors.Join(os.WriteFile(filepath.Join(book, ledger.HostsNext), hosts, 0o600), os.WriteFile(filepath.Join(book, ledger.HostsName), nil, 0o600)))
	s.proven("a.test")
}

func replacing(old, by string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(by), 1) }
}

func TestADamagedLedgerIsRefused(t *testing.T) {
	for name, damage := range map[string]func(lines []byte) []byte{
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
		"a line is gone": func(b []byte) []byte {
			return slices.Concat(b[:bytes.Index(b, []byte(`{"time"`))], b[bytes.Index(b, []byte("http://a.test/1"))-40:])
		},
		"a line changed":               replacing("http://a.test/1", "http://a.test/2"),
		"a line moved to another host": replacing("http://a.test/1", "http://x.test/1"),
		"another's line moved here":    replacing("http://b.test/1", "http://a.test/1"),
	} {
		s := newSite(t)
		for i := range 5 {
			s.refuse(fmt.Sprintf("http://a.test/%d", i))
			s.refuse(fmt.Sprintf("http://b.test/%d", i))
		}
		require.NoError(t, s.book.Close())
		path := filepath.Join(s.dir, "ledger", "000000.jsonl")
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, damage(b), 0o600))
		g, err := s.gathered("a.test")
		if err == nil {
			_, err = Make(t.Context(), io.Discard, g.Source)
			g.Close()
		}
		if err == nil || !strings.Contains(err.Error(), ErrDamaged.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCosignaturesGoWithTheCheckpoint(t *testing.T) {
	s := newSite(t)
	s.refuse("http://a.test/")
	require.NoError(t, s.book.Close())
	book := filepath.Join(s.dir, "ledger")
	n, err := ledger.Latest(book)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ledger.CheckpointPath(book, n.Size), cosigned(t, n.Marshal(), testWitness(t)), 0o600))
	b, _ := s.bundle("a.test")
	r := verified(t, b, Options{Key: s.signer.Key(), Witnesses: keysOf(testWitness(t))})
	assert.Equal(t, Cosigned, r.Level, r)
}
