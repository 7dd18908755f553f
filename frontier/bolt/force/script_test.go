package force_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
)

type script struct {
	urls  []string // all that it adds or finds
	steps []func(ctx context.Context, f *bolt.Frontier) error
}

const firstURLs = 200

const armedAt = 2

func newScript() *script {
	s := &script{}
	for round := range 3 {
		s.add(round)
		s.turn(round, 0)
		s.retry()
		s.steer(round)
		s.turn(round, 1)
	}
	return s
}

const pace = 36 * time.Millisecond

func options() frontier.Options { return frontier.Options{Pace: pace} }

func (s *script) do(step func(ctx context.Context, f *bolt.Frontier) error) {
	s.steps = append(s.steps, step)
}

func (s *script) add(round int) {
	var urls []string
	for i := range firstURLs {
		urls = append(urls, fmt.Sprintf("http://h%d.test/%d", 2*round+i%3, i))
	}
	s.urls = append(s.urls, urls...)
	s.do(func(ctx context.Context, f *bolt.Frontier) error {
		_, err := f.Add(ctx, candidates(urls))
		return err
	})
}

// turn claims a host and ends the turn with something of all that a turn may end with.
func (s *script) turn(round, n int) {
	var found []string
	for i := range 40 {
		found = append(found, fmt.Sprintf("http://h%d.test/found/%d/%d/%d", i%3, round, n, i))
	}
	s.urls = append(s.urls, found...)
	s.do(func(ctx context.Context, f *bolt.Frontier) error {
		c, err := f.Claim(ctx, frontier.Want{Tasks: 8, MaxWait: time.Minute})
		if err != nil {
			return err
		}
		turn := c.Turns[0]
		r := frontier.Result{Authority: turn.Authority, Token: turn.Token, Wait: time.Hour, Found: candidates(found)}
		r.Host = &frontier.HostUpdate{
			Condition: frontier.Parked, Reason: fmt.Sprint("round ", round), Pace: pace, Robots: make([]byte, 3000), Memory: []byte(turn.Authority.String()),
		}
		r.Blobs = [][]byte{[]byte(fmt.Sprintf("User-agent: *\nDisallow: /%d\n", round)), make([]byte, 9000+round)}
		for i, x := range turn.Tasks {
			switch i % 4 { // the last of four goes back
			case 0:
				r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Fetched})
			case 1:
				r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: frontier.Failed})
			case 2:
				r.Deferred = append(r.Deferred, frontier.Deferral{Print: x.Print, After: time.Hour, Reason: "status 500"})
			}
		}
		answer, err := f.Finish(ctx, []frontier.Result{r})
		if err == nil {
			err = answer[0].Err
		}
		return errors.Join(err, f.Sync(ctx))
	})
}

func (s *script) retry() {
	s.do(func(ctx context.Context, f *bolt.Frontier) error {
		_, err := f.Retry(ctx, frontier.Retrial{Outcome: frontier.Failed})
		return err
	})
}

func (s *script) steer(round int) {
	s.do(func(ctx context.Context, f *bolt.Frontier) error {
		_, err := f.Steer(ctx, frontier.Steering{Act: frontier.Park, Authority: parse(fmt.Sprintf("http://h%d.test/", 2*round)).Authority(), For: time.Hour, Reason: fmt.Sprint("repairs ", round)})
		return err
	})
}

func parse(url string) canon.URL {
	u, err := canon.Parse(url)
	if err != nil {
		panic(err)
	}
	return u
}

func candidates(urls []string) []frontier.Candidate {
	cs := make([]frontier.Candidate, len(urls))
	for i, u := range urls {
		cs[i] = frontier.Candidate{URL: parse(u), Kind: frontier.KindLink, Via: "http://via.test/", Depth: 1}
	}
	return cs
}

// openAndReport opens a frontier and reports it.
func openAndReport(file string) (*bolt.Frontier, error) {
	f, err := bolt.Open(file, options())
	if err != nil {
		say("refused", err)
		return nil, err
	}
	say("opened")
	return f, nil
}

// runScript runs the script in a child, and reports the result.
func runScript(ctx context.Context, file string) error {
	f, err := openAndReport(file)
	if err != nil {
		return nil // openAndReport has reported it
	}
	for i, step := range newScript().steps {
		if i == armedAt {
			say("armed")
			if err := os.Setenv(faultKey, os.Getenv(armKey)); err != nil {
				return err
			}
		}
		if err := step(ctx, f); err != nil {
			refuse(ctx, f, err)
			return nil
		}
		say("step")
	}
	if err := f.Close(); err != nil {
		say("refused", err)
		return nil
	}
	say("done")
	return nil
}

// refuse reports that a call was refused, and whether the frontier takes a further one.
func refuse(ctx context.Context, f *bolt.Frontier, first error) {
	say("refused", first)
	_, add := f.Add(ctx, candidates([]string{"http://late.test/"}))
	_, claim := f.Claim(ctx, frontier.Want{})
	_, finish := f.Finish(ctx, []frontier.Result{{}})
	_, retry := f.Retry(ctx, frontier.Retrial{Outcome: frontier.Failed})
	_, stats := f.Stats(ctx)
	errs := []error{add, claim, finish, retry, stats, f.Sync(ctx), f.Close()}
	if slices.ContainsFunc(errs, func(err error) bool { return err == nil || err.Error() != first.Error() }) {
		say("unpoisoned", errs)
	}
}

// commit is a file before and after one step, and its contents.
type commit struct {
	before, after []byte
	was, is       *sight
	changed       []int // pages, the two meta pages apart
}

// commits runs the script and returns the commit of each step, and of the close.
func commits(t *testing.T) (list []commit, urls []string) {
	t.Helper()
	s, file := newScript(), filepath.Join(t.TempDir(), "frontier.db")
	f := mustOpen(t, file)
	before := []byte(mustRead(t, file))
	was := lookAt(t, before, s.urls)
	for _, step := range append(s.steps, func(context.Context, *bolt.Frontier) error { return f.Close() }) {
		require.NoError(t, step(t.Context(), f))
		after := []byte(mustRead(t, file))
		c := commit{before: before, after: after, was: was, is: lookAt(t, after, s.urls), changed: changed(before, after)}
		list = append(list, c)
		before, was = c.after, c.is
	}
	return list, s.urls
}
