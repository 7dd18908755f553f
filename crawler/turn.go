package crawler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"curtsy/crawler/budget"
	"curtsy/crawler/fetch"
	"curtsy/crawler/gate"
	"curtsy/crawler/host"
	"curtsy/crawler/hostlock"
	"curtsy/crawler/record"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/hostrule"
	"curtsy/storage/mediatype"
	"curtsy/storage/plainly"
)

// errEnd says that the frontier has no more turns for this run.
var errEnd = errors.New("crawler: end of the run")

// oneTurn claims a turn, as long as going lasts, and takes it. It returns how many pages the turn brought.
//
// leave is called when its exchange is slow: another worker goes on then.
func (c *Crawl) oneTurn(ctx, going context.Context, leave func()) (pages int64, err error) {
	claimed, err := c.cfg.Frontier.Claim(going, frontier.Want{Hosts: 1, Tasks: claimTasks, MaxWait: c.maxWait()})
	switch {
	case err != nil:
		return 0, err
	case len(claimed.Turns) > 0:
		slot, err := c.room.Take(ctx) // at most Workers exchanges that are not slow, those of wide turns among them
		if err != nil {
			return 0, err
		}
		defer slot.Leave()
		slot.OnLoss(leave)
		return c.take(ctx, slot, claimed.Turns[0], c.story)
	case claimed.State == frontier.Waiting && claimed.Due <= c.maxWait():
		return 0, nil // the first answer of all came in meanwhile: there is something to wait for
	case claimed.State == frontier.Drained:
		c.stopper.end(EndedDrained)
	case claimed.State == frontier.Full:
		c.stopper.end(EndedMaxDBSize)
	default:
		c.stopper.end(EndedWaiting)
	}
	return 0, errEnd
}

// take takes a claimed turn: what happens in it is told by story. The turn is finished whatever happens, unless our
// own state fails.
//
// The story's context ends at two thirds of the lease, so that its exchange is over, and there is time left to keep
// it, before anybody else may ask the host.
func (c *Crawl) take(ctx context.Context, slot *record.Slot, t frontier.Turn, story func(context.Context, *visit) (*gate.Request, error)) (pages int64, err error) {
	v, err := c.visit(t)
	if err != nil {
		return 0, err
	}
	v.slot = slot
	within, cancel := context.WithTimeoutCause(ctx, t.Length*2/3, errLease)
	defer cancel()
	var then *gate.Request
	was, err := c.outcomes.guardPanic(v.turn.Authority, func() (err error) {
		then, err = story(within, v)
		return err
	})
	if err != nil && late(within, err) {
		// The lease's time was over in the middle of something: what is done is kept, the rest is for the next turn.
		v.cut()
		err = nil
	}
	switch {
	case was:
		// Not over one task (see outcomes.handle) but over what all of them need: the host is left for this run.
		v.forget()
		v.cut()
		v.leaveAlone(frontier.Retired, reasonPanic, 0)
	case err != nil && !over(ctx, err):
		return 0, errors.Join(fmt.Errorf("crawler: %s: %w", v.turn.Authority, err), c.exchanger.unlock(v))
	}
	// Cut short by an abort, the turn is finished all the same: its wait must not be forgotten.
	applied, ferr := c.finish(context.WithoutCancel(ctx), v)
	if ferr != nil {
		return 0, ferr
	}
	v.buffer.Wipe(v.result)
	c.buffers.Put(v.buffer)
	if !applied {
		return 0, err
	}
	if err == nil && then != nil {
		err = c.hop(ctx, slot, *then)
	}
	return v.pages, err
}

