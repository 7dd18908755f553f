package crawler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/optout"
	"curtsy/storage/plainly"
)

const robotsAccept = "text/plain, */*;q=0.5"

// The timeouts of robots.txt, a file of a few lines that everything else waits for.
const (
	RobotsFirstByte = 20 * time.Second
	RobotsWhole     = 30 * time.Second
)

// policies is the stage that gets the robots policy of a host, and the proof that it is own, before its URLs are judged.
type policies struct {
	cfg       *Config
	gate      *gate.Gate
	redirects *gate.Redirects // of robots.txt to other hosts
	exchanger *exchanger
	settler   *settler
	record    *record.Writer
	dates     *record.Dates
	stopper   *stopper
	rests     record.Rests
	maxWait   func() time.Duration // of Crawl
}

// admission is whether the URLs of a turn may be judged. Otherwise the turn is over: it was spent on the policy, or has to wait.
type admission struct {
	ready bool
	then  *gate.Request // to make after the turn under the lease of another host; may be nil
}

// admit ensures that the host's robots policy is valid.
func (c *policies) admit(ctx context.Context, v *visit) (a admission, err error) {
	if left, ok := c.rests.Left(v.turn.Authority, &v.memory, v.clock); ok {
		v.rest = left
		return a, nil
	}
	need := c.gate.Terms.Need(v.state, v.turn.Authority.Origin(), time.Now())
	if ex, ok := c.redirects.Collect(v.turn.Authority, need.URL); ok {
		need = c.learn(v, ex, time.Now())
	}
	if need.Action == robots.Wait {
		v.leaveAlone(frontier.Parked, host.WhyUnreachable(v.state), need.After)
		return a, nil
	}
	// A policy that no request has used yet is used once, however short-lived: with a delay longer than its life every turn
	// would be spent on robots.txt. RFC 9309 2.4 allows 24 hours.
	learned := v.state.Fetched()
	if age := time.Since(learned); !learned.IsZero() && learned.UnixMicro() >= v.memory.LastEnd && age >= 0 && age < host.Day {
		need.Action = robots.Judge
	}
	if need.Action != robots.Fetch { // an old policy may have changed since
		if c.leaveIfTooSlow(v); v.rest.Condition > frontier.Parked {
			return a, nil
		}
	}
	if owed := v.owed(); owed > 0 {
		v.rest.Wait = max(v.rest.Wait, owed)
		return a, nil
	}
	if w, ok := c.redirects.Next(v.turn.Authority); ok {
		return a, c.fetchFor(ctx, v, w)
	}
	if need.Action != robots.Judge {
		if a, err = c.fetchPolicy(ctx, v, need); err != nil || !a.ready {
			return a, err
		}
	}
	a.ready = true
	if c.unproved(v) {
		a.ready, err = c.prove(ctx, v)
	}
	if err == nil {
		err = c.withheld(v)
	}
	return a, err
}

// fetchPolicy spends the turn on robots.txt, or on a hop of its redirects. It is ready if it could not, but the current policy
// is still valid.
func (c *policies) fetchPolicy(ctx context.Context, v *visit, need robots.Need) (a admission, err error) {
	u, err := canon.Parse(need.URL)
	if err != nil {
		c.learn(v, gate.Answer{Exchange: robots.Exchange{URL: need.URL, Failure: "redirect to no URL"}}, time.Now())
		return a, nil
	}
	w := gate.Request{From: v.turn.Authority, Need: need, URL: u, Attempt: v.state.Failures() + 1}
	if v.brief {
		w.Attempt += int(v.memory.Unknown)
	}
	w.ByAsked = v.state.Passed(gate.PolicyURL(u.Authority()))
	if need.IfNoneMatch != "" || need.IfModifiedSince != "" {
		w.Holds = v.memory.Source.Original(need.URL)
	}
	if u.Authority() != v.turn.Authority {
		return c.fetchElsewhere(ctx, v, w)
	}
	// This turn has no page, so others get its ticket meanwhile. Otherwise a crawl of few pages would try dead hosts one by one.
	v.budget.Give(0)
	defer v.budget.Hold(1)
	got, err := c.askPolicy(ctx, v, w)
	switch {
	case err != nil:
	case got.optOut != nil:
		err = c.settler.dropAll(ctx, v, got.optOut)
	case got.asked && !v.dead:
		c.learn(v, got.Answer, v.end)
	}
	return a, err
}

