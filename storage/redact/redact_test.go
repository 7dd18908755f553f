package redact

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/warc"
)

var extents = map[bool]string{false: ledger.ExtentBodies, true: ledger.ExtentAll}

func TestRedact_KeepsAllElse(t *testing.T) {
	pages, refused := shop()
	rng := rand.New(rand.NewPCG(15, 3))
	for round := range 12 {
		all := round%2 == 1
		chosen := map[string]bool{}
		for _, p := range pages {
			if p.decision == "" && rng.IntN(4) == 0 {
				chosen[p.url] = true
			}
		}
		for _, u := range refused {
			if rng.IntN(4) == 0 {
				chosen[u] = true
			}
		}
		t.Run(fmt.Sprintf("%d %s", round, extents[all]), func(t *testing.T) {
			dir := crawled(t, pages, refused)
			s := Subject{Text: "those", Covers: func(url string) bool { return chosen[url] }}
			forgottenAlone(t, dir, Request{Dir: dir, Subject: s, All: all, Reason: "asked by mail"})
		})
	}
}

func forgottenAlone(t *testing.T, dir string, r Request) {
	t.Helper()
	was, wasLines, wasFiles := members(t, dir), entries(t, dir), files(t, dir)
	if _, err := Find(t.Context(), r); errors.Is(err, ErrNothing) {
		t.Skip("nothing was chosen that can be forgotten")
	}
	require.True(t, maps.EqualFunc(files(t, dir), wasFiles, bytes.Equal), "to look changed something")
	j := forget(t, r)
	sound(t, dir)

	now := map[string]member{}
	for _, m := range members(t, dir) {
		now[m.ID()] = m
	}
	for _, m := range was {
		is, there := now[m.ID()]
		covered := m.TargetURI() != "" && r.Subject.Covers(m.TargetURI())
		switch {
		case covered && r.All:
			assert.Falsef(t, there, "the %s record of %s is there", m.Type, m.TargetURI())
		case covered && m.Type == "response":
			head, _ := warc.HTTPHead(bytes.NewReader(m.block))
			if !there || !bytes.Equal(is.block, head) || is.Fields.Get("WARC-Truncated") != "unspecified" || is.Fields.Get("WARC-Payload-Digest") != "" {
				t.Errorf("the response of %s: %q", m.TargetURI(), is.block)
			}
		case m.IsRefusals() && r.All:
			for line := range strings.Lines(string(m.block)) {
				assert.Equalf(t, !coversLine(r.Subject, line), strings.Contains(string(is.block), line), "refusal %q stays", line)
			}
		case !there || !bytes.Equal(m.raw, is.raw):
			t.Errorf("the %s record of %q is another", m.Type, m.TargetURI())
		}
		delete(now, m.ID())
	}
	for id := range now {
		t.Errorf("the record %s is new", id)
	}
	lines := entries(t, dir)
	for i, e := range wasLines {
		is := lines[i]
		want := e.Text
		if r.All && e.Mark == nil && r.Subject.Covers(e.Line.URL) {
			want = ledger.Stub(e.Hash)
		}
		if !bytes.Equal(is.Text, want) || is.Hash != e.Hash {
			t.Errorf("entry %d is %s, want %s", i, is.Text, want)
		}
	}
	marked := slices.ContainsFunc(lines[len(wasLines):], func(e ledger.Entry) bool {
		return e.Mark != nil && e.Mark.Kind == ledger.KindRedaction && e.Mark.Redaction.Subject == j.Digest
	})
	assert.True(t, marked, "it has no mark")
	if latest, err := ledger.Latest(filepath.Join(dir, ledgerDir)); err != nil || latest.Size != int64(len(lines)) || !latest.SignedBy(signer(t).Key()) {
		t.Errorf("the checkpoint: %+v, %v", latest, err)
	}
	pages, _ := shop()
	for _, p := range pages {
		if p.decision == "" && r.Subject.Covers(p.url) {
			if found := holding(t, dir, secret(p.url)); len(found) > 0 && p.url != "http://b.test/same" {
				t.Errorf("the body of %s is in %v", p.url, found)
			}
		}
	}
	assert.Empty(t, holding(t, dir, j.Salt), "holds the salt")
}

