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

// errEnd means that the frontier has no further turns for this run.
var errEnd = errors.New("crawler: end of the run")

// oneTurn claims a turn, as long as going lasts, and takes it. It returns its number of pages, and calls leave if its exchange
// is slow, so that another worker continues.
func (c *Crawl) oneTurn(ctx, going context.Context, leave func()) (pages int64, err error) {
	claimed, err := c.cfg.Frontier.Claim(going, frontier.Want{Hosts: 1, Tasks: claimTasks, MaxWait: c.maxWait()})
	switch {
	case err != nil:
		return 0, err
	case len(claimed.Turns) > 0:
		slot, err := c.room.Take(ctx) // at most Workers exchanges that are not slow
		if err != nil {
			return 0, err
		}
		defer slot.Leave()
		slot.OnLoss(leave)
		return c.take(ctx, slot, claimed.Turns[0], c.processTurn)
	case claimed.State == frontier.Waiting && claimed.Due <= c.maxWait():
		return 0, nil // the first response of the run came meanwhile, so that maxWait has grown
	case claimed.State == frontier.Drained:
		c.stopper.end(EndedDrained)
	case claimed.State == frontier.Full:
		c.stopper.end(EndedMaxDBSize)
	default:
		c.stopper.end(EndedWaiting)
	}
	return 0, errEnd
}

// take runs process in a claimed turn, and always finishes the turn, unless curtsy's own state fails. The context ends
// at two thirds of the lease, so that the exchange is recorded before another worker may send a request to the host.
func (c *Crawl) take(ctx context.Context, slot *record.Slot, t frontier.Turn, process func(context.Context, *visit) (*gate.Request, error)) (pages int64, err error) {
	v, err := c.visit(t)
	if err != nil {
		return 0, err
	}
	v.slot = slot
	within, cancel := context.WithTimeoutCause(ctx, t.Length*2/3, errLease)
	defer cancel()
	var then *gate.Request
	was, err := c.outcomes.guardPanic(v.turn.Authority, func() (err error) {
		then, err = process(within, v)
		return err
	})
	if err != nil && late(within, err) {
		// The lease is over: the turn keeps the settled tasks.
		v.cut()
		err = nil
	}
	switch {
	case was:
		// A panic outside a task (see outcomes.handle): the host is retired for this run.
		counts := v.result.Counts // costs and pages are kept, the rest of the result is dropped
		maps.DeleteFunc(counts, func(name string, _ int64) bool { return !budget.IsCost(name) && !budget.IsPages(name) })
		v.state, v.memory.Source = v.start.state, v.start.source
		v.begin()
		v.result.Counts = counts
		v.cut()
		v.leaveAlone(frontier.Retired, reasonPanic, 0)
	case err != nil && !over(ctx, err):
		return 0, errors.Join(fmt.Errorf("crawler: %s: %w", v.turn.Authority, err), c.exchanger.unlock(v))
	}
	// An aborted turn is also finished: its wait must not be forgotten.
	applied, ferr := c.finish(context.WithoutCancel(ctx), v)
	if ferr != nil {
		return 0, ferr
	}
	v.buffer.Wipe(v.result)
	c.buffers.free.Put(v.buffer)
	if !applied {
		return 0, err
	}
	if err == nil && then != nil {
		err = c.hop(ctx, slot, *then)
	}
	return v.pages, err
}

// processTurn is one turn, from the robots gate to the outcome of at most one URL that needs an exchange. The other
// tasks return to the head of their queue.
func (c *Crawl) processTurn(ctx context.Context, v *visit) (then *gate.Request, err error) {
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

// look is a turn of a dry run after the policy: it requests a sitemap, or retires the host if there are no more.
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

// guardPanic reports whether run panicked: no response may stop the crawl of other sites, even if it finds a bug.
func (c *outcomes) guardPanic(what fmt.Stringer, run func() error) (was bool, err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		stack := debug.Stack()
		if before, ok := p.(*panicked); ok { // in another goroutine
			p, stack = before.value, before.stack
		}
		c.cfg.Log("%s: a bug in curtsy, please report it: panic: %v\n%s", what, p, stack)
		was = true
	}()
	return false, run()
}

// errLease ends the context of a turn before its lease does.
var errLease = errors.New("crawler: the lease is nearly over")

// late reports whether err means the end of the lease, not an abort.
func late(ctx context.Context, err error) bool {
	return over(ctx, err) && errors.Is(context.Cause(ctx), errLease)
}

// aborted calls line for an exchange that an abort cut, since the host may have logged it.
func (v *visit) aborted(ctx context.Context, err error, line func(context.Context) error) error {
	if err == nil || !over(ctx, err) || v.end.IsZero() {
		return nil // no request was sent, or it is a failure of curtsy's own state
	}
	return line(context.WithoutCancel(ctx))
}

