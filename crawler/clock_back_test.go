package crawler

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"curtsy/crawler/crawltest"
	"curtsy/crawler/host"
	"curtsy/frontier"
)

// A clock that was set back between two runs makes a host wait for its pace, and not until the clock is where it was; one
// that was not makes it wait for what is left of the pace. Neither shortens it.
func TestRule17_AClockSetBackBetweenRunsOwesNoMoreThanThePace(t *testing.T) {
	for ahead, wait := range map[time.Duration]time.Duration{ // by how much the last exchange ended later than now
		25 * time.Hour: Floor, 10_000 * time.Hour: Floor, Floor + time.Millisecond: Floor, time.Millisecond: Floor,
		0: Floor, -Floor / 4: Floor * 3 / 4, -Floor: 0, -25 * time.Hour: 0,
	} {
		bubble(t, ahead.String(), func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/"}, crawltest.Tree("a.test", 3))
			begin := time.Now()
			had := host.State{LastEnd: begin.Add(ahead).UnixMicro(), Run: 1}
			w.update(frontier.Result{Host: &frontier.HostUpdate{Memory: had.Append(nil), Pace: time.Millisecond}})
			if s := w.run(); s.Status.Fetched != 3 {
				t.Errorf("%d fetched", s.Status.Fetched)
			}
			all := w.web.Referee().Requests()
			if waited := all[0].Start.Sub(begin); waited < wait || waited > wait+10*time.Millisecond {
				t.Errorf("the first request came after %v, want %v", waited, wait)
			}
			for i := range all[1:] {
				if gap := all[i+1].Start.Sub(all[i].End); gap < Floor || gap > Floor+time.Second {
					t.Errorf("request %d came %v after the one before it", i+1, gap)
				}
			}
		})
	}
}

// setBack are locks that find that the clock was set back.
type setBack struct {
	*busyLocks
	by time.Duration
}

func (l setBack) SetBack() time.Duration { return l.by }

// That a clock was set back, as the locks of hosts show, is said, once; of one that was not nothing is.
func TestRule17_AClockSetBackIsSaidOnce(t *testing.T) {
	for by, want := range map[time.Duration]int{25 * time.Hour: 1, 0: 0} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, []string{"http://a.test/", "http://b.test/"}, crawltest.Tree("a.test", 3), crawltest.Tree("b.test", 3))
			w.cfg.HostLocks = setBack{newBusyLocks(time.Second), by}
			w.run()
			said := 0
			for _, s := range w.said {
				if strings.Contains(s, "the clock was set back by 25h0m0s") {
					said++
				}
			}
			if said != want {
				t.Errorf("set back by %v: said %d times: %q", by, said, w.said)
			}
		})
	}
}
