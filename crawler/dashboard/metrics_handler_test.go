package dashboard

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/status"
)

func scrape(t *testing.T, o MetricsOptions, crawls ...Glance) string {
	t.Helper()
	w := httptest.NewRecorder()
	o.Handler(func() []Glance { return crawls }).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d, %s\n%s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	return w.Body.String()
}

func running(name string) Glance {
	g := Glance{Name: name, At: time.UnixMilli(1_700_000_000_500)}
	g.Running = true
	g.Status = status.Status{State: "running", Exchanges: 12, Robots: 2, Pages: 7, Bytes: 1 << 20, Queued: 5, Hosts: 3}
	return g
}

func wants(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		assert.Containsf(t, text, "\n"+line+"\n", "no line %s in\n%s", line, text)
	}
}

func TestACrawlIsSeenInItsMetrics(t *testing.T) {
	g := running("news")
	g.Status.Failures = map[string]int64{"timeout": 4}
	g.Status.Answers, g.Status.Types, g.Status.Tags = map[string]int64{"2xx": 9}, map[string]int64{"image/*": 3}, map[string]int64{"a": 2}
	wants(t, scrape(t, MetricsOptions{Version: "1.2.3"}, g),
		`curtsy_crawl_running{crawl="news"} 1`,
		`curtsy_crawl_state{crawl="news",state="running"} 1`,
		`curtsy_crawl_state{crawl="news",state="paused"} 0`,
		`curtsy_crawl_seen_timestamp_seconds{crawl="news"} 1.7000000005e+09`,
		`curtsy_exchanges_total{crawl="news",kind="robots.txt"} 2`,
		`curtsy_exchanges_total{crawl="news",kind="url"} 10`,
		`curtsy_urls{crawl="news",state="queued"} 5`,
		`curtsy_failures_total{class="timeout",crawl="news"} 4`,
		`curtsy_responses_total{class="2xx",crawl="news"} 9`,
		`curtsy_responses_total{class="5xx",crawl="news"} 0`,
		`curtsy_responses_by_type_total{crawl="news",type="image/*"} 3`,
		`curtsy_pages_by_tag_total{crawl="news",tag="a"} 2`)
}

func TestACrawlThatDoesNotAnswerHasNoRates(t *testing.T) {
	g := running("news")
	g.Err = fmt.Errorf("it does not answer")
	text := scrape(t, MetricsOptions{}, g)
	wants(t, text, `curtsy_crawl_running{crawl="news"} 0`, `curtsy_pages_total{crawl="news"} 7`)
	assert.NotContains(t, text, "curtsy_permitted_exchanges_per_second{")
}

func TestMetrics_OpeningOfTheWindow(t *testing.T) {
	const name = "curtsy_window_opens_timestamp_seconds{"
	g := running("news")
	assert.NotContains(t, scrape(t, MetricsOptions{}, g), name)
	opens := time.Unix(1_700_003_600, 0)
	g.Status.Opens = &opens
	wants(t, scrape(t, MetricsOptions{}, g), name+`crawl="news"} 1.7000036e+09`)
}

func TestACrawlThatWasNotSeenYetHasNoCounts(t *testing.T) {
	text := scrape(t, MetricsOptions{}, Glance{Name: "news"})
	wants(t, text, `curtsy_crawl_running{crawl="news"} 0`)
	assert.NotContains(t, text, "curtsy_pages_total{")
}

// A label has at most fifty values and the rest. A value never moves to the rest: the falling counter would look like a restart.
func TestSeriesAreBounded(t *testing.T) {
	g := running("news")
	g.Status.Links = map[string]int64{}
	for i := range 200 {
		g.Status.Links[fmt.Sprintf("rule %03d", i)] = int64(200 - i)
	}
	h := MetricsOptions{}.Handler(func() []Glance { return []Glance{g} })
	series := func() (all []string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		for _, m := range regexp.MustCompile(`curtsy_links_not_followed_total\{.*rule="(.*)"\}`).FindAllStringSubmatch(w.Body.String(), -1) {
			all = append(all, m[1])
		}
		return all
	}
	first := series()
	require.Truef(t, len(first) == mostWords+1 && slices.Contains(first, others) && slices.Contains(first, "rule 000"), "%d series: %q", len(first), first)
	for i := range 200 {
		g.Status.Links[fmt.Sprintf("rule %03d", i)] = int64(1000 + i) // the last are the most now
	}
	assert.Equal(t, first, series())
}

func TestMetrics_EqualNamesAreDistinguished(t *testing.T) {
	g := running("a\xff \"s\"\nx")
	g.Status.Links = map[string]int64{"\xfe": 3, "\xfd": 4}
	wants(t, scrape(t, MetricsOptions{}, running("news"), running("news (2)"), running("news"), g, running("a\xfe \"s\"\nx")),
		`curtsy_pages_total{crawl="news"} 7`, `curtsy_pages_total{crawl="news (2)"} 7`, `curtsy_pages_total{crawl="news (3)"} 7`,
		`curtsy_pages_total{crawl="a`+"\uFFFD"+` \"s\"\nx"} 7`, `curtsy_pages_total{crawl="a`+"\uFFFD"+` \"s\"\nx (2)"} 7`,
		`curtsy_links_not_followed_total{crawl="a`+"\uFFFD"+` \"s\"\nx",rule="`+"\uFFFD"+`"} 7`)
}

func TestTheProcessOfACrawlIsSeen(t *testing.T) {
	own, other := scrape(t, MetricsOptions{Version: "1.2.3", Process: true}), scrape(t, MetricsOptions{Version: "1.2.3"})
	assert.Truef(t, strings.Contains(own, "\ngo_goroutines ") && !strings.Contains(other, "\ngo_goroutines "), "%v %v", own, other)
	assert.Truef(t, strings.Contains(other, `curtsy_build_info{goversion="go1.`) && strings.Contains(other, `version="1.2.3"`), "%v", other)
}
