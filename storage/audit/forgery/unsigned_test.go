package forgery

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/audit"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

// unsigned is a forgery of a whole crawl, by whoever keeps its directory and has no key.
type unsigned struct {
	bodies      int    // of how many exchanges
	moved       string // which exchanges are dated later
	marks       string // which are dropped at the end of the run
	checkpoints string // which are left, or made
	tiles       string
	open        bool   // the archive looks as a kill leaves it, without an index
	segment     string // the form of the ledger's segment
}

func (u unsigned) String() string {
	return fmt.Sprintf("%d bodies, %s moved, %s marks dropped, %s checkpoints, %s tiles, open %v, %s", u.bodies, u.moved, u.marks,
		u.checkpoints, u.tiles, u.open, u.segment)
}

// pick draws a forgery.
func pick(r *rand.Rand) (u unsigned) {
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	u.bodies = []int{0, 1, 1, 5, 1000}[r.IntN(5)]
	u.moved = one("none", "none", "none", "two", "all")
	u.marks = one("no", "stop", "all", "all", "all")
	u.checkpoints = one("first", "first", "first", "no", "all", "unsigned", "another's", "longer")
	u.tiles = one("no", "no", "old", "new")
	u.open = r.IntN(3) > 0
	u.segment = one("plain", "plain", "packed", "both")
	return u
}

// forge changes e, and writes it as a crawl directory.
func (u unsigned) forge(e *evidence) string {
	genuine := strings.Join(e.book, "")
	all := e.exchanges("")
	var pages []exchange
	for _, x := range all {
		if x.answer.is("response") && x.answer.get("WARC-Truncated") == "" && strings.Contains(x.answer.block, "<p") {
			pages = append(pages, x)
		}
	}
	for _, x := range pages[:min(u.bodies, len(pages))] {
		x.answer.replace(e.t, "<p", "<b") // of the same length
		e.bindBlocks(x)
		if i := e.lineOf(x); strings.Contains(e.book[i], `"payload_sha256"`) {
			e.value(i, "payload_sha256", `"`+strings.TrimPrefix(digest(x.answer.payload()), "sha256:")+`"`)
		}
	}
	switch u.moved {
	case "none":
		all = nil
	case "two":
		all = all[len(all)-2:]
	}
	for _, x := range all {
		x.shift(e.t, 3*time.Hour)
		i := e.lineOf(x)
		e.value(i, "began", `"`+x.metadata.get("WARC-Date")+`"`)
		e.value(i, "time", `"`+x.began(e.t).Add(time.Second).Format(stamp)+`"`)
	}
	e.book = slices.DeleteFunc(e.book, func(l string) bool {
		return strings.HasPrefix(l, `{"mark":"stop"`) && u.marks != "no" || strings.HasPrefix(l, `{"mark":"file"`) && u.marks == "all"
	})
	if last := len(e.book) - 1; u.marks == "all" && strings.HasPrefix(e.book[last], `{"mark":"hosts"`) {
		e.cut(last)
	}
	old := maps.Clone(e.beside)
	names := slices.Sorted(maps.Keys(old))
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, "checkpoints/") })
	switch u.checkpoints {
	case "first", "no", "longer":
		for _, n := range names {
			delete(e.beside, n)
		}
		for _, n := range []string{"checkpoint", ledger.HostsName} {
			delete(e.beside, n)
		}
		if u.checkpoints != "no" {
			e.beside[names[0]], e.beside["checkpoint"] = old[names[0]], old[names[0]]
		}
		if u.checkpoints == "longer" {
			hashes := e.hashes()
			var g tree.Growing
			for _, h := range hashes {
				g.Append(h)
			}
			origin, _, _ := strings.Cut(old["checkpoint"], "\n")
			var nobody *checkpoint.Signer
			note, err := nobody.Sign(checkpoint.Checkpoint{Origin: origin, Size: g.Size(), Root: g.Root()})
			require.NoError(e.t, err)
			e.beside["checkpoint"], e.beside[fmt.Sprintf("checkpoints/%012d", g.Size())] = string(note), string(note)
		}
	case "unsigned":
		e.torn = true
		e.remake(nil)
	case "another's":
		e.torn = true
		e.remake(otherKey)
	}
	for n := range e.beside {
		if strings.HasPrefix(n, "tile/") {
			delete(e.beside, n)
		}
	}
	switch u.tiles {
	case "old":
		for n, text := range old {
			if strings.HasPrefix(n, "tile/") {
				e.beside[n] = text
			}
		}
	case "new":
		at := e.t.TempDir()
		_, err := tree.Rebuild(at, func(yield func(tlog.Hash, error) bool) {
			for _, h := range e.hashes() {
				if !yield(h, nil) {
					return
				}
			}
		})
		require.NoError(e.t, err)
		maps.Copy(e.beside, filesIn(e.t, at))
	}
	dir := e.write()
	if u.open {
		require.NoError(e.t, os.RemoveAll(filepath.Join(dir, "index")))
		require.NoError(e.t, os.Rename(filepath.Join(dir, segment), filepath.Join(dir, segment+".open")))
	}
	plain := filepath.Join(dir, "ledger", "000000.jsonl")
	text := map[string]string{"packed": strings.Join(e.book, ""), "both": genuine}[u.segment]
	if text != "" {
		z, err := zstd.NewWriter(nil)
		require.NoError(e.t, err)
		e.put(plain+".zst", string(z.EncodeAll([]byte(text), nil)))
		require.NoError(e.t, z.Close())
	}
	if u.segment == "packed" {
		require.NoError(e.t, os.Remove(plain))
	}
	return dir
}

