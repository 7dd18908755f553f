package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// A copy taken during a workload opens, is clean by Check, and has everything that was applied, and an unclean stop.
func TestSnapshot_HoldsStateAtCall(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			e := newEngine(t, dir, frontier.Options{})
			rng := rand.New(rand.NewPCG(seed, 6))
			for i := range 6 {
				e.busy(seed*100+uint64(i), 25)
				c, err := e.Claim(context.Background(), frontier.Want{Tasks: 4, MaxWait: 5 * time.Hour})
				require.NoError(t, err)
				require.NotEmpty(t, c.Turns, c)
				e.finish(e.anything(rng, c.Turns[0], 2000+i)) // applied, and not durable yet
				copied := filepath.Join(dir, fmt.Sprint("copy", i))
				require.NoError(t, e.Snapshot(context.Background(), copied))
				e.Frontier.kill() // everything was durable
				checkClean(t, copied)
				got, gotStats := export(t, copied)
				want, wantStats := export(t, e.file)
				assert.Truef(t, reflect.DeepEqual(got, want) && reflect.DeepEqual(gotStats, wantStats), "the copy differs:\n%+v\n%+v", gotStats, wantStats)
				assert.True(t, gotStats.Unclean, "the copy of a running crawl reports a clean stop")
				e.start()
			}
			files, _ := os.ReadDir(dir)
			assert.Len(t, files, 7)
		})
	}
}

func TestSnapshot_DuringTurns(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, dir, frontier.Options{})
	e.add(e.links("a", 0, 20_000))
	var all sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			r := fetched(e.turn(10))
			r.Found = e.links("a", 100_000+i*20, 20)
			e.finish(r)
			if i%10 == 0 {
				e.sync()
			}
		}
	})
	for i := range 4 {
		copied := filepath.Join(dir, fmt.Sprint("copy", i))
		assert.NoError(t, e.Snapshot(context.Background(), copied))
		checkClean(t, copied)
	}
	close(stop)
	all.Wait()
}

func TestSnapshot_FailureLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	e := newEngine(t, dir, frontier.Options{})
	e.add(e.links("a", 0, 3000))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.ErrorIs(t, e.Snapshot(ctx, filepath.Join(dir, "copy")), context.Canceled, "cancelled")
	assert.ErrorIs(t, e.Snapshot(context.Background(), e.file), fs.ErrExist, "onto itself")
	assert.ErrorIs(t, e.Snapshot(context.Background(), filepath.Join(dir, "none", "copy")), fs.ErrNotExist, "into no directory")
	for _, octets := range []int{0, 5000, 50_000} {
		full := errors.New("no space left")
		err := e.copyTo(context.Background(), writerFunc(func(b []byte) (int, error) {
			if octets -= len(b); octets < 0 {
				return 0, full
			}
			return len(b), nil
		}))
		assert.Errorf(t, err, "a disk that is full after %d octets", octets)
	}
	ctx, cancel = context.WithCancel(context.Background())
	err := e.copyTo(ctx, writerFunc(func(b []byte) (int, error) {
		cancel()
		return len(b), nil
	}))
	assert.ErrorIs(t, err, context.Canceled, "cancelled on the way")
	files, _ := os.ReadDir(dir)
	assert.Len(t, files, 1)
	e.finish(fetched(e.turn(10)))
	e.sync()
}
