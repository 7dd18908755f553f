package forgery

import (
	"archive/zip"
	"compress/gzip"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/engine"
	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
	"curtsy/storage/wacz"
)

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
	old, names := maps.Clone(e.beside), e.notes()
	switch u.checkpoints {
	case "first", "no", "longer":
		for _, n := range append(e.notes(), "checkpoint", ledger.HostsName) {
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
	maps.DeleteFunc(e.beside, func(n, _ string) bool { return strings.HasPrefix(n, "tile/") })
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
		e.put(plain+".zst", zstdOf(e, text))
	}
	if u.segment == "packed" {
		require.NoError(e.t, os.Remove(plain))
	}
	return dir
}

func (e *evidence) hashes() (all []tlog.Hash) {
	for _, l := range e.book {
		all = append(all, tree.EntryHash([]byte(strings.TrimSuffix(l, "\n"))))
	}
	return all
}

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

func TestUnsignedForgeries_NoneIsSigned(t *testing.T) {
	config := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, config)
	}
	key, err := crawldir.LedgerKey.Path()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(key), 0o700))
	require.NoError(t, os.WriteFile(key, []byte(hex.EncodeToString(seedOf("the operator's"))+"\n"), 0o600))

	dir := crawl(t)
	newest, err := ledger.Latest(filepath.Join(dir, "ledger"))
	require.NoError(t, err)
	require.NoError(t, crawldir.HeadsBeside(key).Keep(dir, newest))
	kept := newest.Checkpoint

	n := effort(150, 25, 6)
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

	// The honest crawl is signed, and continues.
	honest := directory(dir)
	honest.l.Key, honest.l.Kept = operatorKey.Key(), &kept
	if found := honest.judge(t); !found.Clean || found.Level != audit.SignedByKnown {
		t.Errorf("the honest crawl: %s%s", found.Level, findings(found))
	}
	require.NoError(t, crawldir.HeadsBeside(key).Keep(dir, newest))
	_, err = resume(t, dir)
	assert.NoError(t, err)
}

const (
	packedArchive  = "archive/curtsy-00000.warc.gz"
	packedPages    = "pages/pages.jsonl"
	packedIndex    = "indexes/index.cdxj"
	packedManifest = "datapackage.json"
	packedDigest   = "datapackage-digest.json"
)

type packed struct {
	names      []string
	files, was map[string]string // as they are, and as they were packed
}

func pack(t *testing.T, e *evidence, key []byte) *packed {
	t.Helper()
	ctx, dir := context.Background(), e.write()
	o := wacz.Options{Software: "curtsy", Version: "1", Key: ed25519.NewKeyFromSeed(key), TempDir: t.TempDir(), Lines: ledger.Read(filepath.Join(dir, "ledger")),
		Segments: directory(dir).o.Files}
	books := filesIn(t, filepath.Join(dir, "ledger"))
	for _, name := range slices.Sorted(maps.Keys(books)) {
		o.Files = append(o.Files, wacz.File{Name: "ledger/" + name, Path: filepath.Join(dir, "ledger", filepath.FromSlash(name))})
	}
	to := filepath.Join(t.TempDir(), "x.wacz")
	_, err := wacz.Create(ctx, to, o)
	require.NoError(t, err)
	z, err := zip.OpenReader(to)
	require.NoError(t, err)
	defer z.Close()
	p := &packed{files: map[string]string{}}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		b, err := io.ReadAll(r)
		require.NoError(t, err)
		p.names, p.files[f.Name] = append(p.names, f.Name), string(b)
	}
	p.was = maps.Clone(p.files)
	return p
}

func (e *evidence) members() string {
	var b strings.Builder
	for _, r := range e.records {
		b.WriteString(member(text([]*record{r})))
	}
	return b.String()
}

// pressed are the records that were compressed, by their text: most rows change one of them.
var pressed = map[string]string{}

func member(text string) string {
	if m, ok := pressed[text]; ok {
		return m
	}
	var b strings.Builder
	z := gzip.NewWriter(&b)
	io.WriteString(z, text) // a strings.Builder takes everything
	z.Close()
	pressed[text] = b.String()
	return b.String()
}

