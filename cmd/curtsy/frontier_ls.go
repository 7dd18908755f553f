package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/plainly"
)

// listing is what the flags of frontier ls ask for.
type listing struct {
	hosts                  []string
	state, outcome, reason string
	urls, json             bool
}

// The values of --state and --outcome.
var (
	listedHostStates = []string{"open", "parked", "retired", "refused", "held", "pending", "done"}
	listedURLStates  = []string{"pending", "queued", "deferred", "closed"}
	listedOutcomes   = frontier.OutcomeWords()
)

func newFrontierList(std cli.Streams) *cobra.Command {
	var l listing
	cmd := cli.Command("frontier ls", cli.Flags{
		"urls": &l.urls, "host": &l.hosts, "state": &l.state, "outcome": &l.outcome, "reason": &l.reason, "json": &l.json,
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := l.check(); err != nil {
			return err
		}
		return cli.Reading(cmd.Context(), args[0], func(ctx context.Context, f frontier.Stored) error { return l.run(ctx, f, std) })
	}
	fs := cmd.Flags()
	cli.Words(fs, "state", slices.Concat(listedHostStates, listedURLStates[1:])...)
	cli.Words(fs, "outcome", listedOutcomes...)
	return cmd
}

// frontierCheck refuses words that mean nothing, and flags that do not go together.
func (l *listing) check() error {
	states := listedHostStates
	if l.urls {
		states = listedURLStates
	}
	for _, f := range []struct {
		name, given string
		known       []string
	}{{"state", l.state, states}, {"outcome", l.outcome, listedOutcomes}} {
		if f.given != "" && !slices.Contains(f.known, f.given) {
			if f.name == "outcome" && slices.Contains(listedURLStates, f.given) {
				return cli.Usagef("--outcome %[1]q: that is a state: give --state %[1]s", f.given)
			}
			return cli.Usagef("--%s %q: write one of %s", f.name, f.given, strings.Join(f.known, ", "))
		}
	}
	if !l.urls && l.outcome != "" {
		return cli.Usagef("--outcome is about URLs: also give --urls")
	}
	return nil
}

func (l *listing) run(ctx context.Context, f frontier.Stored, std cli.Streams) error {
	var only []canon.Authority
	if len(l.hosts) > 0 {
		var err error
		if only, err = authoritiesOf(ctx, known{f}, l.hosts, false); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(std.Out)
	list := l.listHosts
	if l.urls {
		list = func(ctx context.Context, f frontier.Stored, only []canon.Authority, out *bufio.Writer) error {
			return l.listURLs(ctx, f, only, out, std.Err)
		}
	}
	if err := list(ctx, f, only, out); err != nil {
		return err
	}
	return out.Flush()
}

func (l *listing) listURLs(ctx context.Context, f frontier.Stored, only []canon.Authority, out *bufio.Writer, aside io.Writer) error {
	return f.List(ctx, func(i frontier.Item) error {
		e := i.URL
		if i.Totals != nil && only == nil {
			l.sayUnlisted(i.Totals, aside)
		}
		if e == nil || only != nil && !slices.Contains(only, e.URL.Authority()) || !l.wantsURL(e) {
			return nil
		}
		if l.json {
			return json.NewEncoder(out).Encode(listedURL(e))
		}
		why := ""
		if e.Reason != "" {
			why = "  (" + plainly.OneLine(plainly.Reason(e.Reason)) + ")"
		}
		_, err := fmt.Fprintf(out, "%-10s  %s%s\n", stateOf(e), plainly.OneLine(e.URL.String()), why)
		return err
	})
}

// sayUnlisted says how many URLs, of those asked for, were dropped as they were found: the frontier counts them, and has no
// more of them.
func (l *listing) sayUnlisted(all *frontier.Totals, to io.Writer) {
	if l.outcome != "" && l.outcome != frontier.Dropped.String() || l.state != "" && l.state != "closed" {
		return
	}
	var n int64
	for reason, some := range all.Reasons {
		if l.reason == "" || reason == plainly.Name(l.reason) {
			n += some
		}
	}
	if n > 0 {
		fmt.Fprintf(to, "not listed: %d more, dropped as they were found; the ledger has them\n", n)
	}
}

func stateOf(e *frontier.Entry) string {
	switch {
	case e.Outcome != 0:
		return e.Outcome.String()
	case e.Deferred:
		return "deferred"
	}
	return "queued"
}

func (l *listing) wantsURL(e *frontier.Entry) bool {
	state := stateOf(e)
	pending := e.Outcome == 0
	switch {
	case l.reason != "" && e.Reason != plainly.Name(l.reason), l.outcome != "" && state != l.outcome:
		return false
	case l.state == "pending":
		return pending
	case l.state == "closed":
		return !pending
	}
	return l.state == "" || state == l.state
}

// listedURL is a URL for programs.
func listedURL(e *frontier.Entry) any {
	return struct {
		URL      string  `json:"url"`
		State    string  `json:"state"`
		Reason   string  `json:"reason,omitempty"`
		Wait     float64 `json:"wait_s,omitempty"`
		Attempts int     `json:"attempts,omitempty"`
		Depth    int     `json:"depth"`
		Via      string  `json:"via,omitempty"`
		Seed     string  `json:"seed,omitempty"`
		Tag      string  `json:"tag,omitempty"`
		Stops    int     `json:"stops,omitempty"`
	}{e.URL.String(), stateOf(e), e.Reason, e.Wait.Seconds(), e.Attempts, e.Depth, e.Via, e.Seed, e.Tag, e.Stops}
}

const hostColumns = "%9s %9s %7s  %-8s %7s  %s%s\n"

func (l *listing) listHosts(ctx context.Context, f frontier.Stored, only []canon.Authority, out *bufio.Writer) error {
	if !l.json {
		fmt.Fprintf(out, hostColumns, "PENDING", "FETCHED", "FAILED", "STATE", "WAIT", "HOST", "")
	}
	const page = 10_000
	for after := (canon.Authority{}); ; {
		hosts, err := f.Hosts(ctx, after, page)
		if err != nil {
			return err
		}
		for _, h := range hosts {
			if only != nil && !slices.Contains(only, h.Authority) || !l.wantsHost(h) {
				continue
			}
			if err := l.printHost(out, h); err != nil {
				return err
			}
		}
		if len(hosts) < page {
			return nil
		}
		after = hosts[len(hosts)-1].Authority
	}
}

func (l *listing) wantsHost(h frontier.Host) bool {
	pending := h.Queued+h.Deferred > 0
	if l.reason != "" && h.Reason != plainly.Name(l.reason) && h.Hold.Reason != l.reason {
		return false
	}
	switch l.state {
	case "":
		return true
	case "pending":
		return pending
	case "done":
		return !pending
	case "held":
		return h.Hold.Act != 0
	}
	return h.Condition.String() == l.state
}

// heldAs is the state of a host that the operator holds.
func heldAs(a frontier.Act) string {
	if a == frontier.Drop {
		return "dropped"
	}
	return "parked"
}

func (l *listing) printHost(out *bufio.Writer, h frontier.Host) error {
	pending := h.Queued + h.Deferred
	name := h.Authority.Origin()
	state, why, wait := h.Condition.String(), h.Reason, h.Wait
	if h.Hold.Act != 0 {
		state, why, wait = heldAs(h.Hold.Act), status.HoldName(h.Hold.Act), h.Hold.Wait
		if h.Hold.Reason != "" {
			why += ": " + h.Hold.Reason
		}
	}
	if l.json {
		outcomes := map[string]int64{}
		for o, n := range h.Outcomes {
			if n > 0 {
				outcomes[frontier.Outcome(o).String()] = n
			}
		}
		return json.NewEncoder(out).Encode(struct {
			Host     string           `json:"host"`
			State    string           `json:"state"`
			Reason   string           `json:"reason,omitempty"`
			Wait     float64          `json:"wait_s,omitempty"`
			Pace     float64          `json:"pace_s,omitempty"`
			Queued   int64            `json:"queued"`
			Deferred int64            `json:"deferred"`
			Outcomes map[string]int64 `json:"outcomes"`
		}{name, state, why, seconds(wait), h.Pace.Seconds(), h.Queued, h.Deferred, outcomes})
	}
	if why != "" {
		why = "  (" + plainly.OneLine(plainly.Reason(why)) + ")"
	}
	_, err := fmt.Fprintf(out, hostColumns, strconv.FormatInt(pending, 10), strconv.FormatInt(h.Outcomes[frontier.Fetched], 10), strconv.FormatInt(h.Outcomes[frontier.Failed], 10),
		state, text.ShortWait(wait), plainly.OneLine(name), why)
	return err
}

// seconds is a wait for programs; one without an end is left out.
func seconds(d time.Duration) float64 {
	if d == frontier.Never {
		return 0
	}
	return d.Seconds()
}
