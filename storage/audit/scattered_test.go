package audit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"curtsy/storage/audit/finding"
)

// shuffled makes an archive of another crawler whose records stand in no order: its pauses are of three seconds, Crawl-delay is
// delay, and in each burst are several pages.
func shuffled(t *testing.T, random *rand.Rand, delay int) *archive {
	a := foreign(t)
	a.form = []string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z"}[random.IntN(3)]
	a.add(fetch{url: site + "/robots.txt", body: fmt.Sprintf("User-agent: *\nCrawl-delay: %d\n", delay), meta: "none"})
	var starts []time.Duration
	at := 10 * time.Second
	for range 5 + random.IntN(60) {
		starts = append(starts, at)
		at += 3*time.Second + 50*time.Millisecond + time.Duration(random.IntN(200))*time.Millisecond
		if random.IntN(5) == 0 {
			at += time.Duration(random.IntN(600)) * time.Second
		}
	}
	apart, order := random.IntN(2) == 0, random.IntN(3)
	pages := make([]fetch, 0, 2*len(starts))
	for i, at := range starts {
		f := fetch{url: fmt.Sprintf("%s/%d", site, i), at: at, meta: "none"}
		if !apart {
			pages = append(pages, f)
			continue
		}
		f.noReq = true
		ask := fetch{url: f.url, at: at, meta: "none", status: -1}
		pages = append(pages, f, ask)
	}
	switch order {
	case 0: // backwards
		for i, j := 0, len(pages)-1; i < j; i, j = i+1, j-1 {
			pages[i], pages[j] = pages[j], pages[i]
		}
	default:
		random.Shuffle(len(pages), func(i, j int) { pages[i], pages[j] = pages[j], pages[i] })
	}
	for _, f := range pages {
		a.add(f)
	}
	return a
}

// In whatever order the records of another crawler stand, its pauses are judged by their dates, and kept ones accuse nobody.
func TestPausesAreJudgedByDatesInWhateverOrder(t *testing.T) {
	for seed := range seeds(40) {
		random := rand.New(rand.NewPCG(seed, 1))
		if r := shuffled(t, random, 3).audit(Options{}); strings.Contains(codes(r), string(finding.Gap)) || strings.Contains(codes(r), string(finding.InFlight)) {
			t.Errorf("seed %d: a pause of 3 s that was kept: %q%s", seed, codes(r), shown(r))
		}
		if r := shuffled(t, random, 7).audit(Options{}); !strings.Contains(codes(r), string(finding.Gap)) {
			t.Errorf("seed %d: a pause of 7 s that was not kept: %q%s", seed, codes(r), shown(r))
		}
	}
}
