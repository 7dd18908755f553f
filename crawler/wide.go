package crawler

import (
	"context"
	"errors"
	"time"

	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/inflight"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
)

// An own host whose effective pace is zero may be asked for several pages at one time (politeness rule 18). Then the
// exchanges alone run side by side, and the pages are read there: what they bring is told one after the other by the
// goroutine that holds the turn, so that all else of a visit is as in a turn of one exchange.

// wideTurn bounds such a turn: the next one serves those who need this host for their robots.txt.
const wideTurn = time.Minute

// width is how many exchanges v may have in flight, as far as is known now.
func (c *Crawl) width(v *visit) int {
	if v.own && v.pace.Pause == 0 && v.rest.Condition == frontier.Open && c.cfg.PerHost > 1 {
		return c.cfg.PerHost
	}
	return 1
}

// flight is an exchange of a wide turn.
type flight struct {
	task    frontier.Task
	was     frontier.Candidate // what it was found as
	verdict robots.Verdict
	before  before
	seat    *inflight.Slot
	ex      *fetch.Exchange
	err     error

	// What it brought is read while others land, and told in the order of landing. Nil if it is not read; else it yields the
	// page, or nil if that is to be read when it is told.
	reading chan *reading

	panicked any // with what, if it did: it is told like all else, where a panic is a failed attempt
}

// wide is a turn with several exchanges.
type wide struct {
	c       *Crawl
	v       *visit
	width   int
	queue   []frontier.Task  // under the lease, not begun
	aloft   int              // exchanges in flight
	free    []*inflight.Slot // for exchanges not begun, the worker's own among them
	tickets int              // of the budget
	landed  chan flight
	begun   bool           // an exchange, or more
	closing bool           // no further exchange is begun
	failed  bool           // an exchange made the host rest: what was in flight then counts for that one
	rows    host.State     // as they were before that exchange
	due     time.Time      // when the host may be asked again, by all that was said in this turn
	by      storage.PaceBy // who asked for that
	until   time.Time
}

// flock is the part of a story that makes exchanges, for a turn of some width.
func (c *Crawl) flock(ctx context.Context, v *visit, tasks []frontier.Task) (err error) {
	whole := ctx
	ctx, cancel := context.WithCancel(ctx)
	w := &wide{
		c: c, v: v, width: min(v.turn.Width, c.width(v)), queue: tasks, tickets: 1,
		free: []*inflight.Slot{v.seat}, landed: make(chan flight, v.turn.Width), until: time.Now().Add(min(wideTurn, v.turn.Length/3)),
	}
	defer func() { err = errors.Join(err, w.end(whole, err)) }()
	defer cancel()
	v.kept = v.pace
	for {
		if err := w.launch(ctx); err != nil {
			return err
		}
		if w.aloft == 0 {
			break
		}
		f := <-w.landed
		w.aloft--
		if err := w.land(ctx, f); err != nil {
			return err
		}
		if err := w.more(ctx); err != nil {
			return err
		}
	}
	if !v.end.IsZero() {
		v.rest.AtLeast(host.Pace{Pause: w.due.Sub(v.end), By: w.by})
	}
	return nil
}

// end waits for what is in flight, and leaves the worker with the slot and the ticket that it came with. What an abort
// left untold is archived, unread and so without its body, which may ask not to be (politeness rule 19).
func (w *wide) end(ctx context.Context, why error) (err error) {
	aborted := why != nil && over(ctx, why)
	for ; w.aloft > 0; w.aloft-- {
		f := <-w.landed
		w.sitDown(f.seat)
		f.ahead() // or the body would be closed under its reader
		if aborted && err == nil && (f.ex != nil || f.err != nil) {
			d := decision{kind: storage.DecisionAllow, verdict: f.verdict, reason: host.Aborted, attempt: f.task.Attempts + 1, pace: w.v.kept}
			d.ex, d.found, d.headOnly = f.ex, f.was, !w.c.cfg.KeepNoArchive
			err = w.c.line(context.WithoutCancel(ctx), w.v, f.task, d, storage.OutcomeDeferred)
		}
		if f.ex != nil {
			err = errors.Join(err, f.ex.Close())
		}
	}
	for _, seat := range w.free {
		if seat != w.v.seat {
			seat.Leave()
		}
	}
	w.c.budget.hold(1 - w.tickets)
	return err
}

// launch begins exchanges while there is room for them, and settles on the way what needs none.
func (w *wide) launch(ctx context.Context) error {
	for len(w.queue) > 0 && w.aloft < w.width && !w.closing {
		if w.c.draining.Err() != nil || ctx.Err() != nil || w.begun && w.stale() {
			w.closing = true
			return nil
		}
		task := w.queue[0]
		verdict, settled, err := w.c.judge(ctx, w.v, task)
		if err != nil {
			return err
		}
		if !settled {
			if !w.room() {
				return nil
			}
			f := flight{task: w.c.prepare(w.v, task), was: task.Candidate, verdict: verdict, seat: w.free[len(w.free)-1]}
			w.free = w.free[:len(w.free)-1]
			r := w.c.request(w.v.turn.Width, f.task)
			if f.before, err = w.c.follows(ctx, f.task, &r); err != nil {
				return err
			}
			w.begun = true
			w.aloft++
			go w.fly(ctx, f, r, w.v.watched(w.c, f.task))
		}
		w.queue = w.queue[1:]
	}
	return nil
}

// fly makes an exchange, lands, and then reads what it brought: in what order answers came must not depend on how long they
// take to read, since refusals and failures in a row are counted.
func (w *wide) fly(ctx context.Context, f flight, r fetch.Request, shape bool) {
	w.ask(ctx, &f, r)
	if f.ex == nil || f.err != nil || f.panicked != nil {
		w.landed <- f
		return
	}
	f.reading = make(chan *reading, 1)
	w.landed <- f
	f.reading <- w.c.ahead(ctx, f.task, f.ex, shape)
}

