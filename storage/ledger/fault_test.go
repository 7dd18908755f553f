package ledger

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

func edit(t testing.TB, file string, change func(string) string) {
	t.Helper()
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(change(string(b))), 0o644))
}

func replacing(number int, from, to string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		edit(t, path(dir, number), func(s string) string {
			require.Containsf(t, s, from, "%s is not in %s", from, s)
			return strings.Replace(s, from, to, 1)
		})
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func removing(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		require.NoError(t, os.RemoveAll(file))
	}
}

func without(number int, rows ...int) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		edit(t, path(dir, number), func(s string) string {
			all := strings.SplitAfter(s, "\n")
			for _, row := range slices.Backward(rows) {
				all = slices.Delete(all, row-1, row)
			}
			return strings.Join(all, "")
		})
	}
}

func editing(number int, change func(string) string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { edit(t, path(dir, number), change) }
}

func signing(key byte, change func(c *checkpoint.Checkpoint)) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		n, err := ReadNote(CheckpointPath(dir, 3))
		require.NoError(t, err)
		change(&n.Checkpoint)
		b, err := testKey(key).Sign(n.Checkpoint)
		require.NoError(t, err)
		edit(t, CheckpointPath(dir, 3), func(string) string { return string(b) })
	}
}

func crash(t *testing.T, dir string) {
	w := open(t, Options{Dir: dir, Signer: testKey(1)})
	write(t, w, numbered(9))
	require.NoError(t, w.Sync(t.Context()))
	abandon(t, w)
}

func goneOn(t *testing.T, o Options) {
	t.Helper()
	w := open(t, o)
	write(t, w, numbered(9))
	closing(t, w)
}