// visit is a turn under way.
type visit struct {
	turn frontier.Turn
	slot *record.Slot // for its exchanges
	site
	rested
	yield
}

// site is the state of a visit's host.
type site struct {
	clock    record.Clock
	own      bool
	ownCheck bool // its failing pages are findings: see Config.LinkCheck
	brief    bool // only links off the scope lead to it: see Config.LinkCheck
	floor    time.Duration
	set      hostrule.Overrides
	raised   time.Duration // the delay to which the operator has raised set in this run; zero without one
	memory   host.State
	history  trap.History // of memory.History
	state    robots.State
	rules    gate.Rules
	pace     host.Pace // with the current rules and response time
	first    bool      // this is the host's first turn of the run
	learned  bool      // a robots.txt was learned in this turn
}

// rested is the meaning of the turn's exchanges for the next one.
type rested struct {
	end      time.Time // of the last exchange; zero if there was none
	rest     host.Rest
	kept     host.Pace // before the exchange, including that of the address
	blamed   bool      // the last exchange counts as a failure of the host
	finding  bool      // it failed, and that is a finding
	dead     bool      // no connection: the schedule of a link check applies, not that of robots.txt
	locks    hostLocks // may be nil
	locked   bool      // the turn has the host's lock
	shareErr error     // of sharing a back-off with other crawls
	budget   *budget.Tickets
}

// yield is the result of a turn.
type yield struct {
	result frontier.Result
	buffer *resultBuffer // of result
	start  handedIn
	seeds  []string // seeds without a usable response, with reasons
	pages  int64    // 2xx HTML responses
	text   uint64   // digest of the last page; may be 0
	added  int      // new URLs that were added before the end of the turn
	spare  findings // reused
}

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
	if t.Host.Moved { // another member had the policy and the last exchange
		v.memory.Source, v.memory.Proved, v.memory.ProvedAt, v.memory.Lost = host.Source{}, false, 0, true
	}
	v.memory.Begin(c.run, c.clock.Micros(time.Now()))
	c.rests.Recollect(t.Authority, &v.memory, c.clock)
	if len(t.Host.Robots) > 0 {
		if err = v.state.UnmarshalBinary(t.Host.Robots); err != nil {
			return nil, fmt.Errorf("crawler: %s: robots state: %w", t.Authority, err)
		}
	}
	if v.first && !v.memory.Proved && c.cfg.signsIn(t.Authority) { // a missing proof ended the last run
		v.memory.ProvedAt = 0
	}
	v.owns(&c.cfg)
	v.setRules(gate.Rules{})
	v.begin()
	if v.first { // later turns have counted them
		c.pages.Recollect(t.Authority, &v.memory, c.clock, v.result.Counts, c.cfg.tagged)
	}
	return v, nil
}

// recall sets the rules of the host's state, valid or not: their delay holds until there are others.
func (c *policies) recall(ctx context.Context, v *visit) error {
	r, err := c.gate.Of(ctx, v.state)
	if err == nil {
		v.setRules(r)
	}
	return err
}

func (v *visit) setRules(r gate.Rules) {
	v.rules = r
	v.pace = v.terms().Pace(&v.memory, v.clock.Micros(time.Now()))
}

func (v *visit) terms() host.Terms {
	return host.Terms{Floor: v.floor, Set: v.set.Delay, Raised: v.raised, Own: v.own, Rules: v.rules.Book}
}

// owed returns the rest of the delay. It may be longer than the wait before the claim, by rules read for another host
// or a longer --delay than in the last run. host.State.Begin bounds it if the clock was set back.
func (v *visit) owed() time.Duration {
	if v.memory.LastEnd == 0 {
		return 0
	}
	since := time.Duration(v.clock.Micros(time.Now())-v.memory.LastEnd) * time.Microsecond
	if owed := v.pace.Pause - since; owed > time.Microsecond { // more than rounding
		return owed
	}
	return 0
}

// cut records that an exchange was cut, unless it is over. The delay counts from now.
func (v *visit) cut() {
	if !v.end.IsZero() {
		return
	}
	v.end = time.Now()
	v.memory = host.Cut(v.memory, v.clock.Micros(v.end))
	v.rest.AtLeast(v.pace)
}

// recordExchange applies the turn's exchange to the host. obey means that Retry-After counts.
func (v *visit) recordExchange(ex *fetch.Exchange, a host.Answer, why string, obey bool) {
	v.applySignal(ex, host.Signal{Answer: a, Why: why}, obey)
}

