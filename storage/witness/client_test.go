package witness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

func TestClient_LearnsWitnessSize(t *testing.T) {
	op := signer(t, 1)
	h := newHistory(t, checkpoint.Origin(op, "0123456789abcdef"), 20, 20, 0)
	w, has := witnessSigner(t, "w.test"), 0
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		_, sent, _ := strings.Cut(string(body), "\n\n")
		n, perr := checkpoint.Parse([]byte(sent))
		if err := errors.Join(err, perr); err != nil {
			t.Error(err)
			return
		}
		size := int(n.Size)
		switch known := (Request{int64(has), h.prove(t, has, min(size, 20)), n}); {
		case !n.SignedBy(op.Key()):
			out.WriteHeader(http.StatusForbidden)
		case !strings.HasPrefix(string(body), fmt.Sprintf("old %d\n", has)):
			out.Header().Set("Content-Type", sizeType)
			out.WriteHeader(http.StatusConflict)
			fmt.Fprintln(out, has)
		case string(body) != string(known.Marshal()):
			out.WriteHeader(http.StatusUnprocessableEntity)
		default:
			sig := cosignature(t, w, n)
			has = size
			_, _ = out.Write(sig.Line())
		}
	}))
	defer server.Close()
	c, err := NewClient(server.Client(), server.URL)
	require.NoError(t, err)
	for _, size := range []int{0, 3, 3, 8, 20} {
		var requests []int64
		n := note(t, h.checkpoint(size), op)
		sigs, err := c.Cosign(t.Context(), n, func(from int64) (tlog.TreeProof, error) {
			requests = append(requests, from)
			return h.prove(t, int(from), size), nil
		})
		if err != nil || len(sigs) != 1 || len(requests) > 1 {
			t.Fatalf("%d: %v %v, requested %v", size, sigs, err, requests)
		}
		n.Add(sigs[0])
		_, ok := n.Cosigned(w.Key())
		assert.Truef(t, ok, "%d: not cosigned", size)
	}
	_, err = c.Cosign(t.Context(), note(t, h.checkpoint(8), op), nil)
	if !errors.Is(err, ErrAhead) || !strings.Contains(err.Error(), "20 entries, and this has 8") {
		t.Errorf("shorter: %v", err)
	}
	broken := errors.New("no tiles")
	longer := newHistory(t, h.origin, 21, 21, 0)
	_, err = c.Cosign(t.Context(), note(t, longer.checkpoint(21), op), func(int64) (tlog.TreeProof, error) { return nil, broken })
	assert.ErrorIs(t, err, broken)
	_, err = c.Cosign(t.Context(), note(t, longer.checkpoint(21), signer(t, 2)), func(int64) (tlog.TreeProof, error) { return nil, nil })
	if s := (*StatusError)(nil); !errors.As(err, &s) || s.Status != http.StatusForbidden || !strings.Contains(err.Error(), "trusts none") {
		t.Errorf("a stranger: %v", err)
	}
}

func TestAClientBearsAnyAnswer(t *testing.T) {
	op := signer(t, 1)
	n := note(t, newHistory(t, "o", 9, 9, 0).checkpoint(9), op)
	size := 0
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"no signature": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }, "not signature lines"},
		"nothing":      {func(http.ResponseWriter, *http.Request) {}, "not signature lines"},
		"only 409":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(409) }, "answered 409"},
		"409 and no size": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", sizeType)
			w.WriteHeader(409)
			fmt.Fprintln(w, "-1")
		}, "no size"},
		"another size each time": {func(w http.ResponseWriter, _ *http.Request) {
			size++
			w.Header().Set("Content-Type", sizeType)
			w.WriteHeader(409)
			fmt.Fprintln(w, size)
		}, "another size each time"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, "answered 302"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write(make([]byte, 1<<16))
			}
		}, "more than"},
		"why":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "\x1b[31mred", http.StatusTeapot) }, `("\x1b[31mred")`},
		"crash": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tt.answer)
			defer server.Close()
			h := NewHTTPClient()
			defer h.CloseIdleConnections()
			c, err := NewClient(h, server.URL)
			require.NoError(t, err)
			_, err = c.Cosign(t.Context(), n, func(int64) (tlog.TreeProof, error) { return nil, nil })
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			_, err = c.Latest(t.Context(), n.Origin)
			assert.Error(t, err, "it has a checkpoint")
		})
	}
	for _, bad := range []string{"", "witness.example", "ftp://witness.example", "http://", "http://a/?q", "http://a/#f", "http://a b", "://"} {
		_, err := NewClient(nil, bad)
		assert.Errorf(t, err, "%q is a URL of a witness", bad)
	}
}

func TestView_RejectsMonitorsOfOtherLog(t *testing.T) {
	op := signer(t, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(note(t, newHistory(t, "other", 3, 3, 0).checkpoint(3), op).Marshal())
	}))
	defer server.Close()
	c, err := NewClient(server.Client(), server.URL)
	require.NoError(t, err)
	if _, err := c.Latest(t.Context(), "mine"); err == nil || !strings.Contains(err.Error(), "another log") {
		t.Errorf("%v", err)
	}
}