// Each fault has its own name and its place. The ledger is of one run:
//
//	0  begin run hosts /0          checkpoint 3
//	1  begin /1
//	2  begin /2 stop hosts         and 9 at the end
func TestScanNamesFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, dir string)
		want []string // fault segment:row
	}{
		{"an edited decision", replacing(1, "a.test/1", "b.test/1"), []string{"entry changed 1:2", "map differs 2:4"}},
		{"another salt", editing(1, func(s string) string {
			i := strings.Index(s, `"salt":"`) + 8
			return s[:i] + strings.Repeat("0", 32) + s[i+32:]
		}), []string{"entry changed 1:2", "map differs 2:4"}},
		{"no salt", editing(1, func(s string) string {
			lines := strings.SplitAfter(s, "\n")
			lines[1] = string(tree.Public(nil, []byte(strings.TrimSuffix(lines[1], "\n")))) + "\n"
			return strings.Join(lines, "")
		}), []string{"unreadable 1:2", "map differs 2:4"}},
		{"an edited mark", replacing(2, `"software":"curtsy/test"`, `"software":"curtsy/tost"`), []string{"entry changed 2:1"}},
		{"an edited decision without tiles", func(t *testing.T, dir string) {
			replacing(1, "a.test/1", "b.test/1")(t, dir)
			removing(t, filepath.Join(dir, tileFolder))
		}, []string{"map differs 2:4", "checkpoint differs 2:4"}},
		{"a removed decision", without(1, 2), []string{"marks disagree 2:1"}},
		{"a removed begin", without(1, 1), []string{"marks disagree 1:1", "entry changed 1:1"}},
		{"a removed run", without(0, 2), []string{"entry changed 0:2", "map differs 0:2", "map differs 0:3", "no stop 2:4"}},
		{"lines exchanged", editing(2, func(s string) string {
			l := strings.SplitAfter(s, "\n")
			l[1], l[2] = l[2], l[1]
			return strings.Join(l, "")
		}), []string{"entry changed 2:2", "marks disagree 2:2"}},
		{"a removed segment", func(t *testing.T, dir string) { removing(t, path(dir, 1)) }, []string{"segment missing 2:0"}},
		{"a removed first segment", func(t *testing.T, dir string) { removing(t, path(dir, 0)) }, []string{"segment missing 1:0", "no stop 2:4"}},
		{"a removed last segment", func(t *testing.T, dir string) { removing(t, path(dir, 2)) },
			[]string{"not committed 0:4", "rollback 1:2", "no stop 1:2"}},
		{"a last line cut off", without(2, 4), []string{"not committed 0:4", "rollback 2:3"}},
		{"the same, and its checkpoint", func(t *testing.T, dir string) {
			without(2, 4)(t, dir)
			removing(t, filepath.Join(dir, CheckpointName), CheckpointPath(dir, 10))
		}, []string{"not committed 0:4", "tiles differ 2:3"}},
		{"an empty segment behind the last", func(t *testing.T, dir string) { put(t, path(dir, 3), "") }, []string{"segment without lines 3:0"}},
		{"a packed segment without lines", func(t *testing.T, dir string) { put(t, path(dir, 3)+packedSuffix, "") }, []string{"unreadable 3:0"}},
		{"an empty segment among the others", func(t *testing.T, dir string) { put(t, path(dir, 1), "") },
			[]string{"segment without lines 1:0", "marks disagree 2:1"}},
		{"a tile of a larger tree", func(t *testing.T, dir string) { put(t, filepath.Join(dir, tileFolder, "0", "000.p", "11"), "") }, []string{"tiles differ 2:4"}},
		{"a tile of a larger tree, on a level above", func(t *testing.T, dir string) {
			removing(t, filepath.Join(dir, tileFolder, "1"))
			require.NoError(t, os.MkdirAll(filepath.Join(dir, tileFolder, "1", "000.p"), 0o755))
			put(t, filepath.Join(dir, tileFolder, "1", "000.p", "1"), "")
		}, []string{"tiles differ 2:4"}},
		{"a tile of an earlier size", func(t *testing.T, dir string) { put(t, filepath.Join(dir, tileFolder, "0", "000.p", "9"), "") }, nil},
		{"a file that is not a tile", func(t *testing.T, dir string) { put(t, filepath.Join(dir, tileFolder, "0", "x"), "") }, []string{"tiles differ 2:4"}},
		{"no segment", func(t *testing.T, dir string) { removing(t, path(dir, 0), path(dir, 1), path(dir, 2)) }, []string{"empty 0:0"}},
		{"no checkpoint", func(t *testing.T, dir string) {
			removing(t, filepath.Join(dir, CheckpointName), filepath.Join(dir, CheckpointFolder))
		}, []string{"not committed 0:1"}},
		{"half a line", editing(2, func(s string) string { return s + `{"time` }), []string{"unfinished line 2:5"}},
		{"a signature that is spoilt", func(t *testing.T, dir string) {
			edit(t, CheckpointPath(dir, 3), func(s string) string { return s[:len(s)-6] + "AAAA=\n" })
		}, []string{"signature wrong 0:3"}},
		{"signed by a stranger", signing(2, func(c *checkpoint.Checkpoint) {}), []string{"signature wrong 0:3"}},
		{"another root, signed", signing(1, func(c *checkpoint.Checkpoint) { c.Root[0] ^= 1 }), []string{"checkpoint differs 0:3"}},
		{"a checkpoint of another log", signing(1, func(c *checkpoint.Checkpoint) { c.Origin = "curtsy/other" }), []string{"wrong origin 0:3"}},
		{"a checkpoint under another size", func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(CheckpointPath(dir, 3), CheckpointPath(dir, 4)))
		}, []string{"checkpoint unreadable 0:4"}},
		{"an invalid checkpoint", func(t *testing.T, dir string) {
			edit(t, CheckpointPath(dir, 3), func(string) string { return strings.Repeat("x", 1<<20) })
		}, []string{"checkpoint unreadable 0:3"}},
		{"a torn tile", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, tileFolder, "0", "000.p", "10"), func(s string) string { return s[:40] })
		}, []string{"tiles differ 0:1"}},
		{"another tile", func(t *testing.T, dir string) {
			edit(t, filepath.Join(dir, tileFolder, "0", "000.p", "10"), func(s string) string { return "x" + s[1:] })
		}, []string{"tiles differ 0:1"}},
		{"another key", func(t *testing.T, dir string) { goneOn(t, Options{Dir: dir, Signer: testKey(2)}) }, []string{"key changed 2:5"}},
		{"no key any more", func(t *testing.T, dir string) { goneOn(t, Options{Dir: dir}) }, []string{"key changed 2:5"}},
		{"another key, by rotation", func(t *testing.T, dir string) {
			goneOn(t, Options{Dir: dir, Signer: testKey(3), Rotations: rotated(t, 9, 1, 2, 3)})
		}, nil},
		{"a crash", crash, []string{"not committed 2:5", "no stop 2:6"}},
		{"a crash and another run", func(t *testing.T, dir string) {
			crash(t, dir)
			closing(t, open(t, Options{Dir: dir, Signer: testKey(1)}))
		}, []string{"no stop 2:7"}},
		{"a packed segment that is damaged", func(t *testing.T, dir string) {
			edit(t, path(dir, 1), func(string) string { return "no zstd at all" })
			require.NoError(t, os.Rename(path(dir, 1), path(dir, 1)+packedSuffix))
		}, []string{"unreadable 1:1"}},
		{"a stub that no mark names", func(t *testing.T, dir string) { forget(t, dir, 1, 2) }, []string{"redaction not told 2:4"}},
		{"an invalid stub", replacing(1, `{"time":`, `{"redacted":"00","time":`), []string{"entry changed 1:2", "unreadable 1:2", "map differs 2:4"}},
		{"a begin twice", editing(2, func(s string) string { return s[:strings.Index(s, "\n")+1] + s }), []string{"entry changed 2:2", "marks disagree 2:2", "map differs 2:4", "not committed 2:5"}},
		{"a later schema", replacing(2, `"schema":3`, `"schema":4`), []string{"entry changed 2:1", "schema not known 2:1"}},
		{"a mark of two kinds", replacing(2, `{"mark":"stop",`, `{"mark":"stop","mark":"file",`), []string{"entry changed 2:3", "unreadable 2:3", "no stop 2:4"}},
		{"a segment that begins beyond all", replacing(2, `"first":6`, `"first":9223372036854775807`),
			[]string{"marks disagree 2:1", "entry changed 2:1", "unreadable 2:1"}},
		{"a segment that begins far behind", replacing(2, `"first":6`, `"first":1152921504606846976`),
			[]string{"marks disagree 2:1", "not committed 0:4"}},
		{"an earlier schema", replacing(2, `"schema":3`, `"schema":2`),
			[]string{"marks disagree 2:1", "entry changed 2:1", "unreadable 2:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w := open(t, Options{Dir: dir, SegmentSize: 1, Signer: testKey(1), Software: "curtsy/test"})
			require.NoError(t, w.Begin(t.Context()))
			w.commits.stop() // one checkpoint at the begin, and one at the end
			write(t, w, numbered(0), numbered(1), numbered(2))
			closing(t, w)
			unpacked(t, dir)
			if problems, entries := scanned(t, dir); len(problems) > 0 || len(entries) != 10 {
				t.Fatal(problems, entries)
			}
			c.do(t, dir)
			var got []string
			problems, _ := scanned(t, dir)
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%s %d:%d", p.Fault, p.Segment, p.Row))
			}
			assert.Equal(t, c.want, got, problems)
		})
	}
}

