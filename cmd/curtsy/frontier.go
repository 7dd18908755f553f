package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/status"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// frontierCommand is the group of commands on the state of a crawl.
func frontierCommand(std cli.Streams) *cobra.Command {
	cmd := cli.Family("frontier", newFrontierList(std), newAdd(std), newSteer("pause", frontier.Park, std),
		newSteer("unpause", frontier.Resume, std), newSteer("drop", frontier.Drop, std), newRetry(std), newRelease(std),
		newExport(std), newImport(std), newRepair(std))
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.Swallowed(cmd, args); err != nil { // cobra runs only the nearest hook
			return err
		}
		if len(args) == 0 || engine.Locator(args[0]) == "" {
			return nil
		}
		name := cmd.CommandPath()
		if urls, err := cmd.Flags().GetBool("urls"); err == nil && urls {
			name += " --urls"
		}
		return crawldir.RefusedInFleet(name)
	}
	return cmd
}

// dirFirst checks the arguments of a command: a crawl directory and least to most others; most < 0 means unlimited.
func dirFirst(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args) - 1; n >= least && (most < 0 || n <= most) {
			return nil
		}
		if len(args) == 0 {
			return fmt.Errorf("%s takes a crawl directory first: write %s", cmd.Name(), cmd.UseLine())
		}
		return fmt.Errorf("%s does not take %s: write %s", cmd.Name(), plainly.Count(int64(len(args)), "argument"), cmd.UseLine())
	}
}

// operated is a crawl that an operator changes: a running one through its control interface, a stopped one in its
// frontier. Either way there is one writer.
type operated interface {
	Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error)
	Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error)
	Retry(ctx context.Context, r frontier.Retrial) (frontier.Retried, error)
	Change(ctx context.Context, c control.Change) (control.Changed, error)
	finder
}

type finder interface {
	Find(ctx context.Context, host string) ([]canon.Authority, error)
}

type known struct{ frontier.Reader }

func (k known) Find(ctx context.Context, host string) ([]canon.Authority, error) {
	return control.Find(ctx, k.Reader, host)
}

var _ operated = (*control.Remote)(nil)

// operate lets do change the crawl in dir, and reports whether it is running.
func operate(ctx context.Context, dir string, do func(operated) error) (running bool, err error) {
	if err := crawldir.Require(dir); err != nil {
		return false, err
	}
	remote, asked := control.Connect(ctx, dir)
	if asked == nil {
		err := do(remote)
		if errors.Is(err, control.ErrNotRunning) {
			err = fmt.Errorf("the crawl ended before it answered (%w); run the command again", err)
		}
		return true, cli.Ordered(err)
	}
	s, err := config.Of(dir)
	if err != nil {
		return false, err
	}
	stopped, err := crawldir.OpenStopped(ctx, dir, s)
	if err != nil {
		return false, cli.InUse(err, dir)
	}
	err = do(stopped)
	return false, cli.Ordered(errors.Join(err, stopped.Close()))
}

// authoritiesOf returns the authorities that the crawl has for names of hosts. If unknown is set, it also takes a host
// that is new to the crawl, if the name means one authority only.
func authoritiesOf(ctx context.Context, o finder, names []string, unknown bool) ([]canon.Authority, error) {
	var all []canon.Authority
	for _, name := range names {
		a, exact, err := control.ParseHost(name)
		if err != nil {
			return nil, cli.Usagef("--host %s: %w", name, err)
		}
		found, err := o.Find(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case len(found) > 0:
			all = append(all, found...)
		case unknown && exact:
			all = append(all, a)
		case unknown:
			return nil, cli.Usagef("--host %s: the crawl has no URL of that host; to have it so from its first URL on, write --host https://%s", name, a.HostPort())
		default:
			return nil, cli.Usagef("--host %s: the crawl has no URL of that host", name)
		}
	}
	return all, nil
}

// goOn prints how to resume a stopped crawl.
func goOn(std cli.Streams, dir string, running bool) {
	if !running {
		fmt.Fprintf(std.Err, "continue with curtsy resume %s\n", plainly.Lines(plainly.Argument(dir)))
	}
}

type listing struct {
	hosts                  []string
	state, outcome, reason string
	urls, json             bool
}

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

// check refuses unknown words, and flags that do not go together.
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

