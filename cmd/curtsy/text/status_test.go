package text

import (
	"strings"
	"testing"
	"time"

	"curtsy/crawler"
	"curtsy/crawler/status"
)

// A list of reasons stands behind how many there are in all, on every line that has one.
func TestReasonsStandBehindTheirSum(t *testing.T) {
	got := Status(status.Status{
		Failures: map[string]int64{"status:429": 1, "status:5xx": 2}, NotRead: map[string]int64{"coding": 1},
		Links: map[string]int64{"scope:nofollow": 7}, Capped: map[string]int64{"cap:host": 3},
		Why: map[string]map[string]int64{"parked": {"a": 1, "b": 2}},
	}, "", time.Time{})
	for _, says := range []string{"\nfailures     3 (2 ", "\nnot read     1 (1 ", "\nnot followed 7 (7 ", "\nover a limit 3 (3 ", "\n  parked     3 (2 b, 1 a)"} {
		if !strings.Contains(got, says) {
			t.Errorf("%q is not in\n%s", says, got)
		}
	}
}

// A summary ends with what to type next: what is left to do, if anything is, and what looks at what is there.
func TestASummaryEndsWithWhatToTypeNext(t *testing.T) {
	s := crawler.Summary{EndedBy: crawler.EndedInterrupted, Status: status.Status{Elapsed: 9, Bytes: 1, Queued: 3, Failed: 1}}
	want := "go on    curtsy resume 'my news'\n" +
		"look at  curtsy status 'my news'       (what is left, and which hosts are left alone)\n" +
		"         curtsy report 'my news'       (what was crawled, and what was not, as a page)\n" +
		"         curtsy audit 'my news'        (was it polite?)\n" +
		"         curtsy explain 'my news' URL  (why a URL was not fetched)\n"
	if got := Summary(s, "my news", true); !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at its end\n%s", got, want)
	}
	s.Status.Queued, s.Status.Failed, s.EndedBy = 0, 0, crawler.EndedDrained
	want = "ledger   news/ledger\nlook at  curtsy report news  (what was crawled, and what was not, as a page)\n         curtsy audit news   (was it polite?)\n"
	if got := Summary(s, "news", true); !strings.HasSuffix(got, want) {
		t.Errorf("%s\nwant at its end\n%s", got, want)
	}
}
