package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Config is what the command line of bench says.
type Config struct {
	Setup                         string        // Setups names them
	Rounds, Pages, Hosts, Workers int           // but for rounds, 0 means as the setup has it
	Discovered                    []int         // until so many URLs are known; of growth and scale
	Pace, Latency                 time.Duration // of saturation
	PeerLimit                     time.Duration // after which a peer is stopped
	VS                            []string      // whom curtsy is compared with; nil means as the setup has it
	Memory, MaxBody               int64
	Dir, Profile, SVG             string
	Docs                          string // a folder of pages that checkers check, for time; empty for none
	Large                         bool
	Given                         func(flag string) bool // which flags stand on the command line

	Version string   // of curtsy
	Unset   []string // variables of the environment that hold settings of curtsy
}

// Report is what a bench found. As JSON it has everything.
type Report interface {
	// WriteText prints it for people.
	WriteText(w io.Writer) error

	// Verdict is how the command ends: a *Found, or why the figures are worth nothing.
	Verdict() error
}

// Say tells how far a bench has come.
type Say func(format string, args ...any)

// Run measures what c asks for.
func Run(ctx context.Context, c Config, say Say) (Report, error) {
	switch {
	case slices.Contains(c.VS, vsCheckers):
		return c.checkers(ctx, say)
	case c.Docs != "":
		return nil, usagef("--docs applies only to --vs checkers")
	}
	plan, err := c.plan()
	if err != nil {
		return nil, err
	}
	if plan.setup == setupScale {
		return c.scale(ctx, plan, say)
	}
	r, err := plan.run(ctx, say)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// UsageError is an error in what the command line says.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }
func (e *UsageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// Found is what the referee found against curtsy.
type Found struct{ err error }

func (e *Found) Error() string { return e.err.Error() }
func (e *Found) Unwrap() error { return e.err }