// story is what happens in one turn, from the robots gate to the outcome of at most one URL that needs an exchange.
// Tasks it does not come to return to the head of their queue.
func (c *Crawl) story(ctx context.Context, v *visit) (then *gate.Request, err error) {
	if err := c.policies.recall(ctx, v); err != nil {
		return nil, err
	}
	tasks, err := c.settler.leaveOptedOut(ctx, v)
	if err != nil || len(tasks) < len(v.turn.Tasks) && len(tasks) == 0 {
		return nil, err
	}
	v.brief = c.cfg.LinkCheck && len(tasks) > 0 && !slices.ContainsFunc(tasks, func(t frontier.Task) bool { return !c.bounds.isLeaf(t) })
	admitted, err := c.policies.admit(ctx, v)
	if err == nil {
		err = c.linker.nameSitemaps(ctx, v)
	}
	if err != nil || !admitted.ready {
		return admitted.then, err
	}
	if c.cfg.DryRun {
		return nil, c.look(ctx, v, tasks)
	}
	if why := c.quotas.exhausted(&c.cfg, v); why != "" {
		v.leaveAlone(frontier.Retired, why, 0)
		return nil, nil
	}
	return nil, c.exchanges(ctx, v, tasks)
}

// look is what happens in a turn of a dry run, once its host's policy is known: a sitemap is asked for, or the host is left
// when there is none to ask for. Sitemaps come before seeds in the order by depth alone.
func (c *Crawl) look(ctx context.Context, v *visit, tasks []frontier.Task) error {
	tasks = slices.DeleteFunc(slices.Clone(tasks), func(t frontier.Task) bool { return t.Kind != frontier.KindMap })
	named := slices.ContainsFunc(v.result.Found, func(n frontier.Candidate) bool {
		return n.Kind == frontier.KindMap && n.URL.Authority() == v.turn.Authority
	})
	enough := v.memory.Sitemaps >= uint64(c.cfg.DryMaps)
	switch {
	case len(tasks) > 0 && !enough:
		return c.exchanges(ctx, v, tasks)
	case !named || enough:
		v.leaveAlone(frontier.Retired, reasonDryRun, 0)
	}
	return nil
}

// guardPanic calls run and reports whether it panicked: what a site sends must not stop the crawl of all others, even
// when it finds a defect of ours.
func (c *outcomes) guardPanic(what fmt.Stringer, run func() error) (was bool, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		stack := debug.Stack()
		if before, ok := p.(*panicked); ok { // it has happened beside this goroutine
			p, stack = before.value, before.stack
		}
		c.cfg.Log("%s: a bug in curtsy, please report it: panic: %v\n%s", what, p, stack)
		was = true
	}()
	return false, run()
}

// errLease is why a turn's context ends before its lease does.
var errLease = errors.New("crawler: the lease is nearly over")

// late reports whether err means that the lease's time is over, and not that somebody aborts.
func late(ctx context.Context, err error) bool {
	return over(ctx, err) && errors.Is(context.Cause(ctx), errLease)
}

// aborted has a line written for an exchange that an abort cut short: the host was asked, though nothing came of it, and
// its own log may say so.
func (v *visit) aborted(ctx context.Context, err error, line func(context.Context) error) error {
	if err == nil || !over(ctx, err) || v.end.IsZero() {
		return nil // nobody was asked, or it is a failure of our own state
	}
	return line(context.WithoutCancel(ctx))
}

// visit is one turn in the making: the lease, what is known of the host, what the turn's exchanges mean for it, and the
// result that the turn will finish with.
type visit struct {
	turn frontier.Turn
	slot *record.Slot // for its exchanges
	site
	rested
	yield
}

// site is what is known of a visit's host.
type site struct {
	clock    record.Clock
	own      bool // the operator's
	ownCheck bool // its failing pages are findings: see Config.LinkCheck
	brief    bool // only links off the scope lead to it: likewise
	floor    time.Duration
	set      hostrule.Overrides // what the operator sets for it
	raised   time.Duration      // to what an operator has raised its pace since the run began; zero where that was not done
	memory   host.State
	history  trap.History // as memory.History has it
	state    robots.State
	rules    gate.Rules
	pace     host.Pace // as it was when the turn began; anew once there are new rules, or a new response time
	first    bool      // this is the host's first turn of the run
	learned  bool      // a robots.txt was learned in this turn
}

