package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// benchPatience is how long one run may take.
const benchPatience = time.Hour

// measuring is what all runs of a bench share.
type measuring struct {
	self  string   // the program
	env   []string // of our own processes: settings and collector are the bench's, not the user's
	dir   string
	seeds string // file
	web   *remoteWeb
}

// run measures all contenders, in rounds. Each round begins with another one, so that none always runs after the same.
func (p *benchPlan) run(ctx context.Context, voice *voice) (result *benchResult, err error) {
	defer voice.finish()
	m, err := p.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.web.close(), os.RemoveAll(m.dir)) }()
	result = p.newResult(m)
	if result.NullRate, err = p.null(ctx, m); err != nil {
		return nil, err
	}
	for round := range p.rounds {
		for i := range p.contenders {
			at := (round + i) % len(p.contenders)
			c := p.contenders[at]
			run, err := p.measure(ctx, m, c, round)
			if err != nil {
				return nil, fmt.Errorf("bench: %s, round %d: %w", c.name, round+1, err)
			}
			voice.say("round %d of %d: %s: %.0f pages/s, %.3f CPU ms per page", round+1, p.rounds, c.name, run.PagesPerS, run.CPUPerPage)
			result.Contenders[at].Rounds = append(result.Contenders[at].Rounds, run)
		}
	}
	result.conclude(p)
	return result, nil
}

func (p *benchPlan) prepare(ctx context.Context) (_ *measuring, err error) {
	m := &measuring{}
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
	defer func() {
		if err != nil {
			os.RemoveAll(m.dir)
		}
	}()
	m.env = benchEnv(os.Environ(), filepath.Join(m.dir, "user"))
	// The web outlives an interrupt: it ends when nobody speaks to it any more.
	if m.web, err = startWeb(context.WithoutCancel(ctx), m.self, p.web); err != nil {
		return nil, err
	}
	m.seeds = filepath.Join(m.dir, "seeds")
	if err := os.WriteFile(m.seeds, []byte(strings.Join(m.web.seeds, "\n")+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %w", err), m.web.close())
	}
	return m, nil
}

// benchEnv is an environment in which nothing but the bench decides: no settings, no choices for the collector, and a
// user of its own who has configured nothing.
func benchEnv(env []string, user string) []string {
	drop := []string{"GOGC", "GOMEMLIMIT", envName("config")}
	for _, name := range settingNames() {
		drop = append(drop, envName(name))
	}
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
func (p *benchPlan) measure(ctx context.Context, m *measuring, c contender, round int) (run benchRun, err error) {
	dir, err := os.MkdirTemp(m.dir, "run-")
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	crawl, stats := filepath.Join(dir, "crawl"), filepath.Join(dir, "stats")
	if c.peer {
		err = os.Mkdir(crawl, 0o777)
	}
	if err != nil {
		return run, err
	}
	limited, cancel := context.WithTimeout(ctx, benchPatience)
	defer cancel()
	profile := filepath.Join(p.profile, fmt.Sprintf("%s-%d.pprof", strings.ReplaceAll(c.name, ", ", "-"), round+1))
	words := p.fill(c.args, m, crawl, stats, profile)
	if !c.peer {
		words = append([]string{m.self}, words...)
	}
	cmd := exec.CommandContext(limited, words[0], words[1:]...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &lastWords{b: &said}, &lastWords{b: &said}
	cmd.WaitDelay = grace
	if !c.peer {
		cmd.Env = m.env
	}
	together(cmd)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return run, err
	}
	failed := cmd.Wait()
	took := time.Since(began)
	endAll(cmd)
	if ctx.Err() != nil {
		return run, ctx.Err()
	}
	if limited.Err() != nil {
		return run, fmt.Errorf("it was not over after %v", benchPatience)
	}
	if failed != nil && !c.peer { // a peer may complain as it likes: what it fetched is what counts
		return run, fmt.Errorf("%w: %s", failed, strings.TrimSpace(said.String()))
	}
	web, err := m.web.report()
	if err != nil {
		return run, err
	}
	if web.Pages == 0 {
		return run, fmt.Errorf("it asked for no page: %s", strings.TrimSpace(said.String()))
	}
	own, err := readStats(stats, c.peer)
	if err != nil {
		return run, err
	}
	return newBenchRun(took, cmd.ProcessState, own, web), nil
}

// fill puts what is known now into the arguments.
func (p *benchPlan) fill(args []string, m *measuring, crawl, stats, profile string) (words []string) {
	fill := strings.NewReplacer("{url}", m.web.seeds[0], "{seeds}", m.seeds, "{dir}", crawl, "{stats}", stats, "{profile}", profile)
	for _, arg := range args {
		if arg == "{urls}" {
			words = append(words, m.web.seeds...)
			continue
		}
		words = append(words, fill.Replace(arg))
	}
	return words
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
