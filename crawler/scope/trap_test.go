package scope

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTraps_Rule22(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("/seg", n) }
	for _, tt := range []struct{ path, rule string }{
		{"/" + varied(30), ""},
		{"/" + varied(30) + "/", ""},
		{"/" + varied(31), "segments"},
		{strings.Repeat("/", 32), "segments"},
		{strings.Repeat("/", 31), ""},
		{"/a?" + varied(99), ""},
		{"/%2525", "percent"}, {"/%252525", "percent"}, {"/a?b=%2525x", "percent"}, {"/%25/%25", ""}, {"/%2520", ""},
		{"/%25%2525", "percent"}, {"/%2524%25", ""}, {"/2525", ""},
		{deep(3), ""},
		{deep(4), "repeat"},
		{deep(3) + "/x" + deep(3), ""},
		{"/a/b" + deep(4) + "/c", "repeat"},
		{deep(3) + "/seg/", "repeat"},
		{deep(3) + "?/seg/seg/seg", ""},
		{"/ab/ab/ab/ab/ab", ""},            // 2 bytes
		{"/123/123/123/123/123", ""},       // digits only
		{"/12a/12a/12a/12a", "repeat"},     // not digits only
		{"//////", ""},                     // empty
		{"/%7Ejo/~jo/%7ejo/~jo", "repeat"}, // one segment by its key
		{"/foo/bar/foo/bar/foo/bar/foo", ""},
		{"/foo/bar/foo/bar/foo/bar/foo/bar", "cycle"},
		{"/x/foo/bar/foo/bar/foo/bar/foo/bar/y", "cycle"},
		{"/foo/1/foo/1/foo/1/foo/1", "cycle"}, // one segment of it counts
		{"/foo/1/foo/2/foo/3/foo/4", ""},      // no cycle
		{"/1/2/1/2/1/2/1/2", ""},
		{"/a/b/c/a/b/c/a/b/c/a/b/c", ""},
		{"/one/two/six/one/two/six/one/two/six/one/two/six", "cycle"},
		{"/aaa/bbb/ccc/ddd/aaa/bbb/ccc/ddd/aaa/bbb/ccc/ddd/aaa/bbb/ccc/ddd", "cycle"},
		{"/aaa/bbb/ccc/ddd/aaa/bbb/ccc/ddd/aaa/bbb/ccc/ddd/aaa/bbb/ccc", ""},
		{"/v/w/x/y/zzz/v/w/x/y/zzz/v/w/x/y/zzz/v/w/x/y/zzz", ""}, // a period of 5
	} {
		s := newScope(t, Config{}, "http://h.test/")
		want := "in scope:host"
		if tt.rule != "" {
			want = "out for good trap:" + tt.rule
		}
		u := parse(t, "http://h.test"+tt.path)
		assert.Equal(t, want, text(s.Judge(Candidate{URL: u, Depth: 1})), tt.path)
		if tt.rule == "" {
			continue
		}
		off := newScope(t, Config{Traps: map[string]int{"trap:" + tt.rule: 0}}, "http://h.test/")
		v := off.Judge(Candidate{URL: u, Depth: 1})
		assert.Truef(t, v.Rule != "trap:"+tt.rule, "%s: %s although it is off", tt.path, v.Rule)
	}
}

func TestTraps_AnotherNumber(t *testing.T) {
	s := newScope(t, Config{Traps: map[string]int{"segments": 5, "percent": 3, "repeat": 2, "cycle": 2}}, "http://h.test/")
	for path, want := range map[string]string{
		"/aaa/b/c/d/e": "in scope:host", "/aaa/b/c/d/e/f": "out for good trap:segments",
		"/%2525": "in scope:host", "/%252525": "out for good trap:percent",
		"/foo/foo": "out for good trap:repeat", "/foo/x/foo": "in scope:host", "/foo/x/foo/x": "out for good trap:cycle",
	} {
		assert.Equal(t, want, text(s.Judge(Candidate{URL: parse(t, "http://h.test"+path), Depth: 1})), path)
	}
}

// varied returns n different segments.
func varied(n int) string {
	s := make([]string, n)
	for i := range s {
		s[i] = strings.Repeat("v", i+1)
	}
	return strings.Join(s, "/")
}

// naiveSegments splits, and drops the empty segment after a final slash.
func naiveSegments(path string) []string {
	s := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if s[len(s)-1] == "" {
		s = s[:len(s)-1]
	}
	return s
}

// naiveCycles tries every window.
func naiveCycles(path string, period, n int) bool {
	s := naiveSegments(path)
	for from := 0; from+period*n <= len(s); from++ {
		window := s[from : from+period*n]
		counts, varied, same := false, period == 1, true
		for i, x := range window {
			same = same && x == window[i%period]
			varied = varied || x != window[0]
			counts = counts || len(x) > 2 && strings.Trim(x, "0123456789") != ""
		}
		if same && varied && counts {
			return true
		}
	}
	return false
}

// FuzzTraps_EqualTheNaive: the single pass of each trap over a path agrees with its literal definition.
func FuzzTraps_EqualTheNaive(f *testing.F) {
	for _, path := range []string{"/foo/bar/foo/bar/foo/bar", "//a//", "/aaa/aaa/aaa/aaa/", "/%252525/%25", "/foo/1/foo/1/foo/1/", "/a/b/ccc/a/b/ccc/a/b/ccc"} {
		f.Add(path, 2, 3)
	}
	f.Fuzz(func(t *testing.T, path string, period, n int) {
		period, n = 1+abs(period)%maxPeriod, 2+abs(n)%4
		path = "/" + strings.NewReplacer("x", "/foo", "y", "/bar", "z", "/12").Replace(path) // so that cycles are found often
		got, want := cycles(path, period, n), naiveCycles(path, period, n)
		assert.Truef(t, got == want, "cycles(%q, %d, %d) = %t; want %t", path, period, n, got, want)
		if got, want := segments(path), len(naiveSegments(path)); got != want {
			t.Errorf("segments(%q) = %d; want %d", path, got, want)
		}
		if got, want := encodings(path, n), strings.Contains(path, "%"+strings.Repeat("25", n)); got != want {
			t.Errorf("encodings(%q, %d) = %t; want %t", path, n, got, want)
		}
	})
}

func abs(n int) int { return max(n, -n, 0) }