// ask makes the exchange of a flight.
func (w *wide) ask(ctx context.Context, f *flight, r fetch.Request) {
	defer func() { f.panicked = recover() }()
	within, end := asking(ctx)
	defer end()
	within, meter, landed := w.c.inFlight(within, f.seat)
	defer landed()
	r.Meter = meter
	if f.ex = w.c.notAsked(r.URL); f.ex == nil {
		f.ex, f.err = w.c.cfg.Fetcher.Do(within, r)
		f.err = instead(ctx, within, f.err)
	}
}

// ahead waits until what came was read.
func (f *flight) ahead() *reading {
	if f.reading == nil {
		return nil
	}
	defer func() { f.reading = nil }()
	return <-f.reading
}

// stale reports whether another turn must see to the host before anything else is asked of it: its policy or its proof
// is to be had anew.
func (w *wide) stale() bool {
	now, a := time.Now(), w.v.turn.Authority
	return !now.Before(w.until) || w.c.unproved(w.v) || w.c.gate.Terms.Need(w.v.state, a.Origin(), now).Action != robots.Judge
}

// room takes what one more exchange needs: a seat and a ticket. The first in flight has the worker's own.
func (w *wide) room() bool {
	if most := w.c.cfg.MaxPerHost; most > 0 && int64(w.v.memory.Pages)+int64(w.aloft) >= most {
		return false
	}
	if len(w.free) == 0 {
		seat := w.c.room.Try()
		if seat == nil {
			w.closing = w.closing || w.aloft == 0 // a turn whose exchanges were all slow has no seat left
			return false
		}
		w.free = append(w.free, seat)
	}
	if w.tickets <= w.aloft {
		if !w.c.budget.more() {
			return false
		}
		w.tickets++
	}
	return true
}

// sitDown takes back the seat of an exchange that has landed, if it is one still.
func (w *wide) sitDown(seat *inflight.Slot) {
	if seat.Held() {
		w.free = append(w.free, seat)
	}
}

// land tells what an exchange brought.
func (w *wide) land(ctx context.Context, f flight) error {
	v := w.v
	w.sitDown(f.seat)
	before, rows, pages := v.rest, v.memory, v.pages
	if w.failed { // it was in flight when the host had said so already: the row grows by one, not by all of them
		v.memory = v.memory.WithRowsOf(w.rows)
	}
	d := decision{kind: storage.DecisionAllow, verdict: f.verdict, before: f.before, attempt: f.task.Attempts + 1, pace: v.kept, ahead: f.ahead()}
	if err := w.c.attempted(ctx, v, f, d); err != nil {
		return err
	}
	// The budget knows of each page at once, and not with the turn: other turns take their tickets meanwhile.
	w.c.budget.give(v.pages - pages)
	w.tickets--
	v.pages = pages

	if w.failed {
		v.memory = v.memory.WithRowsOf(rows)
	}
	if due := v.end.Add(v.rest.Wait); due.After(w.due) {
		w.due, w.by = due, v.rest.By
	}
	if before.Condition > v.rest.Condition {
		v.rest.Condition, v.rest.Reason = before.Condition, before.Reason
	}
	if v.rest.Condition != frontier.Open && !w.failed {
		w.failed, w.rows = true, rows
	}
	w.closing = w.closing || w.c.width(v) == 1 // a host that rests has no width
	return nil
}

// more hands in what is done and asks for as many tasks as there is room for.
func (w *wide) more(ctx context.Context) error {
	if w.closing || len(w.queue) >= w.width {
		return nil
	}
	tasks, ok, err := w.c.extendTurn(ctx, w.v, 2*w.width)
	w.queue = append(w.queue, tasks...)
	w.closing = !ok
	return err
}

// extendTurn finishes what a turn has brought so far and keeps its lease. ok is false when that is lost.
func (c *Crawl) extendTurn(ctx context.Context, v *visit, want int) (tasks []frontier.Task, ok bool, err error) {
	if err := c.hostOf(v); err != nil {
		return nil, false, err
	}
	v.result.Keep, v.result.Want = true, want
	finished, err := c.cfg.Frontier.Finish(context.WithoutCancel(ctx), []frontier.Result{v.result})
	switch {
	case err != nil:
		return nil, false, err
	case finished[0].Err != nil:
		v.result.Keep, v.result.Want = false, 0 // the end of the turn is answered likewise, and says what that means
		return nil, false, nil
	}
	if err := c.tellLate(ctx, v, finished[0]); err != nil {
		return nil, false, err
	}
	c.applied(v)
	v.turn.Tasks = append(unsettled(v.turn.Tasks, v.result), finished[0].Tasks...)
	v.turn.Host.Queued = max(v.turn.Host.Queued+int64(finished[0].Added.New-len(finished[0].Tasks)), 0)
	v.turn.Host.Deferred += int64(len(v.result.Deferred))
	v.buffer.Wipe(v.result)
	v.result = v.buffer.Begin(v.turn)
	v.seeds = nil
	return finished[0].Tasks, true, nil
}

// unsettled are the tasks that r does not name.
func unsettled(tasks []frontier.Task, r frontier.Result) (left []frontier.Task) {
	named := map[frontier.Fingerprint]bool{}
	for _, d := range r.Done {
		named[d.Print] = true
	}
	for _, d := range r.Deferred {
		named[d.Print] = true
	}
	for _, t := range tasks {
		if !named[t.Print] {
			left = append(left, t)
		}
	}
	return left
}
