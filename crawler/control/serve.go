package control

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"curtsy/crawler/explain"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
)

// File is the name of the file, in the crawl directory, that says how to reach a running crawl.
const File = "control.json"

// address is what File holds. The token keeps other users of the machine out, and is how a crawl proves to
// be the one that wrote the file: a kill leaves the file behind, and its port to whoever wants it. It is never sent.
type address struct {
	Address string `json:"address"` // of 127.0.0.1
	Token   string `json:"token"`
	PID     int    `json:"pid"`
}

// Crawl is a running crawl as its operator meets it: a *crawler.Crawl, of which what an operator does is noted.
type Crawl interface {
	Status(ctx context.Context) (status.Status, error)
	Explain(ctx context.Context, q explain.Question) (explain.Explanation, error)
	// Reaches reports whether the run may reach an authority that it did not begin with.
	Reaches(a canon.Authority) bool
	// Add adds seeds: the scope is extended to them.
	Add(ctx context.Context, seeds []frontier.Candidate) (frontier.Added, error)
	Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error)
	Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error)
	// Live is what else there is to ask: the table of hosts, what they wait for, how long the rest takes.
	Live() *status.Live
	// Pause has the run begin no exchange until Pause(false).
	Pause(ctx context.Context, on bool) error
	// Drain ends the run when the exchanges under way have.
	Drain(ctx context.Context) error
	// Change changes a setting, for this run and those that follow. An order that cannot be obeyed is Bad.
	Change(ctx context.Context, order Change) (Changed, error)
}

// Frontier is the frontier of a running crawl, to look at and to copy.
type Frontier interface {
	frontier.Reader
	Snapshot(ctx context.Context, path string) error
}

// Serve answers questions about a crawl over f, and takes an operator's commands, on a loopback port until ctx ends, and
// says in dir how to reach it. The file is gone when Serve returns. While a crawl runs nobody else opens its frontier: this
// is how others ask.
func Serve(ctx context.Context, dir string, c Crawl, f Frontier) error {
	s := &server{crawl: c, frontier: f, dir: dir, one: make(chan struct{}, 1)}
	return serve(ctx, filepath.Join(dir, File), s.handler())
}

// WatchFile is the name of the file, in the crawl directory, that says how to reach a watch. A watch outlives the runs that
// it begins, and answers while none runs.
const WatchFile = "watch.json"

// ServeWatch answers what a watch of dir does until ctx ends, as Serve does for a crawl.
func ServeWatch(ctx context.Context, dir string, is func() status.Watch) error {
	return serve(ctx, filepath.Join(dir, WatchFile), obeying(func(context.Context, struct{}) (status.Watch, error) { return is(), nil }))
}

// serve answers on a loopback port until ctx ends, which the file at path names meanwhile.
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

// lastAnswers is how long orders that are under way when the crawl ends may take: one of them may be what ended it.
const lastAnswers = 5 * time.Second

// writeFile writes the file whole or not at all, readable by its owner only.
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
