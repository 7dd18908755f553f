package progress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/status"
	"curtsy/storage/plainly"
)

// troubles says when exchanges begin to fail, and which hosts are left alone, each once.
type troubles struct {
	looked  bool
	classes map[string]bool
	hosts   map[string]bool // that need not be said: of an earlier run, or said
	said    int
}

// mostTroubled is how many hosts are named while a crawl runs: the status names more.
const mostTroubled = 5

// look returns what is to be said of a status. What was so before the first look is none of this run.
func (t *troubles) look(s status.Status) (says []string) {
	first := !t.looked
	if t.looked = true; first {
		t.classes, t.hosts = map[string]bool{}, map[string]bool{}
	}
	for _, class := range slices.Sorted(maps.Keys(s.Failures)) {
		if !t.classes[class] && !first {
			says = append(says, "a request failed: "+plainly.Reason(class))
		}
		t.classes[class] = true
	}
	for _, r := range s.Resting {
		if t.hosts[r.Host] || t.said > mostTroubled {
			continue
		}
		if t.hosts[r.Host] = true; first || strings.HasPrefix(r.Reason, "robots") { // the crawl itself says that
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
