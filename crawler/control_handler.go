package crawler

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"curtsy/crawler/mutual"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// SnapshotPrefix begins the names of the snapshots that a running crawl writes into its directory. Whoever asked for one
// removes it; what a kill left is removed by the next run.
const SnapshotPrefix = "frontier-snapshot-"

// snapshotSuffix ends them.
const snapshotSuffix = ".db"

// maxOrder bounds the body of a command, in octets. Remote sends long lists in pieces.
const maxOrder = 8 << 20

// errorBody is an error as the control interface answers it.
type errorBody struct {
	Error string `json:"error"`
}

// badOrder is a command that is wrong in itself: status 400.
type badOrder struct{ error }

func (c *Crawl) controlHandler(dir, token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", answering(func(r *http.Request) (any, error) { return c.Status(r.Context()) }))
	mux.HandleFunc("GET /explain", answering(c.answerExplain))
	mux.HandleFunc("POST /add", obeying(c.orderAdd))
	mux.HandleFunc("POST /steer", obeying(c.steer))
	mux.HandleFunc("POST /retry", obeying(func(ctx context.Context, r frontier.Retrial) (frontier.Retried, error) {
		if err := r.Check(); err != nil {
			return frontier.Retried{}, badOrder{err}
		}
		defer c.live.Forget()
		return c.cfg.Frontier.Retry(ctx, r)
	}))
	mux.HandleFunc("POST /find", obeying(func(ctx context.Context, w wantedHost) ([]canon.Authority, error) {
		return Find(ctx, c.cfg.Frontier, w.Host)
	}))
	one := make(chan struct{}, 1) // a snapshot is as large as the frontier: one at a time
	mux.HandleFunc("POST /snapshot", obeying(func(ctx context.Context, at snapshotAt) (snapshotAt, error) {
		select {
		case one <- struct{}{}:
			defer func() { <-one }()
			return at, c.snapshot(ctx, dir, at.Name)
		case <-ctx.Done():
			return snapshotAt{}, ctx.Err()
		}
	}))
	return mutual.Handler(token, maxOrder+1<<10, mux) // a little more, so that what is too long is told so
}

func respond(w http.ResponseWriter, v any, err error) {
	var bad badOrder
	switch {
	case errors.As(err, &bad):
		reply(w, http.StatusBadRequest, errorBody{err.Error()})
	case err != nil:
		reply(w, http.StatusInternalServerError, errorBody{err.Error()})
	default:
		reply(w, http.StatusOK, v)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// answering answers a question.
func answering(ask func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := ask(r)
		respond(w, v, err)
	}
}

// obeying reads a command, strictly, and does it.
func obeying[Order, Report any](do func(context.Context, Order) (Report, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var order Order
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
		d.DisallowUnknownFields()
		err := d.Decode(&order)
		if err == nil {
			if _, more := d.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("something stands behind it")
			}
		}
		if err != nil {
			respond(w, nil, badOrder{fmt.Errorf("crawler: control interface: read the command: %w", err)})
			return
		}
		report, err := do(r.Context(), order)
		respond(w, report, err)
	}
}

// seedOrder is a seed that an operator adds.
type seedOrder struct {
	URL canon.URL `json:"url"`
	Tag string    `json:"tag,omitempty"`
}

// orderAdd adds seeds. What the network guard lets through is settled when a run begins: a literal address of a private
// network cannot be added to it.
func (c *Crawl) orderAdd(ctx context.Context, orders []seedOrder) (frontier.Added, error) {
	cs := make([]frontier.Candidate, len(orders))
	for i, o := range orders {
		if o.URL.IsZero() {
			return frontier.Added{}, badOrder{errors.New("crawler: a seed without its URL")}
		}
		if a := o.URL.Authority(); guardedByDefault(a) && !c.reachable[a] {
			return frontier.Added{}, badOrder{fmt.Errorf("crawler: %s is an address that a run reaches only if it began with it: stop the crawl, add it, and go on with resume", a.Origin())}
		}
		cs[i] = frontier.Candidate{URL: o.URL, Kind: frontier.KindSeed, Seed: o.URL.String(), Tag: o.Tag}
	}
	for _, o := range orders {
		c.scope.Extend(o.URL)
	}
	defer c.live.Forget()
	added, err := c.addGiven(ctx, cs)
	if err == nil {
		c.cfg.Log("seeds added by the operator: %d; the scope includes them now", len(cs))
	}
	return added, err
}

// guardedByDefault reports whether a is written as an address that is not public.
func guardedByDefault(a canon.Authority) bool {
	addr, ok := a.Addr()
	return a.Host() == "localhost" || ok && (!addr.IsGlobalUnicast() || addr.IsPrivate())
}

// snapshotAt says where a snapshot is to be: a name in the crawl directory. Whoever asks chooses it, and so knows that
// nothing of that name was there before, whatever the answer is.
type snapshotAt struct {
	Name string `json:"name"`
}

// newSnapshot chooses the name of a snapshot.
func newSnapshot() string { return SnapshotPrefix + strings.ToLower(rand.Text()) + snapshotSuffix }

// isSnapshot reports whether name is one that newSnapshot chooses.
func isSnapshot(name string) bool {
	middle, ok := strings.CutPrefix(name, SnapshotPrefix)
	middle, end := strings.CutSuffix(middle, snapshotSuffix)
	return ok && end && len(middle) == len(rand.Text()) && strings.Trim(middle, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// snapshot writes the frontier as it is now into a file of its own, which must not be there.
func (c *Crawl) snapshot(ctx context.Context, dir, name string) error {
	if !isSnapshot(name) {
		return badOrder{fmt.Errorf("crawler: %q is no name of a snapshot", name)}
	}
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err == nil { // what is there is nobody's to remove
		return badOrder{fmt.Errorf("crawler: snapshot: %s is there already", name)}
	}
	err := c.cfg.Frontier.Snapshot(ctx, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case errors.Is(err, frontier.ErrNoSnapshot):
		return errors.New("crawler: the frontier of this crawl makes no snapshots")
	}
	if err == nil {
		err = os.Chmod(path, 0o600) // it holds the crawl's secret
	}
	if err = cmp.Or(err, ctx.Err()); err != nil { // nobody is there who would remove it
		os.Remove(path)
		return fmt.Errorf("crawler: snapshot: %w", err)
	}
	return nil
}

// wantedHost is a host by the name that people call it.
type wantedHost struct {
	Host string `json:"host"`
}

// steer obeys an operator's command. What it closes is told by Frontier, which was opened with record.Closed.
func (c *Crawl) steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	if err := s.Check(); err != nil {
		return frontier.Steered{}, badOrder{err}
	}
	defer c.live.Forget()
	return c.cfg.Frontier.Steer(ctx, s)
}