func coversLine(s Subject, line string) bool {
	for l, err := range warc.ParseRefusals(strings.NewReader(line)) {
		return err == nil && s.Covers(l.URL)
	}
	return false
}

func TestURLPartAndHost(t *testing.T) {
	for _, prefix := range []string{"http://a.test/x/0", "http://a.test/y/", "http://a.test/", "http://b.test/"} {
		for _, all := range []bool{false, true} {
			t.Run(prefix+" "+extents[all], func(t *testing.T) {
				dir, whole := crawledShop(t), strings.Count(prefix, "/") == 3
				s := site(prefix, whole)
				if inner := s.Covers; !all {
					s.Covers = func(url string) bool { return inner(url) && !strings.HasSuffix(url, "/robots.txt") }
				}
				forgottenAlone(t, dir, Request{Dir: dir, Subject: s, All: all})
				names := 0
				for e, err := range ledger.Hosts(filepath.Join(dir, ledgerDir)) {
					require.NoError(t, err)
					if e.Host != "" {
						names++
					}
				}
				want := 3
				if all && whole {
					want = 2
				}
				assert.Equal(t, want, names)
			})
		}
	}
}

func TestRobots_RemovedWithWholeHost(t *testing.T) {
	for _, c := range []struct {
		host, all bool
		kept      int64
	}{
		{false, false, 1}, {true, false, 1}, {false, true, 1}, {true, true, 0},
	} {
		dir := crawledShop(t)
		j := forget(t, Request{Dir: dir, Subject: site("http://a.test/", c.host), All: c.all})
		assert.Equalf(t, c.kept, j.Found.Robots, "%+v: %+v", c, j.Found)
		assert.Equalf(t, c.kept > 0, len(holding(t, dir, "# a.test")) > 0, "%+v: robots.txt is there", c)
		assert.Len(t, entriesWhere(t, dir, func(e ledger.Entry) bool { return e.Line.URL == "http://a.test/robots.txt" }), int(c.kept), c)
		sound(t, dir)
	}
}

func TestTheRobotsOfAnotherHostStays(t *testing.T) {
	pages, refused := shop()
	pages = append(pages, page{"http://a.test/rules", "User-agent: *\n# of b.test", storage.DecisionRobots, "http://b.test/robots.txt"})
	dir := crawled(t, pages, refused)
	j := forget(t, Request{Dir: dir, Subject: site("http://a.test/", true), All: true})
	assert.EqualValues(t, 1, j.Found.Robots)
	if len(holding(t, dir, "# of b.test")) == 0 || len(holding(t, dir, "# a.test")) > 0 {
		t.Error("the wrong one went")
	}
	sound(t, dir)
}

func TestRobots_RedirectTargetRemoved(t *testing.T) {
	for _, c := range []struct {
		host, all bool
		gone      bool
	}{
		{false, false, false}, {true, false, false}, {false, true, false}, {true, true, true},
	} {
		pages, refused := shop()
		pages = append(pages,
			page{"http://b.test/rules", "User-agent: *\n# of a.test", storage.DecisionRobots, "http://a.test/robots.txt"},
			page{"http://b.test/robots.txt", "User-agent: *\n# of both", storage.DecisionRobots, "http://a.test/robots.txt"},
			page{"http://b.test/rules", "User-agent: *\n# of sub", storage.DecisionRobots, "http://sub.a.test/robots.txt"},
			page{"http://b.test/found", "# a page", "", "http://a.test/robots.txt"})
		dir := crawled(t, pages, refused)
		before := len(members(t, dir))
		j := forget(t, Request{Dir: dir, Subject: site("http://a.test/", c.host), All: c.all})
		sound(t, dir)
		assert.Equalf(t, c.gone, len(holding(t, dir, "# of a.test")) == 0, "%+v: the rules that it redirected to are gone", c)
		for _, text := range []string{"# of both", "# of sub", "# a page"} {
			assert.NotEmptyf(t, holding(t, dir, text), "%+v: %s is gone", c, text)
		}
		stubs := len(entriesWhere(t, dir, func(e ledger.Entry) bool { return e.Forgotten }))
		if gone := before - len(members(t, dir)); int64(gone) != j.Found.Records || stubs != len(j.Entries) || c.all && stubs != len(j.Records)+2 {
			t.Errorf("%+v: %d records went and %d lines; %+v, %d records and %d entries are reported", c, gone, stubs, j.Found, len(j.Records), len(j.Entries))
		}
	}
}

