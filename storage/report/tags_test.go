package report_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/report"
)

func line(url, seed, tag string, outcome storage.Outcome, octets int64) storage.Line {
	return storage.Line{
		Time: start, Began: start, Took: time.Second, URL: url, Seed: seed, Tag: tag, Decision: storage.DecisionAllow, Attempt: 1, Status: 200,
		Record: "r", Type: "text/html", Octets: octets, Outcome: outcome, Kind: storage.KindLink,
	}
}

func TestReport_CountsByTag(t *testing.T) {
	robots := line("http://a.test/robots.txt", "", "", "", 50)
	robots.Decision, robots.Kind = storage.DecisionRobots, ""
	held := storage.Line{Time: start, URL: "http://a.test/9", Seed: "http://a.test/", Tag: "news", Decision: storage.DecisionHold, Outcome: storage.OutcomeHeld, Reason: "budget: max-per-tag", Count: 41, Kind: storage.KindLink}
	r, err := report.Make(t.Context(), made(t, robots,
		line("http://a.test/", "http://a.test/", "news", storage.OutcomeFetched, 100),
		line("http://a.test/2", "http://a.test/", "news", storage.OutcomeFetched, 10), held,
		line("http://b.test/", "http://b.test/", "<b>shop</b>", storage.OutcomeFailed, 7),
		line("http://c.test/", "http://c.test/", "", storage.OutcomeFetched, 1),
	))
	require.NoError(t, err)
	var got []string
	for _, tag := range r.Tags {
		got = append(got, fmt.Sprintf("%s: %d pages, %d exchanges, %d bytes, %d failed, %d held", tag.Tag, tag.Pages, tag.Exchanges, tag.Octets, tag.Failed, tag.Held))
	}
	want := "news: 2 pages, 2 exchanges, 110 bytes, 0 failed, 41 held\n(no tag): 1 pages, 1 exchanges, 1 bytes, 0 failed, 0 held\n" +
		"<b>shop</b>: 0 pages, 1 exchanges, 7 bytes, 1 failed, 0 held"
	assert.Truef(t, strings.Join(got, "\n") == want, "%s\nwant\n%s", strings.Join(got, "\n"), want)
	var page bytes.Buffer
	require.NoError(t, r.WriteHTML(&page))
	for _, part := range []string{"By tag of the seed", "<td class=\"url\">news</td>", "&lt;b&gt;shop", "(no tag)"} {
		assert.Contains(t, page.String(), part, "the page")
	}
}

func TestTagsAreBoundedAndMayBeMissing(t *testing.T) {
	r, err := report.Make(t.Context(), made(t, line("http://a.test/", "http://a.test/", "", storage.OutcomeFetched, 1)))
	require.NoError(t, err)
	assert.Nil(t, r.Tags)
	var all []storage.Line
	for i := range 700 {
		all = append(all, line("http://a.test/", "http://a.test/", fmt.Sprint("tag ", i), storage.OutcomeFetched, 1))
	}
	r, err = report.Make(t.Context(), made(t, all...))
	require.NoError(t, err)
	pages := int64(0)
	for _, tag := range r.Tags {
		pages += tag.Pages
	}
	if len(r.Tags) != 501 || pages != 700 || r.Tags[0].Tag != "(others)" || r.Tags[0].Pages != 200 {
		t.Errorf("%d tags with %d pages, first %+v", len(r.Tags), pages, r.Tags[0])
	}
}

func TestTheReportNamesTheLargestClusters(t *testing.T) {
	o := made(t, line("http://a.test/", "http://a.test/", "", storage.OutcomeFetched, 1))
	o.Duplicates = func(context.Context) (report.Duplicates, error) {
		d := report.Duplicates{Clusters: 30, Pages: 900}
		for range 30 {
			d.Largest = append(d.Largest, report.Cluster{URL: "http://a.test/<b>", Pages: 30, Copies: 7, Least: 0.8125, Samples: []string{"http://b.test/"}})
		}
		return d, nil
	}
	r, err := report.Make(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, r.Duplicates.Largest, 20, r.Duplicates)
	var page bytes.Buffer
	err = r.WriteHTML(&page)
	assert.Truef(t, err == nil && strings.Contains(page.String(), "30 clusters with 900 pages") && !strings.Contains(page.String(), "a.test/<b>"), "%v", err)
	o.Duplicates = func(context.Context) (report.Duplicates, error) { return report.Duplicates{}, errors.New("no index") }
	r, err = report.Make(t.Context(), o)
	assert.Truef(t, err == nil && r.Duplicates.Failed == "no index", "%+v, %v", r.Duplicates, err)
}