// rested is what the turn's exchanges mean for the host's next one.
type rested struct {
	end     time.Time // of the last exchange; zero when there was none
	rest    host.Rest
	kept    host.Pace // that was kept before the exchange, the address's included
	blamed  bool      // the last exchange counts as a failure of the host
	finding bool      // it failed, and that is a finding
	dead    bool      // no connection was made: the schedule of a link check holds, not that of robots.txt
	locks   hostLocks // may be nil
	locked  bool      // the host's lock is ours
	untold  error     // why other crawls do not know what the host asked for
	budget  *budget.Tickets
}

// yield is what a turn brings.
type yield struct {
	result frontier.Result
	buffer *resultBuffer // that it is written on
	start  handedIn
	seeds  []string // seeds that ended without a usable answer, with why
	pages  int64    // 2xx HTML answers
	text   uint64   // digest of what the last page says; 0 for none
	added  int      // URLs that were new and did not wait for the turn's end
	spare  findings // the last ones, to be begun again
}

// visit opens a claimed turn.
func (c *Crawl) visit(t frontier.Turn) (*visit, error) {
	v := &visit{turn: t, site: site{clock: c.clock}, rested: rested{budget: c.budget, locks: c.cfg.HostLocks}, yield: yield{buffer: c.buffers.Get()}}
	var err error
	if v.memory, err = host.Read(t.Host.Memory); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Authority, err)
	}
	v.first = v.memory.Run != c.run
	if v.history, err = trap.Read(v.memory.History); err != nil {
		return nil, fmt.Errorf("crawler: %s: %w", t.Authority, err)
	}
	v.memory.Lost = v.memory.Lost || v.first && c.unclean
	if t.Host.Moved { // another archive has its policy, and a run that is not ours had the last exchange
		v.memory.Source, v.memory.Proved, v.memory.ProvedAt, v.memory.Lost = host.Source{}, false, 0, true
	}
	v.memory.Begin(c.run, c.clock.Micros(time.Now()))
	c.rests.Recollect(t.Authority, &v.memory, c.clock)
	if len(t.Host.Robots) > 0 {
		if err = v.state.UnmarshalBinary(t.Host.Robots); err != nil {
			return nil, fmt.Errorf("crawler: %s: robots state: %w", t.Authority, err)
		}
	}
	v.retry(&c.cfg)
	v.owns(&c.cfg)
	v.setRules(gate.Rules{})
	v.begin()
	if v.first { // a turn of this run that was applied has counted them, even if it has not heard of that yet
		c.pages.Recollect(t.Authority, &v.memory, c.clock, v.result.Counts, c.cfg.tagged)
	}
	return v, nil
}

// recall sets the rules that the host's state holds, be they valid still or to be asked for anew: the pace that they
// ask for is kept until others are known.
func (c *policies) recall(ctx context.Context, v *visit) error {
	r, err := c.gate.Of(ctx, v.state)
	if err == nil {
		v.setRules(r)
	}
	return err
}

// setRules sets the rules that hold for the host from now on.
func (v *visit) setRules(r gate.Rules) {
	v.rules = r
	v.pace = v.terms().Pace(&v.memory, v.clock.Micros(time.Now()))
}

// terms are those that hold for the host now.
func (v *visit) terms() host.Terms {
	return host.Terms{Floor: v.floor, Set: v.set.Delay, Raised: v.raised, Own: v.own, Rules: v.rules.Book}
}

// owed is what is left of the pace. A claim comes when the host's wait is over; but rules that came by way of another
// host, or a longer --delay than that of the last run, ask for more than was waited for. It is never more than the pace,
// though the clock was set back since the last run: host.State.Begin sees to that.
func (v *visit) owed() time.Duration {
	if v.memory.LastEnd == 0 {
		return 0
	}
	since := time.Duration(v.clock.Micros(time.Now())-v.memory.LastEnd) * time.Microsecond
	if owed := v.pace.Pause - since; owed > time.Microsecond { // what rounding may leave
		return owed
	}
	return 0
}