func rotated(t testing.TB, seeds ...byte) (notes [][]byte) {
	t.Helper()
	for i := range len(seeds) - 1 {
		b, err := checkpoint.Rotate(testKey(seeds[i]), testKey(seeds[i+1]), numbered(int(seeds[i])).Time)
		require.NoError(t, err)
		notes = append(notes, b)
	}
	return notes
}

func forget(t testing.TB, dir string, number, row int) (index int64) {
	t.Helper()
	for e, err := range Scan(dir) {
		require.NoError(t, err)
		if e.Problem == nil && e.Segment == number && e.Row == row {
			index = e.Index
		}
	}
	edit(t, path(dir, number), func(s string) string {
		l := strings.SplitAfter(s, "\n")
		l[row-1] = string(Stub(tree.EntryHash([]byte(strings.TrimSuffix(l[row-1], "\n"))))) + "\n"
		return strings.Join(l, "")
	})
	return index
}

// With tiles, the first place named is at most one line after the first difference.
func TestNoMutationPassesUnnoticed(t *testing.T) {
	rounds := 60
	if long() {
		rounds = 2000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tiles := range []bool{true, false} {
		for _, key := range []*checkpoint.Signer{nil, testKey(1)} {
			dir := newLedger(t, key, 900, 2)
			unpacked(t, dir)
			if !tiles {
				removing(t, filepath.Join(dir, tileFolder))
			}
			numbers, err := segments(dir)
			require.NoError(t, err)
			for range rounds {
				n := numbers[rng.IntN(len(numbers))]
				whole, err := os.ReadFile(path(dir, n))
				require.NoError(t, err)
				changed, what := mutated(rng, whole)
				if bytes.Equal(changed, whole) {
					continue
				}
				edit(t, path(dir, n), func(string) string { return string(changed) })
				first := firstDifference(whole, changed)
				problems, _ := scanned(t, dir)
				switch {
				case len(problems) == 0:
					t.Fatalf("%s of line %d of segment %d passed unnoticed:\n%s", what, first, n, changed)
				case tiles && (problems[0].Segment == n && problems[0].Row > first+1 || problems[0].Segment > n+1):
					if problems[0].Fault != Uncommitted && problems[0].Fault != Rollback {
						t.Fatalf("%s of line %d of segment %d: first named is %v", what, first, n, problems[0])
					}
				}
				edit(t, path(dir, n), func(string) string { return string(whole) })
			}
		}
	}
}

func firstDifference(a, b []byte) int {
	as, bs := bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n"))
	for i := range as {
		if i >= len(bs) || !bytes.Equal(as[i], bs[i]) {
			return i + 1
		}
	}
	return len(as) + 1
}

func mutated(rng *rand.Rand, segment []byte) ([]byte, string) {
	lines := bytes.SplitAfter(bytes.Clone(segment), []byte("\n"))
	lines = lines[:len(lines)-1]
	i := rng.IntN(len(lines))
	j := rng.IntN(len(lines))
	switch rng.IntN(7) {
	case 0:
		lines[i][rng.IntN(len(lines[i]))] ^= 1 << rng.IntN(8)
		return bytes.Join(lines, nil), "a bit"
	case 1:
		return bytes.Join(slices.Delete(lines, i, i+1), nil), "a removal"
	case 2:
		return bytes.Join(slices.Insert(lines, i, lines[j]), nil), "an insertion"
	case 3:
		lines[i], lines[j] = lines[j], lines[i]
		return bytes.Join(lines, nil), "a swap"
	case 4:
		return bytes.Join(lines[:i], nil), "a cut"
	case 5:
		k := rng.IntN(len(lines[i]))
		lines[i] = slices.Insert(lines[i], k, byte(rng.IntN(256)))
		return bytes.Join(lines, nil), "an octet more"
	}
	k := rng.IntN(len(lines[i]))
	lines[i] = slices.Delete(lines[i], k, k+1)
	return bytes.Join(lines, nil), "an octet less"
}
