package storage_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
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
	"curtsy/storage/scratch"
	"curtsy/storage/warc"
)

// sizes are those of a trial. What is appended before the trial begins, in some parts, leaves room for about eight exchanges.
type sizes struct {
	segment, ledger int64
	body, tag       int // of one exchange
}

const parts = 32

var ctx = context.Background()

var (
	smallSizes = sizes{256 << 10, 64 << 10, 2 << 10, 512}
	fullSizes  = sizes{1 << 30, 64 << 20, 256 << 10, 64 << 10} // as a crawl has them
)

// asAppender in the environment makes the test binary append to the archive and the ledger in the directory it names.
const asAppender = "CURTSY_TEST_APPENDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asAppender); dir != "" {
		s := smallSizes
		if os.Getenv("CURTSY_TEST_FULL_SIZE") != "" {
			s = fullSizes
		}
		if err := appending(dir, s); err != nil {
			fmt.Println("failed:", strings.ReplaceAll(err.Error(), "\n", "; "))
		}
		os.Exit(0)
	}
	os.Exit(scratch.Run(m.Run))
}

// kept is what a crawl keeps of its exchanges, as it opens it.
type kept struct {
	index   *cdxj.Store
	archive *warc.Writer
	ledger  *ledger.Writer
}

func opened(dir string, s sizes) (k kept, err error) {
	info := warc.Info{Software: "curtsy/0"}
	if k.index, err = cdxj.Open(ctx, dir, cdxj.Options{}); err != nil {
		return k, err
	}
	o := warc.Options{Dir: filepath.Join(dir, "warc"), Name: "curtsy", Info: info, SegmentSize: s.segment, Index: k.index, Originals: k.index}
	if k.archive, err = warc.Open(o); err != nil {
		return k, err
	}
	k.ledger, err = ledger.Open(ledger.Options{Dir: filepath.Join(dir, "ledger"), SegmentSize: s.ledger})
	return k, err
}

// exchange appends exchange i, and has it synced.
func (k kept) exchange(i, body, tag int) error {
	noise := make([]byte, body)
	_, _ = rand.NewChaCha8([32]byte{byte(i), byte(i >> 8)}).Read(noise) // it never fails
	url := fmt.Sprintf("http://a.test/%d", i)
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", body)
	answer := head + string(noise)
	l := storage.Line{Time: time.Unix(int64(i), 0).UTC(), URL: url, Decision: "allow", Attempt: 1, Tag: fmt.Sprintf("%x", noise[:tag/2])}
	r := storage.Record{
		URL: url, Time: l.Time, Addr: netip.MustParseAddrPort("192.0.2.1:80"), Request: []byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
		Response: io.NewSectionReader(strings.NewReader(answer), 0, int64(len(answer))), HeadSize: int64(len(head)),
	}
	if _, err := k.archive.Record(ctx, r); err != nil {
		return err
	}
	if err := k.ledger.Append(ctx, l); err != nil {
		return err
	}
	if err := k.archive.Sync(ctx); err != nil {
		return err
	}
	return k.ledger.Sync(ctx)
}

// appending appends until shortly before both segments are complete, says so, waits for a line on standard input, and then
// goes on until both are and a bit further; it says of each exchange when it is kept.
func appending(dir string, s sizes) (err error) {
	k, err := opened(dir, s)
	if err != nil {
		return err
	}
	const around = 1 << 10 // bytes that stand around a body in the archive, at least
	body, tag := int(s.segment-8*int64(s.body))/parts-around, int(s.ledger-8*int64(s.tag))/parts-around/4
	next := 0
	for ; next < parts; next++ {
		if err := k.exchange(next, max(body, tag), tag&^1); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	for ; next < parts+40; next++ {
		if err := k.exchange(next, max(s.body, s.tag), s.tag); err != nil {
			return fmt.Errorf("%w; then %v, %v", err, k.archive.Close(), k.ledger.Close())
		}
		fmt.Println("kept", next)
	}
	fmt.Println("done")
	_, err = in.ReadString('\n')
	return err
}

// trial starts an appender, lets meanwhile have its way when it is ready, kills it when after says so, and returns how many
// exchanges it had kept, and why it failed if it did.
func trial(t *testing.T, dir string, full bool, ready func(), over func(kept int) bool) (n int, failed string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asAppender+"="+dir)
	if full {
		cmd.Env = append(cmd.Env, "CURTSY_TEST_FULL_SIZE=1")
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // by the kill
	}()
	for s := bufio.NewScanner(out); s.Scan(); { // to the end: what was said before the kill holds
		verb, rest, _ := strings.Cut(s.Text(), " ")
		switch verb {
		case "failed:":
			return n, rest
		case "ready":
			n = parts
			ready()
			if _, err := io.WriteString(in, "on\n"); err != nil {
				t.Fatal(err)
			}
		case "kept":
			n++
		}
		if verb == "done" || verb == "kept" && over(n) {
			_ = cmd.Process.Kill() // it may be dead already
		}
	}
	return n, ""
}

