package force_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"curtsy/frontier"
	"curtsy/frontier/bolt"
	"curtsy/frontier/canon"
)

// child is the one side of the proof: it works on a frontier and tells all it does.
type child struct {
	teller
	file string
	seed uint64
	f    *bolt.Frontier

	// told is held for reading around a Finish, and for writing around what looks at more than one lease: so the order
	// in which things are told is the one in which they are done.
	told sync.RWMutex
}

func (c *child) open(o frontier.Options) error {
	from := now()
	f, err := bolt.Open(c.file, o)
	if err != nil {
		return err
	}
	c.f = f
	c.about(event{Kind: opened, From: from, To: now()})
	return nil
}

func options() frontier.Options { return frontier.Options{Pace: longestPace} }

// wide asks for all that is due.
func wide() frontier.Want { return frontier.Want{Hosts: 100, Tasks: 10_000} }

// crowd works with several goroutines until the process is killed.
func crowd(ctx context.Context, c *child) error {
	if err := c.open(options()); err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	for i := range 3 {
		w := &worker{child: c, rnd: rand.New(rand.NewPCG(c.seed, uint64(i)))}
		all.Go(func() error { return w.work(ctx) })
	}
	w := &worker{child: c, rnd: rand.New(rand.NewPCG(c.seed, 99))}
	all.Go(func() error { return w.operate(ctx) })
	return all.Wait()
}

// worker is one goroutine of a crowd.
type worker struct {
	*child
	rnd  *rand.Rand
	open []int // finishes that no Sync has followed
}

const hosts = 10

func (w *worker) host() string { return fmt.Sprintf("http://h%d.test:80", w.rnd.IntN(hosts)) }

// urls returns some URLs, of which a part is known.
func (w *worker) urls(n int) []string {
	us := make([]string, n)
	for i := range us {
		us[i] = fmt.Sprintf("http://h%d.test/%d", w.rnd.IntN(hosts), w.rnd.IntN(3000))
	}
	return us
}

func candidates(urls []string) []frontier.Candidate {
	cs := make([]frontier.Candidate, len(urls))
	for i, u := range urls {
		cs[i] = frontier.Candidate{URL: parse(u), Kind: frontier.KindLink, Via: "http://via.test/", Depth: 1}
	}
	return cs
}

func (w *worker) work(ctx context.Context) error {
	for {
		if err := w.step(ctx); err != nil {
			return err
		}
	}
}

