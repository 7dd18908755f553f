package bolt

import (
	"cmp"
	"context"
	"encoding/binary"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// load is a crawl without its crawler: turns are claimed and finished at once, with realistic results.
//
//	page      one task is fetched; its links are those of web
//	host      each Finish carries the state of the host: the pace, a robots state that does not change, and 24 octets of
//	          memory that do
//	retries   one task in 50 is deferred once, in a separate turn without links
type load struct {
	testing.TB
	f     *Frontier
	web   *web
	seen  int // URLs when the load began
	page  int // pages so far
	turns int // hosts of a Claim, and results of a Finish
	tasks int // of a turn, of which all but one are given back
	group int // pages after which Sync is called; zero leaves it to the engine, until the end of a chunk
	wait  time.Duration

	workers int // that claim and finish side by side, as those of a crawl do; zero means one
	chunk   int // zero means chunk
}

type cost struct {
	pages, commits int64
	wall, cpu      time.Duration // of Claim, Finish and Sync, with the commits
	octets         int64         // written: pages of the file, and a meta page for each commit
	generator      time.Duration // CPU of the links, which is not in cpu
}

func (c cost) perPage(d time.Duration) float64 { return d.Seconds() * 1e6 / float64(c.pages) }
func (c cost) links() float64                  { return float64(c.pages) * pageLinks / c.wall.Seconds() }
func (c cost) written() float64                { return float64(c.octets) / float64(c.pages) }

const chunk = 2000

func (l *load) run(pages int) cost {
	c := cost{pages: int64(pages)}
	octets, commits := l.written()
	var links []frontier.Candidate
	size := cmp.Or(l.chunk, chunk)
	for left := pages; left > 0; left -= size {
		n := min(left, size)
		cpu, _ := cpuTime()
		links = links[:0]
		for i := range n {
			links = l.web.links(l, links, l.seen, l.page+i)
		}
		made, _ := cpuTime()
		start := time.Now()
		l.share(links)
		c.wall += time.Since(start)
		end, _ := cpuTime()
		c.generator += made - cpu
		c.cpu += end - made
	}
	c.octets, c.commits = l.written()
	c.octets -= octets
	c.commits -= commits
	return c
}

// share distributes pages with these links to the workers.
func (l *load) share(links []frontier.Candidate) {
	if l.workers < 2 {
		l.pages(links)
		return
	}
	n := len(links) / pageLinks
	var all sync.WaitGroup
	for i := range l.workers {
		from, to := n*i/l.workers, n*(i+1)/l.workers
		mine := *l
		mine.page += from
		all.Go(func() { mine.pages(links[from*pageLinks : to*pageLinks]) })
	}
	all.Wait()
	l.page += n
}

// pages puts pages with these links through the frontier, and makes them durable.
func (l *load) pages(links []frontier.Candidate) {
	ctx := context.Background()
	for synced := l.page; len(links) > 0; {
		turns := min(l.turns, len(links)/pageLinks)
		if l.group > 0 {
			turns = min(turns, synced+l.group-l.page)
		}
		c, err := l.f.Claim(ctx, frontier.Want{Hosts: turns, Tasks: l.tasks, MaxWait: time.Hour})
		require.Truef(l, err == nil && len(c.Turns) != 0, "Claim: %d turns, state %d, error %v", len(c.Turns), c.State, err)
		rs := make([]frontier.Result, len(c.Turns))
		for i := range c.Turns {
			links = l.finish(&rs[i], &c.Turns[i], links)
		}
		_, err = l.f.Finish(ctx, rs)
		require.NoError(l, err)
		if l.group > 0 && l.page-synced == l.group {
			synced = l.page
			l.sync()
		}
	}
	l.sync()
}

func (l *load) sync() {
	require.NoError(l, l.f.Sync(context.Background()))
}

// finish makes the result of a turn and returns the remaining links.
func (l *load) finish(r *frontier.Result, t *frontier.Turn, links []frontier.Candidate) []frontier.Candidate {
	x := &t.Tasks[0]
	*r = frontier.Result{Authority: t.Authority, Token: t.Token, Wait: l.wait, Host: hostAfter(l.page)}
	if x.Attempts == 0 && mix(uint64(x.Print))%50 == 0 {
		r.Deferred = []frontier.Deferral{{Print: x.Print, After: l.wait, Reason: "503 Service Unavailable"}}
		return links
	}
	r.Done = []frontier.Done{{Print: x.Print, Outcome: frontier.Fetched}}
	r.Found = links[:pageLinks:pageLinks]
	l.page++
	return links[pageLinks:]
}

func hostAfter(page int) *frontier.HostUpdate {
	var memory []byte
	for i := range 3 {
		memory = binary.LittleEndian.AppendUint64(memory, mix(uint64(4*page+i)))
	}
	return &frontier.HostUpdate{Pace: time.Second, Robots: make([]byte, 300), Memory: memory}
}

func (l *load) written() (octets, commits int64) {
	tx, err := l.f.db.Begin(false)
	require.NoError(l, err)
	defer tx.Rollback()
	s := l.f.db.Stats().TxStats
	return s.GetPageAlloc() + int64(tx.ID())*int64(l.f.db.Info().PageSize), int64(tx.ID())
}

func (l *load) fill() {
	var cs []frontier.Candidate
	for n := 0; n < l.seen; {
		cs = cs[:0]
		for ; n < l.seen && len(cs) < 1<<14; n++ {
			cs = append(cs, l.web.link(l, n))
		}
		_, err := l.f.Add(context.Background(), cs)
		require.NoError(l, err)
	}
}

func (l *load) closeHalf() {
	ctx := context.Background()
	st, err := l.f.Stats(ctx)
	require.NoError(l, err)
	for left := int(st.Pending); left > 0; {
		c, err := l.f.Claim(ctx, frontier.Want{Hosts: min(left, 64), Tasks: 1})
		require.Truef(l, err == nil && len(c.Turns) != 0, "Claim: %d turns, error %v", len(c.Turns), err)
		left -= len(c.Turns)
		first := make([]frontier.Result, len(c.Turns))
		for i, t := range c.Turns {
			first[i] = fetched(t)
			first[i].Keep, first[i].Want, first[i].Host = true, int(t.Host.Queued/2), hostAfter(i)
		}
		more, err := l.f.Finish(ctx, first)
		require.NoError(l, err)
		for i := range c.Turns {
			c.Turns[i].Tasks = more[i].Tasks
			first[i] = fetched(c.Turns[i])
		}
		_, err = l.f.Finish(ctx, first)
		require.NoError(l, err)
	}
	l.sync()
}
