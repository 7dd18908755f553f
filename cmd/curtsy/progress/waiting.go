package progress

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// waiting says what a crawl waits for when nothing else goes on, each time that it is something else.
type waiting struct {
	said      string // the hosts that were named last
	exchanges int64  // as of the last look
	looked    bool   // there was one
}

// maxNamed is how many hosts a sentence names.
const maxNamed = 3

// look returns what is to be said of a status; empty when the crawl does not just wait, or that was said.
func (w *waiting) look(s status.Status) string {
	still := w.looked && w.exchanges == s.Exchanges && s.Exchanges+s.InFlight > 0
	w.exchanges, w.looked = s.Exchanges, true
	hosts, says := "", ""
	switch left := s.Queued + s.Deferred; {
	case s.State != "running" || left+s.InFlight == 0:
	case s.InFlight == 0:
		hosts, says = resting(s, left)
	case still: // since the last look, a second before or more
		hosts, says = answering(s)
	}
	if says == "" || hosts == w.said {
		return ""
	}
	w.said = hosts
	return says + fmt.Sprintf("; Ctrl-C ends the crawl now and leaves %s for curtsy resume", plainly.Count(s.Queued+s.Deferred+s.InFlight, "URL"))
}

// resting names the hosts that a crawl waits for when all that have something left are left alone.
func resting(s status.Status, left int64) (hosts, says string) {
	var names []string
	first := math.Inf(1)
	for _, r := range s.Resting {
		left -= r.Pending
		if r.Wait > 0 {
			names = append(names, r.Host+" ("+plainly.Reason(r.Reason)+")")
			first = min(first, r.Wait)
		}
	}
	for _, q := range s.Longest { // Resting has none that is open
		if q.State == "" && q.Wait > q.Pace {
			left -= q.Pending
			names = append(names, q.Host+" ("+status.NotDue+")")
			first = min(first, q.Wait)
		}
	}
	if left > 0 || len(names) == 0 {
		return "", ""
	}
	slices.Sort(names)
	return strings.Join(names, " "), fmt.Sprintf("only hosts in back-off are left: %s; next request in %v", named(names), text.Seconds(first).Round(time.Second))
}

// answering names the hosts that a crawl waits for when nothing came for a while.
func answering(s status.Status) (hosts, says string) {
	var names []string
	for _, q := range s.Longest {
		if q.State == "" {
			names = append(names, q.Host)
		}
	}
	if len(names) == 0 {
		return "", ""
	}
	slices.Sort(names)
	return strings.Join(names, " "), fmt.Sprintf("waiting for responses from %s", named(names))
}

// named lists the first of many.
func named(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// troubles says which hosts are left alone, each once.
type troubles struct {
	hosts map[string]bool // that need not be said: of an earlier run, or said; nil before the first look
	said  int
	full  map[string]bool // limits of which it was said that a host reached them
}

// mostTroubled is how many hosts are named while a crawl runs: the status names more.
const mostTroubled = 5

// look returns what is to be said of a status. What was so before the first look is none of this run.
func (t *troubles) look(s status.Status) (says []string) {
	first := t.hosts == nil
	if first {
		t.hosts, t.full = map[string]bool{}, map[string]bool{}
	}
	for _, r := range s.Resting {
		if limit := strings.HasPrefix(r.Reason, storage.RuleOfBudget); limit && !t.full[r.Reason] && !t.hosts[r.Host] {
			t.hosts[r.Host], t.full[r.Reason] = true, true
			if !first {
				says = append(says, fmt.Sprintf("%s is not being crawled: %s; curtsy status counts further hosts", r.Host, plainly.Reason(r.Reason)))
			}
		}
		if t.hosts[r.Host] || t.said > mostTroubled {
			continue
		}
		closed := r.Condition == frontier.Retired.String() || r.Condition == frontier.Refused.String()
		if t.hosts[r.Host] = true; first || closed || strings.HasPrefix(r.Reason, "robots") { // the crawl itself says that
			continue
		}
		switch t.said++; {
		case t.said > mostTroubled:
			says = append(says, "more hosts are not being crawled; curtsy status lists them")
		case r.Wait > 0:
			says = append(says, fmt.Sprintf("backing off from %s: %s; next try in %v", r.Host, plainly.Reason(r.Reason), text.Seconds(r.Wait).Round(time.Second)))
		default:
			says = append(says, fmt.Sprintf("%s is not being crawled: %s", r.Host, plainly.Reason(r.Reason)))
		}
	}
	return says
}