func (p *packed) show(t *testing.T) trial {
	t.Helper()
	path := filepath.Join(t.TempDir(), "y.wacz")
	f, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for _, name := range p.names {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, p.files[name])
		}
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	b, err := wacz.Open(context.Background(), path, filepath.Join(t.TempDir(), "u"))
	require.NoError(t, err)
	return trial{o: audit.Options{Files: b.Files, LeftOut: b.LeftOut()}, l: reconcile.Options{Dir: b.Ledger, Base: b.Base, Stated: b.Stated}, pack: b}
}

func (p *packed) hash(name string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(p.files[name])))
}

func (p *packed) list(name string) {
	old := packed{files: p.was}
	m := strings.ReplaceAll(p.files[packedManifest], old.hash(name), p.hash(name))
	p.files[packedManifest] = strings.ReplaceAll(m, fmt.Sprintf("\"bytes\": %d", len(p.was[name])), fmt.Sprintf("\"bytes\": %d", len(p.files[name])))
}

func (p *packed) seal() {
	old := packed{files: p.was}
	p.files[packedDigest] = strings.ReplaceAll(p.files[packedDigest], old.hash(packedManifest), p.hash(packedManifest))
}

func (p *packed) unsign() {
	p.files[packedDigest] = fmt.Sprintf("{\"path\": %q, \"hash\": \"sha256:%s\"}", packedManifest, p.hash(packedManifest))
}

func (e *evidence) siteLogs() map[string][]string {
	logs := map[string][]string{}
	for _, x := range e.exchanges("") {
		host, _, _ := strings.Cut(strings.TrimPrefix(x.url(), "http://"), "/")
		request, _, _ := strings.Cut(x.ask.block, "\r\n")
		logs[host] = append(logs[host], fmt.Sprintf("198.18.0.9 - - [%s] %q %s 12 \"-\" %q\n",
			x.began(e.t).Format("02/Jan/2006:15:04:05 -0700"), request, x.answer.block[9:12], x.agent()))
	}
	return logs
}

func (x exchange) agent() string {
	_, rest, _ := strings.Cut(x.ask.block, "\r\nUser-Agent: ")
	agent, _, _ := strings.Cut(rest, "\r\n")
	return agent
}

func honestLogs(t *testing.T, e *evidence) []accesslog.Log {
	t.Helper()
	return e.written(e.siteLogs())
}

func (e *evidence) written(logs map[string][]string) (all []accesslog.Log) {
	dir := e.t.TempDir()
	for _, host := range slices.Sorted(maps.Keys(logs)) {
		path := filepath.Join(dir, host+".log")
		e.put(path, strings.Join(logs[host], ""))
		all = append(all, accesslog.Log{Host: host, Path: path})
	}
	return all
}

func (e *evidence) overlapping() []accesslog.Log {
	bakery := e.logs["bakery.test"]
	delete(e.logs, "bakery.test")
	all := e.written(e.logs)
	for i, part := range [][]string{bakery[:2*len(bakery)/3], bakery[len(bakery)/3:]} {
		path := filepath.Join(e.t.TempDir(), fmt.Sprint(i))
		e.put(path, strings.Join(part, ""))
		all = append(all, accesslog.Log{Host: "bakery.test", Path: path})
	}
	e.logs["bakery.test"] = bakery
	return all
}

// together puts all logs into one file, in the order of their seconds. Lines name their hosts if something stands behind.
func (e *evidence) together(behind string) (all []accesslog.Log) {
	var lines []string
	for _, host := range slices.Sorted(maps.Keys(e.logs)) {
		for _, l := range e.logs[host] {
			if behind != "" {
				l = host + behind + l
			}
			lines = append(lines, l)
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return secondOf(e.t, a).Compare(secondOf(e.t, b)) })
	path := filepath.Join(e.t.TempDir(), "access.log")
	e.put(path, strings.Join(lines, ""))
	for _, host := range slices.Sorted(maps.Keys(e.logs)) {
		all = append(all, accesslog.Log{Host: host, Path: path})
	}
	return all
}

func secondOf(t *testing.T, line string) time.Time {
	t.Helper()
	_, rest, _ := strings.Cut(line, "[")
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", rest[:26])
	require.NoError(t, err)
	return at
}
