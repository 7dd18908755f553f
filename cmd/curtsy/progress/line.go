package progress

import (
	"fmt"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// Line returns the state of a crawl in one line, the most important first. Rates are those of the last seconds.
func Line(l status.Look, rates status.Rates) string {
	s, e := &l.Status, &l.Estimate
	line := fmt.Sprintf("%s %s  %d fetched, %d pending", text.Clock(text.Seconds(s.Elapsed)), text.StateWord(s.State), s.Fetched, s.Queued+s.InFlight+s.Deferred)
	if s.Opens != nil {
		line += ", outside its window; continues at " + s.Opens.Format("Mon 2 Jan 15:04 MST")
	}
	if s.State == "running" && rates.Exchanges > 0 {
		line += ", " + perSecond(rates.Pages) + " pages/s"
		if rates.Permitted > 0 { // hosts come and go meanwhile, so the rate may seem higher than permitted
			line += fmt.Sprintf(" (%.0f %% of permitted)", 100*min(rates.Exchanges/rates.Permitted, 1))
		}
		if e.Likely > 0 {
			left, more := e.RestText()
			line += ", " + left + more
		}
	}
	if s.Failed > 0 {
		line += fmt.Sprintf(", %d failed", s.Failed)
	}
	line += ", " + plainly.Count(s.Hosts, "host")
	if n := s.Parked + s.Retired + s.Refused; n > 0 {
		line += fmt.Sprintf(" (%d waiting or closed)", n)
	}
	return plainly.OneLine(line + ", " + plainly.RoughSize(s.Bytes))
}

// perSecond writes a rate in as many digits as are significant.
func perSecond(r float64) string {
	switch {
	case r >= 100:
		return fmt.Sprintf("%.0f", r)
	case r >= 10 || r == 0:
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%.2f", r)
}

// work is how far a long work is at one instant.
type work struct {
	Name  string
	Part  string // of it, that is under way; empty for none
	Thing string // that is counted; empty for bytes
	Done  int64
	Total int64 // zero: not known
	Took  time.Duration
}

// count writes a number of things, or bytes.
func (w work) count(n int64) string {
	if w.Thing == "" {
		return plainly.RoughSize(n)
	}
	return plainly.Count(n, w.Thing)
}

// far is how far it is, in words.
func (w work) far() string {
	if w.Total == 0 {
		return w.count(w.Done)
	}
	done := plainly.RoughSize(w.Done)
	if w.Thing != "" {
		done = fmt.Sprint(w.Done)
	}
	return done + " of " + w.count(w.Total)
}

// rate is how much is done in a second; empty where that is not known yet.
func (w work) rate() string {
	if w.Took < time.Second || w.Done == 0 {
		return ""
	}
	n := float64(w.Done) / w.Took.Seconds()
	if w.Thing == "" {
		return plainly.RoughSize(int64(n)) + "/s"
	}
	return perSecond(n) + "/s"
}

// left is how long it still takes at that rate; empty where that is not known.
func (w work) left() string {
	if w.Took < 2*time.Second || w.Done == 0 || w.Total == 0 || w.Done >= w.Total {
		return ""
	}
	left := time.Duration(float64(w.Took) / float64(w.Done) * float64(w.Total-w.Done))
	return status.Roughly(max(left, time.Second)) + " left"
}

// line is a work in one line.
func (w work) line() string {
	name := w.Name
	if w.Part != "" {
		name += ": " + w.Part
	}
	line := text.Clock(w.Took) + " " + name + "  " + w.far()
	if w.Total > 0 {
		line += fmt.Sprintf(", %.0f %%", 100*min(float64(w.Done)/float64(w.Total), 1))
	}
	for _, s := range []string{w.rate(), w.left()} {
		if s != "" {
			line += ", " + s
		}
	}
	return plainly.OneLine(line)
}
