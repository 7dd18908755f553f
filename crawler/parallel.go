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

// A turn has one exchange. An own host whose effective pace is zero may be asked for several pages at one time (politeness
// rule 18): then the exchanges alone run side by side, and the pages are read there; what they bring is handled one after
// the other by the goroutine that holds the turn, so that nothing of a host needs a lock.

// parallelTurn bounds a turn of several exchanges: the next one serves those who need this host for their robots.txt.
const parallelTurn = time.Minute

// width is how many exchanges v may have in flight, as far as is known now.
func (c *Crawl) width(v *visit) int {
	if v.own && v.pace.Pause == 0 && v.rest.Condition == frontier.Open && c.cfg.PerHost > 1 && c.cfg.Daily == nil && !v.set.Timed() {
		return c.cfg.PerHost
	}
	return 1
}

// widthNow is how many exchanges the turn may have in flight: what has stopped us before has its turn alone, and so has
// what comes first after a rest.
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
	later    bool           // a task has to wait for what other hosts bring
	failed   bool           // an exchange made the host rest: what was in flight then counts for that one
	rows     host.State     // with the failures in a row as they were before that exchange
	due      time.Time      // when the host may be asked again, by all that was said in this turn
	by       storage.PaceBy // who asked for that
	until    time.Time
}

// exchanges settles tasks: those that need no exchange, one after the other, and those that an exchange is made for,
// width at one time; where width is 1 there is one in the turn. Tasks it does not come to return to their queue.
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

// end waits for what is in flight, and leaves the worker with the slot and the ticket that it came with. What an abort
// left unhandled is archived, unread and so without its body, which may ask not to be (politeness rule 19).
func (p *parallel) end(ctx context.Context, why error) (err error) {
	aborted := why != nil && over(ctx, why)
	for ; p.inFlight > 0; p.inFlight-- {
		x := <-p.done
		p.takeBack(x.slot)
		p.c.quotas.give(p.v, x.task, 0)
		x.readAhead() // or the body would be closed under its reader
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

// start begins exchanges while there is room for them, and settles on the way what needs none.
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

// resting begins nothing further where the host asked another crawl to be left alone. A turn of one exchange sees to that itself.
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

// ask begins an exchange for a task: alone in the turn, or beside others.
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

// took counts an attempt that is in flight from now on.
func (p *parallel) took(x *attempt) {
	p.inFlight++
	if x.task.Kind == frontier.KindMap {
		p.sitemaps++
	}
}

// beside makes an exchange beside others, hands it in, and then reads what it brought: in what order answers came must not
// depend on how long they take to read, since refusals and failures in a row are counted.
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

// stale reports whether another turn must see to the host before anything else is asked of it: its policy or its proof
// is to be had anew.
func (p *parallel) stale() bool {
	now, a := time.Now(), p.v.turn.Authority
	return !now.Before(p.until) || p.c.policies.unproved(p.v) || p.c.gate.Terms.Need(p.v.state, a.Origin(), now).Action != robots.Judge
}

// hasRoom takes what one more exchange needs: a slot and a ticket. The first in flight has the worker's own.
func (p *parallel) hasRoom() bool {
	if full(int64(p.v.memory.Pages)+int64(p.inFlight), p.c.cfg.maxPerHost(p.v.turn.Authority)) {
		return false
	}
	if len(p.free) == 0 {
		slot := p.c.room.Try()
		if slot == nil {
			p.closing = p.closing || p.inFlight == 0 // a turn whose exchanges were all slow has no slot left
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

// takeBack takes back the slot of an exchange that is over, if it is one still.
func (p *parallel) takeBack(slot *record.Slot) {
	if slot.Held() {
		p.free = append(p.free, slot)
	}
}

// finishOne handles what an exchange brought.
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
	if p.failed { // it was in flight when the host had said so already: the row grows by one, not by all of them
		v.memory = v.memory.WithRowsOf(p.rows)
	}
	if err := p.c.outcomes.handle(ctx, v, x); err != nil {
		return err
	}
	// The budget knows of each page at once, and not with the turn: other turns take their tickets meanwhile.
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
	p.closing = p.closing || p.c.width(v) == 1 // a host that rests has no width
	return nil
}

// more hands in what is done and asks for as many tasks as there is room for.
func (p *parallel) more(ctx context.Context) error {
	if p.closing || len(p.queue) >= p.width {
		return nil
	}
	tasks, ok, err := p.c.extendTurn(ctx, p.v, 2*p.width)
	p.queue = append(p.queue, tasks...)
	p.closing = !ok
	return err
}