// sayUnlisted prints how many URLs in question were dropped when found: the frontier only counts them.
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

func (l *listing) printHost(out *bufio.Writer, h frontier.Host) error {
	pending := h.Queued + h.Deferred
	name := h.Authority.Origin()
	state, why, wait := h.Condition.String(), h.Reason, h.Wait
	if h.Hold.Act != 0 {
		state, why, wait = "parked", status.HoldName(h.Hold.Act), h.Hold.Wait
		if h.Hold.Act == frontier.Drop {
			state = "dropped"
		}
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
		seconds := wait.Seconds()
		if wait == frontier.Never {
			seconds = 0
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
		}{name, state, why, seconds, h.Pace.Seconds(), h.Queued, h.Deferred, outcomes})
	}
	if why != "" {
		why = "  (" + plainly.OneLine(plainly.Reason(why)) + ")"
	}
	_, err := fmt.Fprintf(out, hostColumns, strconv.FormatInt(pending, 10), strconv.FormatInt(h.Outcomes[frontier.Fetched], 10), strconv.FormatInt(h.Outcomes[frontier.Failed], 10),
		state, text.ShortWait(wait), plainly.OneLine(name), why)
	return err
}

type retrials struct {
	failed, disallowed, gone, dropped bool
	hosts                             bool // open those that are refused
	host                              string
	reason                            string
	json                              bool
}

func newRetry(std cli.Streams) *cobra.Command {
	var r retrials
	cmd := cli.Command("frontier retry", cli.Flags{
		"failed": &r.failed, "disallowed": &r.disallowed, "gone": &r.gone, "dropped": &r.dropped,
		"hosts": &r.hosts, "host": &r.host, "reason": &r.reason, "json": &r.json,
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0], std) }
	return cmd
}

// outcomes returns the outcomes to retry: failed, if no flag is set.
func (r *retrials) outcomes() []frontier.Outcome {
	var os []frontier.Outcome
	for _, f := range []struct {
		wanted  bool
		outcome frontier.Outcome
	}{
		{r.disallowed, frontier.Disallowed}, {r.failed, frontier.Failed}, {r.gone, frontier.Gone}, {r.dropped, frontier.Dropped},
	} {
		if f.wanted {
			os = append(os, f.outcome)
		}
	}
	if len(os) == 0 && !r.hosts {
		os = append(os, frontier.Failed)
	}
	return os
}

func (r *retrials) run(ctx context.Context, dir string, std cli.Streams) (err error) {
	var report retryReport
	r.reason = plainly.Name(r.reason)
	running, err := operate(ctx, dir, func(o operated) error {
		report, err = r.apply(ctx, o)
		return err
	})
	if err != nil {
		return err
	}
	if r.json {
		return cli.WriteJSON(std.Out, report.JSON())
	}
	if _, err := fmt.Fprint(std.Out, report); err != nil {
		return err
	}
	if report.any() {
		goOn(std, dir, running)
	}
	return nil
}

func (r *retrials) apply(ctx context.Context, f operated) (retryReport, error) {
	report := retryReport{urls: map[frontier.Outcome]int64{}}
	authorities := []canon.Authority{{}} // all
	if r.host != "" {
		var err error
		if authorities, err = authoritiesOf(ctx, f, []string{r.host}, false); err != nil {
			return report, err
		}
	}
	var all []frontier.Retrial
	if r.hosts {
		all = append(all, frontier.Retrial{Hosts: true, Robots: true})
	}
	for _, o := range r.outcomes() {
		all = append(all, frontier.Retrial{Outcome: o, Reason: r.reason, Robots: o == frontier.Disallowed})
		report.outcomes = append(report.outcomes, o)
	}
	report.opening = r.hosts
	for _, one := range all {
		for _, one.Authority = range authorities {
			n, err := f.Retry(ctx, one)
			if err != nil {
				return report, err
			}
			report.urls[one.Outcome] += n.URLs
			report.hosts += n.Hosts
		}
	}
	return report, nil
}

type retryReport struct {
	outcomes []frontier.Outcome
	urls     map[frontier.Outcome]int64
	opening  bool // the user named hosts
	hosts    int64
}

func (r retryReport) any() bool {
	n := r.hosts
	for _, k := range r.urls {
		n += k
	}
	return n > 0
}

