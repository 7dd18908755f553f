package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Politeness rule 15: waiting for --max-rate counts against no timeout.
func TestMaxRate_CoversAllConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hosts, size, rate = 8, 100_000, 1000
		w := &world{serve: answering(ok(strings.Repeat("b", size)))}
		f := w.fetcher(t, Config{MaxRate: rate, IdleTimeout: 20 * time.Second, WholeTimeout: time.Minute})
		begin := time.Now()
		var g errgroup.Group
		for i := range hosts {
			g.Go(func() error {
				x, err := f.Do(t.Context(), Request{URL: mustURL(t, fmt.Sprintf("http://h%d.test/", i))})
				if err != nil {
					return err
				}
				defer x.Close()
				if x.Failure != nil || x.Body.Size() != size {
					return fmt.Errorf("host %d: %v, %d octets", i, x.Failure, x.Body.Size())
				}
				return nil
			})
		}
		require.NoError(t, g.Wait())
		took, least := time.Since(begin), (hosts*size-rate)/rate*time.Second
		assert.GreaterOrEqual(t, took, least)
		assert.LessOrEqual(t, took, least+10*time.Second)
	})
}

func TestMaxRateWaitIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := (&world{serve: answering(ok(strings.Repeat("b", 100_000)))}).fetcher(t, Config{MaxRate: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		begin := time.Now()
		x, err := f.Do(ctx, Request{URL: mustURL(t, "http://a.test/")})
		if x != nil || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 90*time.Second {
			t.Errorf("%v, %v after %v", x, err, time.Since(begin))
		}
	})
	if _, err := New(Config{MaxRate: -1}); err == nil {
		t.Error("a negative rate passes")
	}
}

func TestBeginAndBegunFrameTheSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		w.serve = func(n int, conn net.Conn) {
			if request(conn) != "" {
				say(conn, ok("bread"))
			}
			if n == 0 {
				time.Sleep(time.Second) // so that it is kept first
				conn.Close()            // while the second exchange waits in Begin
			}
		}
		f := w.fetcher(t, Config{WholeTimeout: 10 * time.Second})
		var said strings.Builder
		r := Request{
			URL: mustURL(t, "http://a.test/"),
			Begin: func(context.Context) error {
				time.Sleep(time.Minute)
				said.WriteString("begin ")
				return nil
			},
			Begun: func() { said.WriteString("begun ") },
		}
		for range 2 {
			x := do(t, f, r)
			expect(t, x, "", "")
			assert.LessOrEqual(t, x.End.Sub(x.Start), time.Second, "the exchange took too long")
		}
		assert.Equal(t, "begin begun "+"begin begun "+"begin begun ", said.String())
		assert.Len(t, w.dialed, 2, "connections")
		r.Begin = func(context.Context) error { return context.Canceled }
		if x, err := f.Do(t.Context(), r); x != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", x, err)
		}
	})
}
