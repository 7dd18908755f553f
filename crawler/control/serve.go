package control

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
)

// File is the file in the crawl directory with the address of a running crawl.
const File = "control.json"

// address is the content of File. The token keeps other users out, and proves that the crawl wrote the file,
// which a kill leaves behind with the port. It is never sent.
type address struct {
	Address string `json:"address"` // of 127.0.0.1
	Token   string `json:"token"`
	PID     int    `json:"pid"`
}

// Crawl is a running crawl for its operator: a *crawler.Crawl with a record of commands.
type Crawl interface {
	Status(ctx context.Context) (status.Status, error)
	Explain(ctx context.Context, q explain.Question) (explain.Explanation, error)
	// Reaches reports whether the run may reach an authority that it did not begin with.
	Reaches(a canon.Authority) bool
	// Add adds seeds: the scope is extended to them.
	Add(ctx context.Context, seeds []frontier.Candidate) (frontier.Added, error)
	Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error)
	Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error)
	// Live returns further data: the table of hosts, the reasons for their waits, the remaining time.
	Live() *status.Live
	// Pause has the run begin no exchange until Pause(false).
	Pause(ctx context.Context, on bool) error
	// Drain ends the run after the exchanges under way.
	Drain(ctx context.Context) error
	// Change changes a setting, for this run and those that follow. An order that cannot be obeyed is Bad.
	Change(ctx context.Context, order Change) (Changed, error)
}

type Frontier interface {
	frontier.Reader
	Snapshot(ctx context.Context, path string) error
}

// Serve serves questions and commands for a crawl over f on a loopback port until ctx ends, with its address in dir:
// no other process can open the frontier of a running crawl.
func Serve(ctx context.Context, dir string, c Crawl, f Frontier) error {
	s := &server{crawl: c, frontier: f, dir: dir, one: make(chan struct{}, 1)}
	return serve(ctx, filepath.Join(dir, File), s.handler())
}

// WatchFile is the file in the crawl directory with the address of a watch, which outlives its runs.
const WatchFile = "watch.json"

// ServeWatch serves the state of a watch of dir until ctx ends.
func ServeWatch(ctx context.Context, dir string, is func() status.Watch) error {
	return serve(ctx, filepath.Join(dir, WatchFile), obeying(func(context.Context, struct{}) (status.Watch, error) { return is(), nil }))
}

// serve serves on a loopback port until ctx ends, with the file at path.
func serve(ctx context.Context, path string, handler http.Handler) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	secret := make([]byte, 16)
	rand.Read(secret)
	at := address{Address: listener.Addr().String(), Token: hex.EncodeToString(secret), PID: os.Getpid()}
	terms, err := Secure(at.Token)
	if err == nil {
		err = writeFile(path, at)
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer os.Remove(path)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, ErrorLog: complaints}
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(closed)
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastAnswers)
		defer cancel()
		if server.Shutdown(within) != nil {
			server.Close()
		}
	})
	err = server.Serve(tls.NewListener(listener, terms))
	if !stop() {
		<-closed
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	return nil
}

// lastAnswers is the timeout of commands under way when the crawl ends, perhaps because of one.
const lastAnswers = 5 * time.Second

// writeFile writes the file atomically, readable by its owner only.
func writeFile(path string, at address) error {
	b, err := json.Marshal(at)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // a link is removed, not followed
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	if err := durable.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("crawler: control interface: %w", err)
	}
	return nil
}

// maxOrder bounds the bytes of a command. Remote splits long lists.
const maxOrder = 8 << 20

type errorBody struct {
	Error string `json:"error"`
}

// badOrder is an invalid command: status 400.
type badOrder struct{ error }

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

// obeying decodes a command strictly and calls do.
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

type seed struct {
	URL canon.URL `json:"url"`
	Tag string    `json:"tag,omitempty"`
}

// add adds seeds. The network guard is fixed when a run begins, so private addresses cannot be added.
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

func (r *Remote) Explain(ctx context.Context, q explain.Question) (explain.Explanation, error) {
	asked := question{URL: q.URL, Written: q.Written}
	if q.Found.Kind != 0 {
		asked.Found = &q.Found
	}
	return call[explain.Explanation](ctx, r, "/explain", asked)
}

