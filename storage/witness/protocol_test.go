package witness

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

// post sends a body to a witness as it is.
func post(t *testing.T, server *httptest.Server, body string) (status int, kind, answer string) {
	t.Helper()
	resp, err := server.Client().Post(server.URL+addPath, "", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type"), string(b)
}

// https://c2sp.org/tlog-witness, add-checkpoint: each sentence with a status, over HTTP.
func TestTheProtocolIsAnsweredAsItIsSpecified(t *testing.T) {
	op, stranger := signer(t, 1), signer(t, 2)
	origin := checkpoint.Origin(op, "0123456789abcdef")
	h, fork := newHistory(t, origin, 20, 20, 0), newHistory(t, origin, 20, 8, 1)
	w := opened(t, t.TempDir(), following(op.Key()))
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	request := func(old int, p tlog.TreeProof, n *checkpoint.Note) string {
		return string(Request{int64(old), p, n}.Marshal())
	}
	right := func(old, size int) string {
		return request(old, h.prove(t, old, size), note(t, h.checkpoint(size), op))
	}
	other := newHistory(t, checkpoint.Origin(stranger, "0123456789abcdef"), 5, 5, 0)
	forgedRoot := h.checkpoint(0)
	forgedRoot.Root = tlog.Hash{1}
	wrong := note(t, h.checkpoint(5), op)
	wrong.Signatures[0].Octets[0] ^= 1
	twice := note(t, h.checkpoint(5), op)
	twice.Signatures = append(twice.Signatures, wrong.Signatures[0])
	several := note(t, h.checkpoint(12), op)
	several.Add(note(t, h.checkpoint(12), stranger).Signatures[0])
	hash := tlog.Hash{}.String()
	for _, tt := range []struct {
		what, body string
		status     int
		answer     string // how it begins
	}{
		{"size zero and another root", request(0, nil, note(t, forgedRoot, op)), 422, "a log of size 0"},
		{"empty log", right(0, 0), 200, "\u2014 "},
		{"proof from zero", request(0, tlog.TreeProof{{}}, note(t, h.checkpoint(5), op)), 422, "the proof"},
		{"unknown log", request(0, nil, note(t, other.checkpoint(5), stranger)), 404, "this log is not followed"},
		{"no signature", request(0, nil, note(t, h.checkpoint(5), nil)), 403, "it is signed by no key"},
		{"a stranger's signature", request(0, nil, note(t, h.checkpoint(5), stranger)), 403, "it is signed by no key"},
		{"a wrong signature", request(0, nil, wrong), 403, "the signature by"},
		{"a right and a wrong signature of one key", request(0, nil, twice), 403, "it has two signatures"},
		{"first checkpoint", right(0, 5), 200, "\u2014 "},
		{"old size too small", right(0, 7), 409, "5\n"},
		{"old size too large", right(6, 7), 409, "5\n"},
		{"old size above the checkpoint's", request(8, nil, note(t, h.checkpoint(7), op)), 400, "the old size"},
		{"rollback", right(3, 4), 409, "5\n"},
		{"no proof", request(5, nil, note(t, h.checkpoint(10), op)), 422, "the proof"},
		{"proof of another size", request(5, h.prove(t, 5, 11), note(t, h.checkpoint(10), op)), 422, "the proof"},
		{"proof", right(5, 10), 200, "\u2014 "},
		{"the same again", right(10, 10), 200, "\u2014 "},
		{"the same with a proof", request(10, tlog.TreeProof{{}}, note(t, h.checkpoint(10), op)), 422, "the proof"},
		{"fork at that size", request(10, nil, note(t, fork.checkpoint(10), op)), 422, "another checkpoint of size 10"},
		{"fork", request(10, fork.prove(t, 10, 12), note(t, fork.checkpoint(12), op)), 422, "the proof"},
		{"signatures of strangers beside", request(10, h.prove(t, 10, 12), several), 200, "\u2014 "},
		{"nothing", "", 400, "this is no request"},
		{"no old", "odd 12\n\n" + string(several.Marshal()), 400, "this is no request"},
		{"leading zero", "old 012\n\n" + string(several.Marshal()), 400, "this is no request"},
		{"negative", "old -1\n\n" + string(several.Marshal()), 400, "this is no request"},
		{"too large", "old 9223372036854775808\n\n" + string(several.Marshal()), 400, "this is no request"},
		{"CRLF", strings.ReplaceAll(right(12, 14), "\n", "\r\n"), 400, "this is no request"},
		{"63 lines", "old 12\n" + strings.Repeat(hash+"\n", 63) + "\n" + string(note(t, h.checkpoint(14), op).Marshal()), 422, "the proof"},
		{"64 lines", "old 12\n" + strings.Repeat(hash+"\n", 64) + "\n" + string(note(t, h.checkpoint(14), op).Marshal()), 400, "this is no request"},
		{"no hash", "old 12\nAAAA\n\n" + string(note(t, h.checkpoint(14), op).Marshal()), 400, "this is no request"},
		{"no checkpoint", "old 12\n\nhello\n", 400, "this is no request"},
		{"a note of 1 MiB", "old 12\n\n" + strings.Repeat("a", 1<<20), 400, "the request has more than"},
	} {
		status, kind, answer := post(t, server, tt.body)
		if status != tt.status || !strings.HasPrefix(answer, tt.answer) {
			t.Errorf("%s: %d %q, want %d %q", tt.what, status, answer, tt.status, tt.answer)
		}
		if (status == http.StatusConflict) != (kind == "text/x.tlog.size") {
			t.Errorf("%s: type %q", tt.what, kind)
		}
	}
	resp, err := server.Client().Get(server.URL + addPath)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		t.Errorf("GET: %v", resp)
	}
}

