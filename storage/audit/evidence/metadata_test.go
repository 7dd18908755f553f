package evidence

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
	"curtsy/storage"
)

func TestTheWordsAreThoseOfTheDocs(t *testing.T) {
	b, err := os.ReadFile("../../../docs/reference/ledger.md")
	require.NoError(t, err)
	for name, c := range map[string]struct{ have, other []string }{
		"decision": {decisionWords, []string{"disallow", "refuse", "hold", "opt-out"}},
		"outcome":  {outcomeWords, []string{"disallowed", "held"}},
		"change":   {changeWords, []string{"fresh"}},
		"kind":     {kindWords, nil},
		"pace_by":  {paceWords, nil},
	} {
		_, section, _ := strings.Cut(string(b), "## `"+name+"`")
		section, _, _ = strings.Cut(section, "\n## ")
		var want []string
		for line := range strings.Lines(section) {
			if word, ok := strings.CutPrefix(line, "| `"); ok {
				word, _, _ = strings.Cut(word, "`")
				want = append(want, word)
			}
		}
		have := slices.Concat(c.have[1:], c.other)
		slices.Sort(have)
		slices.Sort(want)
		assert.Equal(t, want, have, name)
	}
}

func TestAnOutcomeFitsTheStatus(t *testing.T) {
	all := outcomeWords[1:]
	for _, c := range []struct {
		status int
		whole  bool
		reason string
		may    string
	}{
		{200, true, "", "fetched dropped"}, {200, true, "coding", "fetched failed dropped deferred"}, {200, false, "timeout", "fetched failed dropped deferred"},
		{200, true, "aborted", "fetched failed dropped deferred"},
		{301, true, "", "redirected failed dropped deferred"}, {404, true, "status 404", "gone"}, {410, true, "", "gone"},
		{404, false, "incomplete", "gone failed dropped deferred"}, {403, true, "", "failed deferred"}, {503, true, "", "failed deferred"},
		{304, true, "", "fetched redirected failed gone dropped deferred"},
	} {
		for _, word := range all {
			l := storage.Line{Decision: "allow", Reason: c.reason}
			set(&l, word)
			found := len(Troubles(&l, Answer{Status: c.status, Whole: c.whole})) > 0
			assert.NotEqualf(t, slices.Contains(strings.Fields(c.may), word), found, "%d, whole %v, %q: %s found", c.status, c.whole, c.reason, word)
		}
	}
}

func set(l *storage.Line, word string) {
	if err := storage.FieldOfMetadata("outcome").SetText(l, word); err != nil {
		panic(err)
	}
}

func TestTokenOf(t *testing.T) {
	for agent, want := range map[string]string{
		"Lantern/1.0 (+https://x.test)": "Lantern",
		"Wget/1.21.3":                   "Wget",
		"Mozilla/5.0 (compatible; heritrix/3.4.0 +http://x)": "heritrix",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36": "",
		"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)": "",
		"my_bot-x 1": "my_bot-x",
		"":           "",
	} {
		assert.Equal(t, want, TokenOf(agent), agent)
	}
}

func declared(windows ...string) *Info {
	in := &Info{}
	for _, w := range windows {
		in.add("window", w)
	}
	in.read()
	return in
}

