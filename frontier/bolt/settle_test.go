package bolt

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"curtsy/frontier"
	"curtsy/frontier/bolt/layout"
)

// Retry sees a durable commit before the writer has settled it: an earlier deferral is dropped, and one after the Retry
// is not.
func TestRetry_BetweenCommitAndSettlement(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	gated := false
	e := newEngine(t, t.TempDir(), frontier.Options{Barrier: func(context.Context) error {
		if gated {
			entered <- struct{}{}
			<-leave
		}
		return nil
	}})
	e.add(e.links("a", 0, 1))
	turn := e.turn(1)
	e.finish(frontier.Result{
		Authority: turn.Authority, Token: turn.Token, Deferred: []frontier.Deferral{{Print: turn.Tasks[0].Print, Reason: "status 500"}},
	})
	e.sync()
	r := fetched(e.turn(1))
	r.Done[0].Outcome = frontier.Failed
	before := e.transactions()
	gated = true
	e.finish(r)
	synced := make(chan error)
	go func() { synced <- e.Sync(context.Background()) }()
	<-entered
	e.mu.Lock() // the writer cannot settle its commits
	gated = false
	leave <- struct{}{}
	for e.transactions() == before {
		runtime.Gosched()
	}
	of := layout.MakeRef(1, 0)
	if e.retries.of[of] == nil {
		e.mu.Unlock()
		t.Fatal("the deferral is not kept until the commit is settled: the test proves nothing")
	}
	var fates *layout.Endings
	assert.NoError(t, e.db.View(func(tx *bbolt.Tx) (err error) { fates, err = layout.ReadEndings(tx); return err }))
	now := e.clock.Now()
	e.groups.touch(now)
	e.reopen(storedURL{ref: of, host: e.Frontier.hosts.byName[turn.Authority].id, ending: fates.Record(1)[0]}, false, now)
	assert.Nil(t, e.retries.of[of], "a reopened URL has the deferral of the attempt before")
	newer := &retry{Retry: layout.Retry{Due: now, Attempts: 7}}
	e.retries.of[of] = newer // as if it had been deferred at once
	e.mu.Unlock()
	require.NoError(t, <-synced)
	e.mu.Lock()
	defer e.mu.Unlock()
	assert.True(t, e.retries.of[of] == newer, "the settlement of an older commit has dropped a newer deferral")
	delete(e.retries.of, of) // the file has none
}

// The retry of a URL is dropped when it is closed, but not before that is durable.
func TestSettle_DropsTheDeferralsOfClosedURLs(t *testing.T) {
	e := newEngine(t, t.TempDir(), frontier.Options{})
	const urls = 10
	e.add(e.links("a", 0, urls))
	turn := e.turn(urls)
	r := frontier.Result{Authority: turn.Authority, Token: turn.Token}
	for _, x := range turn.Tasks {
		r.Deferred = append(r.Deferred, frontier.Deferral{Print: x.Print})
	}
	e.finish(r)
	e.sync()
	r = fetched(e.turn(urls))
	r.Done = r.Done[:6]
	e.finish(r)
	e.sync()
	e.mu.Lock()
	defer e.mu.Unlock()
	assert.Equal(t, 4, len(e.retries.of), "deferrals are kept, of 4 pending URLs")
}
