package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler"
	"curtsy/crawler/budget"
	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/explain"
	"curtsy/crawler/found"
	"curtsy/crawler/hostlock"
	"curtsy/crawler/inquiry"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/engine"
	"curtsy/robots"
	"curtsy/storage"
)

// explaining is one invocation of explain.
type explaining struct {
	dir     string
	written string
	url     canon.URL
	at      time.Time // zero: now
	live    bool
	json    bool

	settings *crawldir.Settings // those of the crawl
	config   crawler.Config     // made of them
	running  bool
}

// explainCommand is curtsy explain.
func explainCommand(std cli.Streams) *cobra.Command {
	var x explaining
	var at string
	cmd := cli.Command("explain", cli.Flags{"at": &at, "live": &x.live, "json": &x.json})
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 {
			return nil
		}
		return fmt.Errorf("explain takes a crawl directory and one URL: write %s", cmd.UseLine())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		x.dir, x.written = args[0], args[1]
		if err := x.check(at, time.Now()); err != nil {
			return err
		}
		return x.run(cmd.Context(), std)
	}
	return cmd
}

// check reads the question.
func (x *explaining) check(at string, now time.Time) (err error) {
	if x.url, err = cli.URL(x.written); err != nil {
		return err
	}
	if at != "" {
		if x.at, err = parseAt(at, now); err != nil {
			return err
		}
	}
	if x.live && at != "" {
		return cli.Usagef("--live is about now, --at about the past: use only one of them")
	}
	return crawldir.Require(x.dir)
}

// parseAt reads an instant that is over.
func parseAt(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		if d > 0 {
			return time.Time{}, cli.Usagef("--at %s lies ahead; write -%s for that long ago", text, text)
		}
		return now.Add(d), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		t, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		if t.After(now) {
			return time.Time{}, cli.Usagef("--at %s is in the future", text)
		}
		return t, nil
	}
	return time.Time{}, cli.Usagef("--at %q is not a time; write it like 2026-11-21T10:00:00Z, '2026-11-21 10:00' (UTC) or -2h", text)
}

// explanation is what explain prints.
type explanation struct {
	explain.Explanation
	History history `json:"history"`
}

func (x *explaining) run(ctx context.Context, std cli.Streams) error {
	if err := x.configure(); err != nil {
		return err
	}
	e, err := x.answer(ctx)
	if err != nil {
		return err
	}
	if x.json {
		e.History.Pack()
		return cli.WriteJSON(std.Out, e)
	}
	_, err = fmt.Fprint(std.Out, text.Render("explain", explainText{e}))
	return err
}

// configure reads the settings of the crawl.
func (x *explaining) configure() error {
	s, err := config.Of(x.dir)
	if err != nil {
		return err
	}
	if err := s.OpenLists(x.dir, nil); err != nil {
		return err
	}
	x.settings = s
	x.config, err = x.settings.CrawlerConfig(nil, nil)
	return err
}

// answer asks the crawl, then the ledger, and the archive or the host if that was asked for.
func (x *explaining) answer(ctx context.Context) (explanation, error) {
	q := explain.Question{URL: x.url, Written: x.written}
	e, err := x.ask(ctx, q)
	if err != nil {
		return explanation{}, err
	}
	if x.live && x.running {
		return explanation{}, cli.Usagef("the crawl in %s is running, and --live would add requests beside it; leave out --live to see the policy that the crawl has", x.dir)
	}
	l := of(explainSubject{Dir: x.dir, URL: x.url, Via: e.State.Via, At: x.at, Config: x.config})
	if err := l.Read(ctx); err != nil {
		return explanation{}, err
	}
	if how := found.As(x.url, l.How); e.State.Assumed && how.Kind != 0 {
		q.Found = how
		if e, err = x.ask(ctx, q); err != nil {
			return explanation{}, err
		}
	}
	out := explanation{e, l.history}
	out.Notes = append(out.Notes, l.Notes...)
	switch {
	case !x.at.IsZero():
		l.Past(&out.Explanation)
	case x.live:
		err = x.askLive(ctx, &out.Explanation)
	case l.Last.Outcome != "" && out.State.State == "seen":
		out.TakeLine(l.Last)
	case l.Last.Reason == storage.RuleNoFollow || l.Last.Reason == storage.RuleDepth:
		out.LeftOut(l.Last.Reason)
	}
	return out, err
}

