package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"curtsy/cmd/curtsy/procgroup"
	"curtsy/crawler/check/static"
	"curtsy/crawler/crawltest"
)

// CheckersConfig is what is measured.
type CheckersConfig struct {
	Self   string        // the program
	Env    []string      // of our own processes
	Dir    string        // where crawls are kept while they run; empty for a temporary folder
	Docs   string        // a folder of pages that all check, for time; empty for none
	Rounds int           // how often each is run
	Limit  time.Duration // after which a checker of others is stopped
}

// maxSaid is how much of what a checker prints is kept.
const maxSaid = 64 << 20

// grace is how long a process may take to end that was stopped, before its output is let go.
const grace = 2 * time.Second

// CheckersRun has each checker check the faults, and then the folder, in rounds.
func CheckersRun(ctx context.Context, c CheckersConfig, say func(format string, args ...any)) (r *Comparison, err error) {
	site := crawltest.NewFaultySite()
	r = &Comparison{Faults: len(site.Faults()), Docs: c.Docs}
	faults, err := serve(site)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, faults.close()) }()
	var docs *served
	if c.Docs != "" {
		folder, err := static.Open(c.Docs, static.Options{})
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, folder.Close()) }()
		if docs, err = serve(folder); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, docs.close()) }()
	}
	all := contenders(c.Self)
	for _, one := range all {
		r.Checkers = append(r.Checkers, Row{Name: one.name, Line: shown(one), Absent: !one.ours && !one.installed()})
	}
	for round := range c.Rounds {
		for i := range all {
			at := (round + i) % len(all) // none always comes after the same
			one, row := all[at], &r.Checkers[at]
			if row.Absent {
				continue
			}
			if err := c.meet(ctx, one, row, site, faults, docs); err != nil {
				return nil, fmt.Errorf("bench: %s: %w", one.name, err)
			}
			say("round %d of %d: %s: %d of %d faults, %s", round+1, c.Rounds, one.name, row.Found, r.Faults, row.times())
		}
	}
	return r, nil
}

func (c *CheckersConfig) meet(ctx context.Context, one checkersContender, row *Row, site *crawltest.FaultySite, faults, docs *served) error {
	ran, err := c.once(ctx, one, faults.url)
	if err != nil {
		return err
	}
	row.Site.add(ran)
	if one.ours {
		row.Score, err = own(site, faults.url, ran.said)
	} else {
		row.Score = others(site, faults.url, one.faults(ran.said))
	}
	if err != nil || docs == nil || row.Folder.Stopped { // it would be stopped again
		return err
	}
	if ran, err = c.once(ctx, one, docs.url); err == nil {
		row.Folder.add(ran)
	}
	return err
}

// ran is a run that is over.
type ran struct {
	said    string
	took    time.Duration
	stopped bool
}

// once runs a checker to its end. That something is broken is its exit code, and no fault of the run.
func (c *CheckersConfig) once(ctx context.Context, one checkersContender, url string) (r ran, err error) {
	dir, err := os.MkdirTemp(c.Dir, "curtsy-bench-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.WriteFile(filepath.Join(dir, "linkcheckerrc"), linkcheckerrc, 0o600); err != nil {
		return r, err
	}
	limit := c.Limit
	if one.ours {
		limit = time.Hour
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	line := one.line(url+"/", dir)
	cmd := exec.CommandContext(limited, line[0], line[1:]...)
	said := &upTo{left: maxSaid}
	cmd.Dir, cmd.Stdout, cmd.WaitDelay = dir, said, grace
	if one.ours {
		cmd.Env = append(append([]string{}, c.Env...), "HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_CONFIG_HOME="+dir)
	} else {
		cmd.Stderr = said
	}
	procgroup.Together(cmd)
	began := time.Now()
	failed := cmd.Run()
	r = ran{said.b.String(), time.Since(began), limited.Err() != nil}
	procgroup.EndAll(cmd)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case one.ours && r.stopped:
		return r, fmt.Errorf("it was not over after %v", limit)
	case failed != nil && !r.stopped && !errors.As(failed, &exit):
		return r, failed
	}
	return r, nil
}

// upTo keeps the first bytes of what is written, and takes the rest.
type upTo struct {
	b    bytes.Buffer
	left int
}

func (u *upTo) Write(p []byte) (int, error) {
	kept := p[:min(len(p), u.left)]
	u.left -= len(kept)
	u.b.Write(kept)
	return len(p), nil
}

// served is a site on loopback.
type served struct {
	url    string
	server *http.Server
	ended  chan error
}

// serve has each answer say what linkchecker waits for before it asks a host as fast as it was told to.
func serve(site http.Handler) (*served, error) {
	site = hurried(site)
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &served{"http://" + listener.Addr().String(), &http.Server{Handler: site, ReadHeaderTimeout: time.Minute}, make(chan error, 1)}
	go func() { s.ended <- s.server.Serve(listener) }()
	return s, nil
}

func hurried(site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("LinkChecker", "yes")
		site.ServeHTTP(w, r)
	})
}

func (s *served) close() error {
	err := s.server.Close()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
