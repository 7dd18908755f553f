package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/procgroup"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawltest/scoreboard"
	"curtsy/storage/plainly"
)

// ran is how the command of a crawler ended.
type ran struct {
	command     []string
	exit        *int // nil when a signal ended it
	took        time.Duration
	timedOut    bool
	interrupted bool // by whoever runs us
	idle        bool // it made no request
}

func (r ran) ending() scoreboard.Ending {
	if r.timedOut || r.interrupted {
		return scoreboard.Ending{Shown: true, Cut: r.took}
	}
	return scoreboard.Ending{Shown: true}
}

// crawl runs the command to its end, or to the time-out.
func (s *scoring) crawl(ctx context.Context, board *scoreboard.Board, command []string, std cli.Streams) (_ ran, err error) {
	dir, err := os.MkdirTemp("", "curtsy-score-")
	if err != nil {
		return ran{}, err
	}
	defer os.RemoveAll(dir)
	fill := strings.NewReplacer("{seed}", board.Seed(), "{dir}", filepath.Join(dir, "crawl"))
	if err := os.Mkdir(filepath.Join(dir, "crawl"), 0o777); err != nil {
		return ran{}, err
	}
	r := ran{}
	for _, arg := range command {
		r.command = append(r.command, fill.Replace(arg))
	}
	out, err := s.output(dir, std)
	if err != nil {
		return ran{}, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()

	limited, cancel := context.WithTimeout(ctx, time.Duration(s.timeout))
	defer cancel()
	cmd := exec.CommandContext(limited, r.command[0], r.command[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = procgroup.Grace
	procgroup.Together(cmd)
	display := progress.New(std.Err, s.quiet, false)
	defer display.Finish()
	display.Say("running %s, whose name in robots.txt is %s", strings.Join(r.command, " "), s.token)
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return ran{}, fmt.Errorf("the crawler could not be run: %w", err)
	}
	failed := s.watch(cmd, board, display)
	procgroup.EndAll(cmd)
	r.took = time.Since(begun)
	r.interrupted = ctx.Err() != nil
	r.timedOut = !r.interrupted && limited.Err() != nil
	if code := cmd.ProcessState.ExitCode(); code >= 0 {
		r.exit = &code
	}
	display.Finish()
	display.Say("%s", r.describe(failed))
	r.idle = len(board.Referee().Requests()) == 0
	if failed := r.exit != nil && *r.exit != 0 && !r.timedOut; (failed || r.idle) && !s.verbose {
		display.Say("%s", out.tail())
	}
	return r, nil
}

// describe says how the command ended.
func (r ran) describe(failed error) string {
	took := r.took.Round(time.Second)
	switch {
	case r.interrupted:
		return fmt.Sprintf("interrupted after %v", took)
	case r.timedOut:
		return fmt.Sprintf("the command was ended after %v, the time-out", took)
	case r.exit != nil:
		return fmt.Sprintf("the command ended after %v with exit code %d", took, *r.exit)
	}
	return fmt.Sprintf("the command ended after %v: %v", took, failed)
}

// watch waits for the command, and says meanwhile how far it has come.
func (s *scoring) watch(cmd *exec.Cmd, board *scoreboard.Board, display *progress.Display) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(display.Every())
	defer tick.Stop()
	for begun := time.Now(); ; {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if !display.Quiet && !(s.verbose && display.Live()) {
				display.Show(fmt.Sprintf("%s  %s", text.Clock(time.Since(begun)), plainly.Count(int64(len(board.Referee().Requests())), "request")))
			}
		}
	}
}

// transcript is what a command prints: kept in a file, and shown if asked for.
type transcript struct {
	*os.File
	shown io.Writer // nil for not
}

func (s *scoring) output(dir string, std cli.Streams) (*transcript, error) {
	path := s.log
	if path == "" {
		path = filepath.Join(dir, "output")
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	t := &transcript{File: f}
	if s.verbose {
		t.shown = std.Err
	}
	return t, nil
}

func (t *transcript) Write(p []byte) (int, error) {
	if t.shown != nil {
		fmt.Fprint(t.shown, plainly.Lines(string(p)))
	}
	return t.File.Write(p)
}

// tail returns the last lines, safe for a terminal.
func (t *transcript) tail() string {
	const most = 2 << 10
	size, err := t.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return "it has printed nothing"
	}
	text, _ := io.ReadAll(io.NewSectionReader(t, max(0, size-most), most)) // what there is
	lines := strings.Split(strings.TrimSpace(plainly.Lines(string(text))), "\n")
	return "its last words:\n  " + strings.Join(lines[max(0, len(lines)-8):], "\n  ")
}
