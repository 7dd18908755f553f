package progress

import (
	"fmt"
	"strings"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

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
