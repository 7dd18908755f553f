package crawler

import (
	"context"
	"fmt"
	"maps"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
)

// visit is one turn in the making: the lease, what we know of the host, and the result it will finish with.
type visit struct {
	turn  frontier.Turn
	own   bool
	floor time.Duration
	notes notes
	state robots.State
	rules rules
	pace  pace // as it was when the turn began; anew once there are new rules, or a new response time

	result  frontier.Result
	refused []refusal // found and refused, without a line of the ledger yet
	seeds   []string  // seeds that ended without a usable answer, with why
	end     time.Time // of this turn's exchange; zero when there was none
	rest    rest      // what the exchange means for the host
	pages   int64     // 2xx HTML answers this turn brought

	// after, if not nil, is done when the turn is finished: work that must not hold this lease.
	after func(ctx context.Context) error
}

// visit opens a claimed turn.
func (c *Crawl) visit(t frontier.Turn) (*visit, error) {
	v := &visit{turn: t, own: c.cfg.own(t.Authority), floor: c.cfg.floor(t.Authority)}
	v.result = frontier.Result{Authority: t.Authority, Token: t.Token, Counts: map[string]int64{}}
	var err error
	if v.notes, err = readNotes(t.Host.Memory); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Authority, err)
	}
	v.notes.begin(c.run, c.clock.micros(time.Now()))
	if len(t.Host.Robots) > 0 {
		if err = v.state.UnmarshalBinary(t.Host.Robots); err != nil {
			return nil, fmt.Errorf("crawler: %s: robots state: %w", t.Authority, err)
		}
	}
	v.knows(rules{})
	return v, nil
}

// origin is the authority in the form robots wants: scheme and host, the port only if it is not the default.
func origin(a canon.Authority) string { return a.Scheme() + "://" + a.HostPort() }

// recall sets the rules that the host's state holds, be they valid still or to be asked for anew: the pace that they
// ask for is kept until others are known.
func (c *Crawl) recall(ctx context.Context, v *visit) error {
	r, err := c.gate.of(ctx, v.state)
	if err == nil {
		v.knows(r)
	}
	return err
}

// knows sets the rules that hold for the host from now on.
func (v *visit) knows(r rules) {
	v.rules = r
	v.pace = paceOf(v.floor, v.own, r.book, &v.notes)
}

// owed is what is left of the pace. A claim comes when the host's wait is over; but rules that came by way of another
// host, or a longer --delay than that of the last run, ask for more than was waited for.
func (v *visit) owed(c *Crawl) time.Duration {
	if v.notes.lastEnd == 0 {
		return 0
	}
	since := time.Duration(c.clock.micros(time.Now())-v.notes.lastEnd) * time.Microsecond
	if owed := v.pace.d - since; owed > time.Microsecond { // what rounding may leave
		return owed
	}
	return 0
}

// ask makes the turn's exchange. The error is that of fetch.Fetcher.Do; even so the exchange may have begun.
func (c *Crawl) ask(ctx context.Context, v *visit, r fetch.Request) (*fetch.Exchange, error) {
	ex, err := c.cfg.Fetcher.Do(ctx, r)
	if err != nil {
		v.cut(c)
	}
	return ex, err
}

// cut notes that an exchange was cut short, unless it is over: the pace is kept all the same.
func (v *visit) cut(c *Crawl) {
	if !v.end.IsZero() {
		return
	}
	v.end = time.Now()
	v.notes.lastEnd = c.clock.micros(v.end)
	v.rest.wait = max(v.rest.wait, v.pace.d)
}

// exchanged notes that the turn's exchange is over and what it means for the host. obey says that Retry-After means
// something with this answer.
func (v *visit) exchanged(c *Crawl, ex *fetch.Exchange, a answer, why string, obey bool) {
	v.end = ex.End
	v.notes.heard(ex.ResponseTime)
	v.notes.lastEnd = c.clock.micros(ex.End)
	v.pace = paceOf(v.floor, v.own, v.rules.book, &v.notes)
	asked, ok := retryAfter(ex.Header, ex.End)
	v.rest = v.notes.after(a, why, asked, ok && obey, v.pace.d)
	if a.trouble() {
		v.count(countPrefixErrors+why, 1)
	}
	if len(ex.Request) == 0 {
		return // no connection came about: nothing was asked of anybody
	}
	var octets int64
	if ex.Response != nil {
		octets = ex.Response.Size()
	}
	v.count(CountExchanges, 1)
	v.count(CountBytes, octets)
	answered := ex.Status != 0
	if answered {
		v.count(CountAnswers, 1)
	}
	c.budget.spend(octets, answered)
}

// gap is the time from the end of the host's previous exchange to start; 0 when there was none.
func (v *visit) gap(c *Crawl, start time.Time) time.Duration {
	if v.notes.lastEnd == 0 {
		return 0
	}
	return time.Duration(c.clock.micros(start)-v.notes.lastEnd) * time.Microsecond
}

// leave makes the host rest beyond what the exchange asks for.
func (v *visit) leave(condition frontier.Condition, reason string, wait time.Duration) {
	if condition >= v.rest.condition {
		v.rest.condition, v.rest.reason = condition, reason
	}
	v.rest.wait = max(v.rest.wait, wait)
}

// wait is how long the host waits for its next turn, from now: its rest counts from the end of the exchange.
func (v *visit) wait() time.Duration {
	if v.end.IsZero() {
		return v.rest.wait
	}
	return v.rest.wait - time.Since(v.end)
}

// dry reports whether nothing of the host is left to do, as far as this turn knows; it has found so many new URLs.
func (v *visit) dry(found int) bool {
	h := v.turn.Host
	return len(v.turn.Tasks) > 0 && len(v.result.Done) == len(v.turn.Tasks) && h.Queued+h.Deferred == 0 && found == 0
}

func (v *visit) count(name string, n int64) {
	if n != 0 {
		v.result.Counts[name] += n
	}
}

// mark returns what undo goes back to.
func (v *visit) mark() visit {
	before := *v
	before.result.Counts = maps.Clone(v.result.Counts)
	return before
}

// undo takes back what was added to the result since mark, but not what it cost: octets were received, and the host
// was asked.
func (v *visit) undo(before visit) {
	counts := v.result.Counts
	v.result, v.refused, v.seeds = before.result, before.refused, before.seeds
	v.pages, v.notes.pages = before.pages, before.notes.pages
	for _, name := range []string{CountExchanges, CountBytes, CountAnswers, CountRobots} {
		if n := counts[name]; n > 0 {
			v.result.Counts[name] = n
		}
	}
}
