package dashboard

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/status"
)

func TestOverview_LikelyEnd(t *testing.T) {
	for _, tt := range []struct {
		e    status.Estimate
		want []string
	}{
		{status.Estimate{Host: "http://a.test", Left: time.Minute, Likely: 3 * time.Hour}, []string{"<h2>Done about</h2>", "about 3 h 0 min left<"}},
		{status.Estimate{Host: "http://a.test", Left: time.Minute, Likely: 2 * time.Minute, Until: "max-pages"}, []string{"<h2>Done about</h2>", "about 2 min left, by --max-pages<"}},
		{status.Estimate{Host: "http://a.test", Left: time.Minute, Until: "max-time", AtMost: true}, []string{"<h2>Done at the latest</h2>", "at most 60 s left, by --max-time<"}},
		{status.Estimate{Host: "http://a.test", Left: time.Minute, Open: true}, []string{"<h2>Done at the earliest</h2>", "at least 60 s left, more may be found<"}},
		{status.Estimate{}, []string{"only hosts that are backing off are left<"}},
	} {
		s, c, cookie := guarded(t)
		c.look = Look{Running: true}
		c.look.Status, c.look.Estimate = status.Status{State: "running", Queued: 3}, tt.e
		s.watchers[0].once(t.Context(), firstRead)
		page, err := io.ReadAll(asked(t, s, "GET", "/crawl/0/", "", cookie).Body)
		for _, want := range tt.want {
			require.NoError(t, err)
			assert.Containsf(t, string(page), want, "%+v: the page", tt.e)
		}
	}
}

func TestOverview_CountsTypesAndTags(t *testing.T) {
	s, c, cookie := guarded(t)
	c.look.Status = status.Status{State: "running", Types: map[string]int64{"text/html": 1234, "image/*": 56}, Tags: map[string]int64{"<news>": 78}}
	s.watchers[0].once(t.Context(), firstRead)
	b, err := io.ReadAll(asked(t, s, "GET", "/crawl/0/", "", cookie).Body)
	page := strings.ReplaceAll(string(b), "\u202f", ",")
	for _, want := range []string{"2xx responses by media type", "text/html", "1,234", "image/*", "56", "Pages by seed tag", "&lt;news&gt;", "78"} {
		require.NoError(t, err)
		assert.Containsf(t, page, want, "%v: the page lacks %q", err, want)
	}
}

func TestFrontPage_ShowsEachState(t *testing.T) {
	running, paused := &fakeCrawl{name: "news"}, &fakeCrawl{name: "docs", look: Look{Look: status.Look{Status: status.Status{State: "paused"}}}}
	running.look.Status.State = "running"
	s := New(Options{Sources: []Source{running, paused}, Token: testToken})
	for _, w := range s.watchers {
		w.once(t.Context(), firstRead)
	}
	c := asked(t, s, "GET", "/?token="+testToken, "").Cookies[0]
	page, err := io.ReadAll(asked(t, s, "GET", "/", "", "Cookie: "+c.Name+"="+c.Value).Body)
	for _, state := range []string{"running", "paused"} {
		require.NoError(t, err)
		assert.Containsf(t, string(page), `data-state="`+state+`">`+state+`<`, "%v: the page does not show %q:\n%s", err, state, page)
	}
}