// The settings that a Change may name. SetOptOuts reads the opt-out lists again.
const (
	SetMaxPages     = ledger.ActMaxPages
	SetMaxPerHost   = ledger.ActMaxPerHost
	SetMaxPerDomain = ledger.ActMaxPerDomain
	SetMaxPerTag    = ledger.ActMaxPerTag
	SetMaxBytes     = ledger.ActMaxBytes
	SetMaxTime      = ledger.ActMaxTime
	SetStopWhen     = ledger.ActStopWhen
	SetWindow       = ledger.ActWindow
	SetInclude      = ledger.ActInclude
	SetExclude      = ledger.ActExclude
	SetDelay        = ledger.ActDelay
	SetOptOuts      = ledger.ActOptOuts
)

// Budgets returns the settings that bound a crawl, its parts and its hours.
func Budgets() []string {
	return []string{SetMaxPages, SetMaxPerHost, SetMaxPerDomain, SetMaxPerTag, SetMaxBytes, SetMaxTime, SetStopWhen, SetWindow}
}

// Change is an operator's change of a setting, which later runs keep.
type Change struct {
	Setting string `json:"setting"`
	// Value is written as in crawl.toml. Of include and exclude it is one pattern, which is added, or with Remove taken away;
	// of stop-when and window it is all of them, one a line.
	Value  string `json:"value,omitempty"`
	Remove bool   `json:"remove,omitempty"`
	// Host selects the hosts of a delay, as the match of [[host]]; empty for all hosts.
	Host string `json:"host,omitempty"`
	// Try only reports the effect of the change.
	Try bool `json:"try,omitempty"`
}

// MostExamples bounds the URLs in a response.
const MostExamples = 20

// Changed is the result of a Change.
type Changed struct {
	Before   string   `json:"before"`
	After    string   `json:"after"`
	Known    bool     `json:"known"`    // URLs and Pending are
	URLs     int64    `json:"urls"`     // that are queued, and concerned: closed by a narrower scope or a list, or those of the host
	Pending  int64    `json:"pending"`  // all that are queued
	Examples []string `json:"examples"` // some of URLs
	Trouble  []string `json:"trouble"`  // why a list is not in force as it is on disk
}

// Change has the crawl change a setting, or report the effect.
func (r *Remote) Change(ctx context.Context, order Change) (Changed, error) {
	return call[Changed](ctx, r, "/change", order)
}

// Bad marks an error as that of an invalid command.
func Bad(err error) error {
	if err == nil {
		return nil
	}
	return badOrder{err}
}

type noteKey struct{}

// Noted adds a note of the operator to the commands with this context.
func Noted(ctx context.Context, note string) context.Context {
	if note == "" {
		return ctx
	}
	return context.WithValue(ctx, noteKey{}, note)
}

func NoteOf(ctx context.Context) string {
	note, _ := ctx.Value(noteKey{}).(string)
	return note
}

const paramNote = "note"

// noting adds the note to the path of a command.
func noting(ctx context.Context, path string) string {
	if note := NoteOf(ctx); note != "" {
		return path + "?" + url.Values{paramNote: {note}}.Encode()
	}
	return path
}

func noted(r *http.Request) context.Context {
	return Noted(r.Context(), r.URL.Query().Get(paramNote))
}

// ParseHost reads "name", "name:port" or "scheme://name", even with a final slash. exact: only one authority matches.
func ParseHost(name string) (a canon.Authority, exact bool, err error) {
	text, schemed := name, strings.Contains(name, "://")
	if !schemed {
		text = "http://" + name
	}
	a, err = canon.ParseAuthority(strings.TrimSuffix(text, "/"))
	return a, schemed, err
}

// Find returns the known authorities that match a host name as a user types it, with any scheme and port that is
// not given. It may read all hosts.
func Find(ctx context.Context, f frontier.Reader, name string) ([]canon.Authority, error) {
	wanted, exact, err := ParseHost(name)
	if err != nil {
		return nil, badOrder{fmt.Errorf("host %s: %w", name, err)}
	}
	found := []canon.Authority{}
	if exact {
		if _, ok, err := f.Host(ctx, wanted); err != nil || !ok {
			return found, err
		}
		return append(found, wanted), nil
	}
	_, _, err = net.SplitHostPort(strings.TrimSuffix(name, "/"))
	ported := err == nil
	err = status.EachHost(ctx, f, 0, func(h frontier.Host) bool {
		a := h.Authority
		if a.Host() == wanted.Host() && (!ported || a.Port() == wanted.Port()) {
			found = append(found, a)
		}
		return true
	})
	return found, err
}