// Monitors read the last checkpoint of a log with the cosignature, and the key.
func TestMonitorsReadWhatWasCosigned(t *testing.T) {
	op := signer(t, 1)
	h := newHistory(t, checkpoint.Origin(op, "0123456789abcdef"), 9, 9, 0)
	dir := t.TempDir()
	w := opened(t, dir, following(op.Key()))
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	c, err := NewClient(server.Client(), server.URL+"/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Latest(t.Context(), h.origin); err == nil || !strings.Contains(err.Error(), "no checkpoint") {
		t.Errorf("before: %v", err)
	}
	sent := note(t, h.checkpoint(9), op)
	sent.Add(note(t, h.checkpoint(9), signer(t, 2)).Signatures[0]) // of a stranger: it is not handed on
	if _, err := w.Add(Request{0, nil, sent}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Latest(t.Context(), h.origin)
	if err != nil || got.Checkpoint != h.checkpoint(9) || !got.SignedBy(op.Key()) || len(got.Signatures) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	key, err := c.Key(t.Context())
	if err != nil || key != w.Key() {
		t.Errorf("%v, %v", key, err)
	}
	if cs := Cosigners(got, []checkpoint.Key{signer(t, 3).Key(), key, key}); len(cs) != 1 || cs[0].Key != key || cs[0].At.IsZero() {
		t.Errorf("cosigners %v", cs)
	}
	b, err := os.ReadFile(filepath.Join(dir, stateFolder, originHash(h.origin)))
	if err != nil || !bytes.Equal(b, got.Marshal()) {
		t.Errorf("kept is %s, %v", b, err)
	}
}

// A fork at one size is kept as evidence: both notes, signed.
func TestAForkIsKeptAsEvidence(t *testing.T) {
	op := signer(t, 1)
	origin := checkpoint.Origin(op, "0123456789abcdef")
	h, fork := newHistory(t, origin, 9, 9, 0), newHistory(t, origin, 9, 4, 1)
	dir := t.TempDir()
	w := opened(t, dir, following(op.Key()))
	if _, err := w.Add(Request{0, nil, note(t, h.checkpoint(9), op)}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.Add(Request{9, nil, note(t, fork.checkpoint(9), op)}); status(err) != http.StatusUnprocessableEntity {
			t.Fatal(err)
		}
	}
	pairs, err := filepath.Glob(filepath.Join(dir, forkFolder, "*"))
	if err != nil || len(pairs) != 1 {
		t.Fatalf("%v, %v", pairs, err)
	}
	for name, want := range map[string]checkpoint.Checkpoint{"kept": h.checkpoint(9), "sent": fork.checkpoint(9)} {
		b, err := os.ReadFile(filepath.Join(pairs[0], name))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := checkpoint.Parse(b); err != nil || n.Checkpoint != want || !n.SignedBy(op.Key()) {
			t.Errorf("%s: %v %v", name, n, err)
		}
	}
}

// The clock of a witness may be set back. It then refuses what would contradict its last statement.
func TestAClockSetBackStatesNothing(t *testing.T) {
	op := signer(t, 1)
	h := newHistory(t, checkpoint.Origin(op, "0123456789abcdef"), 9, 9, 0)
	w := opened(t, t.TempDir(), following(op.Key()))
	if _, err := w.Add(Request{0, nil, note(t, h.checkpoint(5), op)}); err != nil {
		t.Fatal(err)
	}
	st := w.states[originHash(h.origin)]
	ahead := st.at.AddDate(0, 0, 1)
	now := st.at
	st.at = ahead
	if _, err := w.Add(Request{5, h.prove(t, 5, 9), note(t, h.checkpoint(9), op)}); status(err) != http.StatusServiceUnavailable {
		t.Errorf("behind: %v", err)
	}
	st.at = now
	if _, err := w.Add(Request{5, h.prove(t, 5, 9), note(t, h.checkpoint(9), op)}); err != nil {
		t.Error(err)
	}
}

func TestARequestIsReadAsItWasWritten(t *testing.T) {
	op := signer(t, 1)
	h := newHistory(t, "a log/with spaces", 9, 9, 0)
	for old := range 10 {
		want := Request{int64(old), h.prove(t, old, 9), note(t, h.checkpoint(9), op)}
		got, err := ParseRequest(want.Marshal())
		if err != nil || got.Old != want.Old || fmt.Sprint(got.Proof) != fmt.Sprint(want.Proof) || got.Note.Checkpoint != want.Note.Checkpoint {
			t.Errorf("%d: %v, %v", old, got, err)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	op := signer(f, 1)
	h := newHistory(f, checkpoint.Origin(op, "0123456789abcdef"), 9, 9, 0)
	f.Add(Request{4, h.prove(f, 4, 9), note(f, h.checkpoint(9), op)}.Marshal())
	f.Add([]byte("old 0\n\n"))
	f.Add([]byte("old 1\n" + base64.StdEncoding.EncodeToString(make([]byte, 32)) + "\n\nx\n1\n\n"))
	w := opened(f, f.TempDir(), following(op.Key()))
	w.keep = func(*checkpoint.Note) error { return nil }
	w.say = func(string, ...any) {}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ParseRequest(b)
		if err != nil {
			return
		}
		again, err := ParseRequest(r.Marshal())
		if err != nil || again.Old != r.Old || !slices.Equal(again.Proof, r.Proof) || !bytes.Equal(again.Note.Text(), r.Note.Text()) {
			t.Errorf("%q is read as %q, and that is %v", b, r.Marshal(), err)
		}
		if _, err := w.Add(r); err == nil && r.Note.Checkpoint != h.checkpoint(9) {
			t.Errorf("it cosigned what nobody signed: %q", b)
		}
	})
}
