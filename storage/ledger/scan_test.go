package ledger

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func testKey(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

// long reports whether tests are to take their time.
func long() bool { return os.Getenv("CURTSY_LONG") != "" }

// made is a ledger of runs with three lines each, in short segments.
func made(t testing.TB, key ed25519.PrivateKey, size int64, runs int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for run := range runs {
		w := open(t, Options{Dir: dir, SegmentSize: size, Key: key, Software: "curtsy/test"})
		for i := range 3 {
			write(t, w, numbered(3*run+i))
		}
		closing(t, w)
	}
	return dir
}

// scanned is what Scan says: problems, and all else in short.
func scanned(t testing.TB, dir string) (problems []Problem, entries []string) {
	t.Helper()
	for e, err := range Scan(dir) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Problem != nil:
			problems = append(problems, *e.Problem)
		case e.Mark != nil:
			entries = append(entries, fmt.Sprintf("%d:%d %s %s", e.Segment, e.Row, e.Mark.Kind, e.Mark.Why))
		default:
			entries = append(entries, fmt.Sprintf("%d:%d %s", e.Segment, e.Row, e.Line.URL))
		}
	}
	return problems, entries
}

// unpacked makes every segment of dir plain.
func unpacked(t testing.TB, dir string) {
	t.Helper()
	numbers, err := segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range numbers {
		b, err := os.ReadFile(path(dir, n) + packedSuffix)
		if err != nil {
			continue
		}
		z, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		if b, err = z.DecodeAll(b, nil); err != nil {
			t.Fatal(err)
		}
		z.Close()
		if err := os.WriteFile(path(dir, n), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path(dir, n) + packedSuffix); err != nil {
			t.Fatal(err)
		}
	}
}

// TestScanOfAWholeLedger: there is nothing to say of it, however it was written.
func TestScanOfAWholeLedger(t *testing.T) {
	for _, key := range []ed25519.PrivateKey{nil, testKey(1)} {
		for _, size := range []int64{0, 1, 900} {
			dir := made(t, key, size, 3)
			problems, entries := scanned(t, dir)
			if len(problems) > 0 {
				t.Fatalf("size %d: %v", size, problems)
			}
			if size == 0 {
				equal(t, "entries", entries, []string{
					"0:1 begin ", "0:2 run ", "0:3 http://a.test/0", "0:4 http://a.test/1", "0:5 http://a.test/2", "0:6 head end",
					"0:7 run ", "0:8 http://a.test/3", "0:9 http://a.test/4", "0:10 http://a.test/5", "0:11 head end",
					"0:12 run ", "0:13 http://a.test/6", "0:14 http://a.test/7", "0:15 http://a.test/8", "0:16 head end",
				})
			}
			if size == 1 {
				if names := ls(t, dir); len(names) != 9 || !strings.HasSuffix(names[0], packedSuffix) || names[8] != "000008.jsonl" {
					t.Errorf("files %q", names)
				}
			}
			before := ls(t, dir)
			closing(t, open(t, Options{Dir: dir})) // a run that had nothing to say
			equal(t, "files", ls(t, dir), before)
			if p, e := scanned(t, dir); len(p) > 0 || !slices.Equal(e, entries) {
				t.Errorf("a run without a line: %v %q", p, e)
			}
		}
	}
}