// cut notes that an exchange was cut short, unless it is over: the pace is kept all the same.
func (v *visit) cut() {
	if !v.end.IsZero() {
		return
	}
	v.end = time.Now()
	v.memory = host.Cut(v.memory, v.clock.Micros(v.end))
	v.rest.AtLeast(v.pace)
}

// recordExchange notes that the turn's exchange is over and what it means for the host. obey says that Retry-After means
// something with this answer.
func (v *visit) recordExchange(ex *fetch.Exchange, a host.Answer, why string, obey bool) {
	v.applySignal(ex, host.Signal{Answer: a, Why: why}, obey)
}

// applySignal is recordExchange for what was said of a page or of robots.txt.
func (v *visit) applySignal(ex *fetch.Exchange, x host.Signal, obey bool) {
	if ex.End.After(v.end) {
		v.end = ex.End
	}
	x.Ended, x.Response, x.RateLimit = v.clock.Micros(ex.End), ex.ResponseTime, host.ReadRateLimit(ex.Header)
	if obey {
		x.RetryAfter = host.ReadRetryAfter(ex.Header, ex.End)
	}
	v.blamed = x.Answer.IsFailure() || x.Answer == host.Throttled
	x.Status = ex.Status
	x.Finding = v.ownCheck && !x.Robots && len(ex.Request) > 0 && x.Answer.IsFailure()
	x.Brief = v.brief && x.Robots && len(ex.Request) == 0 && x.Answer.IsFailure()
	v.finding, v.dead = x.Finding, x.Brief
	v.memory, v.rest = host.After(v.memory, x, v.terms())
	if asked := v.rest.Asked; asked.Wait > 0 && v.locks != nil { // before anything is written of it: a kill may come at any time
		wish := hostlock.Wish{Wait: asked.Wait, Status: ex.Status, Field: asked.Field}
		v.untold = errors.Join(v.untold, v.locks.Rest(v.turn.Authority, ex.End, wish))
	}
	v.pace = v.terms().Pace(&v.memory, x.Ended)
	if class := host.FailureClass(x.Answer, ex); class != "" {
		v.count(budget.PrefixFailures+class, 1)
	}
	if x.RetryAfter.Odd {
		v.count(budget.OddRetryAfter, 1)
	}
	if len(ex.Request) == 0 {
		return // no connection came about: nothing was asked of anybody
	}
	var octets int64
	if ex.Response != nil {
		octets = ex.Response.Size()
	}
	v.count(budget.Exchanges, 1)
	v.count(budget.Bytes, octets)
	answered := ex.Status != 0
	if answered {
		v.count(budget.Answers, 1)
		for _, kind := range storage.KindsOfAnswer(ex.Status, mediatype.Of(ex.Header).Name) {
			v.count(kind, 1)
		}
	}
	v.budget.Spend(octets, answered)
}

// gap is the time from the end of the host's previous exchange to start; 0 when there was none that is known, or when they
// overlapped.
func (v *visit) gap(start time.Time) time.Duration {
	if v.memory.Lost {
		return 0
	}
	return v.since(start)
}

// since is gap as far as is remembered.
func (v *visit) since(start time.Time) time.Duration {
	if v.memory.LastEnd == 0 {
		return 0
	}
	return max(time.Duration(v.clock.Micros(start)-v.memory.LastEnd)*time.Microsecond, 0)
}

// due is the pause that must lie between the host's last exchange and its next one: the pace, or the rest that the last
// exchange was followed by.
func (v *visit) due() host.Pace { return v.pace.AtLeast(v.memory.Due.Pause, v.memory.Due.By) }

