package crawler

import (
	"context"
	"errors"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// A turn has one exchange. An own host without a delay may have several at once (politeness rule 18): exchanges and reading
// run in parallel, but the goroutine that holds the turn handles the results one by one, so that hosts need no lock.

// parallelTurn bounds a turn of several exchanges: the next one serves hosts whose robots.txt redirects here.
const parallelTurn = time.Minute

// width returns how many exchanges v may have in flight.
func (c *Crawl) width(v *visit) int {
	if v.own && v.pace.Pause == 0 && v.rest.Condition == frontier.Open && c.cfg.PerHost > 1 && c.cfg.Daily == nil && !v.set.Timed() {
		return c.cfg.PerHost
	}
	return 1
}

// widthNow returns how many exchanges the turn may have in flight: one for tasks of unclean stops, and after a back-off.
func (c *Crawl) widthNow(v *visit, tasks []frontier.Task) int {
	for _, t := range tasks {
		if t.Stops > 0 {
			return 1
		}
	}
	if v.due().Pause > 0 {
		return 1
	}
	return max(min(v.turn.Width, c.width(v)), 1)
}

// parallel is the part of a turn that makes exchanges.
type parallel struct {
	c        *Crawl
	v        *visit
	width    int
	queue    []frontier.Task // under the lease, not begun
	inFlight int             // exchanges
	sitemaps int             // of them
	free     []*record.Slot  // for exchanges not begun, the worker's own among them
	tickets  int             // of the budget
	done     chan *attempt
	begun    bool           // an exchange, or more
	closing  bool           // no further exchange is begun
	later    bool           // a task has to wait for other hosts
	failed   bool           // an exchange caused a back-off: those in flight count as the same failure
	rows     host.State     // with the failures in a row before that exchange
	due      time.Time      // of the next request, by all responses of this turn
	by       storage.PaceBy // the reason for due
	until    time.Time
}

// exchanges settles tasks without an exchange one by one, and others up to width at a time; with a width of 1 the turn has one
// exchange. The other tasks return to their queue.
func (c *Crawl) exchanges(ctx context.Context, v *visit, tasks []frontier.Task) (err error) {
	whole := ctx
	ctx, cancel := context.WithCancel(ctx)
	p := &parallel{
		c: c, v: v, width: c.widthNow(v, tasks), queue: tasks, tickets: 1,
		free: []*record.Slot{v.slot}, until: time.Now().Add(min(parallelTurn, v.turn.Length/3)),
	}
	p.done = make(chan *attempt, p.width)
	defer func() { err = errors.Join(err, p.end(whole, err)) }()
	defer cancel()
	if p.width > 1 {
		v.kept = v.pace
	}
	for {
		if err := p.start(ctx); err != nil {
			return err
		}
		if p.inFlight == 0 {
			break
		}
		if err := p.finishOne(ctx, <-p.done); err != nil {
			return err
		}
		if err := p.more(ctx); err != nil {
			return err
		}
	}
	if p.later && !p.begun {
		v.rest.AtLeast(host.Pace{Pause: quotaWait})
	}
	if !v.end.IsZero() && p.width > 1 {
		v.rest.AtLeast(host.Pace{Pause: p.due.Sub(v.end), By: p.by})
	}
	return nil
}

// end waits for the exchanges in flight, and returns further slots and tickets. Responses that an abort left unhandled
// are archived unread, and so without the body, which may forbid archiving (politeness rule 19).
func (p *parallel) end(ctx context.Context, why error) (err error) {
	aborted := why != nil && over(ctx, why)
	for ; p.inFlight > 0; p.inFlight-- {
		x := <-p.done
		p.takeBack(x.slot)
		p.c.quotas.give(p.v, x.task, 0)
		x.readAhead() // before the body is closed
		if aborted && err == nil && (x.ex != nil || x.err != nil) {
			d := decision{kind: storage.DecisionAllow, verdict: x.verdict, reason: host.Aborted, attempt: x.task.Attempts + 1, pace: p.v.kept}
			d.Exchange, d.found, d.HeadOnly = x.ex, x.found, !p.c.cfg.KeepNoArchive
			err = p.c.settler.line(context.WithoutCancel(ctx), p.v, x.task, d, storage.OutcomeDeferred)
		}
		if x.ex != nil {
			err = errors.Join(err, x.ex.Close())
		}
	}
	for _, slot := range p.free {
		if slot != p.v.slot {
			slot.Leave()
		}
	}
	p.c.budget.Hold(1 - p.tickets)
	return err
}

// start begins exchanges while there is room, and settles tasks that need none.
func (p *parallel) start(ctx context.Context) error {
	for len(p.queue) > 0 && p.inFlight < p.width && !p.closing {
		if p.width > 1 && ctx.Err() != nil || p.begun && p.stale() {
			p.closing = true
			return nil
		}
		task := p.queue[0]
		ruling, err := p.c.bounds.judge(ctx, p.v, task, p.sitemaps)
		switch {
		case err != nil:
			return err
		case ruling.outcome != 0:
			if err := p.c.settler.settle(ctx, p.v, task, ruling, p.v.findings()); err != nil {
				return err
			}
		case p.c.stopper.draining.Err() != nil, p.c.stopper.held() != 0:
			p.closing = true
			return nil
		case isPolicy(task.URL):
			if err := p.policyTask(ctx, task); err != nil || p.closing {
				return err
			}
		case p.width > 1 && !p.hasRoom():
			return nil
		default:
			if err := p.resting(); err != nil || p.closing {
				return err
			}
			ok, err := p.admit(ctx, task, ruling)
			if err != nil {
				return err
			}
			if ok {
				p.ask(ctx, task, ruling)
			}
		}
		p.queue = p.queue[1:]
	}
	return nil
}

// resting closes the turn if the host asked another crawl for a back-off. With one exchange, exchanger.ask checks it.
func (p *parallel) resting() error {
	if p.width == 1 {
		return nil
	}
	wait, err := p.c.exchanger.resting(p.v)
	if wait > 0 {
		p.closing = true
		p.v.rest.Wait = max(p.v.rest.Wait, wait)
		if due := time.Now().Add(wait); due.After(p.due) {
			p.due, p.by = due, ""
		}
	}
	return err
}

func (p *parallel) ask(ctx context.Context, task frontier.Task, ruling decision) {
	p.begun = true
	if p.width > 1 {
		x := p.c.attempt(p.v, task, ruling.verdict, p.free[len(p.free)-1])
		p.free = p.free[:len(p.free)-1]
		p.took(x)
		go p.beside(ctx, x)
		return
	}
	p.closing = true
	x := p.c.attempt(p.v, task, ruling.verdict, p.v.slot)
	p.took(x)
	p.c.exchange(ctx, p.v.turn.Width, x, func(ctx context.Context, r fetch.Request) (*fetch.Exchange, error) {
		return p.c.exchanger.ask(ctx, p.v, r)
	})
	p.done <- x
}

func (p *parallel) took(x *attempt) {
	p.inFlight++
	if x.task.Kind == frontier.KindMap {
		p.sitemaps++
	}
}

// beside makes an exchange in parallel, hands it in, and then reads the page. The order of responses must not depend on
// reading, since refusals and failures in a row count.
func (p *parallel) beside(ctx context.Context, x *attempt) {
	p.c.exchange(ctx, p.v.turn.Width, x, func(ctx context.Context, r fetch.Request) (*fetch.Exchange, error) {
		return p.c.exchanger.fetchNow(ctx, x.slot, r)
	})
	if x.ex == nil || x.err != nil || x.panicked != nil {
		p.done <- x
		return
	}
	reading := make(chan *digested, 1)
	x.reading = reading
	task, ex, shape := x.task, x.ex, x.shape
	p.done <- x
	reading <- p.c.reader.ahead(ctx, task, ex, shape)
}

// stale reports whether another turn must come first, to renew the policy or the proof.
func (p *parallel) stale() bool {
	now, a := time.Now(), p.v.turn.Authority
	return !now.Before(p.until) || p.c.policies.unproved(p.v) || p.c.gate.Terms.Need(p.v.state, a.Origin(), now).Action != robots.Judge
}

// hasRoom takes a slot and a ticket for one more exchange. The first has those of the worker.
func (p *parallel) hasRoom() bool {
	if full(int64(p.v.memory.Pages)+int64(p.inFlight), p.c.cfg.maxPerHost(p.v.turn.Authority)) {
		return false
	}
	if len(p.free) == 0 {
		slot := p.c.room.Try()
		if slot == nil {
			p.closing = p.closing || p.inFlight == 0 // all were slow and lost their slots
			return false
		}
		p.free = append(p.free, slot)
	}
	if p.tickets <= p.inFlight {
		if !p.c.budget.More() {
			return false
		}
		p.tickets++
	}
	return true
}

func (p *parallel) takeBack(slot *record.Slot) {
	if slot.Held() {
		p.free = append(p.free, slot)
	}
}

func (p *parallel) finishOne(ctx context.Context, x *attempt) error {
	p.inFlight--
	if x.task.Kind == frontier.KindMap {
		p.sitemaps--
	}
	v := p.v
	was := v.memory.Pages
	v.text = 0
	defer func() { p.noted(x, was) }()
	if p.width == 1 {
		return p.c.outcomes.handle(ctx, v, x)
	}
	p.takeBack(x.slot)
	if errors.Is(x.err, errNotYet) {
		p.closing = true // no request may be sent
		v.rest.Wait = max(v.rest.Wait, aMoment)
	} else if x.err != nil {
		v.cut()
	}
	before, rows, pages := v.rest, v.memory, v.pages
	if p.failed { // it was already in flight: all of them count as one failure
		v.memory = v.memory.WithRowsOf(p.rows)
	}
	if err := p.c.outcomes.handle(ctx, v, x); err != nil {
		return err
	}
	// The budget counts each page at once, since other turns take tickets meanwhile.
	p.c.budget.Give(v.pages - pages)
	p.tickets--
	v.pages = pages

	if p.failed {
		v.memory = v.memory.WithRowsOf(rows)
	}
	if due := v.end.Add(v.rest.Wait); due.After(p.due) {
		p.due, p.by = due, v.rest.By
	}
	if before.Condition > v.rest.Condition {
		v.rest.Condition, v.rest.Reason = before.Condition, before.Reason
	}
	if v.rest.Condition != frontier.Open && !p.failed {
		p.failed, p.rows = true, rows
	}
	p.closing = p.closing || p.c.width(v) == 1 // as in a back-off
	return nil
}

// more finishes settled tasks and claims further ones.
func (p *parallel) more(ctx context.Context) error {
	if p.closing || len(p.queue) >= p.width {
		return nil
	}
	tasks, ok, err := p.c.extendTurn(ctx, p.v, 2*p.width)
	p.queue = append(p.queue, tasks...)
	p.closing = !ok
	return err
}