// policyAnswer is the result of an exchange for robots.txt.
type policyAnswer struct {
	gate.Answer
	asked  bool        // false: the crawl drains, or the exchange has to wait
	page   meaning     // for a task with its URL; zero if no response was read
	optOut *optout.Hit // that prevented it; may be nil
}

// askPolicy makes and records one exchange for robots.txt, or a hop of it, under the lease of v.
func (c *policies) askPolicy(ctx context.Context, v *visit, w gate.Request) (got policyAnswer, err error) {
	got.URL = w.Need.URL
	if c.stopper.draining.Err() != nil {
		return got, nil
	}
	line := c.policyLine(v, w)
	ex, err := c.exchanger.ask(ctx, v, fetch.Request{
		URL: w.URL, Accept: robotsAccept,
		IfNoneMatch: w.Need.IfNoneMatch, IfModifiedSince: w.Need.IfModifiedSince,
		MaxBody: robots.MaxBody + 1, Partial: true,
		FirstByteTimeout: RobotsFirstByte, WholeTimeout: RobotsWhole,
	})
	line.Pace, line.PaceBy = v.kept.Pause, v.kept.By
	if errors.Is(err, errNotYet) {
		return got, nil
	}
	if err != nil && late(ctx, err) {
		got.Failure, line.Reason, line.Time = string(fetch.Timeout), reasonLease, v.end
		got.asked = true
		_, err := c.record.Write(context.WithoutCancel(ctx), line, record.Evidence{})
		return got, err
	}
	if err != nil {
		return got, err // a failure of curtsy's own state does not concern the policy
	}
	defer ex.Close()
	ctx = context.WithoutCancel(ctx) // it is recorded even if the lease is over
	line.Time = ex.End
	if got.optOut = entryOf(ex.Failure); got.optOut != nil {
		line.Reason, line.Attempt = reasonOptOut, 0
		line.Pace, line.PaceBy = 0, ""
		nameEntry(&line, got.optOut)
		got.Failure = reasonOptOut
		got.asked = true
		_, err := c.record.Write(ctx, line, record.Evidence{})
		return got, err
	}
	line.Gap = v.gap(ex.Start)
	if stopped(ex) {
		return got, c.settler.writeStopped(ctx, v, line, ex, func() { v.recordPolicyExchange(ex, host.CutOff, host.Aborted) })
	}
	if got.Exchange, err = robotsExchange(ex, w.Need.URL); err != nil {
		return got, err
	}
	a, why := host.Classify(ex)
	got.page = meaning{Exchange: ex, answer: a, why: why}
	v.recordPolicyExchange(ex, a, why)
	v.noteRest(&line)
	c.notePolicyRest(v, &line, w, got.Exchange)
	line.Reason = why
	if got.Failure == "" && ex.Status >= 200 && ex.Status < 300 {
		line.RobotsSHA256 = digestOf(got.Body)
	}
	e := record.Evidence{Exchange: ex, Outlinks: record.Outlinks(ex, extract.Page{})}
	if ex.Status == http.StatusNotModified {
		e.Confirmed = w.Holds
	}
	e.Describe(&line)
	got.Date = c.dates.Of(ex.Start)
	got.Record, err = c.record.Write(ctx, line, e)
	got.asked = err == nil
	return got, err
}

// policyLine begins the line of an exchange for robots.txt. It has no seed, since many may lead to the host.
func (c *policies) policyLine(v *visit, w gate.Request) storage.Line {
	line := storage.Line{
		URL: w.URL.String(), Decision: storage.DecisionRobots, Standard: c.gate.Terms.Standard.String(),
		Kind: w.Kind, Attempt: w.Attempt, Own: v.own,
	}
	if asked := gate.PolicyURL(w.From); asked != line.URL {
		line.Via = asked
	}
	return line
}

// robotsExchange converts an exchange for package robots.
func robotsExchange(ex *fetch.Exchange, url string) (heard robots.Exchange, err error) {
	heard = robots.Exchange{URL: url, Status: ex.Status, Header: ex.Header, Located: true}
	to, err := ex.URL.Resolve(ex.Header.Get("Location"))
	if heard.Location = to.String(); canon.ReasonOf(err) == canon.Scheme {
		heard.Located = false // package robots has the words for it
	}
	switch {
	case ex.Failure != nil:
		heard.Failure = string(ex.Failure.Class)
	case ex.Undecoded != "" && ex.Status >= 200 && ex.Status < 300:
		heard.Failure = string(fetch.Coding) // unreadable rules are not missing rules
	}
	if ex.Body != nil {
		if heard.Body, err = io.ReadAll(ex.Body); err != nil {
			return heard, fmt.Errorf("crawler: read the body of %s: %w", ex.URL, err)
		}
		heard.Oversize = ex.Truncated == fetch.CutLength
	}
	return heard, nil
}