// leaveAlone makes the host rest beyond what the exchange asks for; a wait is one for its robots.txt.
func (v *visit) leaveAlone(condition frontier.Condition, reason string, wait time.Duration) {
	if condition >= v.rest.Condition {
		v.rest.Condition, v.rest.Reason = condition, reason
	}
	v.rest.AtLeast(host.Pace{Pause: wait, By: storage.ByRobots})
}

// wait is how long the host waits for its next turn, from now: its rest counts from the end of the exchange.
func (v *visit) wait() time.Duration {
	if v.end.IsZero() {
		return v.rest.Wait
	}
	return v.rest.Wait - time.Since(v.end)
}

// dry reports whether nothing of the host is left to do, as far as this turn knows; it has found so many new URLs.
func (v *visit) dry(found int) bool {
	h := v.turn.Host
	return len(v.turn.Tasks) > 0 && len(v.result.Done) == len(v.turn.Tasks) && h.Queued+h.Deferred == 0 && found+v.added == 0
}

func (v *visit) count(name string, n int64) {
	if n != 0 {
		v.result.Counts[name] += n
	}
}

// handedIn is what a result starts from: what the turn may change of it counts only with the result.
type handedIn struct {
	state  robots.State
	source host.Source
}

// begin begins the result of the turn, or of what is left of it.
func (v *visit) begin() {
	v.result = v.buffer.Begin(v.turn)
	v.start, v.seeds = handedIn{v.state, v.memory.Source}, nil
}

// forget drops all that the turn brought and is not handed in, but not what it cost, nor its pages.
func (v *visit) forget() {
	counts := v.result.Counts
	maps.DeleteFunc(counts, func(name string, _ int64) bool { return !budget.IsCost(name) && !budget.IsPages(name) })
	v.state, v.memory.Source = v.start.state, v.start.source
	v.begin()
	v.result.Counts = counts
}

// resultPool lends the memory that the result of a turn is written on, and takes it back when the turn is finished,
// so that the next turn needs no new one. That is safe because a frontier keeps nothing of a result that it was given.
// Its methods may be called concurrently.
type resultPool struct{ free sync.Pool }

// resultBuffer is what the result of a turn is written on.
type resultBuffer struct {
	found           []frontier.Candidate
	counts          map[string]int64
	robots, history []byte
	memory          []byte
}

// maxFound bounds the candidates that a buffer which is not in use has room for: those of some dozens of pages, which a
// wide turn hands in together. A turn that finds more has a larger one, once.
const maxFound = 2048

// Get returns a buffer for one turn.
func (p *resultPool) Get() *resultBuffer {
	if b, ok := p.free.Get().(*resultBuffer); ok {
		return b
	}
	return &resultBuffer{counts: map[string]int64{}}
}

// Put takes b back. Nothing that was written on it may be used any more.
func (p *resultPool) Put(b *resultBuffer) { p.free.Put(b) }

// Begin begins the result of a turn, or of what is left of it.
func (b *resultBuffer) Begin(t frontier.Turn) frontier.Result {
	return frontier.Result{Authority: t.Authority, Token: t.Token, Found: b.found, Counts: b.counts}
}

// Update writes into u what is known of the host: its robots state, and the memory with the history in it.
func (b *resultBuffer) Update(u *frontier.HostUpdate, s robots.State, memory host.State, history trap.History) error {
	var err error
	if b.robots, err = s.AppendBinary(b.robots[:0]); err != nil {
		return fmt.Errorf("robots state: %w", err)
	}
	b.history = history.Append(b.history[:0])
	memory.History = b.history
	b.memory = memory.Append(b.memory[:0])
	u.Robots, u.Memory = b.robots, b.memory
	return nil
}

// Wipe takes back what r was written on, once it is finished.
func (b *resultBuffer) Wipe(r frontier.Result) {
	b.found = nil
	if cap(r.Found) <= maxFound {
		clear(r.Found[:cap(r.Found)]) // else it would hold on to the URLs
		b.found = r.Found[:0]
	}
	clear(r.Counts)
	b.counts = r.Counts
}