func TestRedact_DisallowedRedirect(t *testing.T) {
	for _, host := range []string{"http://a.test/", "http://b.test/"} {
		for _, whole := range []bool{false, true} {
			pages, refused := shop()
			refused = append(refused, "http://a.test/robots.txt", "http://a.test/rules")
			dir := crawled(t, pages, refused)
			j := forget(t, Request{Dir: dir, Subject: site(host, whole), All: true})
			sound(t, dir)
			inLedger, inArchive := map[string]bool{}, map[string]bool{}
			for _, e := range entries(t, dir) {
				if e.Mark == nil && !e.Forgotten && e.Line.Record == "" {
					inLedger[e.Line.URL] = true
				}
			}
			for _, m := range members(t, dir) {
				if !m.IsRefusals() {
					continue
				}
				for l, err := range warc.ParseRefusals(bytes.NewReader(m.block)) {
					require.NoError(t, err)
					inArchive[l.URL] = true
				}
			}
			if !maps.Equal(inLedger, inArchive) || j.Found.Refusals != int64(len(refused)-len(inArchive)) {
				t.Errorf("%s, all of its host %v: the ledger has %v, the archive %v; %+v", host, whole, inLedger, inArchive, j.Found)
			}
		}
	}
}

func TestRepeatsAreCounted(t *testing.T) {
	dir := crawledShop(t)
	f, err := Find(t.Context(), Request{Dir: dir, Subject: subject("http://a.test/x/0")})
	if err != nil || f.Repeats != 1 || f.Elsewhere != 0 || f.Bodies != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = Find(t.Context(), Request{Dir: dir, Subject: subject("http://b.test/")})
	if err != nil || f.Repeats != 0 || f.Elsewhere != 1 || !slices.Equal(f.ElsewhereURLs, []string{"http://a.test/x/0"}) {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestTwiceIsOnce(t *testing.T) {
	for _, all := range []bool{false, true} {
		dir := crawledShop(t)
		r := Request{Dir: dir, Subject: subject("http://a.test/x/"), All: all}
		forget(t, r)
		was := files(t, dir)
		want := ErrDone
		if all {
			want = ErrNothing
		}
		_, err := Prepare(t.Context(), r)
		assert.ErrorIsf(t, err, want, "all %v", all)
		r.Subject = subject("http://never.test/")
		_, err = Prepare(t.Context(), r)
		assert.ErrorIsf(t, err, ErrNothing, "all %v", all)
		assert.True(t, maps.EqualFunc(files(t, dir), was, bytes.Equal), "it changed something")
		// And everything can follow on bodies.
		if !all {
			r = Request{Dir: dir, Subject: subject("http://a.test/x/"), All: true}
			forget(t, r)
			sound(t, dir)
		}
	}
}

func TestADamagedArchiveIsRefused(t *testing.T) {
	dir := crawledShop(t)
	path := filepath.Join(dir, archiveDir, "curtsy-00001.warc.gz")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[len(b)/2] ^= 1
	require.NoError(t, os.WriteFile(path, b, 0o600))
	was := files(t, dir)
	_, err = Prepare(t.Context(), Request{Dir: dir, Subject: subject("http://a.test/")})
	if err == nil || !strings.Contains(err.Error(), "curtsy-00001.warc.gz is damaged") || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
	assert.True(t, maps.EqualFunc(files(t, dir), was, bytes.Equal), "it changed something")
}

func TestCopiesGo(t *testing.T) {
	dir := crawledShop(t)
	gone := []string{"warc/curtsy-00000.warc.gz.cut", "warc/curtsy.123.spool", "spool/x", "report.html", "report.json", "report-a.test.html", "audit.json", "changes.json"}
	stay := []string{"crawl.toml", "warc/notes.txt", "reports.txt"}
	for _, name := range append(slices.Clone(gone), stay...) {
		path := filepath.Join(dir, name)
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte("x"), 0o666)))
	}
	forget(t, Request{Dir: dir, Subject: subject("http://a.test/")})
	now := files(t, dir)
	for _, name := range gone {
		assert.NotContains(t, now, name)
	}
	for _, name := range stay {
		assert.Contains(t, now, name)
	}
}
