package proof

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

// world is a crawl as a ledger and an archive would have it, in memory.
type world struct {
	t       testing.TB
	origin  string
	signer  *checkpoint.Signer
	lines   [][]byte // in full
	stored  []tlog.Hash
	growing tree.Growing
	hosts   map[string]*hostmap.Entry
	at      map[string][]int // indexes of the lines of a host
	heads   map[int64]Head
	texts   map[string][]byte
	sorted  []hostmap.Entry
	now     time.Time
	records int
}

const testAgent = "curtsy/0.1.0 (+mailto:crawl@o.test)"

func newWorld(t testing.TB, seed byte) *world {
	t.Helper()
	w := &world{t: t, signer: testSigner(t, seed), hosts: map[string]*hostmap.Entry{}, at: map[string][]int{},
		heads: map[int64]Head{}, texts: map[string][]byte{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	w.origin = checkpoint.Origin(w.signer, fmt.Sprintf("%016x", seed))
	w.mark(`{"mark":"begin","schema":3,"segment":0,"first":0,"lines":0,"origin":"` + w.origin + `","software":"curtsy/0.1.0"}`)
	w.mark(`{"mark":"run","time":"` + w.clock() + `","cut":0,"key":"` + w.signer.VerifierKey() + `"}`)
	return w
}

func testSigner(t testing.TB, seed byte) *checkpoint.Signer {
	t.Helper()
	s, err := checkpoint.NewSigner(bytes.Repeat([]byte{seed}, 32))
	require.NoError(t, err)
	return s
}

func testWitness(t testing.TB) *checkpoint.Signer {
	t.Helper()
	s, err := checkpoint.WitnessSigner("witness.test/w", bytes.Repeat([]byte{99}, 32))
	require.NoError(t, err)
	return s
}

func (w *world) clock() string { return w.now.Format("2006-01-02T15:04:05.000000Z") }

func (w *world) add(line []byte) int64 {
	h := tree.EntryHash(line)
	index := int64(len(w.lines))
	more, err := tlog.StoredHashesForRecordHash(index, h, w)
	require.NoError(w.t, err)
	w.stored = append(w.stored, more...)
	w.lines = append(w.lines, line)
	w.growing.Append(h)
	return index
}

func (w *world) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	var all []tlog.Hash
	for _, i := range indexes {
		all = append(all, w.stored[i])
	}
	return all, nil
}

func (w *world) mark(line string) int64 { return w.add([]byte(line)) }

func (w *world) line(l storage.Line) int64 {
	w.now = w.now.Add(time.Second)
	if l.Time.IsZero() {
		l.Time = w.now
	}
	b := l.AppendJSON(nil)
	salt := sha256.Sum256(append(b, byte(len(w.lines)), byte(len(w.lines)>>8), byte(len(w.lines)>>16)))
	b = append(hex.AppendEncode(append(b[:len(b)-1], `,"salt":"`...), salt[:16]), `","via":"http://elsewhere.test/"}`...)
	index := w.add(b)
	host := hostmap.Host(l.URL)
	if w.hosts[host] == nil {
		w.hosts[host] = &hostmap.Entry{Key: hostmap.Key(w.origin, host), Host: host}
	}
	w.hosts[host].Add(index, tree.EntryHash(b))
	w.at[host] = append(w.at[host], int(index))
	return index
}

func (w *world) exchange(l storage.Line, status int, answer string) int64 {
	_, path, _ := strings.Cut(strings.SplitN(l.URL, "://", 2)[1], "/")
	h := Head{
		Request: []byte("GET /" + path + " HTTP/1.1\r\nHost: " + hostmap.Host(l.URL) + "\r\nUser-Agent: " + testAgent + "\r\n\r\n"),
		Answer:  []byte(fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Type: text/html\r\nX-Odd: \xff\r\n%s\r\n", status, answer)),
	}
	w.records++
	l.Attempt, l.Began, l.Took, l.Status, l.Octets = 1, w.now.Add(800*time.Millisecond), 100*time.Millisecond, status, 1234
	l.Addr, l.Type = netip.MustParseAddrPort("192.0.2.1:80"), "text/html"
	l.PaceBy, l.Pace, l.Gap = storage.ByFloor, 800*time.Millisecond, 900*time.Millisecond
	id, block := sha256.Sum256([]byte{1, byte(w.records), byte(w.records >> 8), byte(w.records >> 16)}), sha256.Sum256([]byte{2, byte(w.records), byte(w.records >> 8), byte(w.records >> 16)})
	l.Record = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
	l.Heads, l.Blocks, l.Payload = h.sum(), hex.EncodeToString(block[:]), hex.EncodeToString(id[:])
	index := w.line(l)
	w.heads[index] = h
	return index
}

const testRobots = "User-agent: *\nDisallow: /private/\nCrawl-delay: 1\n"

func (w *world) visit(host string, n int) (sha string) {
	sha = w.robots(host, "/robots.txt", testRobots+"# "+host+"\n")
	w.line(storage.Line{URL: "http://" + host + "/private/x", Decision: storage.DecisionDisallow, Reason: "disallow rule", RobotsLine: 2,
		RobotsRule: "Disallow: /private/", RobotsGroup: "*", RobotsSHA256: sha, Standard: "rfc9309", Outcome: storage.OutcomeDisallowed, Kind: storage.KindLink})
	for i := range n {
		w.page(host, fmt.Sprintf("/p/%d?q=<%d>", i, i), sha)
	}
	return sha
}

func (w *world) robots(host, path, body string) string {
	sha := digest([]byte(body))
	w.texts[sha] = []byte(body)
	w.exchange(storage.Line{URL: "http://" + host + path, Decision: storage.DecisionRobots, RobotsSHA256: sha, Standard: "rfc9309"}, 200, "")
	return sha
}

func (w *world) page(host, path, sha string) int64 {
	return w.exchange(storage.Line{URL: "http://" + host + path, Decision: storage.DecisionAllow, Reason: "no match", RobotsGroup: "*", Kind: storage.KindLink,
		RobotsSHA256: sha, Standard: "rfc9309", Outcome: storage.OutcomeFetched}, 200, "")
}

func (w *world) commit() []byte {
	w.t.Helper()
	w.sorted = w.sorted[:0]
	for _, e := range w.hosts {
		w.sorted = append(w.sorted, *e)
	}
	slices.SortFunc(w.sorted, hostmap.Compare)
	root, n, err := hostmap.Root(hostmap.Each(w.sorted))
	require.NoError(w.t, err)
	w.mark(fmt.Sprintf(`{"mark":"hosts","time":"%s","size":%d,"hosts":%d,"root":"%s"}`, w.clock(), len(w.lines), n, root))
	b, err := w.signer.Sign(w.head())
	require.NoError(w.t, err)
	return b
}

func (w *world) head() checkpoint.Checkpoint {
	return checkpoint.Checkpoint{Origin: w.origin, Size: int64(len(w.lines)), Root: w.growing.Root()}
}

func (w *world) source(host string, note []byte) Source {
	s := Source{Host: host, Software: "curtsy/0.1.0", Checkpoint: note, Hashes: w, Hosts: hostmap.Each(w.sorted)}
	for i, line := range w.lines {
		if ledger.IsMark(line) {
			s.Marks = append(s.Marks, Row{int64(i), line})
		}
	}
	s.Lines = func(yield func(Row, error) bool) {
		for _, i := range w.at[host] {
			if !yield(Row{int64(i), tree.Public(nil, w.lines[i])}, nil) {
				return
			}
		}
	}
	s.Heads = func(some []Exchange) (all []*Head, err error) {
		for _, e := range some {
			h := w.heads[e.Index]
			all = append(all, &h)
		}
		return all, nil
	}
	s.Robots = func(sha string) []byte { return w.texts[sha] }
	return s
}

func (w *world) bundle(host string, note []byte) []byte {
	w.t.Helper()
	var b bytes.Buffer
	_, err := Make(w.t.Context(), &b, w.source(host, note))
	require.NoError(w.t, err)
	return b.Bytes()
}

// visited is a world in which a.test was visited, and the bundle of that host.
func visited(t testing.TB, pages int) (*world, []byte) {
	t.Helper()
	w := newWorld(t, 1)
	w.visit("a.test", pages)
	return w, w.bundle("a.test", w.commit())
}

func cosigned(t testing.TB, note []byte, witness *checkpoint.Signer) []byte {
	t.Helper()
	n, err := checkpoint.Parse(note)
	require.NoError(t, err)
	sig, err := witness.Cosign(n)
	if err != nil || !n.Add(sig) {
		t.Fatal(err)
	}
	return n.Marshal()
}

type members map[string][]byte

func (m members) replace(t testing.TB, member, old, by string) {
	t.Helper()
	require.Truef(t, bytes.Contains(m[member], []byte(old)), "%s has no %q", member, old)
	m[member] = bytes.Replace(m[member], []byte(old), []byte(by), 1)
}

func unpacked(t testing.TB, bundle []byte) members {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(bundle), int64(len(bundle)))
	require.NoError(t, err)
	all := members{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		all[f.Name], err = io.ReadAll(r)
		require.NoError(t, err)
	}
	return all
}

// packed makes a bundle of members as a forger would: with a manifest that agrees with them, and the page of the lines.
func (m members) packed(t testing.TB) []byte {
	t.Helper()
	var of manifest
	require.NoError(t, json.Unmarshal(m[manifestName], &of))
	of.Files = nil
	var names []string
	for name := range m {
		if name != manifestName {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		sum := sha256.Sum256(m[name])
		of.Files = append(of.Files, member{name, int64(len(m[name])), hex.EncodeToString(sum[:])})
	}
	b, err := json.Marshal(of)
	require.NoError(t, err)
	m[manifestName] = b
	return m.zipped(t, append(names, manifestName)...)
}

func (m members) zipped(t testing.TB, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range names {
		f, err := z.Create(name)
		require.NoError(t, err)
		_, err = f.Write(m[name])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return out.Bytes()
}

func verified(t testing.TB, bundle []byte, o Options) *Result {
	t.Helper()
	if o.TempDir == "" {
		o.TempDir = t.TempDir()
	}
	r, err := Verify(t.Context(), bytes.NewReader(bundle), int64(len(bundle)), o)
	require.NoError(t, err)
	return r
}
