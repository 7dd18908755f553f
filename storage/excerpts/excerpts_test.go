package excerpts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"
)

// kept are excerpts by the URNs of their records.
type kept map[string]string

// some are n excerpts, of a few bytes to some KiB.
func some(n int) (all kept, order []string) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	all = kept{}
	for i := range n {
		var id ID
		for k := range id {
			id[k] = byte(rng.Uint32())
		}
		urn := urnOf(id)
		all[urn] = fmt.Sprintf("<p>page-%d ", i) + strings.Repeat(fmt.Sprintf("<a href=%d>", rng.IntN(99)), rng.IntN(400))
		order = append(order, urn)
	}
	return all, order
}

func urnOf(id ID) string {
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

func durably(context.Context) error { return nil }

// written writes excerpts in two runs.
func written(t testing.TB, all kept, order []string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "links")
	for _, part := range [][]string{order[:len(order)/2], order[len(order)/2:]} {
		w := NewWriter(dir)
		for i, urn := range part {
			w.Keep(urn, "utf-8", []byte(all[urn]))
			if i%100 == 0 {
				if err := w.Behind(t.Context(), durably); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read reads all that a folder has of records; damaged is how many records had something damaged.
func read(t testing.TB, dir string, order []string) (got kept, damaged, files int64) {
	t.Helper()
	s, err := Open(t.Context(), dir, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got = kept{}
	if s == nil {
		return got, 0, 0
	}
	defer s.Close()
	r := s.Reader()
	defer r.Close()
	for _, urn := range order {
		e, bad, err := r.Of(urn)
		switch {
		case err != nil:
			t.Fatal(err)
		case bad:
			damaged++
		case e != nil && e.Charset != "utf-8":
			t.Fatalf("the charset is %q", e.Charset)
		case e != nil:
			got[urn] = string(e.Text)
		}
	}
	return got, damaged, s.Damaged
}

func (k kept) same(t *testing.T, got kept) {
	t.Helper()
	for urn, text := range k {
		if is, ok := got[urn]; !ok || is != text {
			t.Fatalf("%s: %.40q, want %.40q", urn, is, text)
		}
	}
	if len(got) != len(k) {
		t.Fatalf("%d are there, want %d", len(got), len(k))
	}
}

// What is kept is found again, and nothing else is.
func TestWhatIsKeptIsFound(t *testing.T) {
	all, order := some(1000)
	dir := written(t, all, order)
	got, damaged, files := read(t, dir, order)
	all.same(t, got)
	if damaged+files != 0 {
		t.Errorf("%d and %d are damaged", damaged, files)
	}
	_, others := some(999)
	if got, _, _ := read(t, dir, append(others, "urn:uuid:", "<urn:x>", "")); len(got) != 0 {
		t.Errorf("%d that nobody kept", len(got))
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 2 {
		t.Fatalf("%v, %v: want a file of each run", names, err)
	}
	// Anybody can read it: the heads are chunks that readers of S2 skip.
	b, err := os.ReadFile(filepath.Join(dir, names[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(s2.NewReader(bytes.NewReader(b))); err != nil || !strings.Contains(text.String(), "page-499 ") {
		t.Errorf("%v, %d bytes", err, text.Len())
	}
}

// Nothing is written of what the archive may lose.
func TestNothingIsAheadOfTheArchive(t *testing.T) {
	all, order := some(300)
	dir := filepath.Join(t.TempDir(), "links")
	w := NewWriter(dir)
	for _, urn := range order[:200] {
		w.Keep(urn, "utf-8", []byte(all[urn]))
	}
	lost := errors.New("the disk is gone")
	if err := w.Behind(t.Context(), func(context.Context) error { return lost }); !errors.Is(err, lost) {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("there is a folder before anything is durable")
	}
	for _, urn := range order[200:] {
		w.Keep(urn, "utf-8", []byte(all[urn]))
	}
	err := w.Behind(t.Context(), func(context.Context) error {
		for _, urn := range order[:200] { // what comes meanwhile may not be durable
			w.Keep(urn, "utf-8", []byte(all[urn]))
		}
		return nil
	})
	if err := errors.Join(err, w.Abort()); err != nil {
		t.Fatal(err)
	}
	got, _, _ := read(t, dir, order)
	if len(got) == 0 {
		t.Error("nothing was written")
	}
	for urn := range got {
		if all[urn] != got[urn] {
			t.Errorf("%s is another", urn)
		}
	}
	early := 0
	for _, urn := range order[:200] {
		if _, ok := got[urn]; ok {
			early++
		}
	}
	if early > 60 { // a frame may have some of before and after
		t.Errorf("%d excerpts are there that came after the archive was synced", early)
	}
}

// What waits is bounded, whatever the archive does: the rest is for it to tell.
func TestWhatWaitsIsBounded(t *testing.T) {
	w := NewWriter(filepath.Join(t.TempDir(), "links"))
	rng := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, 64<<10)
	for range 400 {
		for i := range text {
			text[i] = byte(rng.Uint32())
		}
		w.Keep("<urn:x>", "", text) // no id of ours: not kept
		w.Keep(urnOf(ID{1}), "", text)
		if w.held > maxHeld {
			t.Fatalf("%d bytes wait", w.held)
		}
	}
	if w.held < maxHeld/2 {
		t.Errorf("only %d bytes wait", w.held)
	}
}

// Keep takes no memory anew for each page.
func TestKeepAllocatesNothing(t *testing.T) {
	w := NewWriter(t.TempDir())
	text := []byte(strings.Repeat("<a href=x>y</a>", 200))
	keep := func() {
		w.Keep("urn:uuid:00000000-0000-4000-8000-000000000001", "utf-8", text)
		if err := w.Behind(t.Context(), durably); err != nil {
			t.Fatal(err)
		}
	}
	for range 100 {
		keep()
	}
	if n := testing.AllocsPerRun(500, keep); n > 0.5 {
		t.Errorf("%v allocations", n)
	}
}

// Whatever is changed of a file, each excerpt is what it was, or damaged, or not there.
func TestADamagedExcerptIsNeverAnother(t *testing.T) {
	all, order := some(200)
	dir := written(t, all, order)
	path := filepath.Join(dir, "000000.s2")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	hurt := 0
	for range 300 {
		b := bytes.Clone(whole)
		switch rng.IntN(3) {
		case 0:
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		case 1:
			b = b[:rng.IntN(len(b))]
		case 2:
			clear(b[rng.IntN(len(b)):])
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		got, damaged, files := read(t, dir, order)
		for urn, text := range got {
			if all[urn] != text {
				t.Fatalf("%s is another", urn)
			}
		}
		if damaged+files == 0 && len(got) < len(order) && len(b) == len(whole) {
			t.Fatalf("%d of %d, and nobody says so", len(got), len(order))
		}
		if len(got) < len(order) {
			hurt++
		}
	}
	if hurt < 200 {
		t.Errorf("only %d of 300 did any harm", hurt)
	}
}

// What is forgotten is gone, and all else stays: frames without any of it octet for octet. To forget again changes nothing.
func TestForget(t *testing.T) {
	for _, part := range []int{0, 1, 10, 1000} {
		all, order := some(1000)
		dir := written(t, all, order)
		gone := map[ID]bool{}
		for _, urn := range order[:part] {
			id, _ := ParseID(urn)
			gone[id] = true
		}
		forget := func() {
			t.Helper()
			if err := Forget(t.Context(), dir, func(id ID) bool { return gone[id] }); err != nil {
				t.Fatal(err)
			}
		}
		last, err := os.ReadFile(filepath.Join(dir, "000001.s2"))
		if err != nil {
			t.Fatal(err)
		}
		forget()
		got, _, _ := read(t, dir, order)
		want := kept{}
		for _, urn := range order[part:] {
			want[urn] = all[urn]
		}
		want.same(t, got)
		was := contents(t, dir)
		if is := was["000001.s2"]; part < 500 && is != string(last) {
			t.Errorf("%d: a file that had none of it is another", part)
		}
		forget()
		if is := contents(t, dir); fmt.Sprint(is) != fmt.Sprint(was) {
			t.Errorf("%d: it changed something again", part)
		}
	}
}

// What cannot be read is forgotten, too: nobody knows what it holds.
func TestForgetTakesWhatIsDamaged(t *testing.T) {
	all, order := some(300)
	dir := written(t, all, order)
	path := filepath.Join(dir, "000000.s2")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2+1] ^= 1
	if err := os.WriteFile(path, append(b, "tail of a page"...), 0o666); err != nil {
		t.Fatal(err)
	}
	id, _ := ParseID(order[0])
	if err := Forget(t.Context(), dir, func(one ID) bool { return one == id }); err != nil {
		t.Fatal(err)
	}
	got, _, files := read(t, dir, order)
	if _, there := got[order[0]]; there || files != 0 || len(got) < len(order)/2 {
		t.Errorf("%v, %d damaged files, %d left", there, files, len(got))
	}
	if strings.Contains(contents(t, dir)["000000.s2"], "tail of") {
		t.Error("the tail is there")
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(b)
	}
	return all
}

// FuzzFile: a file from anybody is read or refused, in bounded memory.
func FuzzFile(f *testing.F) {
	var one frame
	one.add(ID{1}, "utf-8", []byte("<a href=x>"))
	one.pack()
	f.Add(one.packed)
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.NewReader(b)
		var one frame
		for at := int64(0); ; {
			body, next, err := one.readHead(in, at)
			if err != nil {
				return
			}
			if next <= at {
				t.Fatal("it goes back")
			}
			if one.readBody(in, body) == nil {
				for i := range one.entries {
					one.of(i)
				}
			}
			at = next
		}
	})
}