// TestNoMutationPassesUnnoticed: whatever is done to the lines of a ledger, Scan names a place that is not behind the
// first line that differs by more than one.
func TestNoMutationPassesUnnoticed(t *testing.T) {
	rounds := 80
	if long() {
		rounds = 2000
	}
	for runs, key := range []ed25519.PrivateKey{1: nil, 2: testKey(1), 3: nil} {
		for _, size := range []int64{0, 900} {
			if runs == 0 {
				continue
			}
			dir := made(t, key, size, runs)
			unpacked(t, dir)
			numbers, _ := segments(dir)
			var whole [][]byte // the segments
			for _, n := range numbers {
				b, err := os.ReadFile(path(dir, n))
				if err != nil {
					t.Fatal(err)
				}
				whole = append(whole, b)
			}
			rng := rand.New(rand.NewPCG(uint64(size), uint64(len(key))))
			for range rounds {
				at := rng.IntN(len(whole))
				changed, what := mutated(rng, whole[at])
				if bytes.Equal(changed, whole[at]) || at == len(whole)-1 && bytes.HasPrefix(whole[at], changed) && endsARun(changed) {
					continue // what is cut back to the end of an earlier run is a ledger of fewer runs
				}
				if err := os.WriteFile(path(dir, numbers[at]), changed, 0o644); err != nil {
					t.Fatal(err)
				}
				first := firstDifference(whole[at], changed)
				problems, _ := scanned(t, dir)
				switch p := slices.IndexFunc(problems, func(p Problem) bool { return p.Segment >= numbers[at] }); {
				case len(problems) == 0:
					t.Fatalf("%s of line %d of segment %d passed unnoticed:\n%s", what, first, numbers[at], changed)
				case p < 0 || problems[0].Segment == numbers[at] && problems[0].Row > first+1 || problems[0].Segment > numbers[at]+1:
					t.Fatalf("%s of line %d of segment %d: first named is %v", what, first, numbers[at], problems[0])
				}
				if err := os.WriteFile(path(dir, numbers[at]), whole[at], 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// endsARun reports whether the last line is a head that ends a run.
func endsARun(segment []byte) bool {
	lines := bytes.SplitAfter(segment, []byte("\n"))
	return len(lines) > 1 && len(lines[len(lines)-1]) == 0 && bytes.Contains(lines[len(lines)-2], []byte(`"why":"end"`))
}

// firstDifference is the first line, from 1, that is not the same in both.
func firstDifference(a, b []byte) int {
	as, bs := bytes.SplitAfter(a, []byte("\n")), bytes.SplitAfter(b, []byte("\n"))
	for i := range as {
		if i >= len(bs) || !bytes.Equal(as[i], bs[i]) {
			return i + 1
		}
	}
	return len(as) + 1
}

// mutated does one thing to the lines of a segment.
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

// TestChainBehindABreakProvesNothing: a head that was lodged is still there when a line before it was edited; its hash
// must not be taken for a proof.
func TestChainBehindABreakProvesNothing(t *testing.T) {
	dir := made(t, testKey(1), 0, 2)
	file := path(dir, 0)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lodged, err := Head(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		want     bool
	}{{"x", "x", true}, {"a.test/1", "b.test/1", false}} {
		if err := os.WriteFile(file, bytes.Replace(b, []byte(c.from), []byte(c.to), 1), 0o644); err != nil {
			t.Fatal(err)
		}
		proven := false
		for e, err := range Scan(dir) {
			proven = proven || err == nil && e.Chain == lodged.Chain
		}
		if proven != c.want {
			t.Errorf("%s for %s: proven %v", c.to, c.from, proven)
		}
	}
}

// TestCutTailIsNoEnd: lines cut off the end leave a chain that is right, and no end.
func TestCutTailIsNoEnd(t *testing.T) {
	dir := made(t, testKey(1), 0, 1)
	file := filepath.Join(dir, "000000.jsonl")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(b, []byte("\n"))
	for n := range len(lines) - 1 {
		if err := os.WriteFile(file, bytes.Join(lines[:n], nil), 0o644); err != nil {
			t.Fatal(err)
		}
		var faults []string
		problems, _ := scanned(t, dir)
		for _, p := range problems {
			faults = append(faults, string(p.Fault))
		}
		want := []string{string(NoEnd)}
		if n > 2 {
			want = []string{string(AfterHead), string(NoEnd)}
		}
		equal(t, fmt.Sprintf("%d lines", n), faults, want)
	}
}

// TestScanNamesFaults: each fault has its own name and its place.
func TestScanNamesFaults(t *testing.T) {
	edit := func(t *testing.T, dir string, number int, change func(string) string) {
		b, err := os.ReadFile(path(dir, number))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(dir, number), []byte(change(string(b))), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, dir string)
		want []string // fault segment:row
	}{
		{"edited decision", func(t *testing.T, dir string) {
			edit(t, dir, 1, func(s string) string { return strings.Replace(s, "a.test/1", "b.test/1", 1) })
		}, []string{"chain broken 1:2"}},
		{"edited head", func(t *testing.T, dir string) {
			edit(t, dir, 1, func(s string) string { return strings.Replace(s, `"why":"segment"`, `"why":"end"`, 1) })
		}, []string{"chain broken 1:3"}},
		{"forged signature", func(t *testing.T, dir string) {
			edit(t, dir, 1, func(s string) string {
				i := strings.Index(s, sigKey) + len(sigKey)
				return s[:i] + strings.Repeat("0", sigHex) + s[i+sigHex:]
			})
		}, []string{"signature wrong 1:3"}},
		{"removed decision", func(t *testing.T, dir string) {
			edit(t, dir, 1, func(s string) string {
				l := strings.SplitAfter(s, "\n")
				return l[0] + l[2]
			})
		}, []string{"chain broken 1:2", "head counts wrong 1:2"}},
		{"removed head", func(t *testing.T, dir string) {
			edit(t, dir, 1, func(s string) string { return strings.Join(strings.SplitAfter(s, "\n")[:2], "") })
		}, []string{"chain broken 2:1"}},
		{"removed segment", func(t *testing.T, dir string) {
			if err := os.Remove(path(dir, 1)); err != nil {
				t.Fatal(err)
			}
		}, []string{"segment missing 2:0"}},
		{"removed first segment", func(t *testing.T, dir string) {
			if err := os.Remove(path(dir, 0)); err != nil {
				t.Fatal(err)
			}
		}, []string{"segment missing 1:0"}},
		{"removed last segment", func(t *testing.T, dir string) {
			if err := os.Remove(path(dir, 2)); err != nil {
				t.Fatal(err)
			}
		}, []string{"no end head 1:3"}},
		{"no segment", func(t *testing.T, dir string) {
			for n := range 3 {
				if err := os.Remove(path(dir, n)); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{"empty 0:0"}},
		{"half a line", func(t *testing.T, dir string) {
			edit(t, dir, 2, func(s string) string { return s + `{"time` })
		}, []string{"unfinished line 2:4"}},
		{"another key", func(t *testing.T, dir string) {
			w := open(t, Options{Dir: dir, Key: testKey(2)})
			write(t, w, numbered(9))
			closing(t, w)
		}, []string{"key changed 2:6"}},
		{"a crash", func(t *testing.T, dir string) {
			w := open(t, Options{Dir: dir, Key: testKey(1)})
			write(t, w, numbered(9))
			if err := w.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			abandon(t, w)
		}, []string{"lines after the last head 2:5", "no end head 2:5"}},
		{"a crash and another run", func(t *testing.T, dir string) {
			w := open(t, Options{Dir: dir, Key: testKey(1)})
			write(t, w, numbered(9))
			if err := w.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			abandon(t, w)
			closing(t, open(t, Options{Dir: dir, Key: testKey(1)}))
		}, []string{"no end head 2:6"}},
		{"schema 1 before", func(t *testing.T, dir string) {
			one := numbered(1)
			edit(t, dir, 0, func(string) string { return string(one.AppendJSON(nil)) + "\n" })
		}, []string{"no chain 0:1", "chain broken 1:1", "head counts wrong 1:1"}},
		{"a packed segment that is damaged", func(t *testing.T, dir string) {
			if err := os.WriteFile(path(dir, 1)+packedSuffix, []byte("no zstd at all"), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(path(dir, 1)); err != nil {
				t.Fatal(err)
			}
		}, []string{"unreadable 1:1", "head counts wrong 2:1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := made(t, testKey(1), 1, 1)
			unpacked(t, dir)
			c.do(t, dir)
			var got []string
			problems, _ := scanned(t, dir)
			for _, p := range problems {
				got = append(got, fmt.Sprintf("%s %d:%d", p.Fault, p.Segment, p.Row))
			}
			equal(t, "problems", got, c.want)
		})
	}
}