// recordPolicyExchange is recordExchange for robots.txt, where Retry-After counts with any status (politeness rule 11).
func (v *visit) recordPolicyExchange(ex *fetch.Exchange, a host.Answer, why string) {
	if a == host.Unwanted && ex.Failure != nil {
		a = host.Unreachable // RobotsWhole is over: a limit of curtsy for a page, a failure here
	}
	if a == host.Refused || a == host.Gone {
		a = host.Answered // an unavailable robots.txt is not a refusal: RFC 9309 2.3.1.3
	}
	reason := "robots.txt"
	if why != "" {
		reason += ": " + why
	}
	v.applySignal(ex, host.Signal{Answer: a, Why: reason, Robots: true}, true)
	if len(ex.Request) > 0 {
		v.count(budget.Robots, 1)
	}
}

// noteRest adds the back-off of an exchange to its line.
func (v *visit) noteRest(l *storage.Line) {
	if v.rest.Wait <= 0 {
		return // "Retry-After: 0" asks for no rest
	}
	switch v.rest.By {
	case storage.ByRetryAfter, storage.ByErrors, storage.ByRateLimit:
		l.Rest, l.RestBy = v.rest.Wait, v.rest.By
	}
}

// shareRest shares a back-off with the fleet before the turn ends, so that the next owner obeys it after a kill. If that fails,
// Finish does.
func (c *Crawl) shareRest(ctx context.Context, l storage.Line) {
	if u, err := canon.Parse(l.URL); err == nil {
		_, _ = c.cfg.Frontier.Steer(ctx, frontier.Steering{Act: frontier.Rest, Authority: u.Authority(), For: l.Rest})
	}
}

// notePolicyRest adds the back-off of an unreachable robots.txt to its line, if it is longer than that of the response
// (politeness rule 6).
func (c *policies) notePolicyRest(v *visit, l *storage.Line, w gate.Request, ex robots.Exchange) {
	if w.From != v.turn.Authority || v.dead {
		return // after a hop the other host backs off, not this one
	}
	_, need := c.gate.Terms.Next(v.state, w.From.Origin(), ex, v.end)
	if need.Action == robots.Wait && need.After > l.Rest {
		l.Rest, l.RestBy = need.After, storage.ByRobots
	}
}

// learn applies an exchange for robots.txt to the host's policy, and returns the next Need of the policy.
func (c *policies) learn(v *visit, ex gate.Answer, now time.Time) (need robots.Need) {
	before, failures := v.state.Fetched(), v.state.Failures()
	v.state, need = c.gate.Terms.Next(v.state, v.turn.Authority.Origin(), ex.Exchange, now)
	if !v.state.Fetched().Equal(before) {
		v.memory.Source.Learn(v.state, ex.Status, ex.Record, ex.Date)
	}
	v.hearsay(v.state, now)
	v.memory.Forbidden = ex.Status == http.StatusForbidden
	digest, ruled := v.state.Body()
	switch {
	case ruled && digest == sha256.Sum256(ex.Body):
		v.result.Blobs = append(v.result.Blobs, ex.Body)
		v.setRules(gate.Rules{Book: c.gate.Learn(digest, ex.Body)})
		v.learned = true
	case !ruled:
		all, _ := v.state.Verdict()
		v.setRules(gate.Rules{All: all})
	}
	if !v.end.IsZero() {
		v.rest.AtLeast(v.pace) // a new Crawl-delay binds the next exchange
	}
	v.policyOver(failures, ex.Failure)
	if need.Action == robots.Wait {
		reason := host.WhyUnreachable(v.state)
		v.leaveAlone(frontier.Parked, reason, need.After)
		switch class := fetch.Class(ex.Failure); { // waiting does not help
		case class == fetch.PrivateAddress:
			v.leaveAlone(frontier.Retired, reason+" (see --allow-net)", 0)
		case class.Ours():
			v.leaveAlone(frontier.Retired, reason, 0)
		}
		c.logUnreachable(v)
	}
	c.leaveIfTooSlow(v)
	return need
}

