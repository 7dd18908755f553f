package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"curtsy/cmd/curtsy/procgroup"
	"curtsy/storage/mirror"
)

// patience is how long one run of curtsy may take, or of the bare loop.
const patience = time.Hour

// measuring is what all runs of a bench share.
type measuring struct {
	self string   // the program
	env  []string // of our own processes: settings and collector are the bench's, not the user's
	dir  string
	webs map[WebConfig]*servedWeb
}

// servedWeb is a web, and the file that its seeds are in.
type servedWeb struct {
	*remoteWeb
	file string
}

// run measures all contenders, in rounds. Each round begins with another one, so that none always runs after the same.
func (p *Plan) run(ctx context.Context, say Say) (result *Result, err error) {
	m, err := p.prepare()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	result = p.newResult(m)
	if result.NullRate, err = p.null(ctx, m); err != nil {
		return nil, err
	}
	for round := range p.rounds {
		for i := range p.contenders {
			at := (round + i) % len(p.contenders)
			c, row := p.contenders[at], &result.Contenders[at]
			if row.stopped() {
				continue // and it would be again
			}
			run, err := p.measure(ctx, m, c, round)
			if err != nil {
				return nil, fmt.Errorf("bench: %s, round %d: %w", c.name, round+1, err)
			}
			say("round %d of %d: %s: %.0f pages/s, %.3f CPU ms per page", round+1, p.rounds, c.name, run.PagesPerS, run.CPUPerPage)
			row.Rounds = append(row.Rounds, run)
		}
		if err := p.measureParts(ctx, m, result); err != nil {
			return nil, err
		}
	}
	result.conclude(p)
	return result, nil
}

func (p *Plan) prepare() (_ *measuring, err error) {
	m := &measuring{webs: map[WebConfig]*servedWeb{}}
	if p.profile != "" {
		if err := os.MkdirAll(p.profile, 0o777); err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
	}
	if m.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if m.dir, err = os.MkdirTemp(p.dir, "curtsy-bench-"); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	m.env = cleanEnv(os.Environ(), p.unset, filepath.Join(m.dir, "user"))
	if err := os.WriteFile(filepath.Join(m.dir, "spider.py"), spider, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %w", err), m.close())
	}
	return m, nil
}

func (m *measuring) close() error {
	var errs []error
	for _, w := range m.webs {
		errs = append(errs, w.close())
	}
	return errors.Join(append(errs, os.RemoveAll(m.dir))...)
}

// web is the web of a contender, which is served from the first time that it is needed on.
func (m *measuring) web(ctx context.Context, c WebConfig) (*servedWeb, error) {
	if w := m.webs[c]; w != nil {
		return w, nil
	}
	// The web outlives an interrupt: it ends when nobody speaks to it any more.
	remote, err := startWeb(context.WithoutCancel(ctx), m.self, c)
	if err != nil {
		return nil, err
	}
	w := &servedWeb{remote, filepath.Join(m.dir, fmt.Sprintf("seeds-%d", len(m.webs)))}
	m.webs[c] = w
	if err := os.WriteFile(w.file, []byte(strings.Join(w.seeds, "\n")+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return w, nil
}

// cleanEnv is an environment in which nothing but the bench decides: no settings, no choices for the collector, and a
// user of its own who has configured nothing.
func cleanEnv(env, unset []string, user string) []string {
	drop := append([]string{"GOGC", "GOMEMLIMIT"}, unset...)
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(drop, name)
	})
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData"} {
		env = append(env, name+"="+user)
	}
	return env
}

// measure runs a contender once.
func (p *Plan) measure(ctx context.Context, m *measuring, c contender, round int) (run Round, err error) {
	web, err := m.web(ctx, c.web)
	if err != nil {
		return run, err
	}
	dir, err := os.MkdirTemp(m.dir, "run-")
	if err != nil {
		return run, err
	}
	// It stays until all is measured: ext4 gives out no number of a file that was removed in the last minutes, and looking
	// for others made a new file ten times as dear for whoever came next.
	in := placed{dir: filepath.Join(dir, "crawl"), stats: filepath.Join(dir, "stats"), profile: p.profileOf(c, round)}
	if c.peer {
		if err := os.Mkdir(in.dir, 0o777); err != nil {
			return run, err
		}
	}
	ended, err := p.runOnce(ctx, m, c, in.fill(c.args, m, web))
	if err != nil {
		return run, err
	}
	report, err := web.report()
	if err != nil {
		return run, err
	}
	if report.Pages == 0 && !ended.stopped {
		return run, fmt.Errorf("it requested no page: %s", ended.said)
	}
	own, err := readStats(in.stats, c.peer)
	if err != nil {
		return run, err
	}
	run = newRound(ended, own, report)
	if c.ours && p.profile != "" {
		if run.Stages, err = stagesOf(in.profile, report.Pages); err != nil {
			return run, err
		}
	}
	if p.setup == setupMirror {
		tree := in.dir
		if c.ours {
			tree = mirror.Tree(in.dir)
		}
		run.Files, err = filesIn(tree)
	}
	return run, err
}

