package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// An index that is damaged is named, with what to do, or is done without; never does less come of it than the archive has.
func TestADamagedIndexIsNamedOrDoneWithout(t *testing.T) {
	t.Parallel()
	whole, _ := stopped(t)
	good := inside(t, "mirror", "rebuild", whole)
	good.want(t, cli.ExitDone)
	files := func(r result) string {
		_, rest, _ := strings.Cut(r.out+r.err, "files  ")
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	for how, damage := range map[string]func(b []byte) []byte{
		"empty":        func([]byte) []byte { return nil },
		"torn":         func(b []byte) []byte { return b[:len(b)-20] },
		"zeros":        func(b []byte) []byte { return make([]byte, len(b)) },
		"no CDXJ":      func([]byte) []byte { return []byte("hello\nworld\n") },
		"out of order": func(b []byte) []byte { return append(bytes.Clone(b), b...) },
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		path := inDir(dir, "index/curtsy-00000.cdxj")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, damage(b), 0o666); err != nil {
			t.Fatal(err)
		}
		r := inside(t, "export", "--format", "wacz", "-o", inDir(t.TempDir(), "x.wacz"), dir)
		r.want(t, cli.ExitFailed, "rebuild it with curtsy warc index "+dir, "curtsy-00000")
		r = inside(t, "mirror", "rebuild", dir)
		if r.want(t, cli.ExitDone); files(r) != files(good) || files(r) == "" {
			t.Errorf("%s: %q files, want %q\n%s%s", how, files(r), files(good), r.out, r.err)
		}
		inside(t, "resume", "--quiet", "--max-pages", "0", dir).want(t, cli.ExitDone)
		inside(t, "warc", "index", dir).want(t, cli.ExitDone)
		inside(t, "export", "--format", "wacz", "-o", inDir(t.TempDir(), "x.wacz"), dir).want(t, cli.ExitDone)
	}
}
