package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

// fakeWitness implements https://c2sp.org/tlog-witness for the log of one operator.
type fakeWitness struct {
	signer  *checkpoint.Signer
	follows checkpoint.Key

	mu   sync.Mutex
	kept *checkpoint.Note
}

func scriptWitness(ts *testscript.TestScript, _ bool, args []string) {
	signer, err := checkpoint.WitnessSigner(args[1], bytes.Repeat([]byte{byte(len(args[1]))}, 32))
	ts.Check(err)
	follows, err := checkpoint.ParseKey(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	server := httptest.NewServer(&fakeWitness{signer: signer, follows: follows})
	ts.Defer(server.Close)
	ts.Setenv("witness", server.URL)
	ts.Setenv("witnesskey", signer.Key().Cosigner())
}

func (w *fakeWitness) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if in.Method == http.MethodGet {
		if w.kept == nil {
			http.NotFound(out, in)
			return
		}
		_, _ = out.Write(w.kept.Marshal()) // the client may have gone
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
		h, _ := tlog.ParseHash(line) // a wrong one fails the proof
		proof = append(proof, h)
	}
	var size int64
	var root tlog.Hash
	if w.kept != nil {
		size, root = w.kept.Size, w.kept.Root
	}
	switch {
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
		w.kept = n
		_, _ = out.Write(sig.Line())
	}
}