// finish ends the turn: everything it brought is applied in one step, or, when the lease has run out, nothing.
func (c *Crawl) finish(ctx context.Context, v *visit) (applied bool, err error) {
	if err := c.hostOf(v); err != nil {
		return false, err
	}
	if err := c.exchanger.unlock(v); err != nil {
		return false, err
	}
	c.carried.Give(v.result.Counts)
	defer func() {
		if !applied {
			c.carried.Keep(v.result.Counts)
		}
	}()
	first := c.counted.CompareAndSwap(false, true)
	if first {
		v.count(budget.Runs, 1)
		defer func() {
			if !applied {
				c.counted.Store(false) // the next turn counts the run
			}
		}()
	}
	finished, err := c.cfg.Frontier.Finish(ctx, []frontier.Result{v.result})
	switch {
	case err != nil:
		return false, err
	case errors.Is(finished[0].Err, frontier.ErrStale):
		c.cfg.Log("%s: the turn took longer than its lease; its result is dropped, and its requests are repeated", v.turn.Authority.Origin())
		return false, nil
	case finished[0].Err != nil:
		return false, finished[0].Err
	}
	if err := c.settler.recordDropped(ctx, v, finished[0]); err != nil {
		return false, err
	}
	if v.dry(finished[0].Added.New) {
		c.cfg.Fetcher.CloseIdle(v.turn.Authority)
	}
	c.applied(v)
	return true, nil
}

// hostOf puts what is known of the host, and how long it waits, into the result.
func (c *Crawl) hostOf(v *visit) error {
	if !v.end.IsZero() {
		v.memory.Due = host.Pace{Pause: v.rest.Wait.Truncate(time.Microsecond), By: v.rest.By}
	}
	v.result.Host = &frontier.HostUpdate{
		Condition: v.rest.Condition, Reason: v.rest.Reason, Pace: v.pace.Pause, Width: c.width(v),
	}
	if err := v.buffer.Update(v.result.Host, v.state, v.memory, v.history); err != nil {
		return fmt.Errorf("crawler: %s: %w", v.turn.Authority, err)
	}
	v.result.Wait = v.wait()
	return nil
}

// applied takes over what may count only now: a turn whose lease ran out has not happened.
func (c *Crawl) applied(v *visit) {
	if v.rest.Condition > frontier.Parked && v.rest.Reason != reasonDryRun && !strings.HasPrefix(v.rest.Reason, storage.RuleOfBudget) { // the status counts those
		switch n := c.closings.count(v.rest.Condition); {
		case n <= mostClosings:
			c.cfg.Log("%s: closed: %s", v.turn.Authority.Origin(), plainly.Reason(v.rest.Reason))
		case n == mostClosings+1:
			c.cfg.Log("more hosts are closed; curtsy status lists them")
		}
	}
	c.pages.Applied(v.turn.Authority)
	c.live.Note(v.turn.Authority, v.need())
	c.live.Grown(v.turn.Host)
	c.book.Applied(v.result, v.seeds)
}

// mostClosings is how many retired hosts the log names, and how many refused ones.
const mostClosings = 5

// closings counts closed hosts. Its zero value is ready for use, also concurrently.
type closings struct {
	mu sync.Mutex
	by map[frontier.Condition]int
}

func (c *closings) count(as frontier.Condition) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[frontier.Condition]int{}
	}
	c.by[as]++
	return c.by[as]
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
	if err := c.settler.recordDropped(ctx, v, finished[0]); err != nil {
		return nil, false, err
	}
	c.applied(v)
	v.turn.Tasks = append(unsettled(v.turn.Tasks, v.result), finished[0].Tasks...)
	v.turn.Host.Queued = max(v.turn.Host.Queued+int64(finished[0].Added.New-len(finished[0].Tasks)), 0)
	v.turn.Host.Deferred += int64(len(v.result.Deferred))
	v.buffer.Wipe(v.result)
	v.begin()
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
