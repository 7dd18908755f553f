package trial

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"curtsy/crawler"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage/hostrule"
	"curtsy/storage/ledger"
)

// As in package crawldir, settings are stored first, then the ledger, then the crawl; other acts precede their marks.
func (x *trial) operate(ctx context.Context, t *testing.T, c *crawl, life int, most time.Duration) {
	d := throw(x.web.seed, "acts", strconv.Itoa(life))
	if !d.in(2) {
		return
	}
	tell := func(o ledger.Operator) {
		o.Note = "on trial"
		assert.NoError(t, c.ledger.Operator(context.WithoutCancel(ctx), o))
		x.acts++
	}
	perHost := int64(0)
	change := func(o ledger.Operator) {
		tell(o)
		err := c.crawl.Change(context.WithoutCancel(ctx), crawler.Terms{MaxTime: most, MaxPerHost: perHost, Hosts: x.set.hosts, Exclude: x.set.exclude})
		assert.NoError(t, err)
	}
	for n := 1 + d.IntN(6); n > 0; n-- {
		select {
		case <-time.After(time.Duration(d.IntN([]int{500, 4000, 15_000}[d.IntN(3)])) * time.Millisecond):
		case <-ctx.Done():
			return
		}
		name := x.web.host(d.IntN(x.web.hosts)).name
		a, err := canon.ParseAuthority("http://" + name)
		if err != nil {
			t.Error(err)
			return
		}
		switch d.IntN(7) {
		case 0:
			c.crawl.Pause(true)
			tell(ledger.Operator{Act: ledger.ActPause})
			select {
			case <-time.After(time.Duration(d.IntN(5000)) * time.Millisecond):
			case <-ctx.Done():
			}
			c.crawl.Pause(false)
			tell(ledger.Operator{Act: ledger.ActGoOn})
		case 1:
			park := frontier.Steering{Act: frontier.Park, Authority: a, For: time.Duration(1+d.IntN(20)) * time.Second}
			if _, err := c.crawl.Steer(ctx, park); err == nil {
				tell(ledger.Operator{Act: ledger.ActPark, About: a.Origin()})
			}
		case 2:
			if _, err := c.crawl.Steer(ctx, frontier.Steering{Act: frontier.Resume, Authority: a}); err == nil {
				tell(ledger.Operator{Act: ledger.ActRelease, About: a.Origin()})
			}
		case 3:
			x.set.exclude = append(slices.Clip(x.set.exclude), "["+strconv.Itoa(d.IntN(10))+"]$")
			change(ledger.Operator{Act: ledger.ActExclude, About: x.set.exclude[len(x.set.exclude)-1]})
		case 4:
			perHost = int64(1 + d.IntN(30))
			change(ledger.Operator{Act: ledger.ActMaxPerHost})
		default:
			match := []string{"*", a.Host()}[d.IntN(2)]
			rule := hostrule.Rule{Match: match, Delay: time.Second + time.Duration(d.IntN(4000))*time.Millisecond}
			if len(x.set.hosts) >= hostrule.MaxRules {
				return
			}
			x.set.hosts = append(slices.Clip(x.set.hosts), rule)
			x.raised++
			change(ledger.Operator{Act: ledger.ActDelay, About: match, Hosts: match, Delay: rule.Delay})
		}
	}
}
