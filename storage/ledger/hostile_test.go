package ledger

import (
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzScan: whatever is handed to us as a ledger, Scan comes to an end; what it calls whole ends in a head; and the
// decisions are those of Read.
func FuzzScan(f *testing.F) {
	good := made(f, testKey(1), 0, 2)
	b, err := os.ReadFile(path(good, 0))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, false)
	f.Add(b[:len(b)/2], false)
	f.Add([]byte("{}\n\n"+`{"mark":"begin"}`+"\n"+`{"mark":"head","chain":"`), false)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(z.EncodeAll(b, nil), true)
	f.Add(z.EncodeAll(make([]byte, 1<<20), nil), true)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte, packed bool) {
		file := path(dir, 0)
		if packed {
			file += packedSuffix
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file)
		whole, end := true, false
		var decisions []string
		for e, err := range Scan(dir) {
			if err != nil {
				t.Fatal(err)
			}
			end = e.Mark != nil && e.Mark.Kind == KindHead && e.Mark.Why == WhyEnd
			switch {
			case e.Problem != nil:
				whole = false
			case e.Mark == nil:
				decisions = append(decisions, e.Line.URL)
			}
		}
		if whole && !end {
			t.Fatalf("called whole: %q", text)
		}
		for l, err := range Read(dir) {
			if err != nil || l.Decision == "" {
				continue
			}
			if len(decisions) == 0 {
				break // Scan gave up on the segment
			}
			if l.URL != decisions[0] {
				t.Fatalf("Read has %q and Scan %q", l.URL, decisions[0])
			}
			decisions = decisions[1:]
		}
		if len(decisions) > 0 {
			t.Fatalf("Scan has %q more", decisions)
		}
	})
}

// endless gives left bytes of its pattern.
type endless struct {
	pattern string
	left    int64
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), e.left))
	for i := 0; i < n; i += copy(p[i:n], e.pattern) {
	}
	e.left -= int64(n)
	return n, nil
}

// TestBombs: a few bytes that unfold without end, or that ask for a large window, take no memory and are named.
func TestBombs(t *testing.T) {
	large := int64(64 << 20)
	if long() {
		large = maxSegment + 1<<20
	}
	for _, c := range []struct {
		name    string
		pattern string
		size    int64
		window  int
		want    string
	}{
		{"one line without end", strings.Repeat("\x00", 1<<10), large, 1 << 20, ""},
		{"lines of nothing", strings.Repeat("\n", 1<<10), large, 1 << 20, "passed over"},
		{"a wide window", "x", 64 << 20, 64 << 20, "window"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			f, err := os.Create(path(dir, 0) + packedSuffix)
			if err != nil {
				t.Fatal(err)
			}
			z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(c.window), zstd.WithEncoderLevel(zstd.SpeedFastest))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(z, &endless{c.pattern, c.size}); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			problems, n := []string{}, 0
			for e, err := range Scan(dir) {
				if err != nil || e.Problem == nil {
					t.Fatal(e, err)
				}
				if n++; len(problems) < 2000 {
					problems = append(problems, e.Problem.String())
				}
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 80<<20 {
				t.Errorf("%d octets allocated", got)
			}
			if text := strings.Join(problems, "\n"); n == 0 || n > 1100 || !strings.Contains(text, c.want) {
				t.Errorf("%d problems: %.400s", n, text)
			}
		})
	}
}