// hashes are the entry hashes of the lines.
func (e *evidence) hashes() (all []tlog.Hash) {
	for _, l := range e.book {
		all = append(all, tree.EntryHash([]byte(strings.TrimSuffix(l, "\n"))))
	}
	return all
}

// resume goes on with a copy of a crawl directory on the machine of its operator, and signs a run of it.
func resume(t *testing.T, dir string) (string, error) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "d")
	require.NoError(t, os.CopyFS(at, os.DirFS(dir)))
	s := crawldir.Defaults()
	config, err := s.TOML()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(at, settingsName), config, 0o644))
	f, err := engine.Open(at, frontier.Options{})
	require.NoError(t, err)
	require.NoError(t, f.Close())
	d, err := crawldir.Open(t.Context(), at, crawldir.Options{})
	if err != nil {
		return at, err
	}
	require.NoError(t, d.Ledger.Begin(t.Context()))
	require.NoError(t, d.Close())
	return at, nil
}

// Whoever keeps a crawl directory and has no key cannot make a forgery of the crawl that an audit calls signed, and the
// operator's own resume signs none.
func TestUnsignedForgeries_NoneIsSigned(t *testing.T) {
	config := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, config)
	}
	key, err := crawldir.LedgerKey.Path()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(key), 0o700))
	require.NoError(t, os.WriteFile(key, []byte(hex.EncodeToString(seedOf("the operator's"))+"\n"), 0o600))

	dir := filepath.Join(t.TempDir(), "d")
	require.NoError(t, os.Mkdir(dir, 0o755))
	crawl(t, dir)
	newest, err := ledger.Latest(filepath.Join(dir, "ledger"))
	require.NoError(t, err)
	require.NoError(t, crawldir.HeadsBeside(key).Keep(dir, newest))
	kept := newest.Checkpoint

	n := 25
	switch {
	case os.Getenv("CURTSY_LONG") != "":
		n = 150
	case testing.Short():
		n = 6
	}
	r := rand.New(rand.NewPCG(30, 2))
	done := map[string]bool{}
	counts := map[string]int{}
	for len(done) < n {
		u := pick(r)
		e := readEvidence(t, dir)
		forged := u.forge(e)
		lines := strings.Join(e.book, "") != strings.Join(readEvidence(t, dir).book, "")
		if done[u.String()] || !lines && u.bodies == 0 && u.moved == "none" { // nothing that is committed to was changed
			continue
		}
		done[u.String()] = true

		alone := directory(forged)
		alone.l.Key = operatorKey.Key()
		switch found := alone.judge(t); {
		case found.Clean && found.Level.Whole() == found.Level && found.Level != audit.SelfConsistent:
			t.Errorf("%s: %s", u.String(), found.Level)
		case found.Clean:
			counts["clean, "+string(found.Level)]++
		default:
			counts["named by the audit"]++
		}

		here := directory(forged)
		here.l.Key, here.l.Kept, here.l.KeptIn = operatorKey.Key(), &kept, "ledger-heads"
		if found := here.judge(t); found.Clean {
			t.Errorf("%s: clean beside the kept checkpoint, %s", u.String(), found.Level)
		}

		require.NoError(t, crawldir.HeadsBeside(key).Keep(dir, newest)) // as if no other had gone on
		at, err := resume(t, forged)
		if err != nil {
			counts["refused by resume"]++
			continue
		}
		if lines && !(u.checkpoints == "all" && u.tiles == "old") {
			t.Errorf("%s: resume goes on", u.String())
		}
		counts["gone on with, for the tree is the genuine one"]++
		after := directory(at)
		after.l.Key = operatorKey.Key()
		if found := after.judge(t); found.Clean {
			t.Errorf("%s: clean after resume, %s", u.String(), found.Level)
		}
	}
	t.Logf("%d forgeries: %v", n, counts)
	if counts["refused by resume"] == 0 || n == 150 && counts["clean, "+string(audit.SignedByKnown.InPart())] == 0 {
		t.Errorf("%v", counts)
	}

	// The honest crawl is signed, and goes on.
	honest := directory(dir)
	honest.l.Key, honest.l.Kept = operatorKey.Key(), &kept
	if found := honest.judge(t); !found.Clean || found.Level != audit.SignedByKnown {
		t.Errorf("the honest crawl: %s%s", found.Level, findings(found))
	}
	require.NoError(t, crawldir.HeadsBeside(key).Keep(dir, newest))
	if _, err := resume(t, dir); err != nil {
		t.Error(err)
	}
}
