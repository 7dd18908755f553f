package ledger

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// page is docs/ledger.md.
func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "ledger.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// code returns the block of the page that holds what.
func code(t *testing.T, language, what string) string {
	t.Helper()
	for i, part := range strings.Split(page(t), "```") {
		if text, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 && strings.Contains(text, what) {
			return text
		}
	}
	t.Fatalf("no %s with %q", language, what)
	return ""
}

// all is every line of a ledger.
func all(t *testing.T, dir string) (text []byte) {
	t.Helper()
	numbers, err := segments(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range numbers {
		f, err := openSegment(dir, n)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		f.close()
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, b...)
	}
	return text
}

// TestForeignCheckOfTheChain: the lines of Python in the documentation come to our head, and notice an edit.
func TestForeignCheckOfTheChain(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := made(t, testKey(1), 1, 2)
	head, err := Head(dir)
	if err != nil {
		t.Fatal(err)
	}
	script, text := code(t, "python", "hashlib"), all(t, dir)
	run := func(text []byte) (string, error) {
		cmd := exec.CommandContext(t.Context(), python, "-c", script)
		cmd.Stdin = bytes.NewReader(text)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(text); err != nil || !strings.HasPrefix(out, head.Chain.String()+" ") {
		t.Errorf("%s, %v; want %s", out, err, head.Chain)
	}
	for _, from := range []string{"a.test/3", `"why":"segment"`, `"run"`} {
		if out, err := run(bytes.Replace(text, []byte(from), bytes.ToUpper([]byte(from)), 1)); err == nil {
			t.Errorf("%s edited passed: %s", from, out)
		}
	}
}

// TestForeignCheckOfASignature: the commands in the documentation accept a head's signature, and no other.
func TestForeignCheckOfASignature(t *testing.T) {
	for _, name := range []string{"sh", "openssl", "xxd"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(err)
		}
	}
	dir := made(t, testKey(1), 0, 1)
	var last *Mark
	for e := range Scan(dir) {
		if e.Mark != nil {
			last = e.Mark
		}
	}
	for _, good := range []bool{true, false} {
		if !good {
			last.Chain[0] ^= 1
		}
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", code(t, "sh", "openssl"))
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), "key="+hex.EncodeToString(last.Key), "chain="+last.Chain.String(), "sig="+hex.EncodeToString(last.Sig))
		if out, err := cmd.CombinedOutput(); (err == nil) != good {
			t.Errorf("good %v: %s, %v", good, out, err)
		}
	}
}

// TestPageListsEveryFieldOfAMark: the documentation has what a mark can hold.
func TestPageListsEveryFieldOfAMark(t *testing.T) {
	text := page(t)
	names := 0
	f, err := os.Open("mark.go")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		_, tag, ok := strings.Cut(s.Text(), "`json:\"")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(tag, `"`)
		if names++; !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, `"`+name+`"`) {
			t.Errorf("the field %s is not there", name)
		}
	}
	if names < 10 {
		t.Errorf("%d fields", names)
	}
}
