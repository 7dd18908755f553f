package main

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/ledger/checkpoint"
	merkle "curtsy/storage/ledger/tree"
	"curtsy/storage/witness"
)

// operator is somebody who has a log.
func operator(t *testing.T, n byte) *checkpoint.Signer {
	t.Helper()
	s, err := checkpoint.NewSigner(bytes.Repeat([]byte{n}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// witnessed is a witness as a process of its own, its address and its key.
func witnessed(t *testing.T, cmd *exec.Cmd) (p *process, url string, key checkpoint.Key) {
	t.Helper()
	p = launched(t, cmd)
	t.Cleanup(func() { p.kill() })
	p.until(t, "two lines", func() bool { return strings.Count(p.out.String(), "\n") == 2 })
	lines := strings.Split(p.out.String(), "\n")
	if len(lines) != 3 {
		t.Fatalf("it printed %q and said %s", lines, p.errs.String())
	}
	key, err := checkpoint.ParseKey(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	return p, lines[0], key
}

// grown is a note of a log of n entries, each the same.
func grown(t *testing.T, by *checkpoint.Signer, entry string, n int) *checkpoint.Note {
	t.Helper()
	var g merkle.Growing
	for range n {
		g.Append(tlog.RecordHash([]byte(entry)))
	}
	b, err := by.Sign(checkpoint.Checkpoint{Origin: by.Name() + "/0123456789abcdef", Size: g.Size(), Root: g.Root()})
	if err != nil {
		t.Fatal(err)
	}
	note, err := checkpoint.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	return note
}

func TestAWitnessRunsUntilASignalAndForgetsNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	op, dir := operator(t, 1), filepath.Join(t.TempDir(), "w")
	list := filepath.Join(dir, "logs.txt")
	client := func(url string) *witness.Client {
		c, err := witness.NewClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	note, fork := grown(t, op, "x", 1), grown(t, op, "y", 1)

	p, url, key := witnessed(t, curtsy(t, "ledger", "witness", "--listen", "127.0.0.1:0", "--dir", dir, "--name", "witness.test/w"))
	if key.Name() != "witness.test/w" {
		t.Errorf("its name is %s", key.Name())
	}
	p.until(t, "that it follows nobody", func() bool {
		return strings.Contains(p.errs.String(), "it follows no log yet: write origins and keys into "+list)
	})
	c := client(url)
	if k, err := c.Key(t.Context()); err != nil || k != key {
		t.Errorf("its key is %v, %v", k, err)
	}
	var status *witness.StatusError
	if _, err := c.Cosign(t.Context(), note, nil); !errors.As(err, &status) || status.Status != http.StatusNotFound {
		t.Errorf("a log that it does not follow: %v", err)
	}
	// The list is read while it runs.
	if err := os.WriteFile(list, []byte("# ours\n"+op.VerifierKey()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	signatures, err := c.Cosign(t.Context(), note, nil)
	if err != nil {
		t.Fatal(err)
	}
	note.Add(signatures[0])
	if _, ok := note.Cosigned(key); !ok {
		t.Error("it is not cosigned")
	}
	// What does not need the folder does not wait for it.
	r := ended(t, curtsy(t, "ledger", "witness", "--key", "--dir", dir))
	if r.want(t, cli.ExitDone); r.out != key.Cosigner()+"\n" {
		t.Errorf("--key prints %q", r.out)
	}
	ended(t, curtsy(t, "ledger", "witness", "--listen", "127.0.0.1:0", "--dir", dir)).want(t, cli.ExitFailed, "belongs to a witness that runs")
	if !p.kill() { // kill -9
		t.Fatal("it had ended")
	}

	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		p, url, again := witnessed(t, curtsy(t, "ledger", "witness", "--listen", "127.0.0.1:0", "--dir", dir, "--log", op.VerifierKey()))
		if again != key {
			t.Errorf("its key was %v and is %v", key, again)
		}
		if _, err := client(url).Cosign(t.Context(), fork, nil); !errors.As(err, &status) || status.Status != http.StatusUnprocessableEntity {
			t.Errorf("a fork: %v", err)
		}
		p.until(t, "the fork", func() bool {
			return strings.Contains(p.errs.String(), "both notes are in "+filepath.Join(dir, "forks"))
		})
		if _, err := client(url).Cosign(t.Context(), note, nil); err != nil {
			t.Errorf("the same again: %v", err)
		}
		if err := p.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		p.end().want(t, code, "cosigning until Ctrl-C", "cosigned", "refused")
	}
}

func TestAWitnessSaysWhatItDoesNotTake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	if err := os.WriteFile(list, []byte("\nan origin and no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"--log nothing", cli.ExitUsage, "neither ORIGIN=KEY nor the verifier key"},
		{"--listen 7380", cli.ExitUsage, "write 127.0.0.1:7380"},
		{"--listen 192.0.2.1:7380", cli.ExitUsage, "192.0.2.1:7380"},
		{"--name a+b", cli.ExitFailed, "cannot be the name of a key"},
		{"--logs " + list, cli.ExitFailed, "line 2"},
		{"stray", cli.ExitUsage, "takes no"},
	} {
		args := append([]string{"ledger", "witness", "--dir", filepath.Join(dir, "w"+tt.args[2:5])}, strings.Fields(tt.args)...)
		inside(t, args...).want(t, tt.code, tt.want)
	}
}
