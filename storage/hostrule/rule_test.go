package hostrule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func authority(t *testing.T, s string) canon.Authority {
	t.Helper()
	u, err := canon.Parse(s)
	require.NoError(t, err)
	return u.Authority()
}

func TestARuleMatchesAHostOrAllBelowAName(t *testing.T) {
	for match, hosts := range map[string]map[string]bool{
		"www.example.org":    {"http://www.example.org/": true, "https://www.example.org:8443/": true, "http://example.org/": false, "http://a.www.example.org/": false},
		"*.example.org":      {"http://www.example.org/": true, "http://a.b.example.org/": true, "http://example.org/": false, "http://badexample.org/": false},
		"*":                  {"http://example.org/": true, "http://127.0.0.1/": true},
		"WWW.Bücher.example": {"http://www.xn--bcher-kva.example/": true},
		"127.0.0.1":          {"http://127.0.0.1:8080/": true, "http://127.0.0.2/": false},
		"::1":                {"http://[::1]:81/": true},
	} {
		r := Rule{Match: match, Delay: time.Minute}
		assert.Empty(t, r.Wrong(time.Second), match)
		for u, want := range hosts {
			assert.Equalf(t, want, (Rules{r}).Of(authority(t, u)).Delay == time.Minute, "%s: %s", match, u)
		}
	}
}

func TestOfSeveralRulesEachBinds(t *testing.T) {
	a := Rule{Match: "*.example.org", Delay: 5 * time.Second, MaxPerHost: 10, Hours: []string{"20:00-06:00"}}
	b := Rule{Match: "www.example.org", Delay: 2 * time.Second, MaxPerHost: 20, PerHostPerDay: 7, Hours: []string{"04:00-08:00", "12:00-13:00"}}
	for _, rs := range []Rules{{a, b}, {b, a}} {
		got := rs.Of(authority(t, "http://www.example.org/"))
		assert.Truef(t, got.Delay == 5*time.Second && got.MaxPerHost == 10 && got.PerHostPerDay == 7, "%+v", got)
		open := got.Open()
		assert.Truef(t, open == 2.0/24, "open for %v of the day", open)
	}
	got := (Rules{a, b}).Of(authority(t, "http://example.com/"))
	assert.Truef(t, got.Delay == 0 && !got.Timed() && got.Closed(time.Now()) == 0 && got.Open() == 1, "another host: %+v", got)
}

func TestClosedIsTheTimeUntilAllHoursAreOpen(t *testing.T) {
	of := func(hours ...[]string) Overrides {
		var rs Rules
		for _, h := range hours {
			rs = append(rs, Rule{Match: "*", Hours: h})
		}
		return rs.Of(authority(t, "http://a.test/"))
	}
	day := func(h, m, s int) time.Time { return time.Date(2026, 3, 1, h, m, s, 0, time.UTC) }
	for _, tt := range []struct {
		terms Overrides
		at    time.Time
		want  time.Duration
	}{
		{of([]string{"22:00-06:00"}), day(23, 0, 0), 0},
		{of([]string{"22:00-06:00"}), day(5, 59, 59), 0},
		{of([]string{"22:00-06:00"}), day(6, 0, 0), 16 * time.Hour},
		{of([]string{"22:00-06:00"}), day(21, 59, 30), 30 * time.Second},
		{of([]string{"09:00-10:00", "18:00-24:00"}), day(10, 0, 0), 8 * time.Hour},
		{of([]string{"09:00-10:00", "18:00-24:00"}), day(23, 59, 59), 0},
		{of([]string{"00:00-24:00"}), day(12, 0, 0), 0},
		{of([]string{"20:00-06:00"}, []string{"04:00-08:00"}), day(1, 0, 0), 3 * time.Hour},
		{of([]string{"01:00-02:00"}, []string{"04:00-08:00"}), day(1, 0, 0), 24 * time.Hour},
		{of([]string{"22:00-06:00"}), day(23, 0, 0).In(time.FixedZone("", 3*3600)), 0},
	} {
		assert.Equalf(t, tt.want, tt.terms.Closed(tt.at), "%v at %v", tt.terms.hours, tt.at)
	}
}

func TestRules_ErrorNamesKey(t *testing.T) {
	for key, r := range map[string]Rule{
		"match":   {Match: "https://example.org/"},
		"delay":   {Match: "*", Delay: 999 * time.Millisecond},
		"include": {Match: "*", Include: []string{"("}},
		"exclude": {Match: "*", Exclude: []string{"("}},
		"hours":   {Match: "*", Hours: []string{"22-6"}},
	} {
		wrong := r.Wrong(time.Second)
		assert.Truef(t, len(wrong) == 1 && wrong[0].Key == key, "%s: %v", key, wrong)
	}
	for _, match := range []string{"", "*.*.org", "a b", "example.org:80", "*.", "@"} {
		assert.NotNilf(t, (Rule{Match: match}).Wrong(time.Second), "%q is a match", match)
	}
	for _, h := range []string{"", "22:00", "25:00-06:00", "06:00-06:00", "24:00-06:00", "-"} {
		assert.NotNilf(t, (Rule{Match: "*", Hours: []string{h}}).Wrong(time.Second), "%q are hours", h)
	}
	assert.Error(t, make(Rules, MaxRules+1).Check(time.Second), "no bound")
}
