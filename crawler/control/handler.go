package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"

	"curtsy/crawler/explain"
	"curtsy/crawler/found"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
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

func (s *server) handler(token string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", answering(func(r *http.Request) (any, error) { return s.crawl.Status(r.Context()) }))
	mux.HandleFunc("GET /look", answering(s.look))
	mux.HandleFunc("GET /explain", answering(s.explain))
	mux.HandleFunc("GET /checkpoint", answering(s.checkpoint))
	mux.HandleFunc("POST /add", obeying(s.add))
	mux.HandleFunc("POST /steer", obeying(func(ctx context.Context, order frontier.Steering) (frontier.Steered, error) {
		if err := order.Check(); err != nil {
			return frontier.Steered{}, badOrder{err}
		}
		return s.crawl.Steer(ctx, order)
	}))
	mux.HandleFunc("POST /retry", obeying(func(ctx context.Context, order frontier.Retrial) (frontier.Retried, error) {
		if err := order.Check(); err != nil {
			return frontier.Retried{}, badOrder{err}
		}
		return s.crawl.Retry(ctx, order)
	}))
	mux.HandleFunc("POST /find", obeying(func(ctx context.Context, w wantedHost) ([]canon.Authority, error) {
		return Find(ctx, s.frontier, w.Host)
	}))
	mux.HandleFunc("POST /named", obeying(func(ctx context.Context, n Names) ([]string, error) {
		n.Most = min(n.Most, maxNamed)
		return Named(ctx, s.frontier, n)
	}))
	mux.HandleFunc("POST /hosts", obeying(func(ctx context.Context, q status.Query) (status.Page, error) {
		return s.crawl.Live().Hosts(ctx, q)
	}))
	mux.HandleFunc("POST /host", obeying(func(ctx context.Context, w wantedOne) (status.One, error) {
		if w.Authority.IsZero() {
			return status.One{}, badOrder{errors.New("crawler: a host without its name")}
		}
		return s.crawl.Live().One(ctx, w.Authority)
	}))
	mux.HandleFunc("POST /pause", obeying(func(ctx context.Context, p pausing) (pausing, error) {
		return p, s.crawl.Pause(ctx, p.On)
	}))
	mux.HandleFunc("POST /drain", obeying(func(ctx context.Context, _ struct{}) (struct{}, error) {
		return struct{}{}, s.crawl.Drain(ctx)
	}))
	mux.HandleFunc("POST /change", obeying(s.crawl.Change))
	mux.HandleFunc("POST /snapshot", obeying(func(ctx context.Context, at snapshotAt) (snapshotAt, error) {
		select {
		case s.one <- struct{}{}:
			defer func() { <-s.one }()
			return at, s.snapshot(ctx, at.Name)
		case <-ctx.Done():
			return snapshotAt{}, ctx.Err()
		}
	}))
	return Handler(token, maxOrder+1<<10, mux) // a little more, so that what is too long is told so
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

// wantedHost is a host by the name that people call it.
type wantedHost struct {
	Host string `json:"host"`
}

// LedgerName is the folder of the ledger in a crawl directory.
const LedgerName = "ledger"

// noteBody is the answer to GET /checkpoint.
type noteBody struct {
	Note string `json:"note"`
}

// checkpoint answers GET /checkpoint with the latest one of the crawl's ledger.
func (s *server) checkpoint(*http.Request) (any, error) {
	n, err := ledger.Latest(filepath.Join(s.dir, LedgerName))
	if err != nil {
		return nil, err
	}
	return noteBody{string(n.Marshal())}, nil
}

// Checkpoint has the crawl tell the latest checkpoint of its ledger. No signature of it is checked.
func (r *Remote) Checkpoint(ctx context.Context) (*checkpoint.Note, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var body noteBody
	if err := r.call(ctx, http.MethodGet, "/checkpoint", nil, &body); err != nil {
		return nil, err
	}
	return checkpoint.Parse([]byte(body.Note))
}

// The parameters of GET /explain.
const (
	paramURL     = "url"
	paramWritten = "written"
	paramKind    = "kind"
	paramVia     = "via"
	paramDepth   = "depth"
	paramSeed    = "seed"
	paramTag     = "tag"
)

// explain answers GET /explain.
func (s *server) explain(r *http.Request) (any, error) {
	p := r.URL.Query()
	u, err := canon.Parse(p.Get(paramURL))
	if err != nil {
		return nil, badOrder{fmt.Errorf("crawler: explain: %w", err)}
	}
	q := explain.Question{URL: u, Written: p.Get(paramWritten)}
	if kind := storage.Kind(p.Get(paramKind)); kind != "" {
		depth, err := strconv.ParseUint(p.Get(paramDepth), 10, 31)
		if err != nil || found.Kind(kind) == 0 {
			return nil, badOrder{fmt.Errorf("crawler: explain: kind %q at depth %q: not a valid kind or depth", kind, p.Get(paramDepth))}
		}
		q.Found = found.As(u, storage.Line{Kind: kind, Via: p.Get(paramVia), Depth: int(depth), Seed: p.Get(paramSeed), Tag: p.Get(paramTag)})
	}
	return s.crawl.Explain(r.Context(), q)
}

// Explain has the crawl explain a URL, as Crawl.Explain does.
func (r *Remote) Explain(ctx context.Context, q explain.Question) (e explain.Explanation, err error) {
	p := url.Values{paramURL: {q.URL.String()}, paramWritten: {q.Written}}
	if c := q.Found; c.Kind != 0 {
		p.Set(paramKind, c.Kind.String())
		p.Set(paramVia, c.Via)
		p.Set(paramDepth, strconv.Itoa(c.Depth))
		p.Set(paramSeed, c.Seed)
		p.Set(paramTag, c.Tag)
	}
	err = r.call(ctx, http.MethodGet, "/explain?"+p.Encode(), nil, &e)
	return e, err
}
