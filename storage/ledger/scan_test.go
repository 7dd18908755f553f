package ledger

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
)

func testKey(seed byte) *checkpoint.Signer {
	s, err := checkpoint.NewSigner(bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		panic(err)
	}
	return s
}

func long() bool { return os.Getenv("CURTSY_LONG") != "" }

func scanned(t testing.TB, dir string) (problems []Problem, entries []string) {
	t.Helper()
	for e, err := range Scan(dir) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Problem != nil:
			problems = append(problems, *e.Problem)
		case e.Mark != nil:
			entries = append(entries, fmt.Sprintf("%d:%d %s", e.Segment, e.Row, e.Mark.Kind))
		case e.Forgotten:
			entries = append(entries, fmt.Sprintf("%d:%d forgotten", e.Segment, e.Row))
		default:
			entries = append(entries, fmt.Sprintf("%d:%d %s", e.Segment, e.Row, e.Line.URL))
		}
	}
	return problems, entries
}

func unpacked(t testing.TB, dir string) {
	t.Helper()
	numbers, err := segments(dir)
	require.NoError(t, err)
	for _, n := range numbers {
		b, err := os.ReadFile(path(dir, n) + packedSuffix)
		if err != nil {
			continue
		}
		z, err := zstd.NewReader(nil)
		require.NoError(t, err)
		b, err = z.DecodeAll(b, nil)
		require.NoError(t, err)
		z.Close()
		require.NoError(t, os.WriteFile(path(dir, n), b, 0o644))
		require.NoError(t, os.Remove(path(dir, n)+packedSuffix))
	}
}

func newLedger(t testing.TB, key *checkpoint.Signer, size int64, runs int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for run := range runs {
		w := open(t, Options{Dir: dir, SegmentSize: size, Signer: key})
		require.NoError(t, w.Begin(t.Context()))
		for i := range 3 {
			write(t, w, numbered(3*run+i))
		}
		closing(t, w)
	}
	return dir
}

func TestScanOfAWholeLedger(t *testing.T) {
	for _, key := range []*checkpoint.Signer{nil, testKey(1)} {
		for _, size := range []int64{0, 1, 900} {
			dir := newLedger(t, key, size, 3)
			problems, entries := scanned(t, dir)
			require.Emptyf(t, problems, "size %d", size)
			if size == 0 {
				equal(t, "entries", entries, []string{
					"0:1 begin", "0:2 run", "0:3 hosts", "0:4 http://a.test/0", "0:5 http://a.test/1", "0:6 http://a.test/2",
					"0:7 stop", "0:8 hosts", "0:9 run", "0:10 hosts", "0:11 http://a.test/3", "0:12 http://a.test/4",
					"0:13 http://a.test/5", "0:14 stop", "0:15 hosts", "0:16 run", "0:17 hosts", "0:18 http://a.test/6",
					"0:19 http://a.test/7", "0:20 http://a.test/8", "0:21 stop", "0:22 hosts",
				})
				sizes, err := Checkpoints(dir)
				require.NoError(t, err)
				assert.Equal(t, []int64{3, 8, 10, 15, 17, 22}, sizes, "checkpoints")
			}
			if size == 1 {
				if names := ls(t, dir); len(names) != 9 || !strings.HasSuffix(names[0], packedSuffix) || names[8] != "000008.jsonl" {
					t.Errorf("files %q", names)
				}
			}
			before := ls(t, dir)
			closing(t, open(t, Options{Dir: dir})) // a run without lines
			equal(t, "files", ls(t, dir), before)
			if p, e := scanned(t, dir); len(p) > 0 || !slices.Equal(e, entries) {
				t.Errorf("a run without a line: %v %q", p, e)
			}
		}
	}
}