// String has a line for each outcome retried.
func (r retryReport) String() string {
	var b strings.Builder
	for _, o := range r.outcomes {
		fmt.Fprintf(&b, "%s to be tried again, of those %s\n", plainly.Count(r.urls[o], "URL"), o)
	}
	if r.opening {
		fmt.Fprintf(&b, "%s opened, of those refused\n", plainly.Count(r.hosts, "host"))
	}
	return b.String()
}

// JSON has the numbers of URLs by outcome, and of hosts.
func (r retryReport) JSON() map[string]int64 {
	m := map[string]int64{}
	for _, o := range r.outcomes {
		m[o.String()] = r.urls[o]
	}
	if r.opening {
		m["hosts"] = r.hosts
	}
	return m
}

type release struct {
	trap, host string
	json       bool
}

func newRelease(std cli.Streams) *cobra.Command {
	var r release
	cmd := cli.Command("frontier release", cli.Flags{"trap": &r.trap, "host": &r.host, "json": &r.json})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0], std) }
	cli.Words(cmd.Flags(), "trap", "queries", "template", "max-per-tag")
	return cmd
}

// reason is the reason of the URLs to release; "" for all.
func (r *release) reason() (string, error) {
	switch rule := storage.RuleOfTraps + strings.TrimPrefix(r.trap, storage.RuleOfTraps); {
	case r.trap == "":
		return "", nil
	case rule == trap.RuleQueries || rule == trap.RuleTemplate:
		return rule, nil
	case r.trap == budget.MaxPerTag:
		return budget.HeldByTag, nil
	}
	return "", cli.Usagef("--trap %s: no such rule holds URLs; queries, template and max-per-tag do", r.trap)
}

func (r *release) run(ctx context.Context, dir string, std cli.Streams) error {
	reason, err := r.reason()
	if err != nil {
		return err
	}
	released := int64(0)
	running, err := operate(ctx, dir, func(o operated) error {
		authorities := []canon.Authority{{}} // all
		if r.host != "" {
			if authorities, err = authoritiesOf(ctx, o, []string{r.host}, false); err != nil {
				return err
			}
		}
		for _, a := range authorities {
			n, err := o.Retry(ctx, frontier.Retrial{Outcome: frontier.Held, Reason: reason, Authority: a})
			if err != nil {
				return err
			}
			released += n.URLs
		}
		return nil
	})
	if err != nil {
		return err
	}
	if r.json {
		return cli.WriteJSON(std.Out, map[string]int64{"released": released})
	}
	if _, err := fmt.Fprintf(std.Out, "%s released\n", plainly.Count(released, "URL")); err != nil {
		return err
	}
	if released > 0 {
		goOn(std, dir, running)
	}
	return nil
}

// steer is one of frontier pause, drop and unpause.
type steer struct {
	act    frontier.Act
	hosts  []string
	length crawldir.Duration
	reason string
	json   bool
}

func newSteer(verb string, act frontier.Act, std cli.Streams) *cobra.Command {
	s := steer{act: act}
	flags := cli.Flags{"host": &s.hosts, "json": &s.json}
	switch act {
	case frontier.Park:
		flags["for"] = &s.length
		fallthrough
	case frontier.Drop:
		flags["reason"] = &s.reason
	}
	cmd := cli.Command("frontier "+verb, flags)
	if act == frontier.Drop {
		cmd.Args = dirFirst(0, -1)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args, std) }
	return cmd
}

type steered struct {
	Host    string `json:"host"`
	Changed bool   `json:"changed"`
	URLs    int64  `json:"urls"` // closed
	what    frontier.Steering
}

// mostSteered bounds the URLs of one command, which must fit into a request to a running crawl.
const mostSteered = 500