// applySignal is recordExchange for a page or robots.txt.
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
	if asked := v.rest.Asked; asked.Wait > 0 && v.locks != nil { // before any record, since a kill may come at any time
		wish := hostlock.Wish{Wait: asked.Wait, Status: ex.Status, Field: asked.Field}
		v.shareErr = errors.Join(v.shareErr, v.locks.Rest(v.turn.Authority, ex.End, wish))
	}
	v.pace = v.terms().Pace(&v.memory, x.Ended)
	if class := host.FailureClass(x.Answer, ex); class != "" {
		v.count(budget.PrefixFailures+class, 1)
	}
	if x.RetryAfter.Odd {
		v.count(budget.OddRetryAfter, 1)
	}
	if len(ex.Request) == 0 {
		return // no request was sent
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

// gap returns the time from the end of the host's previous exchange to start; 0 if that is unknown, or if they overlapped.
func (v *visit) gap(start time.Time) time.Duration {
	if v.memory.Lost {
		return 0
	}
	return v.since(start)
}

// since is gap, even if an exchange may be missing in the host's state.
func (v *visit) since(start time.Time) time.Duration {
	if v.memory.LastEnd == 0 {
		return 0
	}
	return max(time.Duration(v.clock.Micros(start)-v.memory.LastEnd)*time.Microsecond, 0)
}

// due returns the time from the host's last exchange to the next one: the delay, or the back-off after the last exchange.
func (v *visit) due() host.Pace { return v.pace.AtLeast(v.memory.Due.Pause, v.memory.Due.By) }

// leaveAlone backs off from the host beyond the last exchange; wait is for its robots.txt.
func (v *visit) leaveAlone(condition frontier.Condition, reason string, wait time.Duration) {
	if condition >= v.rest.Condition {
		v.rest.Condition, v.rest.Reason = condition, reason
	}
	v.rest.AtLeast(host.Pace{Pause: wait, By: storage.ByRobots})
}

func (v *visit) count(name string, n int64) {
	if n != 0 {
		v.result.Counts[name] += n
	}
}

// handedIn is the state at the begin of a result, to return to.
type handedIn struct {
	state  robots.State
	source host.Source
}

func (v *visit) begin() {
	v.result = v.buffer.Begin(v.turn)
	v.start, v.seeds = handedIn{v.state, v.memory.Source}, nil
}

// resultPool reuses the memory of results, which is safe because a frontier keeps no part of one. Its methods may be
// called concurrently.
type resultPool struct{ free sync.Pool }

// resultBuffer is the memory of a result.
type resultBuffer struct {
	found           []frontier.Candidate
	counts          map[string]int64
	robots, history []byte
	memory          []byte
}

// maxFound bounds the candidates of a pooled buffer: those of some dozens of pages, which a wide turn hands in together.
const maxFound = 2048

func (p *resultPool) Get() *resultBuffer {
	if b, ok := p.free.Get().(*resultBuffer); ok {
		return b
	}
	return &resultBuffer{counts: map[string]int64{}}
}

// Begin returns an empty result for a turn.
func (b *resultBuffer) Begin(t frontier.Turn) frontier.Result {
	return frontier.Result{Authority: t.Authority, Token: t.Token, Found: b.found, Counts: b.counts}
}

// Update writes the robots state and the memory with the history into u.
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

// Wipe takes back the memory of r, which must not be used afterwards.
func (b *resultBuffer) Wipe(r frontier.Result) {
	b.found = nil
	if cap(r.Found) <= maxFound {
		clear(r.Found[:cap(r.Found)]) // else it would hold on to the URLs
		b.found = r.Found[:0]
	}
	clear(r.Counts)
	b.counts = r.Counts
}

// finish applies the whole turn in one step or, if the lease has expired, none of it.
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
	if h, n := v.turn.Host, len(v.turn.Tasks); n > 0 && n == len(v.result.Done) && h.Queued+h.Deferred == 0 && finished[0].Added.New+v.added == 0 {
		c.cfg.Fetcher.CloseIdle(v.turn.Authority)
	}
	c.applied(v)
	return true, nil
}

// hostOf adds the host's state and wait to the result.
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
	v.result.Wait = v.rest.Wait
	if !v.end.IsZero() { // the back-off counts from the end of the exchange
		v.result.Wait -= time.Since(v.end)
	}
	return nil
}

// applied counts a turn that was applied.
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

// mostClosings bounds the retired hosts that the log names, and the refused ones.
const mostClosings = 5

// closings counts closed hosts. The zero value is ready, and may be used concurrently.
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

// extendTurn finishes the turn so far and keeps its lease. ok is false if that is lost.
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
		v.result.Keep, v.result.Want = false, 0 // the end of the turn gets the same error and handles it
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

// unsettled returns the tasks that are not in r.
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
