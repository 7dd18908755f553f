package ledger

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestHeadNamesTheEnd: of a run that is over it is the signed head, of one that goes on the last line that is written,
// and both are what Scan finds there.
func TestHeadNamesTheEnd(t *testing.T) {
	dir := t.TempDir()
	if _, err := Head(dir); !errors.Is(err, ErrNoChain) {
		t.Errorf("of nothing: %v", err)
	}
	key := testKey(1)
	for _, size := range []int64{0, 1} {
		w := open(t, Options{Dir: dir, Key: key, SegmentSize: size})
		write(t, w, numbered(1), numbered(2))
		if err := w.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		running, err := Head(dir)
		if err != nil || !running.Runs || running.Key != nil || running.Chain != lastChain(t, dir) {
			t.Errorf("size %d: running: %+v, %v", size, running, err)
		}
		closing(t, w)
		p, err := Head(dir)
		if err != nil || p.Runs || p.Time.IsZero() || !bytes.Equal(p.Key, key.Public().(ed25519.PublicKey)) || p.Lines != running.Lines || p.Chain != lastChain(t, dir) {
			t.Errorf("size %d: ended: %+v, %v", size, p, err)
		}
		if p.Chain == running.Chain {
			t.Error("the head is not in the chain")
		}
	}
	number, _ := segments(dir)
	file := path(dir, number[len(number)-1])
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(b, []byte("a.test/2"), []byte("b.test/2"), 1), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := Head(dir); err == nil || !strings.Contains(err.Error(), string(Broken)) {
		t.Errorf("edited: %+v, %v", p, err)
	}
}

func lastChain(t *testing.T, dir string) (h Hash) {
	t.Helper()
	for e, err := range Scan(dir) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Problem == nil {
			h = e.Chain
		}
	}
	return h
}

// TestAppendAllocatesNothing: there is a line for every URL ever met.
func TestAppendAllocatesNothing(t *testing.T) {
	w := open(t, Options{Dir: t.TempDir(), Key: testKey(1)})
	l, ctx := numbered(1), t.Context()
	write(t, w, l)
	if n := testing.AllocsPerRun(100, func() {
		if w.Append(ctx, l) != nil {
			t.Fail()
		}
	}); n > 0 {
		t.Errorf("%v allocations per line", n)
	}
	closing(t, w)
}

// TestRoomOfTheChainPart: what Append takes, readers take, up to the byte.
func TestRoomOfTheChainPart(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	l := numbered(1)
	l.Reason = "x"
	l.Reason = strings.Repeat("x", maxLine-chainRoom-len(l.AppendJSON(nil))+1)
	write(t, w, l)
	l.Reason += "x"
	if w.Append(t.Context(), l) == nil {
		t.Error("took a line that is too long")
	}
	closing(t, w)
	if p, e := scanned(t, dir); len(p) > 0 || !slices.Contains(e, "0:3 http://a.test/1") {
		t.Errorf("%v %q", p, e)
	}
}

// TestSchema1GoesOn: a ledger without a chain is read, gone on with in a segment of its own, and told apart.
func TestSchema1GoesOn(t *testing.T) {
	dir := t.TempDir()
	one := numbered(1)
	if err := os.WriteFile(path(dir, 0), append(one.AppendJSON(nil), "\nhalf"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Head(dir); !errors.Is(err, ErrNoChain) {
		t.Errorf("head: %v", err)
	}
	w := open(t, Options{Dir: dir})
	write(t, w, numbered(2))
	closing(t, w)
	equal(t, "URLs", urls(t, dir), []string{"http://a.test/1", "http://a.test/2"})
	equal(t, "files", ls(t, dir), []string{"000000.jsonl.zst", "000001.jsonl"})
	problems, entries := scanned(t, dir)
	if len(problems) != 1 || problems[0].Fault != Unchained || len(entries) != 5 {
		t.Errorf("%v %q", problems, entries)
	}
	if p, err := Head(dir); err != nil || p.Lines != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}