// profileOf is where the profile of a run goes.
func (p *Plan) profileOf(c contender, round int) string {
	return filepath.Join(p.profile, fmt.Sprintf("%s-%d.pprof", strings.NewReplacer(", ", "-", " ", "-").Replace(c.name), round+1))
}

// endedRun is a process that came to its end, or was brought to it.
type endedRun struct {
	took    time.Duration
	state   *os.ProcessState
	said    string
	stopped bool // a peer, at its limit

	updates, scrapes int64 // that an audience has seen
}

// runOnce runs a command to its end.
func (p *Plan) runOnce(ctx context.Context, m *measuring, c contender, words []string) (e endedRun, err error) {
	patience := patience
	if c.peer {
		patience = p.peerLimit
	} else {
		words = append([]string{m.self}, words...)
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(limited, words[0], words[1:]...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &lastWords{b: &said}, &lastWords{b: &said}
	cmd.WaitDelay = peerGrace
	if !c.peer {
		cmd.Env, cmd.WaitDelay = m.env, procgroup.Grace
	}
	if c.seen {
		looking, leave := context.WithCancel(ctx)
		there := newAudience(&said)
		cmd.Stderr = there
		var beside sync.WaitGroup
		beside.Go(func() { there.look(looking) })
		defer func() {
			leave()
			beside.Wait()
			e.updates, e.scrapes = there.updates.Load(), there.scrapes.Load()
		}()
	}
	procgroup.Together(cmd)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return e, err
	}
	failed := cmd.Wait()
	e = endedRun{took: time.Since(began), state: cmd.ProcessState, said: strings.TrimSpace(said.String())}
	procgroup.EndAll(cmd)
	switch {
	case ctx.Err() != nil:
		return e, ctx.Err()
	case limited.Err() != nil && !c.peer:
		return e, fmt.Errorf("it was not over after %v", patience)
	case failed != nil && !c.peer: // a peer may complain as it likes: what it fetched is what counts
		return e, fmt.Errorf("%w: %s", failed, e.said)
	}
	e.stopped = limited.Err() != nil
	return e, nil
}

// peerGrace is how long a peer that is stopped may take to end: less than it is worth to be waited for.
const peerGrace = 2 * time.Second

// placed is where a run has its things.
type placed struct{ dir, stats, profile string }

// fill puts what is known now into the arguments.
func (at placed) fill(args []string, m *measuring, web *servedWeb) (words []string) {
	fill := strings.NewReplacer("{url}", web.seeds[0], "{seeds}", web.file, "{dir}", at.dir, "{stats}", at.stats, "{profile}", at.profile,
		"{spider}", filepath.Join(m.dir, "spider.py"))
	for _, arg := range args {
		if arg == "{urls}" {
			words = append(words, web.seeds...)
			continue
		}
		words = append(words, fill.Replace(arg))
	}
	return words
}

// filesIn counts the files of a tree.
func filesIn(tree string) (n int, err error) {
	err = filepath.WalkDir(tree, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		return n, fmt.Errorf("bench: what is in the tree: %w", err)
	}
	return n, nil
}

func readStats(path string, peer bool) (own childStats, err error) {
	if peer {
		return own, nil
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &own)
	}
	return own, err
}

// lastWords keeps the last of what is written.
type lastWords struct{ b *bytes.Buffer }

const lastSize = 4 << 10

func (t *lastWords) Write(p []byte) (int, error) {
	t.b.Write(p)
	if over := t.b.Len() - lastSize; over > 0 {
		t.b.Next(over)
	}
	return len(p), nil
}
