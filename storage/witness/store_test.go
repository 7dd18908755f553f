package witness

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"curtsy/storage/ledger/checkpoint"
)

// grown is the folder of a witness that has cosigned one log.
func grown(t *testing.T) (dir string, h *history) {
	t.Helper()
	op := signer(t, 1)
	h = newHistory(t, checkpoint.Origin(op, "0123456789abcdef"), 9, 9, 0)
	dir = t.TempDir()
	w, err := Open(dir, Options{Logs: following(op.Key())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Add(Request{0, nil, note(t, h.checkpoint(5), op)}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, h
}

func TestAWitnessGoesOnWhereItWas(t *testing.T) {
	dir, h := grown(t)
	op := signer(t, 1)
	w := opened(t, dir, following(op.Key()))
	if n := w.Latest(originHash(h.origin)); n == nil || n.Size != 5 {
		t.Fatalf("%v", n)
	}
	if _, err := w.Add(Request{0, nil, note(t, h.checkpoint(9), op)}); status(err) != 409 {
		t.Errorf("it has forgotten: %v", err)
	}
	if _, err := w.Add(Request{5, h.prove(t, 5, 9), note(t, h.checkpoint(9), op)}); err != nil {
		t.Error(err)
	}
}

// A folder that cannot be believed opens no witness: it would sign a fork.
func TestADamagedFolderOpensNoWitness(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(dir, state string) error
		want  string
	}{
		"torn note":    {func(_, s string) error { return os.Truncate(s, 40) }, "is damaged"},
		"empty note":   {func(_, s string) error { return os.Truncate(s, 0) }, "is damaged"},
		"changed note": {func(_, s string) error { return edit(s, "\n5\n", "\n4\n") }, "is not cosigned by"},
		"note moved":   {func(_, s string) error { return os.Rename(s, filepath.Join(filepath.Dir(s), strings.Repeat("0", 64))) }, "is damaged"},
		"link":         {func(d, s string) error { return relink(d, s) }, "regular files"},
		"damaged key":  {func(d, _ string) error { return os.WriteFile(filepath.Join(d, keyFile), []byte("x"), 0o600) }, "is damaged"},
		"another key":  {func(d, _ string) error { return os.Remove(filepath.Join(d, keyFile)) }, "the key of this folder"},
		"logs is a file": {func(d, s string) error {
			if err := os.RemoveAll(filepath.Dir(s)); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(d, stateFolder), nil, 0o600)
		}, "a folder is wanted"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, h := grown(t)
			if err := tt.spoil(dir, filepath.Join(dir, stateFolder, originHash(h.origin))); err != nil {
				t.Fatal(err)
			}
			w, err := Open(dir, Options{Logs: following()})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err == nil {
				_ = w.Close()
			}
		})
	}
}

func edit(path, from, to string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Replace(string(b), from, to, 1)), 0o600)
}

func relink(dir, path string) error {
	to := filepath.Join(dir, "elsewhere")
	if err := os.Rename(path, to); err != nil {
		return err
	}
	return os.Symlink(to, path)
}

func TestAFolderBelongsToOneWitness(t *testing.T) {
	dir := t.TempDir()
	w := opened(t, dir, following())
	if _, err := Open(dir, Options{Logs: following()}); err == nil || !strings.Contains(err.Error(), "a witness that runs") {
		t.Errorf("opened twice: %v", err)
	}
	key := w.Key()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if again := opened(t, dir, following()); again.Key() != key {
		t.Errorf("its key was %v and is %v", key, again.Key())
	}
}

func TestAKeyKeepsItsName(t *testing.T) {
	dir := t.TempDir()
	w, err := Open(dir, Options{Name: "witness.example/w1", Logs: following()})
	if err != nil || w.Key().Name() != "witness.example/w1" {
		t.Fatalf("%v, %v", w, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Name: "other", Logs: following()}); err == nil || !strings.Contains(err.Error(), "has the name witness.example/w1") {
		t.Errorf("renamed: %v", err)
	}
	if w := opened(t, dir, following()); w.Key().Name() != "witness.example/w1" {
		t.Errorf("its name is %s", w.Key().Name())
	}
	if _, err := Open(t.TempDir(), Options{Name: "a b", Logs: following()}); err == nil {
		t.Error("a name with a space")
	}
	if fi, err := os.Stat(filepath.Join(dir, keyFile)); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
}

// What cannot be kept is not cosigned.
func TestWhatCannotBeKeptIsNotCosigned(t *testing.T) {
	op := signer(t, 1)
	h := newHistory(t, checkpoint.Origin(op, "0123456789abcdef"), 9, 9, 0)
	dir := t.TempDir()
	w := opened(t, dir, following(op.Key()))
	if err := os.RemoveAll(filepath.Join(dir, stateFolder)); err != nil {
		t.Fatal(err)
	}
	if sig, err := w.Add(Request{0, nil, note(t, h.checkpoint(5), op)}); status(err) != 500 || sig.Octets != nil {
		t.Errorf("%v, %v", sig, err)
	}
	if w.Latest(originHash(h.origin)) != nil {
		t.Error("it is taken for cosigned")
	}
}
