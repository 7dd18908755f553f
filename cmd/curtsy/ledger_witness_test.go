package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

// fakeWitness answers as https://c2sp.org/tlog-witness says.
type fakeWitness struct {
	signer  *checkpoint.Signer
	follows checkpoint.Key // zero: it follows no log

	mu   sync.Mutex
	kept map[string]*checkpoint.Note // by the SHA-256 of the origin
}

// witnessed starts a witness that follows the logs of a key, or none.
func witnessed(t *testing.T, follows string) (url string, key checkpoint.Key) {
	t.Helper()
	name := "witness.test/w"
	if follows == "" {
		name = "witness.test/deaf"
	}
	signer, err := checkpoint.WitnessSigner(name, bytes.Repeat([]byte{byte(len(name))}, 32))
	if err != nil {
		t.Fatal(err)
	}
	w := &fakeWitness{signer: signer, kept: map[string]*checkpoint.Note{}}
	if follows != "" {
		if w.follows, err = checkpoint.ParseKey(follows); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	return server.URL, signer.Key()
}

func (w *fakeWitness) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if hash, ok := strings.CutSuffix(in.URL.Path, "/checkpoint"); ok {
		if n := w.kept[hash[1:]]; n != nil {
			_, _ = out.Write(n.Marshal())
			return
		}
		http.NotFound(out, in)
		return
	}
	b, _ := io.ReadAll(in.Body)
	head, text, _ := strings.Cut(string(b), "\n\n")
	n, err := checkpoint.Parse([]byte(text))
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	old, hashes, _ := strings.Cut(head, "\n")
	var proof tlog.TreeProof
	for _, line := range strings.Fields(hashes) {
		h, _ := tlog.ParseHash(line)
		proof = append(proof, h)
	}
	sum := sha256.Sum256([]byte(n.Origin))
	origin := hex.EncodeToString(sum[:])
	var size int64
	var root tlog.Hash
	if was := w.kept[origin]; was != nil {
		size, root = was.Size, was.Root
	}
	switch {
	case w.follows.IsZero():
		out.WriteHeader(http.StatusNotFound)
	case !n.SignedBy(w.follows):
		out.WriteHeader(http.StatusForbidden)
	case old != fmt.Sprintf("old %d", size):
		out.Header().Set("Content-Type", "text/x.tlog.size")
		out.WriteHeader(http.StatusConflict)
		fmt.Fprintln(out, size)
	case size > 0 && tlog.CheckTree(proof, n.Size, n.Root, size, root) != nil:
		out.WriteHeader(http.StatusUnprocessableEntity)
	default:
		sig, err := w.signer.Cosign(n)
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		n.Add(sig)
		w.kept[origin] = n
		_, _ = out.Write(sig.Line())
	}
}
