package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// maxOrder bounds the body of a command, in octets. Remote sends long lists in pieces.
const maxOrder = 8 << 20

// errorBody is an error as the control interface answers it.
type errorBody struct {
	Error string `json:"error"`
}

// badOrder is a command that is wrong in itself: status 400.
type badOrder struct{ error }

// server answers for a crawl.
type server struct {
	crawl    Crawl
	frontier Frontier
	dir      string
	one      chan struct{} // a snapshot is as large as the frontier: one at a time
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/status", obeying(func(ctx context.Context, _ struct{}) (status.Status, error) { return s.crawl.Status(ctx) }))
	mux.HandleFunc("/look", obeying(s.look))
	mux.HandleFunc("/explain", obeying(s.explain))
	mux.HandleFunc("/add", obeying(s.add))
	mux.HandleFunc("/steer", obeying(func(ctx context.Context, order frontier.Steering) (frontier.Steered, error) {
		if err := order.Check(); err != nil {
			return frontier.Steered{}, badOrder{err}
		}
		return s.crawl.Steer(ctx, order)
	}))
	mux.HandleFunc("/retry", obeying(func(ctx context.Context, order frontier.Retrial) (frontier.Retried, error) {
		if err := order.Check(); err != nil {
			return frontier.Retried{}, badOrder{err}
		}
		return s.crawl.Retry(ctx, order)
	}))
	mux.HandleFunc("/find", obeying(func(ctx context.Context, host string) ([]canon.Authority, error) {
		return Find(ctx, s.frontier, host)
	}))
	mux.HandleFunc("/named", obeying(func(ctx context.Context, n Names) ([]string, error) {
		n.Most = min(n.Most, maxNamed)
		return Named(ctx, s.frontier, n)
	}))
	mux.HandleFunc("/hosts", obeying(func(ctx context.Context, q status.Query) (status.Page, error) {
		return s.crawl.Live().Hosts(ctx, q)
	}))
	mux.HandleFunc("/host", obeying(func(ctx context.Context, a canon.Authority) (status.One, error) {
		if a.IsZero() {
			return status.One{}, badOrder{errors.New("crawler: a host without its name")}
		}
		return s.crawl.Live().One(ctx, a)
	}))
	mux.HandleFunc("/pause", obeying(func(ctx context.Context, on bool) (struct{}, error) { return struct{}{}, s.crawl.Pause(ctx, on) }))
	mux.HandleFunc("/drain", obeying(func(ctx context.Context, _ struct{}) (struct{}, error) { return struct{}{}, s.crawl.Drain(ctx) }))
	mux.HandleFunc("/change", obeying(s.crawl.Change))
	mux.HandleFunc("/snapshot", obeying(func(ctx context.Context, name string) (string, error) {
		select {
		case s.one <- struct{}{}:
			defer func() { <-s.one }()
			return name, s.snapshot(ctx, name)
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}))
	return mux
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

// obeying reads a question or a command, strictly, and answers or does it.
func obeying[Order, Report any](do func(context.Context, Order) (Report, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var order Order
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxOrder))
		d.DisallowUnknownFields()
		err := d.Decode(&order)
		if err == nil {
			if _, more := d.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("there is text after it")
			}
		}
		if err != nil {
			respond(w, nil, badOrder{fmt.Errorf("crawler: control interface: read the command: %w", err)})
			return
		}
		report, err := do(noted(r), order)
		respond(w, report, err)
	}
}

// seed is a seed that an operator adds.
type seed struct {
	URL canon.URL `json:"url"`
	Tag string    `json:"tag,omitempty"`
}

// add adds seeds. The network guard is settled when a run begins: a literal address of a private network cannot be added
// to it.
func (s *server) add(ctx context.Context, orders []seed) (frontier.Added, error) {
	cs := make([]frontier.Candidate, len(orders))
	for i, o := range orders {
		if o.URL.IsZero() {
			return frontier.Added{}, badOrder{errors.New("crawler: a seed without its URL")}
		}
		if a := o.URL.Authority(); !s.crawl.Reaches(a) {
			return frontier.Added{}, badOrder{fmt.Errorf("crawler: a run reaches the address %s only if it started with it: stop the crawl, add it, and continue with curtsy resume", a.Origin())}
		}
		cs[i] = frontier.Candidate{URL: o.URL, Kind: frontier.KindSeed, Seed: o.URL.String(), Tag: o.Tag}
	}
	return s.crawl.Add(ctx, cs)
}

// question is a URL to be explained, and how it was found if that is known.
type question struct {
	URL     canon.URL           `json:"url"`
	Written string              `json:"written"`
	Found   *frontier.Candidate `json:"found,omitempty"`
}

func (s *server) explain(ctx context.Context, q question) (explain.Explanation, error) {
	if q.URL.IsZero() {
		return explain.Explanation{}, badOrder{errors.New("crawler: explain: no URL")}
	}
	asked := explain.Question{URL: q.URL, Written: q.Written}
	if q.Found != nil {
		asked.Found = *q.Found
	}
	return s.crawl.Explain(ctx, asked)
}

// Explain has the crawl explain a URL, as Crawl.Explain does.
func (r *Remote) Explain(ctx context.Context, q explain.Question) (explain.Explanation, error) {
	asked := question{URL: q.URL, Written: q.Written}
	if q.Found.Kind != 0 {
		asked.Found = &q.Found
	}
	return call[explain.Explanation](ctx, r, "/explain", asked)
}