// logUnreachable logs an unavailable robots.txt, and the next try if the run waits for it. Crawl.applied logs closed hosts.
func (c *policies) logUnreachable(v *visit) {
	if v.rest.Condition > frontier.Parked {
		return
	}
	why := "nothing may be fetched: " + plainly.Reason(v.rest.Reason)
	if class := fetch.Class(v.state.Failure()); class.Unconnected() && v.rest.Reason == host.WhyUnreachable(v.state) {
		why = "could not connect: " + plainly.Reason(string(class))
	}
	again := ""
	if v.rest.Wait <= c.maxWait() {
		again = fmt.Sprintf("; next try in %v", v.rest.Wait.Round(time.Second))
	}
	c.cfg.Log("%s: %s%s", v.turn.Authority.Origin(), why, again)
}

// policyOver counts the result of fetching robots.txt: a policy ends the failures in a row, and an unreachable one is a failure
// (politeness rule 12), also if each response was valid, as in a circle of redirects. A failed exchange has counted already;
// the address guard and an opt-out do not count.
func (v *visit) policyOver(failures int, failure string) {
	switch {
	case v.state.Failures() > failures:
		if v.blamed || fetch.Class(failure).Ours() {
			return
		}
		var r host.Rest
		v.memory, r = host.WithoutPolicy(v.memory, host.WhyUnreachable(v.state))
		v.leaveAlone(r.Condition, r.Reason, 0)
		v.rest.AtLeast(host.Pace{Pause: r.Wait, By: r.By})
	case v.state.Failures() == 0 && v.state.Hops() == 0:
		v.memory = host.WithPolicy(v.memory)
	}
}

// leaveIfTooSlow retires a host whose delay is above --max-crawl-delay (politeness rule 7).
func (c *policies) leaveIfTooSlow(v *visit) {
	if site := host.Asked(v.rules.Book); site.Pause > max(c.cfg.MaxCrawlDelay, v.floor) {
		v.leaveAlone(frontier.Retired, fmt.Sprintf("%s %v is longer than --max-crawl-delay %v", site.By, site.Pause, c.cfg.MaxCrawlDelay), 0)
	}
}

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// isPolicy reports whether u is a robots.txt, in any spelling.
func isPolicy(u canon.URL) bool { return u.Key() == gate.PolicyURL(u.Authority()) }

// policyTask settles a task for the host's robots.txt by the gate, so that the crawl obeys the newest archived policy. It is the
// only exchange of its turn.
func (p *parallel) policyTask(ctx context.Context, task frontier.Task) error {
	c, v := p.c, p.v
	if p.begun {
		p.closing = true
		return nil
	}
	if v.state.Hops() > 0 { // the gate is following redirects
		p.later, p.closing = true, true
		return nil
	}
	p.begun, p.closing = true, true
	u, err := v.turn.Authority.URL("/robots.txt")
	if err != nil {
		return err
	}
	w := gate.Request{
		From: v.turn.Authority, URL: u, Attempt: v.state.Failures() + 1, Kind: storage.Kind(task.Kind.String()),
		Need: robots.Need{Action: robots.Refresh, URL: u.String()},
	}
	got, err := c.policies.askPolicy(ctx, v, w)
	switch {
	case err != nil || got.optOut == nil && !got.asked:
		return err
	case got.optOut != nil:
		return c.settler.dropAll(ctx, v, got.optOut)
	}
	v.learned = false
	if c.policies.learn(v, got.Answer, v.end); v.learned {
		if err := c.linker.nameSitemaps(ctx, v); err != nil {
			return err
		}
	}
	d := decision{kind: storage.DecisionAllow, verdict: v.rules.Judge(task.URL.RequestURI()), attempt: task.Attempts + 1, reason: got.page.why}
	if got.page.Exchange == nil || !d.verdict.Allowed {
		return nil // the task waits until robots.txt is available
	}
	d.status, d.ended = got.page.Status, got.page.End
	f := v.findings()
	if d.outcome = frontier.Failed; got.page.answer != host.Refused { // which does not concern a page
		c.outcomes.outcome(v, task, got.page, reading{}, &d, f)
	}
	if c.cfg.Past != nil {
		earlier, err := c.cfg.Past.Last(ctx, task.URL)
		if err != nil {
			return err
		}
		d.change = earlier.Change(d.outcome, false, got.page.Header, got.page.PayloadDigest)
	}
	if err := c.settler.refuse(ctx, v, f); err != nil {
		return err
	}
	return c.settler.settle(context.WithoutCancel(ctx), v, task, d, f)
}

const (
	leastPoll   = 100 * time.Millisecond // between two looks at another authority
	reasonMoved = "robots.txt redirects to "
)

