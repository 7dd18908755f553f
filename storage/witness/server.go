package witness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

// The paths of the protocol (https://c2sp.org/tlog-witness), and one of our own that tells the verifier key.
const (
	addPath = "/add-checkpoint"
	keyPath = "/key"

	sizeType = "text/x.tlog.size"
	textType = "text/plain; charset=utf-8"
)

// The bounds of a server.
const (
	maxConnections = 128
	readTimeout    = 20 * time.Second // of a whole request
	writeTimeout   = 20 * time.Second
	idleTimeout    = 15 * time.Second // so that connections nobody uses keep out nobody for long
	drainTimeout   = 5 * time.Second
	maxHeader      = 16 << 10
)

// Handler answers by the protocol.
func (w *Witness) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+addPath, w.serveAdd)
	mux.HandleFunc("GET /{hash}/checkpoint", w.serveLatest)
	mux.HandleFunc("GET "+keyPath, func(out http.ResponseWriter, _ *http.Request) {
		answer(out, http.StatusOK, textType, w.Key().Cosigner()+"\n")
	})
	return mux
}

func (w *Witness) serveAdd(out http.ResponseWriter, in *http.Request) {
	b, err := io.ReadAll(http.MaxBytesReader(out, in.Body, int64(maxRequest)+1))
	if err != nil {
		why := fmt.Sprintf("the request has more than %d octets, or was cut short\n", maxRequest)
		answer(out, http.StatusBadRequest, textType, why)
		return
	}
	r, err := ParseRequest(b)
	if err != nil {
		answer(out, http.StatusBadRequest, textType, err.Error()+"\n")
		return
	}
	sig, err := w.Add(r)
	var no *Refusal
	switch {
	case errors.As(err, &no) && no.Status == http.StatusConflict:
		answer(out, no.Status, sizeType, fmt.Sprintf("%d\n", no.Size))
	case errors.As(err, &no):
		answer(out, no.Status, textType, no.Why+"\n")
	case err != nil:
		answer(out, http.StatusInternalServerError, textType, "the witness cannot keep what it would sign\n")
	default:
		answer(out, http.StatusOK, textType, string(sig.Line()))
	}
}

func (w *Witness) serveLatest(out http.ResponseWriter, in *http.Request) {
	n := w.Latest(in.PathValue("hash"))
	if n == nil {
		answer(out, http.StatusNotFound, textType, "no checkpoint of this log was cosigned\n")
		return
	}
	answer(out, http.StatusOK, textType, string(n.Marshal()))
}

func answer(out http.ResponseWriter, status int, kind, body string) {
	out.Header().Set("Content-Type", kind)
	out.Header().Set("X-Content-Type-Options", "nosniff")
	out.WriteHeader(status)
	_, _ = io.WriteString(out, body) // who asked has gone, or not
}

// Serve answers at l by h until ctx ends, and then lets the answers under way be finished. It closes l.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{
		Handler: h, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(netutil.LimitListener(l, maxConnections)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("witness: %w", err)
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