func (s *steer) run(ctx context.Context, args []string, std cli.Streams) error {
	dir := args[0]
	if s.act != frontier.Drop && len(s.hosts) == 0 {
		return s.whole(ctx, dir, std)
	}
	single, err := s.urls(args[1:])
	if err != nil {
		return err
	}
	var done []steered
	running, err := operate(ctx, dir, func(o operated) error {
		all := single
		authorities, err := authoritiesOf(ctx, o, s.hosts, s.act != frontier.Resume)
		if err != nil {
			return err
		}
		for _, a := range authorities {
			all = append(all, frontier.Steering{Act: s.act, Authority: a, For: time.Duration(s.length), Reason: s.reason})
		}
		for _, one := range all {
			did, err := o.Steer(ctx, one)
			if err != nil {
				return err
			}
			done = append(done, steered{one.Authority.Origin(), did.Changed, did.URLs, one})
		}
		return nil
	})
	for _, d := range done { // also of a command that failed in the middle
		if s.json {
			if err := cli.WriteLine(std.Out, d); err != nil {
				return err
			}
		} else if _, err := fmt.Fprintln(std.Out, plainly.OneLine(d.String())); err != nil {
			return err
		}
	}
	if err == nil && len(single) > 0 && !slices.ContainsFunc(done, func(d steered) bool { return d.URLs > 0 }) {
		return fmt.Errorf("nothing was dropped: no such URL is pending. List pending URLs with curtsy frontier ls --urls --state pending %s; "+
			"a whole host is dropped with curtsy frontier drop --host %s %s", plainly.Argument(dir), done[0].Host, plainly.Argument(dir))
	}
	if err == nil {
		goOn(std, dir, running)
	}
	return err
}

// whole pauses or unpauses a running crawl.
func (s *steer) whole(ctx context.Context, dir string, std cli.Streams) error {
	on := s.act == frontier.Park
	if s.length != 0 {
		return cli.Usagef("--for goes with --host: a whole crawl is paused until frontier unpause")
	}
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	remote, err := control.Connect(ctx, dir)
	if errors.Is(err, control.ErrNotRunning) {
		return fmt.Errorf("the crawl in %s is not running; continue it with curtsy resume %s, or give --host HOST", dir, plainly.Argument(dir))
	}
	if err != nil {
		return err
	}
	if err := remote.Pause(control.Noted(ctx, s.reason), on); err != nil {
		return err
	}
	if s.json {
		return cli.WriteLine(std.Out, map[string]bool{"paused": on})
	}
	text := "the crawl continues"
	if on {
		text = "the crawl is paused until frontier unpause"
	}
	_, err = fmt.Fprintln(std.Out, text)
	return err
}

// urls returns the commands that drop single URLs, by host.
func (s *steer) urls(args []string) ([]frontier.Steering, error) {
	switch {
	case len(args) == 0 && len(s.hosts) == 0:
		return nil, cli.Usagef("nothing to drop: give --host HOST, or URLs after the directory")
	case len(args) > 0 && len(s.hosts) > 0:
		return nil, cli.Usagef("give --host or URLs, not both: a host's URLs go with it")
	case len(args) > 0 && s.reason != "":
		return nil, cli.Usagef("--reason goes with --host: a URL that is dropped has the reason %q", frontier.ReasonOperator)
	}
	byHost := map[canon.Authority][]canon.URL{}
	var order []canon.Authority
	for _, raw := range args {
		u, err := cli.URL(raw)
		if err != nil {
			return nil, err
		}
		a := u.Authority()
		if byHost[a] == nil {
			order = append(order, a)
		}
		byHost[a] = append(byHost[a], u)
	}
	var all []frontier.Steering
	for _, a := range order {
		for us := range slices.Chunk(byHost[a], mostSteered) {
			all = append(all, frontier.Steering{Act: frontier.Drop, Authority: a, URLs: us})
		}
	}
	return all, nil
}

func (d steered) String() string {
	switch s := d.what; {
	case len(s.URLs) > 0:
		text := fmt.Sprintf("%s: %s of %d dropped", d.Host, plainly.Count(d.URLs, "URL"), len(s.URLs))
		if d.URLs < int64(len(s.URLs)) {
			text += "; the others are not pending, or not known"
		}
		return text
	case s.Act == frontier.Drop:
		return fmt.Sprintf("%s: dropped, with %s; URLs found there later are rejected", d.Host, plainly.Count(d.URLs, "pending URL"))
	case s.Act == frontier.Park && s.For > 0:
		return fmt.Sprintf("%s: paused for %v", d.Host, s.For)
	case s.Act == frontier.Park:
		return d.Host + ": paused until frontier unpause"
	case !d.Changed:
		return d.Host + ": was open already"
	}
	return d.Host + ": open again"
}