// ask asks the running crawl, or reads the frontier when none answers.
func (x *explaining) ask(ctx context.Context, q explain.Question) (explain.Explanation, error) {
	remote, asked := control.Connect(ctx, x.dir)
	if asked == nil {
		x.running = true
		e, err := remote.Explain(ctx, q)
		if errors.Is(err, control.ErrNotRunning) {
			err = fmt.Errorf("the crawl ended before it answered (%w); run the command again", err)
		}
		return e, cli.Ordered(err)
	}
	f, err := engine.OpenReadOnly(x.dir)
	if errors.Is(err, frontier.ErrInUse) {
		return explain.Explanation{}, fmt.Errorf("%s is in use (%w), by a crawl that is starting or ending, or by another command; try again later", x.dir, asked)
	}
	if err != nil {
		return explain.Explanation{}, cli.Damaged(err, x.dir)
	}
	x.running, x.config.Frontier = false, f
	e, err := crawler.ExplainStopped(ctx, x.config, q)
	x.config.Frontier = nil
	return e, cli.Damaged(errors.Join(err, f.Close()), x.dir)
}

// askLive asks the host for its robots.txt now, as a crawl would: under the user's identity, behind the guard, one
// exchange after the other, at the pace for hosts of others. Nothing of it is recorded. Who is to be left alone is not
// asked, whoever wants to know.
func (x *explaining) askLive(ctx context.Context, e *explain.Explanation) (err error) {
	if why := leftAlone(e); why != "" {
		e.Notes = append(e.Notes, "not requested: "+why)
		return nil
	}
	locks, err := x.hostLocks(e)
	if err != nil || locks == nil {
		return err
	}
	defer func() { err = errors.Join(err, locks.Close()) }()
	q, err := inquiry.New(x.settings, []canon.URL{x.url}, locks)
	if err != nil {
		return err
	}
	defer q.Close()
	origin := x.url.Authority().Origin()
	terms := robots.Terms{Standard: x.config.Standard, Strict: true}
	var state robots.State
	var ex robots.Exchange
	need := terms.Need(state, origin, time.Now())
	for need.Action == robots.Fetch {
		ex, err = q.Exchange(ctx, need.URL)
		if resting := (*inquiry.Resting)(nil); errors.As(err, &resting) {
			e.Notes = append(e.Notes, "not requested: "+resting.Wish.String())
			return nil
		}
		if err != nil {
			return err
		}
		state, need = terms.Next(state, origin, ex, time.Now())
	}
	e.TakePolicy(x.config.Gate(), explain.PolicyLive, x.url, state, ex.Body, "", time.Now())
	return nil
}

// hostLocks opens the locks that all crawls of this user share (politeness rule 17). They are nil when another crawl is
// asking the host, or has just done so, which a note then says.
func (x *explaining) hostLocks(e *explain.Explanation) (*hostlock.Locks, error) {
	a := x.url.Authority()
	locks, err := crawldir.HostLocks(func(format string, args ...any) { e.Notes = append(e.Notes, fmt.Sprintf(format, args...)) })
	if err != nil || a.Loopback() {
		return locks, err
	}
	wait, err := locks.Take(a, crawler.Floor)
	switch {
	case err != nil:
	case wait > 0:
		e.Notes = append(e.Notes, "not requested: another of your crawls is using that host; try again later")
	default: // the exchange takes it anew
		if err = locks.Release(a, 0); err == nil {
			return locks, nil
		}
	}
	return nil, errors.Join(err, locks.Close())
}

// leftAlone says why nothing may be asked of a host now, or "".
func leftAlone(e *explain.Explanation) string {
	h := &e.Host
	switch {
	case e.OptOut != nil:
		return "it opted out"
	case h.Hold != "":
		return "the host is " + h.Hold
	case h.Condition == "refused" || h.Condition == "retired":
		return "the host is " + h.Condition + ": " + h.Reason
	case h.Until != nil && h.Until.After(e.Now):
		return fmt.Sprintf("the host is backing off until %s", h.Until.Format(time.RFC3339))
	}
	return ""
}

// explainText is what the template of an explanation takes.
type explainText struct{ explanation }

// Decider is the rule of the scope that decides; nil if none was asked.
func (e explainText) Decider() *explain.Rule {
	if n := len(e.Scope.Asked); n > 0 {
		return &e.Scope.Asked[n-1]
	}
	return nil
}

// Passed are the rules of the scope before that.
func (e explainText) Passed() string {
	var names []string
	for _, r := range e.Scope.Asked[:max(len(e.Scope.Asked)-1, 0)] {
		names = append(names, r.Rule)
	}
	return strings.Join(names, ", ")
}

// AddressDelay is the delay between two starts at one address, in seconds, unless a term has it already.
func (e explainText) AddressDelay() float64 {
	if n := len(e.Pace.Terms); n > 0 && e.Pace.Terms[n-1].By == storage.ByAddress {
		return 0
	}
	return e.Pace.Address
}

// Unit is that of a budget.
func (explainText) Unit(b explain.Budget) string {
	return map[string]string{budget.MaxTime: " s", budget.MaxBytes: " B"}[b.Name]
}

// maxAsked is how many exchanges for robots.txt the text has; JSON has more.
const maxAsked = 5

// LastAsked are the last exchanges for the host's robots.txt, redirects included.
func (e explainText) LastAsked() []storage.Line {
	all := e.History.Asked()
	return all[max(len(all)-maxAsked, 0):]
}