// fetchElsewhere arranges a hop to another authority. It is ready if that is impossible now, but the current policy is still
// valid.
func (c *policies) fetchElsewhere(ctx context.Context, v *visit, w gate.Request) (adm admission, err error) {
	a := w.URL.Authority()
	there, known, err := c.cfg.Frontier.Host(ctx, a)
	if err != nil {
		return adm, err
	}
	ready := w.Need.Action == robots.Refresh
	again := max(there.Wait, c.cfg.floor(a), leastPoll)
	switch {
	case there.Elsewhere:
		if !ready {
			v.leaveAlone(frontier.Retired, reasonMoved+a.Origin()+", which another member of the fleet owns", 0)
		}
	case known && there.Condition > frontier.Parked:
		if !ready {
			v.leaveAlone(frontier.Retired, reasonMoved+a.Origin()+", which is closed: "+there.Reason, 0)
		}
	case known && there.Hold.Act != 0:
		if !ready {
			rest := host.LongestRest
			if there.Hold.Act == frontier.Park {
				rest = min(there.Hold.Wait, rest)
			}
			v.leaveAlone(frontier.Parked, reasonMoved+a.Origin()+", which the operator holds", rest)
		}
	case known && (there.Wait > 0 || there.Leased) || !c.redirects.HasRoom():
		c.redirects.Add(w)
		if there.Condition == frontier.Parked && !ready {
			v.leaveAlone(frontier.Parked, reasonMoved+a.Origin()+", which rests: "+there.Reason, 0)
		}
	default:
		adm.then, ready = &w, false
	}
	if !ready {
		v.rest.Wait = max(v.rest.Wait, again)
	}
	adm.ready = ready
	return adm, nil
}

// hop leases the authority that a request leads to and makes the exchange.
func (c *Crawl) hop(ctx context.Context, slot *record.Slot, w gate.Request) error {
	turn, err := c.cfg.Frontier.ClaimAuthority(ctx, w.URL.Authority())
	if errors.Is(err, frontier.ErrNotDue) {
		c.policies.redirects.Add(w)
		return nil
	}
	if err != nil {
		return err
	}
	_, err = c.take(ctx, slot, turn, func(ctx context.Context, there *visit) (*gate.Request, error) {
		return nil, c.policies.serve(ctx, there, w)
	})
	return err
}

// serve makes another host's request in the turn of the host that it leads to, if that is due.
func (c *policies) serve(ctx context.Context, there *visit, w gate.Request) error {
	if err := c.recall(ctx, there); err != nil {
		return err
	}
	if left, ok := c.rests.Left(there.turn.Authority, &there.memory, there.clock); ok { // as in admit
		there.rest = left
		c.redirects.PutBack(w)
		return nil
	}
	if owed := there.owed(); owed > 0 {
		there.rest.Wait = owed
		c.redirects.PutBack(w)
		return nil
	}
	return c.fetchFor(ctx, there, w)
}

// fetchFor makes another host's request under the lease of v.
func (c *policies) fetchFor(ctx context.Context, v *visit, w gate.Request) error {
	got, err := c.askPolicy(ctx, v, w)
	switch {
	case err != nil:
		return err
	case got.asked:
		c.heedPace(v, w, got.Exchange)
		c.redirects.Deliver(w.From, got.Answer)
	default:
		c.redirects.PutBack(w)
	}
	return nil
}

// heedPace keeps the delay of a robots.txt that was read for another host, while the host's own policy is unknown or older. A
// redirect does not make it the policy (RFC 9309 2.3.1.2 concerns only the initial authority).
func (c *policies) heedPace(v *visit, w gate.Request, ex robots.Exchange) {
	a, now := v.turn.Authority.Origin(), v.end
	if !w.ByAsked && w.Need.URL != c.gate.Terms.Need(v.state, a, now).URL {
		return
	}
	ex.URL = gate.PolicyURL(v.turn.Authority)
	read, _ := c.gate.Terms.Next(robots.State{}, a, ex, now)
	digest, ruled := read.Body()
	if !ruled {
		v.hearsay(read, now)
		v.setRules(v.rules)
		return
	}
	book := c.gate.Learn(digest, ex.Body)
	v.memory.Hearsay.Hear(host.Asked(book), read.Expires())
	v.setRules(gate.Rules{Book: book})
	v.rest.AtLeast(v.pace)
	c.leaveIfTooSlow(v)
}

// hearsay forgets the delay of a robots.txt read for another host, if s has replaced it.
func (v *visit) hearsay(s robots.State, now time.Time) {
	switch {
	case s.Failures() > 0:
		v.memory.Hearsay.Fail(now)
	case s.Hops() == 0:
		v.memory.Hearsay.Forget()
	}
}