func TestAWindowIsReadByTheClockOfItsPlace(t *testing.T) {
	night := declared("22:00-06:00 Europe/Berlin")
	week := declared("Mon-Fri 22:00-06:00 Europe/Berlin", "Sat,Sun 00:00-24:00 UTC")
	missing, twice := declared("02:30-04:00 Europe/Berlin"), declared("Sun 01:00-02:30 Europe/Berlin")
	for _, tt := range []struct {
		in   *Info
		at   string
		open bool
	}{
		{night, "2026-01-10T21:00:00Z", true}, {night, "2026-01-10T20:59:59Z", false}, {night, "2026-01-11T04:59:59Z", true}, {night, "2026-01-11T05:00:00Z", false},
		{night, "2026-03-29T03:59:59Z", true}, {night, "2026-03-29T04:00:00Z", false}, {night, "2026-10-25T04:30:00Z", true}, {night, "2026-10-25T05:00:00Z", false},
		{missing, "2026-03-29T00:59:59Z", false}, {missing, "2026-03-29T01:00:00Z", true}, {missing, "2026-03-29T02:00:00Z", false},
		{twice, "2026-10-25T00:29:59Z", true}, {twice, "2026-10-25T00:30:00Z", false}, {twice, "2026-10-25T01:15:00Z", true}, {twice, "2026-10-25T01:30:00Z", false},
		{week, "2026-03-06T21:00:00Z", true}, {week, "2026-03-05T20:00:00Z", false}, {week, "2026-03-07T04:59:00Z", true}, {week, "2026-03-07T12:00:00Z", true},
		{week, "2026-03-09T00:00:00Z", false}, {week, "2026-03-09T04:00:00Z", false}, // Sunday's night is not Monday's
		{declared(), "2026-03-09T00:00:00Z", true},
		{declared("22:00-06:00 Europe/Berlin", "22-6"), "2026-03-09T12:00:00Z", true}, // one window is unreadable
		{declared("22:00-06:00 Nowhere"), "2026-03-09T12:00:00Z", true},
		{declared("Mon-Fri 22:00-06:00 Local"), "2026-03-09T12:00:00Z", true},
	} {
		at, err := time.Parse(time.RFC3339, tt.at)
		require.NoError(t, err)
		assert.NotEqualf(t, tt.open, tt.in.Outside(at), "%v at %s", tt.in.Fields, tt.at)
	}
}

// oddTargets are targets that servers have and that net/url rejects or respells.
var oddTargets = []string{
	"/100%", "/100%.html", "/x%zz", "/%u0041", "/50%off.html", "/operator%.html", "/%", "/%2", "/a%%41", "/?q=%", "/?%zz=%u2212",
	"//x", "/a//b", "/[x]", "/{x}", "/a|b", "/a'b", "/;p=1", "/a^b", "/a%2fb%22", "/%C3", "/%00", "/?", "/a?b?c", "/~x", "/%7Ex",
}

func FuzzParse(f *testing.F) {
	for _, target := range oddTargets {
		f.Add("https://bakery.test/base", target)
		f.Add("https://bakery.test"+target, "http://user:pw@Example.TEST.:8080"+target)
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		p, err := ParseURL(base)
		if err == nil && (p.Authority == "" || p.Target == "" || p.Target[0] != '/' && p.Target[0] != '\\' || !IsHTTP(p.Authority)) {
			t.Fatalf("%q is %+v", base, p)
		}
		u, err := canon.Parse(base)
		if err != nil {
			return
		}
		if p, err = ParseURL(u.String()); err != nil || p.Target != u.RequestURI() || p.Key != u.Key() || p.Authority+u.RequestURI() != u.String() {
			t.Fatalf("%s is %+v, %v", u, p, err)
		}
		to, err := u.Resolve(ref)
		q, err2 := Resolve(u.String(), ref)
		if (err == nil) != (err2 == nil) || err == nil && (q.Key != to.Key() || q.Authority+q.Target != to.String()) {
			t.Fatalf("%q from %s is %s (%v), and %+v (%v)", ref, u, to, err, q, err2)
		}
		require.Equal(t, p, requestURL(p.Authority, p.Target))
	})
}

func TestTextsComeBack(t *testing.T) {
	x, err := NewStore(t.TempDir())
	require.NoError(t, err)
	defer x.Close()
	var at []Text
	bodies := make([]string, 150)
	for i := range bodies {
		bodies[i] = "User-agent: *\n" + strings.Repeat(fmt.Sprintf("Disallow: /%d\n", i), 3500) + fmt.Sprintf("Disallow: /last%d\n", i)
		p, err := x.Put([]byte(bodies[i]))
		require.NoError(t, err)
		at = append(at, p)
	}
	for range 2 {
		for i, p := range at {
			r, err := x.reading(p, "Lantern", "rfc9309")
			require.NoError(t, err)
			target := fmt.Sprintf("/last%d", i)
			if ok, line := r.Allowed(target); ok || line != 3502 {
				t.Fatalf("text %d: %v by line %d, want false by line 3502", i, ok, line)
			}
		}
		if x.size > maxReadings || len(x.by) == len(at) {
			t.Fatalf("%d readings of %d octets are in memory", len(x.by), x.size)
		}
	}
	assert.Equal(t, "Disallow: /last3", x.Line(at[3], 3502), "line 3502")
}