// step is a claim and what follows, or an Add.
func (w *worker) step(ctx context.Context) error {
	if w.rnd.IntN(8) == 0 {
		return w.add(ctx, w.urls(1+w.rnd.IntN(12)))
	}
	from := now()
	got, err := w.f.Claim(ctx, frontier.Want{Hosts: 1 + w.rnd.IntN(3), Tasks: 1 + w.rnd.IntN(6), MaxWait: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	if len(got.Turns) == 0 {
		return w.add(ctx, w.urls(1+w.rnd.IntN(12)))
	}
	to := now()
	for _, turn := range got.Turns {
		w.about(event{Kind: claimed, From: from, To: to, Host: turn.Authority.String(), Tasks: tasks(turn)})
	}
	time.Sleep(time.Duration(w.rnd.IntN(3000)) * time.Microsecond) // the exchanges: a kill must find leases out
	for _, turn := range got.Turns {
		if err := w.finish(ctx, turn); err != nil {
			return err
		}
	}
	if w.rnd.IntN(3) > 0 {
		return nil
	}
	return w.sync(ctx)
}

func tasks(turn frontier.Turn) []task {
	var ts []task
	for _, x := range turn.Tasks {
		ts = append(ts, task{URL: x.URL.String(), Attempts: x.Attempts})
	}
	return ts
}

func (w *worker) add(ctx context.Context, urls []string) error {
	id := w.tell(event{Kind: adding, Found: urls})
	if _, err := w.f.Add(ctx, candidates(urls)); err != nil {
		return err
	}
	w.about(event{Kind: acknowledged, IDs: []int{id}})
	return nil
}

func (w *worker) sync(ctx context.Context) error {
	if err := w.f.Sync(ctx); err != nil {
		return err
	}
	w.about(event{Kind: acknowledged, IDs: w.open})
	w.open = nil
	return nil
}

// result makes up how a turn ends.
func (w *worker) result(turn frontier.Turn) (frontier.Result, event) {
	host := turn.Authority.String()
	r := frontier.Result{Authority: turn.Authority, Token: turn.Token}
	e := event{Kind: finishing, Host: host, Exchange: w.rnd.IntN(7) > 0}
	if e.Exchange {
		r.Wait = paceOf(host)
	}
	r.Host = &frontier.HostUpdate{Pace: paceOf(host), Robots: []byte(host), Memory: make([]byte, w.rnd.IntN(300))}
	if w.rnd.IntN(12) == 0 {
		e.Exchange, e.Wait = true, time.Duration(50+w.rnd.IntN(600))*time.Millisecond
		e.Reason = fmt.Sprintf("status 503, %d", now())
		r.Wait, r.Host.Condition, r.Host.Reason = e.Wait, frontier.Parked, e.Reason
	}
	for _, x := range turn.Tasks {
		t := task{URL: x.URL.String()}
		switch n := w.rnd.IntN(10); {
		case n < 6:
			t.Outcome = []frontier.Outcome{frontier.Fetched, frontier.Fetched, frontier.Failed, frontier.Gone}[w.rnd.IntN(4)]
			r.Done = append(r.Done, frontier.Done{Print: x.Print, Outcome: t.Outcome})
			e.Found = append(e.Found, w.urls(w.rnd.IntN(5))...)
		case n < 8:
			t.After = time.Duration(w.rnd.IntN(200)) * time.Millisecond
			r.Deferred = append(r.Deferred, frontier.Deferral{Print: x.Print, After: t.After, Reason: "status 500"})
		default:
			continue // not named: it goes back
		}
		e.Tasks = append(e.Tasks, t)
	}
	r.Found = candidates(e.Found)
	return r, e
}

func (w *worker) finish(ctx context.Context, turn frontier.Turn) error {
	r, e := w.result(turn)
	w.told.RLock()
	defer w.told.RUnlock()
	e.From = now()
	id := w.tell(e)
	answer, err := w.f.Finish(ctx, []frontier.Result{r})
	if err != nil {
		return err
	}
	if answer[0].Err != nil {
		return fmt.Errorf("finish %s: %w", turn.Authority, answer[0].Err)
	}
	w.about(event{Kind: applied, ID: id, To: now()})
	w.open = append(w.open, id)
	return nil
}

// operate is what an operator does: some commands now and then.
func (w *worker) operate(ctx context.Context) error {
	for {
		time.Sleep(time.Duration(5+w.rnd.IntN(60)) * time.Millisecond)
		err := w.retry(ctx)
		if w.rnd.IntN(2) == 0 {
			err = w.steer(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (w *worker) retry(ctx context.Context) error {
	a, err := canon.ParseAuthority(w.host())
	if err != nil {
		return err
	}
	w.told.Lock()
	defer w.told.Unlock()
	id := w.tell(event{Kind: retrying, Host: a.String()})
	if _, err := w.f.Retry(ctx, frontier.Retrial{Outcome: frontier.Failed, Authority: a}); err != nil {
		return err
	}
	w.about(event{Kind: acknowledged, IDs: []int{id}})
	return nil
}

func (w *worker) steer(ctx context.Context) error {
	a, err := canon.ParseAuthority(w.host())
	if err != nil {
		return err
	}
	s := frontier.Steering{Act: frontier.Resume, Authority: a}
	if w.rnd.IntN(3) > 0 {
		s.Act, s.For, s.Reason = frontier.Park, time.Duration(20+w.rnd.IntN(300))*time.Millisecond, fmt.Sprint("repairs ", now())
	}
	w.told.Lock()
	defer w.told.Unlock()
	id := w.tell(event{Kind: steering, Host: a.String(), From: now(), Act: s.Act, Wait: s.For, Reason: s.Reason})
	if _, err := w.f.Steer(ctx, s); err != nil {
		if err.Error() == "not yet" {
			return nil
		}
		return err
	}
	w.about(event{Kind: applied, ID: id, To: now()})
	w.about(event{Kind: acknowledged, IDs: []int{id}})
	return nil
}