// whole fails unless n exchanges are kept, once and in order, with at most the one in flight besides, and all is in order when
// the next run has gone on.
func whole(t *testing.T, dir string, s sizes, n int) {
	t.Helper()
	k, err := opened(dir, s)
	require.NoError(t, err)
	require.NoError(t, k.exchange(9999, 1000, 10))
	for _, c := range []io.Closer{k.archive, k.index, k.ledger} {
		require.NoError(t, c.Close())
	}
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("http://a.test/%d", i))
	}
	last := "http://a.test/9999"
	var decided []string
	for e, err := range ledger.Scan(filepath.Join(dir, "ledger")) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Problem != nil && e.Problem.Fault != ledger.NoStop:
			t.Errorf("ledger: %v", e.Problem)
		case e.Problem == nil && e.Mark == nil:
			decided = append(decided, e.Line.URL)
		}
	}
	for what, got := range map[string][]string{"ledger": decided, "archive": archived(t, filepath.Join(dir, "warc"))} {
		flight := append(slices.Clone(want), fmt.Sprintf("http://a.test/%d", n), last)
		if !slices.Equal(got, append(slices.Clone(want), last)) && !slices.Equal(got, flight) {
			t.Errorf("%s: of %d exchanges that were kept it has %d: %q", what, n, len(got), got)
		}
	}
	segments := slices.DeleteFunc(names(t, filepath.Join(dir, "ledger")), func(name string) bool { return !strings.HasPrefix(name, "0") })
	for i, name := range segments {
		assert.NotEqualf(t, (i == len(segments)-1), strings.HasSuffix(name, ".jsonl.zst"), "segments of the ledger: %q", segments)
	}
	anew := t.TempDir()
	require.NoError(t, cdxj.Rebuild(ctx, filepath.Join(dir, "warc"), anew, nil))
	for _, name := range append(names(t, anew), names(t, filepath.Join(dir, "index"))...) {
		a, aerr := os.ReadFile(filepath.Join(anew, name))
		b, berr := os.ReadFile(filepath.Join(dir, "index", name))
		if strings.HasSuffix(name, ".cdxj") && (aerr != nil || berr != nil || string(a) != string(b)) || strings.HasSuffix(name, ".open") {
			t.Errorf("index %s is not what the archive gives: %v, %v", name, aerr, berr)
		}
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// archived are the URLs of the answers in an archive of complete segments.
func archived(t *testing.T, dir string) (urls []string) {
	t.Helper()
	for _, name := range names(t, dir) {
		require.Truef(t, strings.HasSuffix(name, ".warc.gz"), "the archive has %s", name)
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		for r := warc.NewReader(f); ; {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err, name)
			if rec.Type == "response" {
				urls = append(urls, rec.TargetURI())
			}
		}
		f.Close()
	}
	return urls
}

// Whenever a run is killed around the end of a segment of the archive and the packing of one of the ledger, what it had kept
// is there, the chain is whole, and the index is what the archive gives.
func TestKilledAroundRotationAndPacking(t *testing.T) {
	s, full, kills := smallSizes, false, 12
	if os.Getenv("CURTSY_LONG") != "" {
		s, full, kills = fullSizes, true, 6
	}
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for i := range kills {
		dir := t.TempDir()
		after := 33 + rng.IntN(20)
		n, failed := trial(t, dir, full, func() {}, func(n int) bool {
			if n < after {
				return false
			}
			time.Sleep(time.Duration(rng.IntN(20_000)) * time.Microsecond) // anywhere in what it does next
			return true
		})
		require.Empty(t, failed)
		t.Logf("kill %d, seed %d: %d kept; %q %q", i, seed, n, names(t, filepath.Join(dir, "warc")), names(t, filepath.Join(dir, "ledger")))
		whole(t, dir, s, n)
		os.RemoveAll(dir)
	}
}
